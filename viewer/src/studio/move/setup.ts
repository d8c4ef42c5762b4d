// Options of a simulation: the defaults of the model, and the overrides of the user, which are saved with the draft.

import type { Parameter } from "../draft";
import { TaskError, type TaskHandle } from "../connection";
import type { Studio } from "../studio";

export interface Start { name: string; unit: string; text: string; start: number; rate: number }
export interface SimulationOptions {
  formalisms: { key: string; title: string }[];
  integrators: Record<string, string[]>; // with the settings of each
  integrator: string; duration: number; samples: number;
  coordinates: Start[]; parameters: Parameter[];
}
type Values = Record<string, number>;
export interface Overrides {
  formalism?: string; integrator?: string; duration?: number; samples?: number;
  rtol?: number; atol?: number; max_step?: number; step?: number; project?: boolean;
  start: Values; rate: Values; parameters: Values;
}
interface SavedSetup { model: string; declared: Values; overrides: Overrides }

const noOverrides = (): Overrides => ({ start: {}, rate: {}, parameters: {} });

export class Setup {
  options: SimulationOptions | null = null;
  overrides: Overrides = noOverrides();
  private declared: Values = {}; // parameter values of the source when they were overridden
  private model = "";
  private visible = false;
  private prepared = ""; // source that is compiled or being compiled
  private preparing: TaskHandle<object> | null = null;
  private readonly listeners: (() => void)[] = [];
  private readonly changes: ((model: string) => void)[] = [];

  constructor(private readonly studio: Studio) {
    studio.draft.watch(() => void this.update());
  }

  /** Calls back when options or overrides change. */
  watch(listener: () => void): void { this.listeners.push(listener); }
  /** Calls back when the model is replaced. */
  watchModel(listener: (model: string) => void): void { this.changes.push(listener); }

  /** Changes overrides; undefined values are those of the model. */
  change(change: Partial<Overrides>): void {
    Object.assign(this.overrides, change);
    this.save();
    this.listeners.forEach((each) => each());
  }

  /** Arguments of a task. */
  get parameters(): { text: string; parameters: Values } & Omit<Overrides, "parameters"> { return { text: this.studio.draft.text, ...this.overrides }; }

  value({ name, value }: Parameter): number { return this.overrides.parameters[name] ?? value; }

  /** Writes values to the source and removes these overrides. */
  async write(values: Partial<Pick<Overrides, "start" | "rate" | "parameters">>): Promise<boolean> {
    const { draft, connection, notify } = this.studio;
    try {
      const { text } = await connection.request<{ text: string }>("write_values", { text: draft.text, ...values }).result;
      for (const key of Object.keys(values) as ("start" | "rate" | "parameters")[]) this.overrides[key] = {};
      this.save();
      draft.change(text);
      return true;
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "warning");
      return false;
    }
  }

  /** Called when the tab is displayed. */
  shown(): void {
    this.visible = true;
    this.prepare();
  }

  /** Derives and compiles in advance: at the start of the studio, and while this tab is visible. */
  private prepare(): void {
    const { draft, connection } = this.studio, { text, formalism, integrator } = this.parameters;
    if (this.preparing || text === this.prepared || (this.prepared && !this.visible) || draft.described.problems.length) return;
    this.prepared = text;
    const handle = connection.request<object>("prepare", { text, formalism, integrator });
    this.preparing = handle;
    const ready = (): void => { if (this.preparing === handle) this.preparing = null; };
    handle.result.then(ready, ready); // errors are reported by the simulation
  }

  /** Starts a task after the preparation has completed, so that nothing is compiled twice. */
  whenReady<T>(start: () => TaskHandle<T>): TaskHandle<T> {
    const { preparing } = this;
    if (!preparing) return start();
    let inner: TaskHandle<T> | null = null, cancelled = false;
    const run = (): Promise<T> => {
      if (cancelled) throw new TaskError({ kind: "cancelled", message: "cancelled." });
      return (inner = start()).result;
    };
    return { result: preparing.result.then(run, run), cancel: () => { cancelled = true; (inner ?? preparing).cancel(); } };
  }

  private async update(): Promise<void> {
    const { draft, connection } = this.studio, { text } = draft;
    if (!draft.described.parameters) return; // the source is invalid
    let found: SimulationOptions;
    try {
      found = await connection.request<SimulationOptions>("simulation_options", { text }).result;
    } catch { // the problems are displayed with the source
      return;
    }
    if (text !== draft.text) return;
    this.options = found;
    this.adopt(draft.described.name ?? "");
    this.prepare();
    this.listeners.forEach((each) => each());
  }

  /** Preserves the overrides of this model, unless the source has changed these values; discards those of another model. */
  private adopt(model: string): void {
    const saved = this.studio.draft.settings["move"] as SavedSetup | undefined;
    if (!this.model && saved?.model === model) Object.assign(this, { model, declared: saved.declared, overrides: { ...noOverrides(), ...saved.overrides } });
    if (model !== this.model) {
      this.overrides = noOverrides();
      this.model = model;
      this.changes.forEach((each) => each(model));
    }
    const { parameters = [], coordinates = [] } = this.options ?? {};
    const now = Object.fromEntries(parameters.map(({ name, value }) => [name, value])), names = new Set(coordinates.map(({ name }) => name));
    for (const name of Object.keys(this.overrides.parameters)) if (!(name in now) || (name in this.declared && now[name] !== this.declared[name])) delete this.overrides.parameters[name];
    for (const part of [this.overrides.start, this.overrides.rate]) for (const name of Object.keys(part)) if (!names.has(name)) delete part[name];
    this.declared = now;
  }

  private save(): void {
    this.studio.draft.saveSetting("move", { model: this.model, declared: this.declared, overrides: this.overrides } satisfies SavedSetup);
  }
}
