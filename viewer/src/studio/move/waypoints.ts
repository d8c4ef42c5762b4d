// Trajectories: postures and times, the motion through them with the torques it takes, and what these torques do.

import { element, written } from "../../dom";
import { Panels } from "../../panels";
import type { SceneData } from "../../data";
import { htmlOf } from "../html";
import { Sheet, type Cells, type Column } from "../robot/sheet";
import type { Room, Studio } from "../studio";
import { checkField, choiceField, numberField, offer, wordButton } from "./fields";

interface Moved { run: string; scene: SceneData; tables: string; status: string }

const KINDS = {
  quintic: "Quintic, from rest to rest", cycloidal: "Cycloidal, from rest to rest", trapezoidal: "Trapezoidal, from rest to rest",
  spline: "Cubic spline through all", line: "Straight lines of the hand", circle: "Circle of the hand through three",
};
const CONTROLS = {
  feedforward: "Its torques alone", both: "Its torques and PD", pd: "PD control alone", computed_torque: "Computed torque", free: "None: it falls freely",
};
const TITLE = "Drive efforts"; // of the panel that is opened

/** The postures that were kept, as rows of a grid. */
export class Postures {
  readonly sheet: Sheet;
  hand: { body?: string; point?: number[] } = {}; // as the page Robot has it

  constructor(private readonly studio: Studio) {
    this.sheet = new Sheet("Postures", (i) => this.now(i), () => studio.draft.keep("postures", this.sheet.rows));
    studio.theatre.watch(() => this.columns());
  }

  /** The present posture as a new row. */
  keep(): void {
    this.sheet.add(undefined, false);
    this.studio.say(`Posture ${this.sheet.rows.length} is kept; the page Trajectory moves through them.`);
  }

  get given(): { time: number; q: Record<string, number> }[] {
    return this.sheet.rows.map((row) => ({ time: Number(row["time"]), q: Object.fromEntries(this.names.map((name) => [name, Number(row[name] ?? 0)])) }));
  }

  private get names(): string[] { return this.studio.theatre.shown?.scene.coordinates.map(({ name }) => name) ?? []; }

  private columns(): void {
    const { shown } = this.studio.theatre, kept = this.studio.draft.settings["postures"];
    if (!shown) return;
    const columns: Column[] = [{ key: "time", title: "t [s]", label: "time" },
      ...shown.scene.coordinates.map(({ name, label, unit }) => ({ key: name, title: unit && unit !== "1" ? `${label} [${unit}]` : label, label }))];
    const rows = this.sheet.rows.length || !Array.isArray(kept) ? this.sheet.rows : (kept as Cells[]);
    this.sheet.show(columns, rows.filter((row) => this.names.every((name) => name in row)));
  }

  private now(index: number): Cells {
    const { shown } = this.studio.theatre, last = this.sheet.rows[index - 1];
    const q = Object.fromEntries(this.names.map((name, i) => [name, String(Number((shown?.mechanism.state[i] ?? 0).toPrecision(6)))]));
    return { time: last ? String(Number(last["time"]) + 1) : "0", ...q };
  }
}

export function waypointsPage(studio: Studio, postures: Postures): Room {
  const page = new WaypointsPage(studio, postures);
  return { title: "Trajectory", content: page.root };
}

class WaypointsPage {
  readonly root: HTMLElement;
  private readonly kind = choiceField("Kind", () => this.refresh());
  private readonly timing = choiceField("Timing", () => {});
  private readonly angle = numberField("Angle", () => {}, "°");
  private readonly payload = numberField("Payload at the hand", () => {}, "kg");
  private readonly gravity = checkField("Gravity", true, () => {});
  private readonly control = choiceField("Driven by", () => this.refresh());
  private readonly kp = numberField("kp", () => {});
  private readonly kd = numberField("kd", () => {});
  private readonly result = element("div", { class: "prose", "aria-live": "polite" });
  private readonly plots = element("div", {});
  private panels: Panels | null = null;

  constructor(private readonly studio: Studio, private readonly postures: Postures) {
    offer(this.kind.select, Object.entries(KINDS).map(([value, text]) => ({ value, text })));
    offer(this.timing.select, ["cycloidal", "quintic", "trapezoidal"].map((value) => ({ value, text: value })));
    offer(this.control.select, Object.entries(CONTROLS).map(([value, text]) => ({ value, text })));
    this.payload.input.value = "0";
    this.angle.input.value = "360";
    this.kp.input.value = "100";
    this.kd.input.value = "20";
    this.root = element("div", { class: "robot" },
      element("p", { class: "hint" }, "Move the mechanism by hand or as a robot and keep postures, or type them. The motion goes through them at their times."),
      element("div", { class: "wide" }, postures.sheet.root),
      element("div", { class: "row" }, wordButton("Keep this posture", () => postures.keep())),
      element("fieldset", {}, element("legend", {}, "Motion and inverse dynamics"),
        element("div", { class: "row" }, this.kind.root, this.timing.root, this.angle.root),
        element("div", { class: "row" }, this.payload.root, this.gravity.root, wordButton("Move through them", () => { void this.follow(); }))),
      element("fieldset", {}, element("legend", {}, "Forward dynamics along it"),
        element("div", { class: "row" }, this.control.root, this.kp.root, this.kd.root, wordButton("Simulate it", () => { void this.drive(); }))),
      this.plots, this.result);
    new MutationObserver(() => this.panels?.repaint()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.refresh();
  }

  /** Only what matters for the choice is seen. */
  private refresh(): void {
    const kind = this.kind.select.value, control = this.control.select.value;
    this.timing.root.hidden = kind !== "line" && kind !== "circle";
    this.angle.root.hidden = kind !== "circle";
    this.kp.root.hidden = this.kd.root.hidden = control === "feedforward" || control === "free";
  }

  private get given(): Record<string, unknown> {
    return {
      text: this.studio.draft.text, points: this.postures.given, kind: this.kind.select.value, timing: this.timing.select.value,
      angle: Number(this.angle.input.value), payload: Number(this.payload.input.value), gravity: this.gravity.input.checked,
      ...this.postures.hand,
    };
  }

  private async follow(): Promise<void> {
    const { studio, given } = this;
    this.show(await studio.work<Moved>("Motion", (tell) => studio.link.ask("follow", given, tell)));
  }

  private async drive(): Promise<void> {
    const { studio } = this, given = { ...this.given, control: this.control.select.value, kp: Number(this.kp.input.value), kd: Number(this.kd.input.value) };
    this.show(await studio.work<Moved>("Forward dynamics", (tell) => studio.link.ask("drive_along", given, tell)));
  }

  private show(found: Moved | null): void {
    if (!found) return;
    this.studio.draft.run = found.run;
    const { mechanism, player } = this.studio.theatre.show(found.scene);
    this.panels = new Panels(mechanism, player);
    const efforts = [...this.panels.root.children].filter((each) => each.querySelector(".title")?.textContent === TITLE);
    for (const each of efforts) if (each instanceof HTMLDetailsElement) each.open = true;
    this.panels.root.prepend(...efforts);
    this.plots.replaceChildren(this.panels.root);
    this.result.replaceChildren(element("p", {}, found.status), htmlOf(found.tables));
    this.studio.say(`The motion lasts ${written(found.scene.run?.duration ?? 0)} s. Its torques are under ${TITLE}; the room Take away exports it.`);
  }
}
