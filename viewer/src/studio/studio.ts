// What all rooms of the studio share.

import type { Page } from "../tabs";
import type { Draft } from "./draft";
import type { Link, Question, Welcome } from "./link";
import type { Theatre } from "./theatre";

export interface Studio {
  readonly link: Link;
  readonly draft: Draft;
  readonly theatre: Theatre;
  /** What the server said first: the draft of this tab, if there was one, and those of others. */
  readonly welcomed: Promise<Welcome>;
  /** A long task with a bar, a button to cancel it, and a sentence where it fails; null where it did. */
  work<T>(title: string, question: (tell: (share: number, words: string) => void) => Question<T>): Promise<T | null>;
  /** A sentence for the user, read aloud by screen readers. */
  say(words: string, kind?: "note" | "warning"): void;
}

/** A page beside the stage, or a page within one. */
export type Room = Page;
