// Linear modes about a state: a table, and each of them as a film on the stage.

import type { SceneData } from "../../data";
import { element, written } from "../../dom";
import type { Studio } from "../studio";
import { checkField, wordButton } from "./fields";
import type { Found } from "./rest";
import type { Setup } from "./setup";

interface Mode { eigenvalue: [number, number]; frequency: number; hertz: number; damping_ratio: number; moves: string }
interface Answer { kind: string; reason: string; stable: boolean | null; followers: string[]; modes: Mode[] }

const HEAD = ["", "ω [rad/s]", "f [Hz]", "damping ratio", "λ", "moves"];

export class Modes {
  private readonly words = element("p", { class: "hint", role: "status" });
  private readonly body = element("tbody", {});
  private readonly table = element("table", { class: "modes" }, element("thead", {}, element("tr", {}, ...HEAD.map((each) => element("th", {}, each)))), this.body);
  private readonly moving = checkField("Also about a state that is neither, for the moment", false, () => {});
  private readonly size = element("input", { type: "range", min: "0.02", max: "1", step: "any", value: "0.3", "aria-label": "Size of the motion that is shown" });
  private readonly ask = wordButton("Linear modes", () => void this.find());
  readonly root = element("section", { class: "linear", "aria-label": "Linear modes" },
    element("div", { class: "go" }, this.ask, element("label", { class: "size" }, "Size ", this.size)), this.moving.root, this.words, this.table);
  private state: Found | null = null;
  private shown = -1;
  private scene: SceneData | null = null;

  constructor(private readonly studio: Studio, private readonly setup: Setup) {
    this.about(null);
    this.size.addEventListener("input", () => this.size.style.setProperty("--part", `${100 * Number(this.size.value)}%`));
    this.size.addEventListener("change", () => { if (this.shown >= 0) void this.show(this.shown); });
    this.size.style.setProperty("--part", "30%");
  }

  /** The state that modes are asked about: what was found, or the start of the model. */
  about(found: Found | null): void {
    this.state = found;
    this.shown = -1;
    this.ask.textContent = found ? "Linear modes there" : "Linear modes about the start";
    this.words.textContent = "";
    this.table.hidden = true;
  }

  private get given(): object {
    const { text, parameters } = this.setup.given;
    return { text, parameters, start: this.state?.q ?? {}, rate: this.state?.qd ?? {}, moving: this.moving.input.checked };
  }

  private async find(): Promise<void> {
    const { studio } = this;
    const found = await studio.work<Answer>("Modes", (tell) => studio.link.ask("modes", this.given, tell));
    if (!found) return;
    const stable = found.stable === null ? "not decided by the linear equations" : found.stable ? "stable" : "unstable";
    const follow = found.followers.length ? ` ${found.followers.join(", ")} only follow.` : "";
    this.words.textContent = `About: ${found.kind}. ${found.reason} It is ${stable}.${follow} Choose a mode to see it move.`;
    this.table.hidden = false;
    this.body.replaceChildren(...found.modes.map((mode, i) => this.row(mode, i)));
  }

  private row({ eigenvalue: [re, im], frequency, hertz, damping_ratio, moves }: Mode, i: number): HTMLElement {
    const show = element("button", { type: "button", class: "word", "aria-pressed": "false", "data-mode": String(i) }, `Show ${i + 1}`);
    show.addEventListener("click", () => void this.show(i));
    const value = im ? `${written(re, 3)} ± ${written(Math.abs(im), 3)} i` : written(re, 3);
    return element("tr", {}, element("td", {}, show), ...[written(frequency), written(hertz), written(damping_ratio, 3), value, moves].map((each) => element("td", {}, each)));
  }

  private async show(index: number): Promise<void> {
    const { studio } = this;
    const found = await studio.work<{ scene: SceneData }>("Mode", (tell) => studio.link.ask("mode", { ...this.given, mode: index, size: Number(this.size.value) }, tell));
    if (!found?.scene.run) return;
    this.shown = index;
    const { shown } = studio.theatre, again = this.scene !== null && shown?.mechanism.scene === this.scene && shown.mechanism.fits(found.scene);
    this.scene = found.scene;
    if (again) shown.mechanism.renew(found.scene);
    else studio.theatre.show(found.scene);
    for (const each of this.body.querySelectorAll<HTMLButtonElement>("[data-mode]")) each.setAttribute("aria-pressed", String(each.dataset["mode"] === String(index)));
  }
}
