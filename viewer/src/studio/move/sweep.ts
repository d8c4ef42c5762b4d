// Parameter sweeps, local or on a cluster: plots, and a file in the folder.

import uPlot from "uplot";
import { button, element } from "../../dom";
import { COLORS, optionsOf } from "../../panels";
import { htmlOf } from "../html";
import type { Tab, Studio } from "../studio";
import { checkField, choiceField, numberField, offer, section, wordButton } from "./fields";
import type { Setup } from "./setup";

interface Line { label: string; x: number[]; y: (number | null)[] }
interface Drawn { what: string; unit: string; across: string; across_unit: string; lines: Line[] }
interface Swept { runs: number; failed: number; reasons: string[]; integrator: string; files: string[]; panels: Drawn[]; tables: string }

const HEIGHT = 200;
const OPEN = "does not satisfy the constraints";
const ADVICE = "All runs start at the initial state of the source, where these values violate the loop constraints. Vary masses, loads or rates instead.";
const REDUCTIONS = ["max", "min", "final", "mean", "rms", "drift"];

export function sweepPage(studio: Studio, setup: Setup): Tab {
  const { connection } = studio;
  const vary = new Varied(studio, setup), observe = element("input", { type: "text", class: "formulas", spellcheck: "false", list: "sweep-formulas", "aria-label": "Observed formulas, separated by commas" });
  const known = element("datalist", { id: "sweep-formulas" });
  const kind = choiceField("Sampling", (value) => { runs.root.hidden = seed.root.hidden = value === "grid"; vary.showCounts(value === "grid"); });
  const runs = numberField("Runs", () => {}), seed = numberField("Seed", () => {});
  const format = choiceField("File", () => {}), picture = checkField("and a plot (SVG)", false, () => {});
  const cluster = element("input", { type: "text", placeholder: "tcp://10.0.0.1:8786", "aria-label": "Address of a Dask scheduler" });
  const output = element("div", { class: "swept" });
  offer(kind.select, [{ value: "grid", text: "grid" }, { value: "sobol", text: "Sobol sequence" }, { value: "random", text: "random" }]);
  offer(format.select, [{ value: "csv", text: "CSV" }, { value: "nc", text: "NetCDF" }]);
  runs.input.value = "256";
  seed.input.value = "0";
  runs.root.hidden = seed.root.hidden = true;
  let model = "";

  setup.watch(() => {
    const { coordinates = [] } = setup.options ?? {}, names = coordinates.map(({ name }) => name);
    known.replaceChildren(...[...names, "energy"].flatMap((name) => REDUCTIONS.map((word) => element("option", { value: `${word}(${name})` }))));
    if (studio.draft.name === model) return;
    model = studio.draft.name;
    observe.value = names.length ? `max(${names[0]}), max(kinetic)` : "";
    output.replaceChildren();
  });

  const go = async (): Promise<void> => {
    const { text, parameters, start, rate, duration, samples, formalism, integrator } = setup.parameters;
    const task = {
      text, parameters, start, rate, duration, samples, formalism, integrator, vary: vary.rows, observe: split(observe.value).map((formula) => ({ formula })),
      kind: kind.select.value, runs: Number(runs.input.value), seed: Number(seed.input.value), format: format.select.value,
      picture: picture.input.checked, cluster: cluster.value.trim(),
    };
    const found = await studio.work<Swept>("Sweep", (onProgress) => connection.request("sweep", task, onProgress));
    if (found) show(output, found);
  };

  const content = element("div", { class: "move" },
    element("p", { class: "hint" }, "Simulates the model for many values; all other settings are those under Simulate."),
    vary.root, element("label", { class: "ask wide" }, element("span", { class: "label" }, "Observe, separated by commas"), observe), known,
    element("div", { class: "asks" }, kind.root, runs.root, seed.root, format.root), picture.root,
    section("On a cluster", false, element("p", { class: "hint" }, "Address of a Dask scheduler; empty: all cores of this machine."), cluster),
    element("div", { class: "go" }, wordButton("Run the sweep", () => void go(), "", "primary")), output);
  return { title: "Sweep", content };
}

/** Splits formulas at commas outside of parentheses. */
export function split(text: string): string[] {
  let depth = 0;
  const parts = [""];
  for (const sign of text) {
    depth += sign === "(" ? 1 : sign === ")" ? -1 : 0;
    if (sign === "," && depth <= 0) parts.push("");
    else parts[parts.length - 1] += sign;
  }
  return parts.map((each) => each.trim()).filter((each) => each);
}

function show(output: HTMLElement, { runs, failed, reasons, integrator, files, panels, tables }: Swept): void {
  const links = files.map((name) => element("a", { href: `files/${encodeURIComponent(name)}`, download: name }, name));
  const words = `${runs} ${runs === 1 ? "run" : "runs"}; integrator: ${integrator}. Written: `;
  output.replaceChildren(element("p", { role: "status" }, words, ...links.flatMap((each, i) => (i ? [", ", each] : [each]))));
  if (failed) output.append(section(`${failed} failed`, true, element("p", { class: "hint" }, reasons[0]), ...(reasons[0].includes(OPEN) ? [element("p", { class: "hint" }, ADVICE)] : [])));
  for (const panel of panels) draw(output, panel);
  if (tables) output.append(element("div", { class: "prose" }, htmlOf(tables)));
}

