// Result of a run: status, notes, events and tables.

import { element, formatNumber } from "../../dom";
import { htmlOf } from "../html";
import { section } from "./fields";
import type { Simulated } from "./simulate";

const MAX_EVENTS = 12;

export class Result {
  readonly status = element("p", { class: "status", role: "status" });
  private readonly notes = element("ul", { class: "notes" });
  private readonly tables = element("div", { class: "prose" });
  readonly more = section("Numbers, notes and events", false, this.notes, this.tables);

  constructor(private readonly seek: (time: number) => void) { this.clear(); }

  clear(): void {
    this.status.textContent = "";
    this.status.classList.remove("failed");
    this.notes.replaceChildren();
    this.more.hidden = true;
  }

  /** Shows why the run failed; the previous run stays displayed. */
  fail(reason: string): void {
    this.status.textContent = reason;
    this.status.classList.add("failed");
  }

  show({ status, notes, tables, events, integrator, formalism, energy_error, constraint_error }: Simulated): void {
    this.clear();
    const errors = ([["energy", energy_error], ["constraints", constraint_error]] as const)
      .flatMap(([what, error]) => (error === null ? [] : [`${what} ${error < 1e-12 ? "at rounding level" : formatNumber(error, 3)}`]));
    this.status.textContent = `${status} Formalism: ${formalism}, integrator: ${integrator}${errors.length ? `; errors: ${errors.join(", ")}` : ""}.`;
    this.notes.replaceChildren(...notes.map((each) => element("li", {}, each)));
    this.more.hidden = false;
    this.tables.replaceChildren(htmlOf(tables), ...this.eventsOf(events));
  }

  private eventsOf(events: Simulated["events"]): HTMLElement[] {
    if (!events.length) return [];
    const items = events.slice(0, MAX_EVENTS).map(({ name, t }) => {
      const made = element("button", { type: "button", class: "chip", title: "Go to this time" }, `${name}, t = ${formatNumber(t)} s`);
      made.addEventListener("click", () => this.seek(t));
      return made;
    });
    const rest = events.length > MAX_EVENTS ? [element("span", { class: "hint" }, `and ${events.length - MAX_EVENTS} more`)] : [];
    return [element("p", {}, element("b", {}, "Events")), element("div", { class: "chips" }, ...items, ...rest)];
  }
}
