// Help: every quantity with its formula and source, and the keyboard shortcuts; opened by search or by a question mark.

import { button, element } from "../dom";
import { onKeys } from "../keys";
import { htmlOf } from "./html";
import type { Studio } from "./studio";

interface Entry { key: string; group: string; title: string; text: string; formula: string; source: string }

const OPEN_EVENT = "dalembert-help"; // opens the panel at an entry
const PANELS: Record<string, string> = {
  coordinates: "coordinates", speeds: "speeds", energy: "energy", work: "energy", violation: "violation", multipliers: "multipliers",
  reactions: "reactions", efforts: "inverse_dynamics",
}; // help entries of the plots of a run
const KEYS: [string, string][] = [
  ["?", "Help"], ["Esc", "Close help"], ["Ctrl+Z, Ctrl+Y", "Undo, redo"], ["D", "Dark or light"],
  ["Space", "Play or pause"], ["← →", "Step in time; with Shift in larger steps"], ["Home, End", "Start and end"], ["L", "Loop"],
  ["F", "Fit to view"], ["P", "Perspective"], ["A", "Axes of the bodies"], ["S", "Save a picture of the stage"],
  ["← → on tabs", "Next tab"], ["← → on the divider", "Width of the tabs"],
];

/** A small question mark that explains a quantity; `key` is that of an entry in tasks/glossary.py. */
export function helpFor(_: Studio, key: string): HTMLElement {
  const name = `Explain: ${key.replaceAll("_", " ")}`;
  const made = element("button", { type: "button", class: "help-mark", "aria-label": name, title: name }, "?");
  made.addEventListener("click", (event) => {
    event.preventDefault(); // in a label or a summary
    document.dispatchEvent(new CustomEvent(OPEN_EVENT, { detail: key }));
  });
  return made;
}

export class Help {
  readonly root = element("aside", { class: "help", "aria-label": "Help" });
  readonly button: HTMLButtonElement;
  private readonly search = element("input", { type: "search", placeholder: "Search", "aria-label": "Search in help" });
  private readonly list = element("div", { class: "prose list" });
  private readonly none = element("p", { class: "note", role: "status" });
  private entries: Promise<void> | null = null;
  private opener: HTMLElement | null = null; // had the focus before

  constructor(private readonly studio: Studio) {
    this.button = button("Help", "help", () => (this.root.hidden ? void this.open() : this.close()), "?");
    this.button.setAttribute("aria-expanded", "false");
    const close = element("button", { type: "button", class: "word", "aria-label": "Close help" }, "×");
    close.addEventListener("click", () => this.close());
    this.root.append(element("div", { class: "row" }, element("h2", {}, "Help"), this.search, close), this.none, this.list);
    this.root.hidden = true;
    this.search.addEventListener("input", () => this.filter());
    this.root.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(); });
    document.addEventListener(OPEN_EVENT, (event) => void this.open((event as CustomEvent<string>).detail));
    studio.stageView.watch((shown) => shown?.panels.root.querySelectorAll<HTMLElement>("details.panel").forEach((panel) => {
      const about = PANELS[panel.dataset["group"] ?? ""];
      if (about) panel.querySelector("summary")?.append(helpFor(studio, about));
    }));
    onKeys({ "?": () => this.button.click() });
  }

  /** Opens the panel, at an entry if `key` is not empty. */
  async open(key = ""): Promise<void> {
    if (this.root.hidden) this.opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    this.root.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.search.value = "";
    this.entries ??= this.load();
    await this.entries;
    this.filter();
    const entry = key ? this.list.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`) : null;
    if (!entry) { this.search.focus(); return; }
    entry.scrollIntoView({ block: "start" });
    entry.focus({ preventScroll: true });
  }

  private close(): void {
    this.root.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    (this.opener?.isConnected ? this.opener : this.button).focus();
  }

  private async load(): Promise<void> {
    try {
      const { entries } = await this.studio.connection.request<{ entries: Entry[] }>("glossary").result;
      const groups = [...new Set(entries.map((each) => each.group))];
      this.list.replaceChildren(...groups.map((group) => element("section", {}, element("h2", {}, group), ...entries.filter((each) => each.group === group).map(articleOf))), keys());
    } catch (error) {
      this.entries = null; // loaded again the next time
      this.list.replaceChildren(element("p", {}, error instanceof Error ? error.message : String(error)), keys());
    }
  }

  private filter(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const section of this.list.querySelectorAll("section")) {
      let matches = 0;
      for (const each of section.querySelectorAll<HTMLElement>("article")) {
        const text = `${each.dataset["key"]} ${each.textContent}`.toLowerCase();
        each.hidden = !words.every((word) => text.includes(word));
        if (!each.hidden) matches++;
      }
      section.hidden = matches === 0;
      count += matches;
    }
    this.none.textContent = count ? "" : "No entries match.";
  }
}

function articleOf({ key, title, text, formula, source }: Entry): HTMLElement {
  const root = element("article", { "data-key": key, tabindex: "-1" }, element("h3", {}, title), element("p", {}, htmlOf(text)));
  if (formula) root.append(element("div", { class: "formula" }, htmlOf(formula)));
  if (source) root.append(element("p", { class: "note" }, source));
  return root;
}

function keys(): HTMLElement {
  const rows = KEYS.map(([key, what]) => element("tr", {}, element("th", { scope: "row" }, key), element("td", {}, what)));
  return element("section", {}, element("h2", {}, "Keys"), element("article", { "data-key": "keys shortcuts keyboard", tabindex: "-1" }, element("table", {}, element("tbody", {}, ...rows))));
}
