// Edits of forms, applied to the source by the server one after the other.

import type { Studio } from "../studio";
import type { KeyPath } from "./format";

export type Edit =
  | { action: "set"; key_path: KeyPath; value: string; form: string }
  | { action: "remove"; key_path: KeyPath }
  | { action: "rename"; key_path: KeyPath; name: string }
  | { action: "add"; kind: string };

export class Edits {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly studio: Studio) {}

  /** Applies an edit; returns the key path of the edited value, or null if it failed. */
  make(edit: Edit, origin: unknown = null): Promise<KeyPath | null> {
    const done = this.last.then(() => this.apply(edit, origin));
    this.last = done;
    return done;
  }

  private async apply(edit: Edit, origin: unknown): Promise<KeyPath | null> {
    const { draft, connection, notify } = this.studio;
    try {
      for (let attempt = 0; attempt < 5; attempt++) {
        const text = draft.text;
        const found = await connection.request<{ text: string; key_path: KeyPath }>("edit", { text, ...edit }).result;
        if (draft.text !== text) continue; // the source has changed meanwhile
        draft.change(found.text, origin);
        return found.key_path;
      }
      notify("The source changed while the form was applied. Try again.", "warning");
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "warning");
    }
    return null;
  }
}
