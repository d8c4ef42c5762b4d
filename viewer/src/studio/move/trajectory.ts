// Trajectories through postures: inverse dynamics, and forward dynamics with the computed torques or a controller.

import { element, formatNumber } from "../../dom";
import { Panels } from "../../panels";
import type { SceneData } from "../../data";
import { htmlOf } from "../html";
import { Grid, type Cells, type Column } from "../robot/grid";
import type { Tab, Studio } from "../studio";
import { checkField, choiceField, numberField, offer, wordButton } from "./fields";

interface Moved { run: string; scene: SceneData; tables: string; status: string }

const KINDS = {
  quintic: "Quintic, from rest to rest", cycloidal: "Cycloidal, from rest to rest", trapezoidal: "Trapezoidal, from rest to rest",
  spline: "Cubic spline", line: "Straight lines of the end effector", circle: "Circle of the end effector through three postures",
};
const CONTROLS = {
  feedforward: "Feedforward torques", both: "Feedforward torques and PD", pd: "PD control", computed_torque: "Computed torque", free: "No torques",
};
const TITLE = "Drive efforts"; // panel that is opened

/** List of postures, as rows of a grid. */
export class Postures {
  readonly sheet: Grid;
  hand: { body?: string; point?: number[] } = {}; // end effector of the page Robot

  constructor(private readonly studio: Studio) {
    this.sheet = new Grid("Postures", (i) => this.now(i), () => studio.draft.saveSetting("postures", this.sheet.rows));
    studio.stageView.watch(() => this.columns());
  }

  /** Adds the current posture. */
  add(): void {
    this.sheet.add(undefined, false);
    this.studio.notify(`Posture ${this.sheet.rows.length} was added to the page Trajectory.`);
  }

  get points(): { time: number; q: Record<string, number> }[] {
    return this.sheet.rows.map((row) => ({ time: Number(row["time"]), q: Object.fromEntries(this.names.map((name) => [name, Number(row[name] ?? 0)])) }));
  }

  private get names(): string[] { return this.studio.stageView.shown?.scene.coordinates.map(({ name }) => name) ?? []; }

  private columns(): void {
    const { shown } = this.studio.stageView, saved = this.studio.draft.settings["postures"];
    if (!shown) return;
    const columns: Column[] = [{ key: "time", title: "t [s]", label: "time" },
      ...shown.scene.coordinates.map(({ name, label, unit }) => ({ key: name, title: unit && unit !== "1" ? `${label} [${unit}]` : label, label }))];
    const rows = this.sheet.rows.length || !Array.isArray(saved) ? this.sheet.rows : (saved as Cells[]);
    this.sheet.show(columns, rows.filter((row) => this.names.every((name) => name in row)));
  }

  private now(index: number): Cells {
    const { shown } = this.studio.stageView, last = this.sheet.rows[index - 1];
    const q = Object.fromEntries(this.names.map((name, i) => [name, String(Number((shown?.mechanism.state[i] ?? 0).toPrecision(6)))]));
    return { time: last ? String(Number(last["time"]) + 1) : "0", ...q };
  }
}

export function trajectoryPage(studio: Studio, postures: Postures): Tab {
  const page = new TrajectoryPage(studio, postures);
  return { title: "Trajectory", content: page.root };
}

class TrajectoryPage {
  readonly root: HTMLElement;
  private readonly kind = choiceField("Kind", () => this.refresh());
  private readonly timing = choiceField("Timing", () => {});
  private readonly angle = numberField("Angle", () => {}, "°");
  private readonly payload = numberField("Payload", () => {}, "kg");
  private readonly gravity = checkField("Gravity", true, () => {});
  private readonly control = choiceField("Control", () => this.refresh());
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
      element("p", { class: "hint" }, "Add postures on the pages Joints and Robot, or enter them here. The motion passes through them at their times."),
      element("div", { class: "wide" }, postures.sheet.root),
      element("div", { class: "row" }, wordButton("Add the current posture", () => postures.add())),
      element("fieldset", {}, element("legend", {}, "Inverse dynamics"),
        element("div", { class: "row" }, this.kind.root, this.timing.root, this.angle.root),
        element("div", { class: "row" }, this.payload.root, this.gravity.root, wordButton("Compute drive torques", () => { void this.inverseDynamics(); }))),
      element("fieldset", {}, element("legend", {}, "Forward dynamics"),
        element("div", { class: "row" }, this.control.root, this.kp.root, this.kd.root, wordButton("Simulate with control", () => { void this.forwardDynamics(); }))),
      this.plots, this.result);
    new MutationObserver(() => this.panels?.repaint()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.refresh();
  }

  /** Shows only the fields that apply. */
  private refresh(): void {
    const kind = this.kind.select.value, control = this.control.select.value;
    this.timing.root.hidden = kind !== "line" && kind !== "circle";
    this.angle.root.hidden = kind !== "circle";
    this.kp.root.hidden = this.kd.root.hidden = control === "feedforward" || control === "free";
  }

  private get parameters(): Record<string, unknown> {
    return {
      text: this.studio.draft.text, points: this.postures.points, kind: this.kind.select.value, timing: this.timing.select.value,
      angle: Number(this.angle.input.value), payload: Number(this.payload.input.value), gravity: this.gravity.input.checked,
      ...this.postures.hand,
    };
  }

  private async inverseDynamics(): Promise<void> {
    const { studio, parameters } = this;
    this.show(await studio.work<Moved>("Motion", (onProgress) => studio.connection.request("inverse_dynamics", parameters, onProgress)));
  }

  private async forwardDynamics(): Promise<void> {
    const { studio } = this, parameters = { ...this.parameters, control: this.control.select.value, kp: Number(this.kp.input.value), kd: Number(this.kd.input.value) };
    this.show(await studio.work<Moved>("Forward dynamics", (onProgress) => studio.connection.request("forward_dynamics", parameters, onProgress)));
  }

  private show(found: Moved | null): void {
    if (!found) return;
    this.studio.draft.run = found.run;
    const { mechanism, player } = this.studio.stageView.show(found.scene);
    this.panels = new Panels(mechanism, player);
    const efforts = [...this.panels.root.children].filter((each) => each.querySelector(".title")?.textContent === TITLE);
    for (const each of efforts) if (each instanceof HTMLDetailsElement) each.open = true;
    this.panels.root.prepend(...efforts);
    this.plots.replaceChildren(this.panels.root);
    this.result.replaceChildren(element("p", {}, found.status), htmlOf(found.tables));
    this.studio.notify(`The motion lasts ${formatNumber(found.scene.run?.duration ?? 0)} s. Its torques are displayed under ${TITLE}. Files of this run: Export.`);
  }
}
