// The evidence: formalisms proved to be one function, verified in numbers, compared over a run.

import { element } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Room, Studio } from "../studio";
import { isSeen, whyNot, type Formalism, type Knowledge } from "./knowledge";

interface Found { holds: boolean | null; sentence: string; over: string; tables: string }

export function evidencePage(studio: Studio, knowledge: Knowledge): Room {
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

  const card = (task: string, title: string, help: string, about: string, given: () => object, ...fields: HTMLElement[]): HTMLElement => {
    const result = new Result(studio, task, title, given);
    results.push(result);
    return element("section", { class: "claim" }, element("div", { class: "head" }, element("h2", {}, title), helpFor(studio, help)), element("p", { class: "note" }, about),
      element("div", { class: "row" }, result.run, ...fields), result.root);
  };
  const cards = element("div", { class: "prose" },
    element("details", {}, element("summary", {}, "Formalisms to prove and to compare"), boxes),
    card("prove", "Prove", "proof", "That the formalisms are one and the same function, for all states and parameters.", () => ({ formalisms: chosen() })),
    card("verify", "Verify", "verification", "That the numbers of all formalisms agree at random states.", () => ({ states: number(states), everything: everything.checked }),
      element("label", { class: "field" }, "states", states), element("label", { class: "field" }, everything, "also what compiles for minutes")),
    card("compare", "Compare", "comparison", "Equations, operations, time and errors over one run by each.", () => ({ formalisms: chosen(), duration: number(duration) }),
      element("label", { class: "field" }, "duration", duration, "s")));
  const content = element("div", { class: "evidence" }, words, cards);

  async function look(): Promise<void> {
    results.forEach((each) => each.compareWith(draft.text));
    words.textContent = whyNot(studio);
    cards.hidden = words.textContent !== "";
    if (words.textContent) return;
    duration.placeholder = String(Math.min(draft.described.duration ?? 10, 10));
    if (!duration.value) duration.value = duration.placeholder;
    const found = await knowledge.now();
    if (found) offer(boxes, found.formalisms);
  }

  return { title: "Evidence", content, shown: () => { if (isSeen(content)) void look(); } };
}

/** Boxes for the formalisms that apply; what was taken out stays out. */
function offer(boxes: HTMLElement, known: Formalism[]): void {
  const out = new Set(Array.from(boxes.querySelectorAll<HTMLInputElement>("input:not(:checked)"), (each) => each.value));
  boxes.replaceChildren(...known.filter((each) => !each.refused).map(({ key, title }) => {
    const box = element("input", { type: "checkbox", value: key });
    box.checked = !out.has(key);
    return element("label", { class: "field" }, box, title);
  }));
}

/** A button, and what was found when it was pressed. */
class Result {
  readonly run = element("button", { type: "button", class: "word" });
  readonly root = element("div", { role: "status" });
  private text: string | null = null; // for which it was found
  private readonly old = element("p", { class: "note" }, "The model has changed since this was found.");

  constructor(private readonly studio: Studio, private readonly task: string, private readonly title: string, private readonly given: () => object) {
    this.run.textContent = title;
    this.run.addEventListener("click", () => void this.ask());
  }

  /** Says so where what stands here is of another text. */
  compareWith(text: string): void { this.old.hidden = this.text === null || this.text === text; }

  private async ask(): Promise<void> {
    const { draft, link, work } = this.studio, { text } = draft;
    this.run.disabled = true;
    const found = await work<Found>(this.title, (tell) => link.ask(this.task, { text, ...this.given() }, tell));
    this.run.disabled = false;
    if (!found) return;
    this.text = text;
    this.compareWith(draft.text);
    const mark = found.holds === null ? [] : [element("p", { class: found.holds ? "verdict holds" : "verdict" }, found.holds ? "✓ It holds" : "✗ It is not shown")];
    this.root.replaceChildren(this.old, ...mark, element("p", {}, element("b", {}, found.sentence)), element("p", { class: "note" }, found.over), htmlOf(found.tables));
  }
}
