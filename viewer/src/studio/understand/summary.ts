// Summary of the model, requested once for each source and shared by the pages of the tab.

import type { Studio } from "../studio";

export interface Part { key: string; title: string; html: string }
export interface Formalism { key: string; title: string; refused: string }
export interface Summary { parts: Part[]; formalisms: Formalism[] }

export class SummaryCache {
  private text: string | null = null; // source of the summary
  private found: Summary | null = null;
  private loading: Promise<void> | null = null;

  constructor(private readonly studio: Studio) {}

  /** Summary of the current source; null if there is none. */
  async now(): Promise<Summary | null> {
    const { draft } = this.studio;
    while (this.loading) await this.loading;
    if (this.text !== draft.text) {
      this.loading = this.load(draft.text);
      await this.loading;
      if (this.text !== draft.text && this.found) return this.now(); // the source has changed since
    }
    return this.found;
  }

  private async load(text: string): Promise<void> {
    const { connection, work } = this.studio;
    this.found = await work<Summary>("Analyzing the model", (onProgress) => connection.request("summary", { text }, onProgress));
    this.text = this.found ? text : null;
    this.loading = null;
  }
}

/** True if a page is visible. */
export function isVisible(content: HTMLElement): boolean { return content.offsetParent !== null; }

/** Reason why there is no valid model; empty if there is one. */
export function missingModel({ draft }: Studio): string {
  if (!draft.text.trim()) return "There is no model yet. Define one under Model.";
  return draft.described.scene === undefined && draft.described.problems.length ? "The model has errors. Correct them first: they are listed under Model, Source." : "";
}
