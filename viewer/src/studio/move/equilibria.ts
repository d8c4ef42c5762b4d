// Equilibria and steady motions, displayed on the stage with their forces, and their linear modes.

import type { SceneData } from "../../data";
import { element, formatNumber } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Tab, Studio } from "../studio";
import { checkField, numberField, section, wordButton } from "./fields";
import { Modes } from "./modes";
import type { Setup } from "./setup";

export interface Found { kind: string; q: Record<string, number>; qd: Record<string, number>; stability: string; reason: string; tables: string }
interface Equilibria { equilibria: Found[]; omitted: number; scene: SceneData | null }

const MAX_COORDINATES = 6; // in the label of an equilibrium

export function equilibriaPage(studio: Studio, setup: Setup): Tab {
  const { connection, stageView } = studio;
  const list = element("ol", { class: "found", "aria-label": "Equilibria" }), details = element("div", { class: "prose" });
  const status = element("p", { class: "hint", role: "status" }), modes = new Modes(studio, setup);
  const starts = numberField("Initial guesses", () => {}), steady = new Steady(setup);
  starts.input.value = "30";
  const near = checkField("Start the search at the configuration on the stage (default: initial state of the source)", false, () => {});
  let scene: SceneData | null = null;

  const choose = (found: Found, row: HTMLElement | null): void => {
    for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === row));
    if (scene) {
      if (stageView.shown?.scene !== scene) stageView.show(scene);
      const { mechanism } = stageView.shown!;
      mechanism.setCoordinates(mechanism.scene.coordinates.map(({ name }, i) => found.q[name] ?? mechanism.state[i]));
    }
    details.replaceChildren(htmlOf(found.tables));
    modes.about(found);
  };

  const find = async (): Promise<void> => {
    const { shown } = stageView, { text, parameters } = setup.parameters;
    const start = near.input.checked && shown ? Object.fromEntries(shown.mechanism.scene.coordinates.map(({ name }, i) => [name, shown.mechanism.state[i]])) : {};
    const task = { text, parameters, start, starts: Number(starts.input.value) || 0, ...steady.parameters };
    const answer = await studio.work<Equilibria>("Equilibria", (onProgress) => connection.request("equilibria", task, onProgress));
    if (!answer) return;
    ({ scene } = answer);
    const { equilibria: found, omitted } = answer, count = found.length + omitted;
    status.textContent = `${count} found, the nearest to the initial state first. The search uses random guesses and can miss equilibria.`;
    list.replaceChildren(...found.map((each) => {
      const row = element("button", { type: "button", class: "rest", "aria-pressed": "false" },
        element("span", { class: `badge ${each.stability}` }, each.stability), element("span", {}, lineOf(each)));
      row.addEventListener("click", () => choose(each, row));
      return element("li", {}, row);
    }));
    list.querySelector("button")?.click();
  };

  setup.watchModel(() => {
    list.replaceChildren();
    details.replaceChildren();
    status.textContent = "";
    modes.about(null);
  });
  const content = element("div", { class: "move" },
    element("div", { class: "go" }, element("div", { class: "asks" }, starts.root), wordButton("Find equilibria", () => void find(), "", "primary"), helpFor(studio, "equilibrium"), helpFor(studio, "modes")),
    near.root, steady.root, status, list, details, modes.root);
  return { title: "Equilibria", content };
}

function lineOf({ q, qd }: Found): string {
  const all = [...Object.entries(q), ...Object.entries(qd).filter(([, x]) => x).map(([name, x]) => [`dot(${name})`, x] as [string, number])];
  return all.slice(0, MAX_COORDINATES).map(([name, x]) => `${name} = ${formatNumber(x)}`).join(", ") + (all.length > MAX_COORDINATES ? ", …" : "");
}

/** Fixed coordinates, constant rates of steady motions, and unknowns instead of holding forces. */
class Steady {
  private readonly rows = element("tbody", {});
  private readonly unknownChips = element("div", { class: "chips", role: "group", "aria-label": "Unknowns" });
  readonly root = section("Fixed coordinates and steady motions", false,
    element("table", { class: "start" }, element("thead", {}, element("tr", {}, ...["Coordinate", "Fix", "Constant rate"].map((word) => element("th", {}, word)))), this.rows),
    element("p", { class: "hint" }, "For each fixed coordinate a holding force is computed. To solve for other unknowns instead of these forces, select as many parameters or rates below."),
    this.unknownChips);
  private fixed = new Set<string>();
  private unknowns = new Set<string>();
  private speeds: Record<string, number> = {};
  private shown = "";

  constructor(setup: Setup) {
    setup.watch(() => {
      const { coordinates = [], parameters = [] } = setup.options ?? {}, names = JSON.stringify([coordinates, parameters].map((all) => all.map(({ name }) => name)));
      if (names === this.shown) return;
      this.shown = names;
      Object.assign(this, { fixed: new Set(), unknowns: new Set(), speeds: {} });
      this.rows.replaceChildren(...coordinates.map(({ name, unit }) => this.row(name, unit)));
      this.unknownChips.replaceChildren(...[...coordinates, ...parameters].map(({ name }, i) => this.chip(name, i < coordinates.length)));
    });
  }

  get parameters(): object { return { fixed: [...this.fixed], unknowns: [...this.unknowns], speeds: this.speeds }; }

  private row(name: string, unit: string): HTMLElement {
    const fix = element("input", { type: "checkbox", "aria-label": `Fix ${name}` });
    const rate = element("input", { type: "number", step: "any", placeholder: "at rest", "aria-label": `Constant rate of ${name}${unit ? ` in ${unit}/s` : ""}` });
    fix.addEventListener("change", () => { if (fix.checked) this.fixed.add(name); else this.fixed.delete(name); });
    rate.addEventListener("change", () => { if (rate.value === "") delete this.speeds[name]; else this.speeds[name] = Number(rate.value); });
    return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, fix), element("td", {}, rate));
  }

  private chip(name: string, coordinate: boolean): HTMLElement {
    const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false" }, coordinate ? `rate of ${name}` : name);
    chip.addEventListener("click", () => {
      const on = !this.unknowns.delete(name);
      if (on) this.unknowns.add(name);
      chip.setAttribute("aria-pressed", String(on));
    });
    return chip;
  }
}
