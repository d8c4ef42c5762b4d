// Edits of forms: each becomes an edit of the text by the server, one after the other.

import type { Studio } from "../studio";
import type { Place } from "./format";

export type Edit =
  | { do: "set"; place: Place; written: string; form: string }
  | { do: "remove"; place: Place }
  | { do: "rename"; place: Place; name: string }
  | { do: "add"; kind: string };

export class Edits {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly studio: Studio) {}

  /** Does an edit; the place that it was about, or null where it failed. */
  make(edit: Edit, origin: unknown = null): Promise<Place | null> {
    const done = this.last.then(() => this.now(edit, origin));
    this.last = done;
    return done;
  }

  private async now(edit: Edit, origin: unknown): Promise<Place | null> {
    const { draft, link, say } = this.studio;
    try {
      for (let tries = 0; tries < 5; tries++) {
        const text = draft.text;
        const found = await link.ask<{ text: string; place: Place }>("edit", { text, ...edit }).answer;
        if (draft.text !== text) continue; // somebody wrote into the text meanwhile
        draft.change(found.text, origin);
        return found.place;
      }
      say("The text changes too fast for the form. Try again.", "warning");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), "warning");
    }
    return null;
  }
}
