// Linear modes about a state: a table, and an animation of each mode.

import type { SceneData } from "../../data";
import { element, formatNumber } from "../../dom";
import type { Studio } from "../studio";
import { checkField, wordButton } from "./fields";
import type { Found } from "./equilibria";
import type { Setup } from "./setup";

interface Mode { eigenvalue: [number, number]; frequency: number; hertz: number; damping_ratio: number; moves: string }
interface Answer { kind: string; reason: string; stable: boolean | null; decoupled_states: string[]; modes: Mode[] }

const HEAD = ["", "ω [rad/s]", "f [Hz]", "damping ratio", "λ", "moves"];

export class Modes {
  private readonly words = element("p", { class: "hint", role: "status" });
  private readonly body = element("tbody", {});
  private readonly table = element("table", { class: "modes" }, element("thead", {}, element("tr", {}, ...HEAD.map((each) => element("th", {}, each)))), this.body);
  private readonly moving = checkField("Linearize about any state (default: only equilibria and steady motions)", false, () => {});
  private readonly size = element("input", { type: "range", min: "0.02", max: "1", step: "any", value: "0.3", "aria-label": "Amplitude of the animation" });
  private readonly button = wordButton("Linear modes", () => void this.find());
  readonly root = element("section", { class: "linear", "aria-label": "Linear modes" },
    element("div", { class: "go" }, this.button, element("label", { class: "size" }, "Amplitude ", this.size)), this.moving.root, this.words, this.table);
  private state: Found | null = null;
  private shown = -1;
  private scene: SceneData | null = null;

  constructor(private readonly studio: Studio, private readonly setup: Setup) {
    this.about(null);
    this.size.addEventListener("input", () => this.size.style.setProperty("--part", `${100 * Number(this.size.value)}%`));
    this.size.addEventListener("change", () => { if (this.shown >= 0) void this.show(this.shown); });
    this.size.style.setProperty("--part", "30%");
  }

  /** Sets the state: an equilibrium, or the initial state of the model. */
  about(found: Found | null): void {
    this.state = found;
    this.shown = -1;
    this.button.textContent = found ? "Linear modes at this equilibrium" : "Linear modes at the initial state";
    this.words.textContent = "";
    this.table.hidden = true;
  }

  private get parameters(): object {
    const { text, parameters } = this.setup.parameters;
    return { text, parameters, start: this.state?.q ?? {}, rate: this.state?.qd ?? {}, moving: this.moving.input.checked };
  }

  private async find(): Promise<void> {
    const { studio } = this;
    const found = await studio.work<Answer>("Modes", (onProgress) => studio.connection.request("modes", this.parameters, onProgress));
    if (!found) return;
    const stable = found.stable === null ? "not decided by the linearization" : found.stable ? "stable" : "unstable";
    const decoupled = found.decoupled_states.length ? ` Decoupled states: ${found.decoupled_states.join(", ")}.` : "";
    this.words.textContent = `Operating point: ${found.kind}. ${found.reason} Stability: ${stable}.${decoupled} Select a mode to animate it.`;
    this.table.hidden = false;
    this.body.replaceChildren(...found.modes.map((mode, i) => this.row(mode, i)));
  }

  private row({ eigenvalue: [re, im], frequency, hertz, damping_ratio, moves }: Mode, i: number): HTMLElement {
    const show = element("button", { type: "button", class: "word", "aria-pressed": "false", "data-mode": String(i) }, `Show ${i + 1}`);
    show.addEventListener("click", () => void this.show(i));
    const value = im ? `${formatNumber(re, 3)} ± ${formatNumber(Math.abs(im), 3)} i` : formatNumber(re, 3);
    return element("tr", {}, element("td", {}, show), ...[formatNumber(frequency), formatNumber(hertz), formatNumber(damping_ratio, 3), value, moves].map((each) => element("td", {}, each)));
  }

  private async show(index: number): Promise<void> {
    const { studio } = this;
    const found = await studio.work<{ scene: SceneData }>("Mode", (onProgress) => studio.connection.request("mode", { ...this.parameters, mode: index, size: Number(this.size.value) }, onProgress));
    if (!found?.scene.run) return;
    this.shown = index;
    const { shown } = studio.stageView, again = this.scene !== null && shown?.mechanism.scene === this.scene && shown.mechanism.fits(found.scene);
    this.scene = found.scene;
    if (again) shown.mechanism.replaceScene(found.scene);
    else studio.stageView.show(found.scene);
    for (const each of this.body.querySelectorAll<HTMLButtonElement>("[data-mode]")) each.setAttribute("aria-pressed", String(each.dataset["mode"] === String(index)));
  }
}
