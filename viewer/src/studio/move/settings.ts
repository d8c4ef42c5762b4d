// Settings of a simulation: formalism, integrator, tolerances and initial state.

import { element } from "../../dom";
import { checkField, choiceField, numberField, offer, section, wordButton } from "./fields";
import type { Setup, Start, Overrides } from "./setup";

type Key = "duration" | "samples" | "rtol" | "atol" | "max_step" | "step";
const SETTINGS: Record<"rtol" | "atol" | "max_step" | "step", string> = {
  rtol: "Relative tolerance", atol: "Absolute tolerance", max_step: "Maximum step [s]", step: "Step [s]",
};

/** Duration and number of samples. */
export function lengthFields(setup: Setup): HTMLElement {
  const duration = number(setup, "duration", "Duration [s]"), samples = number(setup, "samples", "Samples");
  return element("div", { class: "asks" }, duration, samples);
}

/** Formalism, integrator and its settings. */
export function settingsSection(setup: Setup): HTMLElement {
  const formalism = choiceField("Formalism", (key) => setup.change({ formalism: key }));
  const integrator = choiceField("Integrator", (name) => setup.change({ integrator: name }));
  const settings = Object.entries(SETTINGS).map(([key, label]) => ({ key, root: number(setup, key as Key, label) }));
  const project = checkField("Project the state onto the constraints after each step", true, (on) => setup.change({ project: on ? undefined : false }));
  const hint = element("p", { class: "hint" }, "dop853 is compiled once for all parameter values. taylor is more accurate and is compiled for every run.");
  setup.watch(() => {
    const { options, overrides } = setup;
    if (!options) return;
    offer(formalism.select, options.formalisms.map(({ key, title }) => ({ value: key, text: title })), overrides.formalism ?? "lagrange");
    const names = Object.keys(options.integrators), chosen = overrides.integrator ?? options.integrator;
    offer(integrator.select, names.map((value) => ({ value, text: value })), chosen);
    for (const { key, root } of settings) root.hidden = !options.integrators[chosen]?.includes(key);
    project.input.checked = overrides.project !== false;
  });
  return section("Settings", false, element("div", { class: "asks" }, formalism.root, integrator.root, ...settings.map(({ root }) => root)), project.root, hint);
}

/** Initial positions and rates. */
export function startSection(setup: Setup): HTMLElement {
  const rows = element("tbody", {});
  const head = element("thead", {}, element("tr", {}, ...["Coordinate", "Position", "Rate", ""].map((word) => element("th", {}, word))));
  const reset = wordButton("Reset to source", () => setup.change({ start: {}, rate: {} }));
  const write = wordButton("Write to source", () => void setup.write({ start: { ...setup.overrides.start }, rate: { ...setup.overrides.rate } }));
  const hint = element("p", { class: "hint" }, "The initial state is projected onto the constraints; values set here change least.");
  let shown = "";
  setup.watch(() => {
    const { start, rate } = setup.overrides, all = setup.options?.coordinates ?? [], now = JSON.stringify([all, start, rate]);
    reset.disabled = write.disabled = !Object.keys({ ...start, ...rate }).length;
    if (now === shown) return;
    shown = now;
    rows.replaceChildren(...all.map((each) => rowOf(setup, each)));
  });
  return section("Initial state", false, element("table", { class: "start" }, head, rows), element("div", { class: "buttons" }, write, reset), hint);
}

function rowOf(setup: Setup, coordinate: Start): HTMLElement {
  const { name, unit, text } = coordinate;
  const cell = (key: "start" | "rate", word: string): HTMLElement => {
    const input = element("input", { type: "number", step: "any", "aria-label": `${word} of ${name}`, placeholder: String(Number(coordinate[key].toPrecision(6))) });
    const now = setup.overrides[key][name];
    if (now !== undefined) input.value = String(now);
    input.addEventListener("change", () => {
      const { [name]: _, ...others } = setup.overrides[key];
      setup.change({ [key]: input.value === "" ? others : { ...others, [name]: Number(input.value) } } as Partial<Overrides>);
    });
    return element("td", {}, input);
  };
  return element("tr", { title: text }, element("th", { scope: "row" }, name), cell("start", "Position"), cell("rate", "Rate"), element("td", { class: "unit" }, unit === "1" ? "" : unit));
}

function number(setup: Setup, key: Key, label: string): HTMLElement {
  const { root, input } = numberField(label, (value) => setup.change({ [key]: value } as Partial<Overrides>));
  setup.watch(() => {
    const now = setup.overrides[key], own = key === "duration" || key === "samples" ? setup.options?.[key] : undefined;
    input.placeholder = own === undefined ? "automatic" : String(own);
    if (document.activeElement !== input) input.value = now === undefined ? "" : String(now);
  });
  return root;
}
