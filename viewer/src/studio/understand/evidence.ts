// Verification: formalisms are proved to be identical functions, verified numerically, and compared over a run.

import { element } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Tab, Studio } from "../studio";
import { isVisible, missingModel, type Formalism, type SummaryCache } from "./summary";

interface Found { passed: boolean | null; sentence: string; scope: string; tables: string }

export function evidencePage(studio: Studio, summaries: SummaryCache): Tab {
  const { draft } = studio;
  const words = element("p", { class: "note", role: "status" });
  const boxes = element("div", { class: "boxes" }), results: Result[] = [];
  const chosen = (): string[] => {
    const all = Array.from(boxes.querySelectorAll<HTMLInputElement>("input"));
    return all.every((each) => each.checked) ? [] : all.filter((each) => each.checked).map((each) => each.value);
  };
  const states = element("input", { type: "number", min: "1", max: "2000", value: "60" });
  const everything = element("input", { type: "checkbox" });
  const duration = element("input", { type: "number", min: "0", step: "any" });
  const number = (input: HTMLInputElement): number | undefined => (input.value && input.validity.valid ? Number(input.value) : undefined);

  const card = (task: string, title: string, help: string, about: string, parameters: () => object, ...fields: HTMLElement[]): HTMLElement => {
    const result = new Result(studio, task, title, parameters);
    results.push(result);
    return element("section", { class: "claim" }, element("div", { class: "head" }, element("h2", {}, title), helpFor(studio, help)), element("p", { class: "note" }, about),
      element("div", { class: "row" }, result.run, ...fields), result.root);
  };
  const cards = element("div", { class: "prose" },
    element("details", {}, element("summary", {}, "Formalisms to prove and to compare"), boxes),
    card("prove", "Prove", "proof", "Proof that the formalisms are identical functions of states and parameters.", () => ({ formalisms: chosen() })),
    card("verify", "Verify", "verification", "Numerical comparison of all formalisms at random states.", () => ({ states: number(states), everything: everything.checked }),
      element("label", { class: "field" }, "states", states), element("label", { class: "field" }, everything, "also formalisms that compile for minutes")),
    card("compare", "Compare", "comparison", "Equations, operations, CPU time and errors of one simulation with each.", () => ({ formalisms: chosen(), duration: number(duration) }),
      element("label", { class: "field" }, "duration", duration, "s")));
  const content = element("div", { class: "evidence" }, words, cards);

  async function look(): Promise<void> {
    results.forEach((each) => each.compareWith(draft.text));
    words.textContent = missingModel(studio);
    cards.hidden = words.textContent !== "";
    if (words.textContent) return;
    duration.placeholder = String(Math.min(draft.described.duration ?? 10, 10));
    if (!duration.value) duration.value = duration.placeholder;
    const found = await summaries.now();
    if (found) offer(boxes, found.formalisms);
  }

  return { title: "Evidence", content, shown: () => { if (isVisible(content)) void look(); } };
}

/** Checkboxes of the formalisms that apply; deselected ones stay deselected. */
function offer(boxes: HTMLElement, known: Formalism[]): void {
  const out = new Set(Array.from(boxes.querySelectorAll<HTMLInputElement>("input:not(:checked)"), (each) => each.value));
  boxes.replaceChildren(...known.filter((each) => !each.refused).map(({ key, title }) => {
    const box = element("input", { type: "checkbox", value: key });
    box.checked = !out.has(key);
    return element("label", { class: "field" }, box, title);
  }));
}

/** A button and its last result. */
class Result {
  readonly run = element("button", { type: "button", class: "word" });
  readonly root = element("div", { role: "status" });
  private text: string | null = null; // source of the result
  private readonly old = element("p", { class: "note" }, "The model has changed since this result was computed.");

  constructor(private readonly studio: Studio, private readonly task: string, private readonly title: string, private readonly parameters: () => object) {
    this.run.textContent = title;
    this.run.addEventListener("click", () => void this.execute());
  }

  /** Shows a note if the result belongs to another source. */
  compareWith(text: string): void { this.old.hidden = this.text === null || this.text === text; }

  private async execute(): Promise<void> {
    const { draft, connection, work } = this.studio, { text } = draft;
    this.run.disabled = true;
    const found = await work<Found>(this.title, (onProgress) => connection.request(this.task, { text, ...this.parameters() }, onProgress));
    this.run.disabled = false;
    if (!found) return;
    this.text = text;
    this.compareWith(draft.text);
    const mark = found.passed === null ? [] : [element("p", { class: found.passed ? "verdict holds" : "verdict" }, found.passed ? "✓ passed" : "✗ not proved")];
    this.root.replaceChildren(this.old, ...mark, element("p", {}, element("b", {}, found.sentence)), element("p", { class: "note" }, found.scope), htmlOf(found.tables));
  }
}
