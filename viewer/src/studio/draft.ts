// The edited model: its source, undo history and description by the server; saved on the server while the user types.

import type { SceneData } from "../data";
import type { Outline } from "./describe/format";
import type { Connection, Problem } from "./connection";

export interface Parameter { name: string; value: number; unit: string; text: string }
export interface Described {
  problems: Problem[]; name?: string; parameters?: Parameter[]; duration?: number; scene?: SceneData | null;
  outline?: Outline | null; // values for the forms; null if the source is not valid TOML
}
export interface SavedDraft { name: string; text: string; settings: Record<string, unknown> }

const DESCRIBE_DELAY = 250; // ms after the last key
const MAX_UNDO = 200; // steps
const MERGE_INTERVAL = 700; // ms within which changes of the same origin are one undo step

export class Draft {
  text = "";
  run = ""; // the key of the last run of this model
  described: Described = { problems: [] };
  readonly settings: Record<string, unknown> = {}; // of tabs, by name
  private past: string[] = [];
  private future: string[] = [];
  private timer = 0;
  private changed = false; // there is something to save
  private requests = 0;
  private last = { origin: null as unknown, time: 0 };
  private readonly onText: ((text: string, origin: unknown) => void)[] = [];
  private readonly onDescribed: ((found: Described) => void)[] = [];

  constructor(private readonly connection: Connection) {}

  get name(): string { return this.described.name ?? (this.settings["name"] as string | undefined) ?? "model"; }
  get isValid(): boolean { return this.described.scene !== undefined && this.described.problems.length === 0; }
  get canUndo(): boolean { return this.past.length > 0; }
  get canRedo(): boolean { return this.future.length > 0; }

  /** Calls back when the source has changed; `origin` is the component that changed it. */
  watchText(listener: (text: string, origin: unknown) => void): void { this.onText.push(listener); }
  /** Calls back when the server has described the source. */
  watch(listener: (found: Described) => void): void { this.onDescribed.push(listener); }

  /** Changes the source; can be undone. */
  change(text: string, origin: unknown = null): void {
    if (text === this.text) return;
    const now = performance.now(), same = origin !== null && origin === this.last.origin && now - this.last.time < MERGE_INTERVAL;
    if (!same || !this.past.length) this.past = [...this.past.slice(1 - MAX_UNDO), this.text];
    this.last = { origin, time: now };
    this.future = [];
    this.set(text, origin);
  }

  undo(): void {
    const text = this.past.pop();
    if (text === undefined) return;
    this.future.push(this.text);
    this.last.origin = null;
    this.set(text, null);
  }

  redo(): void {
    const text = this.future.pop();
    if (text === undefined) return;
    this.past.push(this.text);
    this.set(text, null);
  }

  /** Restores a saved draft. */
  restore(saved: SavedDraft): void {
    Object.assign(this.settings, saved.settings);
    this.set(saved.text, null, 0);
  }

  /** Sets a source with its description; it is saved when it is changed. */
  begin(text: string, found: Described): void {
    this.set(text, null);
    window.clearTimeout(this.timer);
    this.changed = false;
    this.described = found;
    this.onDescribed.forEach((each) => each(found));
  }

  /** Saves a setting of a tab. */
  saveSetting(tab: string, value: unknown): void {
    this.settings[tab] = value;
    this.changed = true;
    this.save();
  }

  private set(text: string, origin: unknown, wait = DESCRIBE_DELAY): void {
    this.text = text;
    this.changed = true;
    this.run = "";
    this.onText.forEach((each) => each(text, origin));
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.save(); void this.describe(); }, wait);
  }

  /** Saves the draft on the server. */
  save(): void {
    if (this.changed) this.connection.save({ name: this.name, text: this.text, settings: this.settings } satisfies SavedDraft);
  }

  private async describe(): Promise<void> {
    const number = ++this.requests;
    try {
      const found = await this.connection.request<Described>("describe", { text: this.text }).result;
      if (number !== this.requests) return; // the source has changed since
      const name = this.name;
      this.described = found;
      if (this.name !== name) this.save(); // drafts are listed by the names of their models
    } catch (error) {
      if (number !== this.requests) return;
      this.described = { problems: [{ path: "the model", fact: error instanceof Error ? error.message : String(error), advice: "" }] };
    }
    this.onDescribed.forEach((each) => each(this.described));
  }
}
