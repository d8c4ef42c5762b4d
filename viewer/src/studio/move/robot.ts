// As a robot: where the hand is, how well it can move, and postures for a target that is dragged or typed.

import { element, written } from "../../dom";
import { Sliders } from "../../sliders";
import { helpFor } from "../help";
import { matrixOf } from "../robot/matrices";
import type { Room, Studio } from "../studio";
import type { Shown } from "../theatre";
import { Drag, type Gizmo } from "./drag";
import { checkField, choiceField, offer, wordButton } from "./fields";
import { anglesOf, rotationOf, type Limits } from "./hand";
import type { Postures } from "./waypoints";

interface About { limits: Limits; body: string; driven: string[] }
interface Reached { reached: boolean; message: string; singular: string; manipulability: number; postures: Record<string, number>[]; why: string }

const NEAR = 0.02; // smallest by largest singular value, below which a posture is called singular
const DEGREES = 180 / Math.PI, PARTS = ["x", "y", "z", "roll", "pitch", "yaw"];

export function robotPage(studio: Studio, postures: Postures): Room {
  return { title: "Robot", content: new RobotPage(studio, postures).root };
}

class RobotPage {
  readonly root: HTMLElement;
  private readonly body = choiceField("Hand", () => this.renew());
  private readonly point = ["x", "y", "z"].map((c) => number(`Point in axes of the hand, ${c}`, () => this.renew()));
  private readonly gizmo = choiceField("Handle at the hand", (kind) => this.drag?.use(kind as Gizmo));
  private readonly hold = checkField("Keep its orientation", false, (on) => { if (this.drag) this.drag.hold = on; });
  private readonly show = checkField("Ellipsoid of velocities", false, () => this.refresh());
  private readonly pose = PARTS.map((part) => number(`Pose of the hand, ${part}`, () => {}));
  private readonly matrix = matrixOf("Pose of the hand in the world");
  private readonly meter = element("meter", { min: "0", max: "1", low: "0.05", "aria-label": "Smallest by largest singular value" });
  private readonly note = element("p", { role: "status" });
  private readonly left = element("p", { class: "hint", role: "status" });
  private readonly sliders = element("div", {});
  private readonly target = PARTS.map((c) => number(`Target, ${c}`, () => {}));
  private readonly turned = checkField("with orientation", false, () => this.target.slice(3).forEach((each) => { each.disabled = !this.turned.input.checked; }));
  private readonly found = element("div", { "aria-live": "polite" });
  private drag: Drag | null = null;
  private about: About | null = null;
  private waiting = false;

  constructor(private readonly studio: Studio, private readonly postures: Postures) {
    offer(this.gizmo.select, [{ value: "none", text: "none: drag bodies" }, { value: "translate", text: "arrows: move" }, { value: "rotate", text: "rings: turn" }]);
    this.pose.forEach((each, i) => each.addEventListener("input", () => this.steer(i)));
    this.target.slice(3).forEach((each) => { each.disabled = true; });
    const keep = wordButton("Keep this posture", () => postures.keep(), "Adds it to the postures of the page Trajectory");
    this.root = element("div", { class: "robot" },
      element("p", { class: "hint" }, "Drag a body on the stage: the others follow, loops stay closed, limits are kept. With Shift the view turns instead."),
      element("div", { class: "row" }, this.body.root, element("label", {}, "Point ", ...this.point), keep),
      element("div", { class: "row" }, this.gizmo.root, this.hold.root), this.left,
      element("h3", {}, "Pose of the hand: positions, and angles in °"),
      element("div", { class: "pose" }, ...this.pose.map((each, i) => element("label", {}, PARTS[i], each))),
      element("details", {}, element("summary", {}, "As a matrix"), this.matrix.root),
      element("div", { class: "meter" }, this.meter, helpFor(studio, "manipulability"), this.show.root), this.note,
      this.sliders, this.reaching());
    new ResizeObserver(() => this.seen(this.root.clientWidth > 0)).observe(this.root);
    studio.theatre.watch((shown) => this.begin(shown));
    studio.draft.watch(() => { this.about = null; if (this.root.clientWidth) void this.ask(); });
  }

  /** The stage listens as long as the page is seen. */
  private seen(on: boolean): void {
    if (on === (this.drag !== null)) return;
    this.begin(this.studio.theatre.shown);
    if (on) void this.ask();
  }

  private async ask(): Promise<void> {
    const { draft, link } = this.studio;
    if (!draft.described.scene || this.about) return;
    const { text } = draft;
    const about = await link.ask<About>("robot", { text }).answer.catch(() => null);
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
    this.drag = new Drag(shown, mechanism.bodyIndex(this.body.select.value), this.point.map((each) => Number(each.value)), (left) => this.tell(left));
    this.drag.hold = this.hold.input.checked;
    this.drag.limits = this.about?.limits ?? {};
    this.drag.use(this.gizmo.select.value as Gizmo);
    this.sliders.replaceChildren(new Sliders(mechanism, player).root);
    mechanism.watch(() => { if (this.studio.theatre.shown === shown) this.soon(); });
    this.refresh();
  }