function draw(output: HTMLElement, { what, unit, across, across_unit, lines }: Drawn): void {
  const dots = lines.filter(({ label }) => label).map(({ label }, i) => {
    const dot = element("span", { class: "dot" });
    dot.style.background = COLORS[i % COLORS.length];
    return element("span", { class: "chip" }, dot, label);
  });
  const title = element("p", { class: "plot-title" }, element("b", {}, what), ` over ${across}${across_unit ? ` [${across_unit}]` : ""}`, unit ? ` in ${unit}` : "");
  const box = element("div", { class: "plot tall" });
  output.append(title, element("div", { class: "chips" }, ...dots), box);
  const showPoints = lines[0].x.length <= 40;
  const series = lines.map(({ label }, i) => ({ label, stroke: COLORS[i % COLORS.length], width: 1.6, points: { show: showPoints, size: 5 } }));
  const data = lines.every(({ x }) => x.length === lines[0].x.length && x.every((value, i) => value === lines[0].x[i]))
    ? [lines[0].x, ...lines.map(({ y }) => y)] as uPlot.AlignedData
    : uPlot.join(lines.map(({ x, y }) => [x, y] as uPlot.AlignedData));
  let plot: uPlot | null = null;
  const paint = (): void => {
    plot?.destroy();
    plot = box.clientWidth ? new uPlot({ ...optionsOf(box.clientWidth, HEIGHT), cursor: { drag: { x: false, y: false } }, series: [{}, ...series] }, data, box) : null;
  };
  new ResizeObserver(paint).observe(box);
  new MutationObserver(paint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** Varied names with their ranges. */
class Varied {
  private readonly list = element("div", { class: "varied" });
  readonly root = element("div", {}, this.list, wordButton("Add", () => this.add()));
  private entries: { name: HTMLSelectElement; low: HTMLInputElement; high: HTMLInputElement; count: HTMLInputElement; root: HTMLElement }[] = [];
  private grid = true;
  private shown = "";

  constructor(private readonly studio: Studio, private readonly setup: Setup) {
    setup.watch(() => {
      const now = JSON.stringify(this.options);
      if (now === this.shown) return;
      this.shown = now;
      for (const { root } of this.entries) root.remove();
      this.entries = [];
      this.add();
    });
  }

  get rows(): object[] {
    return this.entries.map(({ name, low, high, count }) => ({ name: name.value, low: Number(low.value), high: Number(high.value), count: Number(count.value) }));
  }

  /** Shows the number of values, which only a grid has. */
  showCounts(grid: boolean): void {
    this.grid = grid;
    for (const { count } of this.entries) count.parentElement!.hidden = !grid;
  }

  private get options(): { value: string; text: string; now: number }[] {
    const { parameters = [], coordinates = [] } = this.setup.options ?? {};
    return [...parameters.map(({ name, value }) => ({ value: name, text: name, now: value })),
      ...coordinates.map(({ name, start }) => ({ value: name, text: `${name}, initial value`, now: start })),
      ...coordinates.map(({ name, rate }) => ({ value: `dot(${name})`, text: `dot(${name}), initial value`, now: rate }))];
  }

  /** Suggested name: the first one not varied yet; in a model with loops a mass, because lengths would open the loops. */
  private suggestion(options: { value: string }[]): string {
    const used = new Set(this.entries.map(({ name }) => name.value)), free = options.filter(({ value }) => !used.has(value));
    const mass = this.studio.draft.described.scene?.closure ? this.setup.options?.parameters.find(({ unit, name }) => unit === "kg" && !used.has(name)) : undefined;
    return mass?.name ?? free[0]?.value ?? options[0].value;
  }

  private add(): void {
    const { options } = this;
    if (!options.length) return;
    const name = choiceField("Vary", () => fill()), low = numberField("from", () => {}), high = numberField("to", () => {}), count = numberField("values", () => {});
    const away = button("Remove", "remove", () => { root.remove(); this.entries = this.entries.filter((each) => each.root !== root); });
    const root = element("div", { class: "asks" }, name.root, low.root, high.root, count.root, away);
    offer(name.select, options, this.suggestion(options));
    const fill = (): void => {
      const now = options.find(({ value }) => value === name.select.value)?.now ?? 0, range = now ? 0.5 * Math.abs(now) : 1;
      [low.input.value, high.input.value] = [now - range, now + range].map((x) => String(Number(x.toPrecision(4))));
    };
    fill();
    count.input.value = "11";
    count.root.hidden = !this.grid;
    this.entries.push({ name: name.select, low: low.input, high: high.input, count: count.input, root });
    this.list.append(root);
  }
}
