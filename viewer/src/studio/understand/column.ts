// One formalism and its equations.

import { element } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Studio } from "../studio";
import type { Formalism } from "./summary";

interface Piece { kind: "" | "law" | "heading"; html: string; latex: string }
interface Written { title: string; source: string; counts: string; notes: string[]; parts: Piece[]; latex: string; unfinished: string }
export interface How { view: string; numbers: boolean; budget: number }

const POINTS = 11 / 14; // of a document of 11 points, for each pixel of a page with formulas of 14
const COARSE = 20; // points; smaller changes of the width ask for nothing

export class Column {
  readonly root: HTMLElement;
  readonly select: HTMLSelectElement;
  private readonly help = element("span", {});
  private readonly body = element("div", { class: "prose scroll", tabindex: "0", role: "region" });
  private readonly copy = element("button", { type: "button", class: "word" }, "Copy LaTeX");
  private known: Formalism[] = [];
  private latex = "";
  private requested = "";

  constructor(private readonly studio: Studio, name: string, private readonly how: () => How, chosen: (key: string) => void) {
    this.select = element("select", { "aria-label": `${name} formalism` });
    this.select.addEventListener("change", () => { chosen(this.select.value); void this.refresh(); });
    this.copy.addEventListener("click", () => void copied(studio, this.latex));
    this.root = element("div", { class: "column" }, element("div", { class: "row" }, this.select, this.help, this.copy), this.body);
    let timer = 0;
    new ResizeObserver(() => { window.clearTimeout(timer); timer = window.setTimeout(() => { if (this.requested) void this.refresh(); }, 250); }).observe(this.body);
  }

  /** Sets the available formalisms, grouped by whether they apply. */
  offer(known: Formalism[], key: string): void {
    this.known = known;
    const group = (label: string, some: Formalism[]): HTMLElement[] =>
      some.length ? [element("optgroup", { label }, ...some.map((each) => element("option", { value: each.key }, each.title)))] : [];
    this.select.replaceChildren(...group("Applicable", known.filter((each) => !each.refused)), ...group("Not applicable", known.filter((each) => each.refused)));
    this.select.value = known.some((each) => each.key === key) ? key : known.find((each) => !each.refused)?.key ?? "";
  }

  /** Requests the equations unless they are displayed already. */
  async refresh(): Promise<void> {
    const { draft, connection, work } = this.studio, key = this.select.value, about = this.known.find((each) => each.key === key);
    if (!about || !this.body.clientWidth) return;
    const line = Math.max(COARSE * Math.floor(((this.body.clientWidth - 40) * POINTS) / COARSE), 100);
    const parameters = { text: draft.text, formalism: key, line: Math.min(line, 600), ...this.how() };
    const requested = JSON.stringify(parameters);
    if (requested === this.requested) return;
    this.requested = requested;
    this.help.replaceChildren(helpFor(this.studio, key));
    this.body.setAttribute("aria-label", about.title);
    if (about.refused) return this.show("", element("p", {}, `This formalism does not apply: ${about.refused}.`));
    this.body.classList.add("waiting");
    const found = await work<Written>(`Equations by ${key}`, (onProgress) => connection.request("equations", parameters, onProgress));
    if (this.requested !== requested) return; // another request was sent since
    if (found) return this.show(found.latex, ...this.written(found));
    const again = element("button", { type: "button", class: "word" }, "Derive again");
    again.addEventListener("click", () => void this.refresh());
    this.requested = "";
    this.show("", element("p", {}, "No equations."), again);
  }

  private show(latex: string, ...nodes: Node[]): void {
    this.latex = latex;
    this.copy.disabled = !latex;
    this.body.classList.remove("waiting");
    this.body.replaceChildren(...nodes);
  }

  private written(found: Written): Node[] {
    const notes = found.notes.map((note) => element("p", { class: "note" }, htmlOf(note)));
    if (found.unfinished) notes.push(element("p", { class: "note" }, `Note: ${found.unfinished}`));
    return [element("h2", {}, found.title), element("p", { class: "note" }, [found.counts, found.source].filter(Boolean).join(" · ")), ...notes,
      ...found.parts.map((part) => this.piece(part))];
  }

  private piece({ kind, html, latex }: Piece): HTMLElement {
    if (kind === "heading") return element("h3", {}, htmlOf(html));
    const root = element("div", { class: `piece ${kind}` }, htmlOf(html));
    root.querySelectorAll("table").forEach((each) => each.setAttribute("role", "presentation")); // rows of an equation
    if (!latex) return root;
    const copy = element("button", { type: "button", class: "copy", title: "Copy LaTeX", "aria-label": "Copy LaTeX of this equation" }, "LaTeX");
    copy.addEventListener("click", () => void copied(this.studio, latex));
    root.prepend(copy);
    return root;
  }
}

async function copied({ notify }: Studio, latex: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(latex);
    notify("LaTeX copied to the clipboard.");
  } catch {
    notify("The browser denied access to the clipboard. Download the LaTeX file under Export.", "warning");
  }
}
