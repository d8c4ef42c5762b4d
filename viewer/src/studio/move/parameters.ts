// Sliders of the parameters; the run is repeated while one is dragged.

import { element } from "../../dom";
import type { Parameter } from "../draft";
import { section, wordButton } from "./fields";
import type { Setup } from "./setup";

const RELATIVE_RANGE = 0.9; // of the declared value, to both sides

export class Parameters {
  private readonly rows = element("div", { class: "parameters" });
  private readonly write = wordButton("Write to source", () => void this.setup.write({ parameters: { ...this.setup.overrides.parameters } }), "Writes these values to the source of the model");
  private readonly back = wordButton("Reset to source", () => { this.setup.change({ parameters: {} }); this.changed(); }, "Resets all parameters to the values of the source");
  private readonly time = element("output", { class: "time-of-run" });
  readonly root = section("Parameters", true, this.rows, element("div", { class: "buttons" }, this.write, this.back, this.time));
  private shown = "";

  constructor(private readonly setup: Setup, private readonly changed: () => void) {
    setup.watch(() => this.refresh());
    this.refresh();
  }

  /** Shows the time of the last run. */
  showTime(seconds: number, milliseconds: number): void {
    this.time.textContent = `run ${time(1000 * seconds)}, displayed after ${time(milliseconds)}`;
  }

  private refresh(): void {
    const { options, overrides } = this.setup, all = options?.parameters ?? [], key = JSON.stringify(all);
    this.root.hidden = !all.length;
    this.write.disabled = this.back.disabled = !Object.keys(overrides.parameters).length;
    if (key === this.shown && !this.back.disabled) return; // a slider is being dragged
    this.shown = key;
    this.rows.replaceChildren(...all.map((each) => this.row(each)));
  }

  private row(parameter: Parameter): HTMLElement {
    const { name, value, unit, text } = parameter, label = `${name}${unit ? ` in ${unit}` : ""}`;
    const slider = element("input", { type: "range", step: "any", "aria-label": label });
    const field = element("input", { type: "number", step: "any", "aria-label": `${label}, as a number` });
    const [low, high] = spanOf(value);
    Object.assign(slider, { min: String(low), max: String(high) });
    const show = (now: number, moved: boolean): void => {
      if (!moved) {
        slider.min = String(Math.min(low, now));
        slider.max = String(Math.max(high, now));
        slider.value = String(now);
      }
      slider.style.setProperty("--part", `${(100 * (now - Number(slider.min))) / (Number(slider.max) - Number(slider.min) || 1)}%`);
      field.value = String(Number(now.toPrecision(6)));
      field.classList.toggle("other", now !== value);
    };
    const change = (now: number, moved: boolean): void => {
      if (!Number.isFinite(now)) return;
      const { [name]: _, ...others } = this.setup.overrides.parameters;
      this.setup.change({ parameters: now === value ? others : { ...others, [name]: now } });
      show(now, moved);
      this.changed();
    };
    slider.addEventListener("input", () => change(Number(Number(slider.value).toPrecision(4)), true));
    slider.addEventListener("dblclick", () => change(value, false));
    field.addEventListener("change", () => change(field.value === "" ? value : Number(field.value), false));
    show(this.setup.value(parameter), false);
    return element("div", { class: "parameter", title: text },
      element("span", { class: "name" }, name, element("small", {}, text)), slider, field, element("span", { class: "unit" }, unit === "1" ? "" : unit));
  }
}

/** From a tenth to nearly twice the value; from −1 to 1 if it is zero. */
function spanOf(value: number): [number, number] {
  const range = value ? RELATIVE_RANGE * Math.abs(value) : 1;
  return [value - range, value + range];
}

function time(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
