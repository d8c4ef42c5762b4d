// Robot page: pose and manipulability of the end effector, and inverse kinematics for a target.

import { element, formatNumber } from "../../dom";
import { Sliders } from "../../sliders";
import { helpFor } from "../help";
import { matrixOf } from "../robot/matrices";
import type { Tab, Studio } from "../studio";
import type { Shown } from "../stage_view";
import { Drag, type Gizmo } from "./drag";
import { checkField, choiceField, offer, wordButton } from "./fields";
import { anglesOf, rotationOf, type Limits } from "./end_effector";
import type { Postures } from "./trajectory";

interface About { limits: Limits; body: string; driven: string[] }
interface Reached { reached: boolean; message: string; singular: string; manipulability: number; postures: Record<string, number>[]; reason: string }

const NEAR = 0.02; // σ min / σ max below which a configuration is reported as singular
const DEGREES = 180 / Math.PI, PARTS = ["x", "y", "z", "roll", "pitch", "yaw"];

export function robotPage(studio: Studio, postures: Postures): Tab {
  return { title: "Robot", content: new RobotPage(studio, postures).root };
}

class RobotPage {
  readonly root: HTMLElement;
  private readonly body = choiceField("End effector", () => this.renew());
  private readonly point = ["x", "y", "z"].map((c) => number(`Point in the body frame, ${c}`, () => this.renew()));
  private readonly gizmo = choiceField("Gizmo", (kind) => this.drag?.setGizmo(kind as Gizmo));
  private readonly fixOrientation = checkField("Fix the orientation", false, (on) => { if (this.drag) this.drag.fixedOrientation = on; });
  private readonly show = checkField("Velocity ellipsoid", false, () => this.refresh());
  private readonly pose = PARTS.map((part) => number(`Pose of the end effector, ${part}`, () => {}));
  private readonly matrix = matrixOf("Pose of the end effector in the world");
  private readonly meter = element("meter", { min: "0", max: "1", low: "0.05", "aria-label": "Smallest by largest singular value" });
  private readonly note = element("p", { role: "status" });
  private readonly error = element("p", { class: "hint", role: "status" });
  private readonly sliders = element("div", {});
  private readonly target = PARTS.map((c) => number(`Target, ${c}`, () => {}));
  private readonly withOrientation = checkField("with orientation", false, () => this.target.slice(3).forEach((each) => { each.disabled = !this.withOrientation.input.checked; }));
  private readonly found = element("div", { "aria-live": "polite" });
  private drag: Drag | null = null;
  private about: About | null = null;
  private waiting = false;

  constructor(private readonly studio: Studio, private readonly postures: Postures) {
    offer(this.gizmo.select, [{ value: "none", text: "none: drag bodies" }, { value: "translate", text: "arrows: move" }, { value: "rotate", text: "rings: rotate" }]);
    this.pose.forEach((each, i) => each.addEventListener("input", () => this.applyPose(i)));
    this.target.slice(3).forEach((each) => { each.disabled = true; });
    const add = wordButton("Add this posture", () => postures.add(), "Adds it to the postures of the page Trajectory");
    this.root = element("div", { class: "robot" },
      element("p", { class: "hint" }, "Drag a body on the stage: the mechanism follows, with closed loops and joint limits. Shift+drag rotates the view."),
      element("div", { class: "row" }, this.body.root, element("label", {}, "Point ", ...this.point), add),
      element("div", { class: "row" }, this.gizmo.root, this.fixOrientation.root), this.error,
      element("h3", {}, "Pose of the end effector: position, and angles in °"),
      element("div", { class: "pose" }, ...this.pose.map((each, i) => element("label", {}, PARTS[i], each))),
      element("details", {}, element("summary", {}, "As a matrix"), this.matrix.root),
      element("div", { class: "meter" }, this.meter, helpFor(studio, "manipulability"), this.show.root), this.note,
      this.sliders, this.inverseKinematicsForm());
    new ResizeObserver(() => this.setVisible(this.root.clientWidth > 0)).observe(this.root);
    studio.stageView.watch((shown) => this.begin(shown));
    studio.draft.watch(() => { this.about = null; if (this.root.clientWidth) void this.load(); });
  }

  /** Dragging is enabled while the page is visible. */
  private setVisible(on: boolean): void {
    if (on === (this.drag !== null)) return;
    this.begin(this.studio.stageView.shown);
    if (on) void this.load();
  }

  private async load(): Promise<void> {
    const { draft, connection } = this.studio;
    if (!draft.described.scene || this.about) return;
    const { text } = draft;
    const about = await connection.request<About>("robot", { text }).result.catch(() => null);
    if (!about || draft.text !== text) return;
    this.about = about;
    if (this.drag) this.drag.limits = about.limits;
  }

  private begin(shown: Shown | null): void {
    this.drag?.end();
    this.drag = null;
    if (!shown || !this.root.clientWidth) return;
    const { scene, mechanism, player } = shown, names = scene.bodies.slice(1).map(({ name }) => name).filter((name) => name !== "payload");
    const before = this.body.select.value;
    offer(this.body.select, names.map((name) => ({ value: name, text: name })));
    if (!names.includes(before)) this.suggest(shown, names);
    this.drag = new Drag(shown, mechanism.bodyIndex(this.body.select.value), this.point.map((each) => Number(each.value)), (error) => this.showError(error));
    this.drag.fixedOrientation = this.fixOrientation.input.checked;
    this.drag.limits = this.about?.limits ?? {};
    this.drag.setGizmo(this.gizmo.select.value as Gizmo);
    this.sliders.replaceChildren(new Sliders(mechanism, player).root);
    mechanism.watch(() => { if (this.studio.stageView.shown === shown) this.soon(); });
    this.refresh();
  }

