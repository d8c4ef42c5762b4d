// Where the model rests or goes on steadily: what was found, on the stage and with its forces, and its modes.

import type { SceneData } from "../../data";
import { element, written } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Room, Studio } from "../studio";
import { checkField, numberField, section, wordButton } from "./fields";
import { Modes } from "./modes";
import type { Setup } from "./setup";

export interface Found { kind: string; q: Record<string, number>; qd: Record<string, number>; stability: string; reason: string; tables: string }
interface Equilibria { found: Found[]; left_out: number; scene: SceneData | null }

const FEW = 6; // coordinates in the line of an equilibrium

export function restPage(studio: Studio, setup: Setup): Room {
  const { link, theatre } = studio;
  const list = element("ol", { class: "found", "aria-label": "Positions of rest" }), details = element("div", { class: "prose" });
  const said = element("p", { class: "hint", role: "status" }), modes = new Modes(studio, setup);
  const starts = numberField("Starts", () => {}), steady = new Steady(setup);
  starts.input.value = "30";
  const near = checkField("Look around the position on the stage, not around the start of the text", false, () => {});
  let scene: SceneData | null = null;

  const choose = (found: Found, row: HTMLElement | null): void => {
    for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === row));
    if (scene) {
      if (theatre.shown?.scene !== scene) theatre.show(scene);
      const { mechanism } = theatre.shown!;
      mechanism.place(mechanism.scene.coordinates.map(({ name }, i) => found.q[name] ?? mechanism.state[i]));
    }
    details.replaceChildren(htmlOf(found.tables));
    modes.about(found);
  };

  const find = async (): Promise<void> => {
    const { shown } = theatre, { text, parameters } = setup.given;
    const start = near.input.checked && shown ? Object.fromEntries(shown.mechanism.scene.coordinates.map(({ name }, i) => [name, shown.mechanism.state[i]])) : {};
    const given = { text, parameters, start, starts: Number(starts.input.value) || 0, ...steady.given };
    const answer = await studio.work<Equilibria>("Positions of rest", (tell) => link.ask("equilibria", given, tell));
    if (!answer) return;
    ({ scene } = answer);
    const { found, left_out } = answer, counted = found.length + left_out;
    said.textContent = `${counted} ${counted === 1 ? "was" : "were"} found, the nearest to the start first. From random starts a rare one can be missed.`;
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
    said.textContent = "";
    modes.about(null);
  });
  const content = element("div", { class: "move" },
    element("div", { class: "go" }, element("div", { class: "asks" }, starts.root), wordButton("Find positions of rest", () => void find(), "", "primary"), helpFor(studio, "equilibrium"), helpFor(studio, "modes")),
    near.root, steady.root, said, list, details, modes.root);
  return { title: "Rest", content };
}

function lineOf({ q, qd }: Found): string {
  const all = [...Object.entries(q), ...Object.entries(qd).filter(([, x]) => x).map(([name, x]) => [`dot(${name})`, x] as [string, number])];
  return all.slice(0, FEW).map(([name, x]) => `${name} = ${written(x)}`).join(", ") + (all.length > FEW ? ", …" : "");
}

/** Coordinates that are kept or go on with a constant rate, and what is sought in place of holding forces. */
class Steady {
  private readonly rows = element("tbody", {});
  private readonly sought = element("div", { class: "chips", role: "group", "aria-label": "Sought" });
  readonly root = section("Held coordinates and steady motions", false,
    element("table", { class: "start" }, element("thead", {}, element("tr", {}, ...["Coordinate", "Keep", "Constant rate"].map((word) => element("th", {}, word)))), this.rows),
    element("p", { class: "hint" }, "What is kept is held by a force that is told. Choose as many below, and these are found in place of the forces: parameters, or rates of coordinates."),
    this.sought);
  private keep = new Set<string>();
  private seek = new Set<string>();
  private speeds: Record<string, number> = {};
  private shown = "";

  constructor(setup: Setup) {
    setup.watch(() => {
      const { coordinates = [], parameters = [] } = setup.choices ?? {}, names = JSON.stringify([coordinates, parameters].map((all) => all.map(({ name }) => name)));
      if (names === this.shown) return;
      this.shown = names;
      Object.assign(this, { keep: new Set(), seek: new Set(), speeds: {} });
      this.rows.replaceChildren(...coordinates.map(({ name, unit }) => this.row(name, unit)));
      this.sought.replaceChildren(...[...coordinates, ...parameters].map(({ name }, i) => this.chip(name, i < coordinates.length)));
    });
  }

  get given(): object { return { keep: [...this.keep], seek: [...this.seek], speeds: this.speeds }; }

  private row(name: string, unit: string): HTMLElement {
    const keep = element("input", { type: "checkbox", "aria-label": `Keep ${name}` });
    const rate = element("input", { type: "number", step: "any", placeholder: "rests", "aria-label": `Constant rate of ${name}${unit ? ` in ${unit}/s` : ""}` });
    keep.addEventListener("change", () => { if (keep.checked) this.keep.add(name); else this.keep.delete(name); });
    rate.addEventListener("change", () => { if (rate.value === "") delete this.speeds[name]; else this.speeds[name] = Number(rate.value); });
    return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, keep), element("td", {}, rate));
  }

  private chip(name: string, coordinate: boolean): HTMLElement {
    const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false" }, coordinate ? `rate of ${name}` : name);
    chip.addEventListener("click", () => {
      const on = !this.seek.delete(name);
      if (on) this.seek.add(name);
      chip.setAttribute("aria-pressed", String(on));
    });
    return chip;
  }
}
