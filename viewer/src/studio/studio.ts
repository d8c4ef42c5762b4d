// Context shared by all tabs of the studio.

import type { Page } from "../tabs";
import type { Draft } from "./draft";
import type { Connection, OnProgress, TaskHandle, Welcome } from "./connection";
import type { StageView } from "./stage_view";

export interface Studio {
  readonly connection: Connection;
  readonly draft: Draft;
  readonly stageView: StageView;
  /** First message of the server: the draft of this tab, if any, and those of others. */
  readonly welcomed: Promise<Welcome>;
  /** Runs a task with a progress bar and a Cancel button; null, after a message, if it failed. */
  work<T>(title: string, start: (onProgress: OnProgress) => TaskHandle<T>): Promise<T | null>;
  /** Shows a message to the user; screen readers announce it. */
  notify(message: string, kind?: "note" | "warning"): void;
}

/** A tab beside the stage, or a page of a tab. */
export type Tab = Page;