  /** Default end effector: the frame of the last link of a DH table, otherwise the point of a trail. */
  private suggest({ scene }: Shown, names: string[]): void {
    const table = /^\s*convention\s*=\s*"m?dh"/m.test(this.studio.draft.text), trail = scene.trails[0];
    const point = table || !trail ? [0, 0, 0] : trail.point;
    this.body.select.value = table || !trail ? names[names.length - 1] : trail.body;
    this.point.forEach((each, i) => { each.value = String(Number(point[i].toPrecision(6))); });
  }

  private renew(): void {
    const { shown } = this.studio.stageView;
    if (shown) this.drag?.select(shown.mechanism.bodyIndex(this.body.select.value), this.point.map((each) => Number(each.value)));
    this.refresh();
  }

  private showError(error: number): void {
    const unit = this.studio.stageView.shown?.scene.view.unit ?? 1;
    this.error.textContent = error > 1e-3 * unit ? `The target is out of reach by ${formatNumber(error, 3)}.` : "";
  }

  /** Refreshes once per displayed frame. */
  private soon(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.refresh(); });
  }

  private refresh(): void {
    if (!this.drag || !this.root.clientWidth) { this.drag?.draw(null); return; }
    this.postures.hand = { body: this.body.select.value, point: this.point.map((each) => Number(each.value)) };
    const { position, rotation: R } = this.drag.target.pose(), angles = anglesOf(R).map((x) => x * DEGREES);
    const unit = this.studio.stageView.shown?.scene.view.unit ?? 1;
    [...position, ...angles].forEach((x, i) => {
      const field = this.pose[i];
      if (document.activeElement === field && Math.abs(Number(field.value) - x) < (i < 3 ? 1e-4 * unit : 0.01)) return; // the user is typing
      field.step = i < 3 ? String(10 ** Math.floor(Math.log10(unit / 20))) : "1";
      if (document.activeElement !== field || this.studio.stageView.shown?.player.playing) field.value = String(Number(x.toFixed(i < 3 ? 5 : 3)));
    });
    this.matrix.show([[R[0], R[1], R[2], position[0]], [R[3], R[4], R[5], position[1]], [R[6], R[7], R[8], position[2]], [0, 0, 0, 1]]);
    const found = this.drag.target.manipulability(), near = found.smallest < NEAR;
    this.meter.value = Math.min(1, found.smallest);
    this.note.className = near ? "near" : "";
    this.note.textContent = near
      ? `Singular configuration: the end effector cannot move in some direction (σ min / σ max = ${formatNumber(found.smallest, 2)}).`
      : `Manipulability ${formatNumber(found.product, 3)}, σ min / σ max = ${formatNumber(found.smallest, 2)} (${found.about} of the end effector).`;
    this.drag.draw(this.show.input.checked ? found : null);
    this.drag.follow();
  }

  /** Moves the end effector to the entered pose. */
  private applyPose(index: number): void {
    const values = this.pose.map((each) => Number(each.value));
    if (!this.drag || !values.every(Number.isFinite) || this.pose[index].value === "") return;
    this.studio.stageView.shown?.player.pause();
    const rotates = index > 2 || this.fixOrientation.input.checked;
    this.showError(this.drag.moveTo(values.slice(0, 3), rotates ? rotationOf(values.slice(3).map((x) => x / DEGREES)) : undefined));
  }

  private inverseKinematicsForm(): HTMLElement {
    const here = wordButton("Current pose", () => this.pose.forEach((each, i) => { this.target[i].value = each.value; }));
    const go = wordButton("Solve", () => { void this.reach(); });
    return element("fieldset", {}, element("legend", {}, "Inverse kinematics"),
      element("div", { class: "row" }, element("label", {}, "x y z ", ...this.target.slice(0, 3)), here),
      element("div", { class: "row" }, this.withOrientation.root, element("label", {}, "roll pitch yaw, ° ", ...this.target.slice(3)), go), this.found);
  }

  private async reach(): Promise<void> {
    const { studio } = this, { shown } = studio.stageView, values = this.target.map((each) => Number(each.value));
    if (!shown) return;
    const start = Object.fromEntries(shown.scene.coordinates.map(({ name }, i) => [name, shown.mechanism.state[i]]));
    const parameters = {
      text: studio.draft.text, body: this.body.select.value, point: this.point.map((each) => Number(each.value)), position: values.slice(0, 3), start, branches: true,
      ...(this.withOrientation.input.checked ? { angles: values.slice(3).map((x) => x / DEGREES) } : {}),
    };
    const found = await studio.work<Reached>("Inverse kinematics", (onProgress) => studio.connection.request("inverse_kinematics", parameters, onProgress));
    if (!found) return;
    const go = (posture: Record<string, number>): void => {
      shown.player.pause();
      shown.mechanism.setCoordinates(shown.scene.coordinates.map(({ name }, i) => posture[name] ?? shown.mechanism.state[i]));
    };
    if (found.reached) go(found.postures[0]);
    const items = found.postures.map((posture, i) => element("li", {}, wordButton(
      `Posture ${i + 1}: ${Object.entries(posture).map(([name, x]) => `${name} = ${formatNumber(x)}`).join(", ")}`, () => go(posture))));
    this.found.replaceChildren(element("p", {}, [found.message, found.singular, found.reason].filter(Boolean).join(" ")), element("ul", { class: "branches" }, ...(found.reached ? items : [])));
  }
}

function number(label: string, changed: () => void): HTMLInputElement {
  const made = element("input", { type: "number", step: "any", value: "0", "aria-label": label });
  made.addEventListener("change", changed);
  return made;
}
