// Runs for comparison: each with a color, drawn together with the current one.

import { button, element } from "../../dom";
import type { RunData } from "../../data";
import { COLORS, type Overlay } from "../../panels";
import { wordButton } from "./fields";

interface StoredRun extends Overlay { label: string; on: boolean }

const MAX_RUNS = 8;
const ORDER = [3, 2, 7, 5, 4, 6, 8, 9]; // colors that the first channels do not use

export class Runs {
  private readonly list = element("ul", { class: "runs", "aria-label": "Compared runs" });
  private readonly keepButton = wordButton("Keep for comparison", () => this.keep(), "Draws this run together with later ones");
  readonly root = element("div", { class: "kept" }, this.keepButton, this.list);
  private readonly stored: StoredRun[] = [];
  private current: { label: string; run: RunData } | null = null;
  private readonly listeners: ((overlays: Overlay[]) => void)[] = [];

  constructor() { this.refresh(); }

  /** Calls back with the runs to be drawn. */
  watch(listener: (overlays: Overlay[]) => void): void { this.listeners.push(listener); }

  get overlays(): Overlay[] { return this.stored.filter(({ on, run }) => on && run !== this.current?.run); }

  /** Sets the current run and its label. */
  show(label: string, run: RunData | null): void {
    this.current = run && { label, run };
    this.refresh();
  }

  clear(): void {
    this.stored.length = 0;
    this.show("", null);
  }

  private keep(): void {
    if (!this.current) return;
    const free = ORDER.map((i) => COLORS[i]).find((color) => this.stored.every((each) => each.color !== color)) ?? COLORS[ORDER[0]];
    this.stored.push({ ...this.current, color: free, on: true });
    if (this.stored.length > MAX_RUNS) this.stored.shift();
    this.refresh();
  }

  private refresh(): void {
    this.keepButton.disabled = !this.current || this.stored.some(({ run }) => run === this.current?.run);
    this.list.replaceChildren(...this.stored.map((each) => this.row(each)));
    this.listeners.forEach((each) => each(this.overlays));
  }

  private row(each: StoredRun): HTMLElement {
    const dash = element("span", { class: "dash" }), now = each.run === this.current?.run;
    dash.style.borderColor = each.color;
    const toggle = element("button", { type: "button", class: "chip", "aria-pressed": String(each.on), title: "Show or hide" }, dash, each.label, ...(now ? [element("i", {}, "current")] : []));
    toggle.addEventListener("click", () => { each.on = !each.on; this.refresh(); });
    const away = button(`Remove the run ${each.label}`, "remove", () => { this.stored.splice(this.stored.indexOf(each), 1); this.refresh(); });
    return element("li", {}, toggle, away);
  }
}
