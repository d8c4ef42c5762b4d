// The model that is worked on: its text, the way back, what the server understood of it; kept on the server while one types.

import type { SceneData } from "../data";
import type { Outline } from "./describe/format";
import type { Link, Problem } from "./link";

export interface Parameter { name: string; value: number; unit: string; text: string }
export interface Described {
  problems: Problem[]; name?: string; parameters?: Parameter[]; duration?: number; scene?: SceneData | null;
  outline?: Outline | null; // what forms show; null where the text is no TOML
}
export interface Kept { name: string; text: string; settings: Record<string, unknown> }

const WAIT = 250; // ms after the last key before the text is looked at
const MOST = 200; // steps back
const TOGETHER = 700; // ms within which changes by the same hand are one step

export class Draft {
  text = "";
  run = ""; // the key of the last run of this model
  described: Described = { problems: [] };
  readonly settings: Record<string, unknown> = {}; // of rooms, by their names
  private past: string[] = [];
  private future: string[] = [];
  private timer = 0;
  private touched = false; // whether there is something to keep
  private asked = 0;
  private last = { origin: null as unknown, time: 0 };
  private readonly onText: ((text: string, origin: unknown) => void)[] = [];
  private readonly onDescribed: ((found: Described) => void)[] = [];

  constructor(private readonly link: Link) {}

  get name(): string { return this.described.name ?? (this.settings["name"] as string | undefined) ?? "model"; }
  get sound(): boolean { return this.described.scene !== undefined && this.described.problems.length === 0; }
  get canUndo(): boolean { return this.past.length > 0; }
  get canRedo(): boolean { return this.future.length > 0; }

  /** Calls back when the text has changed; `origin` is who changed it. */
  watchText(listener: (text: string, origin: unknown) => void): void { this.onText.push(listener); }
  /** Calls back when the server has looked at the text. */
  watch(listener: (found: Described) => void): void { this.onDescribed.push(listener); }

  /** A new text, which can be taken back. */
  change(text: string, origin: unknown = null): void {
    if (text === this.text) return;
    const now = performance.now(), same = origin !== null && origin === this.last.origin && now - this.last.time < TOGETHER;
    if (!same || !this.past.length) this.past = [...this.past.slice(1 - MOST), this.text];
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

  /** What was kept of an earlier time. */
  restore(kept: Kept): void {
    Object.assign(this.settings, kept.settings);
    this.set(kept.text, null, 0);
  }

  /** A text that has been looked at already; it is kept when it is changed. */
  begin(text: string, found: Described): void {
    this.set(text, null);
    window.clearTimeout(this.timer);
    this.touched = false;
    this.described = found;
    this.onDescribed.forEach((each) => each(found));
  }

  /** Remembers a choice of a room. */
  keep(room: string, choice: unknown): void {
    this.settings[room] = choice;
    this.touched = true;
    this.save();
  }

  private set(text: string, origin: unknown, wait = WAIT): void {
    this.text = text;
    this.touched = true;
    this.run = "";
    this.onText.forEach((each) => each(text, origin));
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.save(); void this.look(); }, wait);
  }

  /** Keeps all on the server. */
  save(): void {
    if (this.touched) this.link.save({ name: this.name, text: this.text, settings: this.settings } satisfies Kept);
  }

  private async look(): Promise<void> {
    const number = ++this.asked;
    try {
      const found = await this.link.ask<Described>("describe", { text: this.text }).answer;
      if (number !== this.asked) return; // somebody has typed on
      const name = this.name;
      this.described = found;
      if (this.name !== name) this.save(); // drafts are known by the names of their models
    } catch (error) {
      if (number !== this.asked) return;
      this.described = { problems: [{ path: "the model", fact: error instanceof Error ? error.message : String(error), advice: "" }] };
    }
    this.onDescribed.forEach((each) => each(this.described));
  }
}
