// What follows from the model, asked for once for each text and shared by the pages of the room.

import type { Studio } from "../studio";

export interface Part { key: string; title: string; html: string }
export interface Formalism { key: string; title: string; refused: string }
export interface Understood { parts: Part[]; formalisms: Formalism[] }

export class Knowledge {
  private text: string | null = null; // that was understood
  private found: Understood | null = null;
  private waiting: Promise<void> | null = null;

  constructor(private readonly studio: Studio) {}

  /** What is known of the text as it is now; null where nothing could be found out. */
  async now(): Promise<Understood | null> {
    const { draft } = this.studio;
    while (this.waiting) await this.waiting;
    if (this.text !== draft.text) {
      this.waiting = this.ask(draft.text);
      await this.waiting;
      if (this.text !== draft.text && this.found) return this.now(); // somebody has typed on
    }
    return this.found;
  }

  private async ask(text: string): Promise<void> {
    const { link, work } = this.studio;
    this.found = await work<Understood>("Understanding the model", (tell) => link.ask("understand", { text }, tell));
    this.text = this.found ? text : null;
    this.waiting = null;
  }
}

/** Whether a page can be seen now. */
export function isSeen(content: HTMLElement): boolean { return content.offsetParent !== null; }

/** A sentence where there is nothing to work on; empty where there is. */
export function whyNot({ draft }: Studio): string {
  if (!draft.text.trim()) return "There is no model yet: describe one first.";
  return draft.described.scene === undefined && draft.described.problems.length ? "The text has to be mended first: Describe says what is wrong." : "";
}
