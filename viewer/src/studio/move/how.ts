// How a simulation is made: formalism, integrator, tolerances, and the state it begins with.

import { element } from "../../dom";
import { checkField, choiceField, numberField, offer, section, wordButton } from "./fields";
import type { Setup, Start, Wishes } from "./setup";

type Key = "duration" | "samples" | "rtol" | "atol" | "max_step" | "step";
const SETTINGS: Record<"rtol" | "atol" | "max_step" | "step", string> = {
  rtol: "Relative tolerance", atol: "Absolute tolerance", max_step: "Largest step [s]", step: "Step [s]",
};

/** Duration and samples, which stand beside the button. */
export function lengthFields(setup: Setup): HTMLElement {
  const duration = number(setup, "duration", "Duration [s]"), samples = number(setup, "samples", "Samples");
  return element("div", { class: "asks" }, duration, samples);
}

/** Formalism, integrator and what the integrator can be told. */
export function howSection(setup: Setup): HTMLElement {
  const formalism = choiceField("Formalism", (key) => setup.wish({ formalism: key }));
  const integrator = choiceField("Integrator", (name) => setup.wish({ integrator: name }));
  const settings = Object.entries(SETTINGS).map(([key, label]) => ({ key, root: number(setup, key as Key, label) }));
  const project = checkField("Bring the motion back onto its constraints after each step", true, (on) => setup.wish({ project: on ? undefined : false }));
  const hint = element("p", { class: "hint" }, "dop853 is compiled once for all values of the parameters. taylor is more exact, and is compiled anew for every run.");
  setup.watch(() => {
    const { choices, wishes } = setup;
    if (!choices) return;
    offer(formalism.select, choices.formalisms.map(({ key, title }) => ({ value: key, text: title })), wishes.formalism ?? "lagrange");
    const names = Object.keys(choices.integrators), chosen = wishes.integrator ?? choices.integrator;
    offer(integrator.select, names.map((value) => ({ value, text: value })), chosen);
    for (const { key, root } of settings) root.hidden = !choices.integrators[chosen]?.includes(key);
    project.input.checked = wishes.project !== false;
  });
  return section("How", false, element("div", { class: "asks" }, formalism.root, integrator.root, ...settings.map(({ root }) => root)), project.root, hint);
}

/** Positions and rates at the beginning. */
export function startSection(setup: Setup): HTMLElement {
  const rows = element("tbody", {});
  const head = element("thead", {}, element("tr", {}, ...["Coordinate", "Position", "Rate", ""].map((word) => element("th", {}, word))));
  const back = wordButton("As in the text", () => setup.wish({ start: {}, rate: {} }));
  const write = wordButton("Write into the text", () => void setup.write({ start: { ...setup.wishes.start }, rate: { ...setup.wishes.rate } }));
  const hint = element("p", { class: "hint" }, "Loops are closed before the run; what is set here moves least.");
  let shown = "";
  setup.watch(() => {
    const { start, rate } = setup.wishes, all = setup.choices?.coordinates ?? [], now = JSON.stringify([all, start, rate]);
    back.disabled = write.disabled = !Object.keys({ ...start, ...rate }).length;
    if (now === shown) return;
    shown = now;
    rows.replaceChildren(...all.map((each) => rowOf(setup, each)));
  });
  return section("Start", false, element("table", { class: "start" }, head, rows), element("div", { class: "buttons" }, write, back), hint);
}

function rowOf(setup: Setup, coordinate: Start): HTMLElement {
  const { name, unit, text } = coordinate;
  const cell = (key: "start" | "rate", word: string): HTMLElement => {
    const input = element("input", { type: "number", step: "any", "aria-label": `${word} of ${name}`, placeholder: String(Number(coordinate[key].toPrecision(6))) });
    const now = setup.wishes[key][name];
    if (now !== undefined) input.value = String(now);
    input.addEventListener("change", () => {
      const { [name]: _, ...others } = setup.wishes[key];
      setup.wish({ [key]: input.value === "" ? others : { ...others, [name]: Number(input.value) } } as Partial<Wishes>);
    });
    return element("td", {}, input);
  };
  return element("tr", { title: text }, element("th", { scope: "row" }, name), cell("start", "Position"), cell("rate", "Rate"), element("td", { class: "unit" }, unit === "1" ? "" : unit));
}

function number(setup: Setup, key: Key, label: string): HTMLElement {
  const { root, input } = numberField(label, (value) => setup.wish({ [key]: value } as Partial<Wishes>));
  setup.watch(() => {
    const now = setup.wishes[key], own = key === "duration" || key === "samples" ? setup.choices?.[key] : undefined;
    input.placeholder = own === undefined ? "automatic" : String(own);
    if (document.activeElement !== input) input.value = now === undefined ? "" : String(now);
  });
  return root;
}
