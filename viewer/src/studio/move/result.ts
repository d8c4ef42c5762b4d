// How a run went: its status, what has to be said of it, events and tables.

import { element, written } from "../../dom";
import { htmlOf } from "../html";
import { section } from "./fields";
import type { Simulated } from "./simulate";

const FEW = 12;

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

  /** Why there is no other run than the one that is shown. */
  fail(why: string): void {
    this.status.textContent = why;
    this.status.classList.add("failed");
  }

  show({ status, notes, tables, events, integrator, formalism, energy_error, constraint_error }: Simulated): void {
    this.clear();
    const holds = ([["the energy balance", energy_error], ["the constraints", constraint_error]] as const)
      .flatMap(([what, error]) => (error === null ? [] : [`${what} to ${error < 1e-12 ? "rounding" : written(error, 3)}`]));
    this.status.textContent = `${status} By ${formalism}, ${integrator}${holds.length ? `; it keeps ${holds.join(", ")}` : ""}.`;
    this.notes.replaceChildren(...notes.map((each) => element("li", {}, each)));
    this.more.hidden = false;
    this.tables.replaceChildren(htmlOf(tables), ...this.eventsOf(events));
  }

  private eventsOf(events: Simulated["events"]): HTMLElement[] {
    if (!events.length) return [];
    const items = events.slice(0, FEW).map(({ name, t }) => {
      const made = element("button", { type: "button", class: "chip", title: "Show this moment" }, `${name}, t = ${written(t)} s`);
      made.addEventListener("click", () => this.seek(t));
      return made;
    });
    const rest = events.length > FEW ? [element("span", { class: "hint" }, `and ${events.length - FEW} more`)] : [];
    return [element("p", {}, element("b", {}, "Events")), element("div", { class: "chips" }, ...items, ...rest)];
  }
}
