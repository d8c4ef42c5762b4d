// Parameters as sliders around the values of the text; who drags one sees the run of the new value.

import { element } from "../../dom";
import type { Parameter } from "../draft";
import { section, wordButton } from "./fields";
import type { Setup } from "./setup";

const AROUND = 0.9; // share of the declared value to both sides

export class Parameters {
  private readonly rows = element("div", { class: "parameters" });
  private readonly write = wordButton("Write into the text", () => void this.setup.write({ parameters: { ...this.setup.wishes.parameters } }), "The text of the model gets these values");
  private readonly back = wordButton("Back to the text", () => { this.setup.wish({ parameters: {} }); this.changed(); }, "All parameters as the text has them");
  private readonly time = element("output", { class: "time-of-run" });
  readonly root = section("Parameters", true, this.rows, element("div", { class: "buttons" }, this.write, this.back, this.time));
  private shown = "";

  constructor(private readonly setup: Setup, private readonly changed: () => void) {
    setup.watch(() => this.refresh());
    this.refresh();
  }

  /** How long the last run took, from the slider to the stage. */
  took(seconds: number, milliseconds: number): void {
    this.time.textContent = `run ${time(1000 * seconds)}, on the stage after ${time(milliseconds)}`;
  }

  private refresh(): void {
    const { choices, wishes } = this.setup, all = choices?.parameters ?? [], key = JSON.stringify(all);
    this.root.hidden = !all.length;
    this.write.disabled = this.back.disabled = !Object.keys(wishes.parameters).length;
    if (key === this.shown && !this.back.disabled) return; // they are being moved
    this.shown = key;
    this.rows.replaceChildren(...all.map((each) => this.row(each)));
  }

  private row(parameter: Parameter): HTMLElement {
    const { name, value, unit, text } = parameter, words = `${name}${unit ? ` in ${unit}` : ""}`;
    const slider = element("input", { type: "range", step: "any", "aria-label": words });
    const field = element("input", { type: "number", step: "any", "aria-label": `${words}, as a number` });
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
    const wish = (now: number, moved: boolean): void => {
      if (!Number.isFinite(now)) return;
      const { [name]: _, ...others } = this.setup.wishes.parameters;
      this.setup.wish({ parameters: now === value ? others : { ...others, [name]: now } });
      show(now, moved);
      this.changed();
    };
    slider.addEventListener("input", () => wish(Number(Number(slider.value).toPrecision(4)), true));
    slider.addEventListener("dblclick", () => wish(value, false));
    field.addEventListener("change", () => wish(field.value === "" ? value : Number(field.value), false));
    show(this.setup.value(parameter), false);
    return element("div", { class: "parameter", title: text },
      element("span", { class: "name" }, name, element("small", {}, text)), slider, field, element("span", { class: "unit" }, unit === "1" ? "" : unit));
  }
}

/** From a tenth to nearly twice the value; where it is zero, from −1 to 1. */
function spanOf(value: number): [number, number] {
  const reach = value ? AROUND * Math.abs(value) : 1;
  return [value - reach, value + reach];
}

function time(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
