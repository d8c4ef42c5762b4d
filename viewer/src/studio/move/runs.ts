// Runs that are kept to be compared: each with a colour, drawn beside the present one.

import { button, element } from "../../dom";
import type { RunData } from "../../data";
import { COLORS, type Overlay } from "../../panels";
import { wordButton } from "./fields";

interface KeptRun extends Overlay { label: string; on: boolean }

const MOST = 8;
const ORDER = [3, 2, 7, 5, 4, 6, 8, 9]; // colours of the palette that the first channels do not have

export class Runs {
  private readonly list = element("ul", { class: "runs", "aria-label": "Kept runs" });
  private readonly keeper = wordButton("Keep this run", () => this.keep(), "Draws it beside later ones");
  readonly root = element("div", { class: "kept" }, this.keeper, this.list);
  private readonly kept: KeptRun[] = [];
  private present: { label: string; run: RunData } | null = null;
  private readonly listeners: ((overlays: Overlay[]) => void)[] = [];

  constructor() { this.refresh(); }

  /** Calls back with the runs to be drawn. */
  watch(listener: (overlays: Overlay[]) => void): void { this.listeners.push(listener); }

  get overlays(): Overlay[] { return this.kept.filter(({ on, run }) => on && run !== this.present?.run); }

  /** The run that is on the stage now, and what tells it from others. */
  show(label: string, run: RunData | null): void {
    this.present = run && { label, run };
    this.refresh();
  }

  clear(): void {
    this.kept.length = 0;
    this.show("", null);
  }

  private keep(): void {
    if (!this.present) return;
    const free = ORDER.map((i) => COLORS[i]).find((color) => this.kept.every((each) => each.color !== color)) ?? COLORS[ORDER[0]];
    this.kept.push({ ...this.present, color: free, on: true });
    if (this.kept.length > MOST) this.kept.shift();
    this.refresh();
  }

  private refresh(): void {
    this.keeper.disabled = !this.present || this.kept.some(({ run }) => run === this.present?.run);
    this.list.replaceChildren(...this.kept.map((each) => this.row(each)));
    this.listeners.forEach((each) => each(this.overlays));
  }

  private row(each: KeptRun): HTMLElement {
    const dash = element("span", { class: "dash" }), now = each.run === this.present?.run;
    dash.style.borderColor = each.color;
    const toggle = element("button", { type: "button", class: "chip", "aria-pressed": String(each.on), title: "Draw it or not" }, dash, each.label, ...(now ? [element("i", {}, "on the stage")] : []));
    toggle.addEventListener("click", () => { each.on = !each.on; this.refresh(); });
    const away = button(`Remove the run ${each.label}`, "away", () => { this.kept.splice(this.kept.indexOf(each), 1); this.refresh(); });
    return element("li", {}, toggle, away);
  }
}
