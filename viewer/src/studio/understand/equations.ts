// Equations of a formalism, optionally side by side with another.

import { element } from "../../dom";
import { helpFor } from "../help";
import type { Tab, Studio } from "../studio";
import { Column, type How } from "./column";
import { isVisible, missingModel, type SummaryCache } from "./summary";

interface Choice extends How { first: string; second: string; beside: boolean; wide: boolean }
const DEFAULTS: Choice = { first: "lagrange", second: "kane", beside: false, wide: false, view: "page", numbers: false, budget: 6 };
const WIDE = 70, NARROW = 40; // percent

export function equationsPage(studio: Studio, summaries: SummaryCache): Tab {
  const { draft } = studio;
  const choice = (): Choice => ({ ...DEFAULTS, ...(draft.settings["equations"] as Partial<Choice> | undefined) });
  const keep = (changed: Partial<Choice>): void => draft.saveSetting("equations", { ...choice(), ...changed });
  const how = (): How => { const { view, numbers, budget } = choice(); return { view, numbers, budget }; };

  const first = new Column(studio, "First", how, (key) => keep({ first: key }));
  const second = new Column(studio, "Second", how, (key) => keep({ second: key }));
  const view = element("select", { "aria-label": "View" }, element("option", { value: "page" }, "Equations"), element("option", { value: "steps" }, "Steps"));
  const budget = element("input", { type: "number", min: "0", max: "600", step: "1" });
  let isWide = false;
  const widen = (on: boolean): void => {
    if (on === isWide) return;
    isWide = on;
    wide.setAttribute("aria-pressed", String(on));
    document.querySelector(".splitter")?.dispatchEvent(new CustomEvent("share", { detail: on ? WIDE : NARROW }));
  };
  const beside = switchOf("Side by side", (on) => { keep({ beside: on, wide: on }); widen(on); }), numbers = switchOf("Numbers", (on) => keep({ numbers: on }));
  const wide = switchOf("Wide", (on) => { keep({ wide: on }); widen(on); });
  numbers.title = "Substitute the values of the parameters";
  view.addEventListener("change", () => { keep({ view: view.value }); refresh(); });
  budget.addEventListener("change", () => { if (budget.validity.valid && budget.value) { keep({ budget: Number(budget.value) }); refresh(); } });
  for (const each of [beside, numbers]) each.addEventListener("click", () => refresh());
  const time = element("label", { class: "field" }, "simplify for", budget, "s");
  const words = element("p", { class: "note", role: "status" });
  const columns = element("div", { class: "columns" }, first.root, second.root);
  const content = element("div", { class: "equations" }, element("div", { class: "row" }, view, beside, wide, numbers, time, helpFor(studio, "budget")), words, columns);

  function refresh(): void {
    const now = choice();
    second.root.hidden = !now.beside;
    void first.refresh();
    if (now.beside) void second.refresh();
  }

  async function update(): Promise<void> {
    const now = choice();
    for (const [each, on] of [[beside, now.beside], [numbers, now.numbers]] as const) each.setAttribute("aria-pressed", String(on));
    widen(now.wide);
    view.value = now.view;
    budget.value = String(now.budget);
    words.textContent = missingModel(studio);
    columns.hidden = words.textContent !== "";
    if (words.textContent) return;
    const found = await summaries.now();
    if (!found) return;
    first.offer(found.formalisms, now.first);
    second.offer(found.formalisms, now.second);
    refresh();
  }

  return { title: "Equations", content, shown: () => { if (isVisible(content)) void update(); } };
}

function switchOf(name: string, act: (on: boolean) => void): HTMLButtonElement {
  const made = element("button", { type: "button", class: "chip", "aria-pressed": "false" }, name);
  made.addEventListener("click", () => {
    const on = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", String(on));
    act(on);
  });
  return made;
}