  /** The end of the chain: the frame of the last link of a table, else where a trail begins. */
  private suggest({ scene }: Shown, names: string[]): void {
    const table = /^\s*convention\s*=\s*"m?dh"/m.test(this.studio.draft.text), trail = scene.trails[0];
    const point = table || !trail ? [0, 0, 0] : trail.point;
    this.body.select.value = table || !trail ? names[names.length - 1] : trail.body;
    this.point.forEach((each, i) => { each.value = String(Number(point[i].toPrecision(6))); });
  }

  private renew(): void {
    const { shown } = this.studio.theatre;
    if (shown) this.drag?.take(shown.mechanism.bodyIndex(this.body.select.value), this.point.map((each) => Number(each.value)));
    this.refresh();
  }

  private tell(left: number): void {
    const unit = this.studio.theatre.shown?.scene.view.unit ?? 1;
    this.left.textContent = left > 1e-3 * unit ? `The target is out of reach by ${written(left, 3)}.` : "";
  }

  /** Once for all changes before the next picture. */
  private soon(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.refresh(); });
  }

  private refresh(): void {
    if (!this.drag || !this.root.clientWidth) { this.drag?.draw(null); return; }
    this.postures.hand = { body: this.body.select.value, point: this.point.map((each) => Number(each.value)) };
    const { position, rotation: R } = this.drag.at.pose(), angles = anglesOf(R).map((x) => x * DEGREES);
    const unit = this.studio.theatre.shown?.scene.view.unit ?? 1;
    [...position, ...angles].forEach((x, i) => {
      const field = this.pose[i];
      if (document.activeElement === field && Math.abs(Number(field.value) - x) < (i < 3 ? 1e-4 * unit : 0.01)) return; // as it was typed
      field.step = i < 3 ? String(10 ** Math.floor(Math.log10(unit / 20))) : "1";
      if (document.activeElement !== field || this.studio.theatre.shown?.player.playing) field.value = String(Number(x.toFixed(i < 3 ? 5 : 3)));
    });
    this.matrix.show([[R[0], R[1], R[2], position[0]], [R[3], R[4], R[5], position[1]], [R[6], R[7], R[8], position[2]], [0, 0, 0, 1]]);
    const ability = this.drag.at.ability(), near = ability.smallest < NEAR;
    this.meter.value = Math.min(1, ability.smallest);
    this.note.className = near ? "near" : "";
    this.note.textContent = near
      ? `Singular posture: there is a direction in which the hand cannot go now (σ min / σ max = ${written(ability.smallest, 2)}).`
      : `Manipulability ${written(ability.product, 3)}, σ min / σ max = ${written(ability.smallest, 2)} (${ability.about} of the hand).`;
    this.drag.draw(this.show.input.checked ? ability : null);
    this.drag.follow();
  }

  /** The hand follows a number that is typed or stepped: a position moves it, an angle turns it where it is. */
  private steer(index: number): void {
    const values = this.pose.map((each) => Number(each.value));
    if (!this.drag || !values.every(Number.isFinite) || this.pose[index].value === "") return;
    this.studio.theatre.shown?.player.pause();
    const turned = index > 2 || this.hold.input.checked;
    this.tell(this.drag.go(values.slice(0, 3), turned ? rotationOf(values.slice(3).map((x) => x / DEGREES)) : undefined));
  }

  private reaching(): HTMLElement {
    const here = wordButton("As it is now", () => this.pose.forEach((each, i) => { this.target[i].value = each.value; }));
    const go = wordButton("Go there", () => { void this.reach(); });
    return element("fieldset", {}, element("legend", {}, "Inverse kinematics of a typed pose"),
      element("div", { class: "row" }, element("label", {}, "x y z ", ...this.target.slice(0, 3)), here),
      element("div", { class: "row" }, this.turned.root, element("label", {}, "roll pitch yaw, ° ", ...this.target.slice(3)), go), this.found);
  }

  private async reach(): Promise<void> {
    const { studio } = this, { shown } = studio.theatre, values = this.target.map((each) => Number(each.value));
    if (!shown) return;
    const start = Object.fromEntries(shown.scene.coordinates.map(({ name }, i) => [name, shown.mechanism.state[i]]));
    const given = {
      text: studio.draft.text, body: this.body.select.value, point: this.point.map((each) => Number(each.value)), position: values.slice(0, 3), start, branches: true,
      ...(this.turned.input.checked ? { turn: values.slice(3).map((x) => x / DEGREES) } : {}),
    };
    const found = await studio.work<Reached>("Inverse kinematics", (tell) => studio.link.ask("reach", given, tell));
    if (!found) return;
    const go = (posture: Record<string, number>): void => {
      shown.player.pause();
      shown.mechanism.place(shown.scene.coordinates.map(({ name }, i) => posture[name] ?? shown.mechanism.state[i]));
    };
    if (found.reached) go(found.postures[0]);
    const items = found.postures.map((posture, i) => element("li", {}, wordButton(
      `Posture ${i + 1}: ${Object.entries(posture).map(([name, x]) => `${name} = ${written(x)}`).join(", ")}`, () => go(posture))));
    this.found.replaceChildren(element("p", {}, [found.message, found.singular, found.why].filter(Boolean).join(" ")), element("ul", { class: "branches" }, ...(found.reached ? items : [])));
  }
}

function number(label: string, changed: () => void): HTMLInputElement {
  const made = element("input", { type: "number", step: "any", value: "0", "aria-label": label });
  made.addEventListener("change", changed);
  return made;
}
