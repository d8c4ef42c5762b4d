// Coordinates moved by hand; during a run the sliders go along with it.

import type { Coordinate } from "./data";
import { button, element, written } from "./dom";
import type { Mechanism } from "./mechanism";
import type { Player } from "./player";

export class Sliders {
  readonly root = element("div", { class: "sliders" });
  private readonly note = element("p", { class: "note", role: "status" });
  private readonly back = element("button", { type: "button", class: "word" }, "Back to the run");

  constructor(private readonly mechanism: Mechanism, private readonly player: Player) {
    const { coordinates, run, closure } = mechanism.scene;
    const words = run ? "Drag a slider to leave the run and move the mechanism by hand." : "Drag a slider to move the mechanism by hand.";
    const reset = button("All coordinates as at the start", "reset", () => { player.pause(); mechanism.reset(); });
    this.back.addEventListener("click", () => mechanism.setTime(mechanism.time));
    this.root.append(
      element("div", { class: "row" }, element("p", { class: "hint" }, words + (closure ? " Loops stay closed." : "")), this.back, reset),
      ...coordinates.map((each, i) => this.row(each, i)),
      this.note,
    );
    mechanism.watch(() => { this.back.hidden = !run || !mechanism.byHand; });
    this.back.hidden = true;
  }

  private row(coordinate: Coordinate, index: number): HTMLElement {
    const { name, label, unit } = coordinate, [low, high] = this.span(coordinate);
    const input = element("input", { type: "range", min: String(low), max: String(high), step: "any", "aria-label": `${label} in ${unit || "1"}` });
    const reading = element("output", {});
    input.disabled = coordinate.given;
    input.addEventListener("input", () => {
      this.player.pause();
      const reached = this.mechanism.setCoordinate(name, Number(input.value) + this.turned(coordinate, index));
      if (!reached) input.value = String(this.mechanism.state[index] - this.turned(coordinate, index));
      this.note.textContent = reached ? "" : `${label} goes no further: the loops would open.`;
    });
    const show = (): void => {
      const value = this.mechanism.state[index];
      if (document.activeElement !== input || !this.mechanism.byHand) input.value = String(value - this.turned(coordinate, index));
      input.style.setProperty("--part", `${(100 * (Number(input.value) - low)) / (high - low)}%`);
      reading.textContent = `${written(value)}${unit && unit !== "1" ? ` ${unit}` : ""}`;
    };
    this.mechanism.watch(show);
    show();
    return element("label", { class: "slider", title: name }, element("span", { class: "name" }, label), input, reading);
  }

  /** Limits of the joint; without them one turn, or as far as the mechanism is large. */
  private span({ start, low, high, turns }: Coordinate): [number, number] {
    const reach = turns ? Math.PI : this.mechanism.scene.view.unit ?? this.mechanism.scene.view.size;
    return [low ?? Math.min(start - reach, (high ?? Infinity) - reach), high ?? Math.max(start + reach, (low ?? -Infinity) + reach)];
  }

  /** Whole turns that a coordinate without limits has made. */
  private turned({ start, low, high, turns }: Coordinate, index: number): number {
    if (!turns || low !== null || high !== null) return 0;
    return 2 * Math.PI * Math.round((this.mechanism.state[index] - start) / (2 * Math.PI));
  }
}
