// What a simulation is asked for: the model's own choices, and what the reader wishes otherwise. Kept with the draft.

import type { Parameter } from "../draft";
import { TaskError, type Question } from "../link";
import type { Studio } from "../studio";

export interface Start { name: string; unit: string; text: string; start: number; rate: number }
export interface Choices {
  formalisms: { key: string; title: string }[];
  integrators: Record<string, string[]>; // with the settings that each has
  integrator: string; duration: number; samples: number;
  coordinates: Start[]; parameters: Parameter[];
}
type Values = Record<string, number>;
export interface Wishes {
  formalism?: string; integrator?: string; duration?: number; samples?: number;
  rtol?: number; atol?: number; max_step?: number; step?: number; project?: boolean;
  start: Values; rate: Values; parameters: Values;
}
interface Kept { model: string; declared: Values; wishes: Wishes }

const nothing = (): Wishes => ({ start: {}, rate: {}, parameters: {} });

export class Setup {
  choices: Choices | null = null;
  wishes: Wishes = nothing();
  private declared: Values = {}; // what the text said of the parameters when wishes were made
  private model = "";
  private visible = false;
  private prepared = ""; // the text that is ready to be simulated, or will be soon
  private preparing: Question<object> | null = null;
  private readonly listeners: (() => void)[] = [];
  private readonly changes: ((model: string) => void)[] = [];

  constructor(private readonly studio: Studio) {
    studio.draft.watch(() => void this.look());
  }

  /** Calls back when the choices or the wishes are others. */
  watch(listener: () => void): void { this.listeners.push(listener); }
  /** Calls back when there is another model. */
  watchModel(listener: (model: string) => void): void { this.changes.push(listener); }

  /** Wishes otherwise; what is undefined is as the model has it. */
  wish(change: Partial<Wishes>): void {
    Object.assign(this.wishes, change);
    this.keep();
    this.listeners.forEach((each) => each());
  }

  /** What a task is given. */
  get given(): { text: string; parameters: Values } & Omit<Wishes, "parameters"> { return { text: this.studio.draft.text, ...this.wishes }; }

  value({ name, value }: Parameter): number { return this.wishes.parameters[name] ?? value; }

  /** The text with values that were wished; the wishes are then no others than the text. */
  async write(values: Partial<Pick<Wishes, "start" | "rate" | "parameters">>): Promise<boolean> {
    const { draft, link, say } = this.studio;
    try {
      const { text } = await link.ask<{ text: string }>("written", { text: draft.text, ...values }).answer;
      for (const key of Object.keys(values) as ("start" | "rate" | "parameters")[]) this.wishes[key] = {};
      this.keep();
      draft.change(text);
      return true;
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), "warning");
      return false;
    }
  }

  /** The room is seen: what it needs may be made ready. */
  shown(): void {
    this.visible = true;
    this.prepare();
  }

  /** Derives and compiles before anybody asks: when the studio begins, and while this room is seen. */
  private prepare(): void {
    const { draft, link } = this.studio, { text, formalism, integrator } = this.given;
    if (this.preparing || text === this.prepared || (this.prepared && !this.visible) || draft.described.problems.length) return;
    this.prepared = text;
    const asked = link.ask<object>("prepare", { text, formalism, integrator });
    this.preparing = asked;
    const ready = (): void => { if (this.preparing === asked) this.preparing = null; };
    asked.answer.then(ready, ready); // what is wrong is said when a simulation is asked for
  }

  /** A question that waits until what it needs is ready, so that the work is not done twice. */
  whenReady<T>(question: () => Question<T>): Question<T> {
    const { preparing } = this;
    if (!preparing) return question();
    let inner: Question<T> | null = null, cancelled = false;
    const go = (): Promise<T> => {
      if (cancelled) throw new TaskError({ kind: "cancelled", text: "cancelled." });
      return (inner = question()).answer;
    };
    return { answer: preparing.answer.then(go, go), cancel: () => { cancelled = true; (inner ?? preparing).cancel(); } };
  }

  private async look(): Promise<void> {
    const { draft, link } = this.studio, { text } = draft;
    if (!draft.described.parameters) return; // the text cannot be read
    let found: Choices;
    try {
      found = await link.ask<Choices>("choices", { text }).answer;
    } catch { // the problems stand beside the text
      return;
    }
    if (text !== draft.text) return;
    this.choices = found;
    this.adopt(draft.described.name ?? "");
    this.prepare();
    this.listeners.forEach((each) => each());
  }

  /** Wishes of this model stay, unless the text has changed what they are about; those of another are forgotten. */
  private adopt(model: string): void {
    const kept = this.studio.draft.settings["move"] as Kept | undefined;
    if (!this.model && kept?.model === model) Object.assign(this, { model, declared: kept.declared, wishes: { ...nothing(), ...kept.wishes } });
    if (model !== this.model) {
      this.wishes = nothing();
      this.model = model;
      this.changes.forEach((each) => each(model));
    }
    const { parameters = [], coordinates = [] } = this.choices ?? {};
    const now = Object.fromEntries(parameters.map(({ name, value }) => [name, value])), names = new Set(coordinates.map(({ name }) => name));
    for (const name of Object.keys(this.wishes.parameters)) if (!(name in now) || (name in this.declared && now[name] !== this.declared[name])) delete this.wishes.parameters[name];
    for (const part of [this.wishes.start, this.wishes.rate]) for (const name of Object.keys(part)) if (!names.has(name)) delete part[name];
    this.declared = now;
  }

  private keep(): void {
    this.studio.draft.keep("move", { model: this.model, declared: this.declared, wishes: this.wishes } satisfies Kept);
  }
}
