// Sliders of the coordinates; during playback they follow the run.

import type { Coordinate } from "./data";
import { button, element, formatNumber } from "./dom";
import type { Mechanism } from "./mechanism";
import type { Player } from "./player";

export class Sliders {
  readonly root = element("div", { class: "sliders" });
  private readonly note = element("p", { class: "note", role: "status" });
  private readonly back = element("button", { type: "button", class: "word" }, "Back to the run");

  constructor(private readonly mechanism: Mechanism, private readonly player: Player) {
    const { coordinates, run, closure } = mechanism.scene;
    const words = run ? "Drag a slider to leave the run and move the mechanism." : "Drag a slider to move the mechanism.";
    const reset = button("Reset to the initial configuration", "reset", () => { player.pause(); mechanism.reset(); });
    this.back.addEventListener("click", () => mechanism.setTime(mechanism.time));
    this.root.append(
      element("div", { class: "row" }, element("p", { class: "hint" }, words + (closure ? " Loops stay closed." : "")), this.back, reset),
      ...coordinates.map((each, i) => this.row(each, i)),
      this.note,
    );
    mechanism.watch(() => { this.back.hidden = !run || !mechanism.isManual; });
    this.back.hidden = true;
  }

  private row(coordinate: Coordinate, index: number): HTMLElement {
    const { name, label, unit } = coordinate, [low, high] = this.span(coordinate);
    const input = element("input", { type: "range", min: String(low), max: String(high), step: "any", "aria-label": `${label} in ${unit || "1"}` });
    const reading = element("output", {});
    input.disabled = coordinate.prescribed;
    input.addEventListener("input", () => {
      this.player.pause();
      const reached = this.mechanism.setCoordinate(name, Number(input.value) + this.revolutions(coordinate, index));
      if (!reached) input.value = String(this.mechanism.state[index] - this.revolutions(coordinate, index));
      this.note.textContent = reached ? "" : `${label} cannot move further: the loops cannot be closed.`;
    });
    const show = (): void => {
      const value = this.mechanism.state[index];
      if (document.activeElement !== input || !this.mechanism.isManual) input.value = String(value - this.revolutions(coordinate, index));
      input.style.setProperty("--part", `${(100 * (Number(input.value) - low)) / (high - low)}%`);
      reading.textContent = `${formatNumber(value)}${unit && unit !== "1" ? ` ${unit}` : ""}`;
    };
    this.mechanism.watch(show);
    show();
    return element("label", { class: "slider", title: name }, element("span", { class: "name" }, label), input, reading);
  }

  /** Limits of the joint; by default one revolution, or the size of the mechanism. */
  private span({ start, low, high, turns }: Coordinate): [number, number] {
    const range = turns ? Math.PI : this.mechanism.scene.view.unit ?? this.mechanism.scene.view.size;
    return [low ?? Math.min(start - range, (high ?? Infinity) - range), high ?? Math.max(start + range, (low ?? -Infinity) + range)];
  }

  /** Full revolutions of a coordinate without limits, in radians. */
  private revolutions({ start, low, high, turns }: Coordinate, index: number): number {
    if (!turns || low !== null || high !== null) return 0;
    return 2 * Math.PI * Math.round((this.mechanism.state[index] - start) / (2 * Math.PI));
  }
}
