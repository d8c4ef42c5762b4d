// Export options: formalisms, panels of plots, animation.

import { element } from "../../dom";

interface Named { name: string; text: string }
export interface Offer { panels: Named[]; overview: string[]; formalisms: Named[] }

export class ExportOptions {
  readonly root = element("details", { class: "choices" }, element("summary", {}, "Options: formalisms, panels, animation"));
  private formalisms = boxes("Formalisms", [], []);
  private panels = boxes("Panels of the plots", [], []);
  private readonly evidence = element("input", { type: "checkbox", checked: "" });
  private readonly speed = number("Playback speed", 1, 0.001, 1000);
  private readonly fps = number("Frames per second", 25, 1, 120);
  private readonly pixels = number("Height in pixels", 480, 64, 2160);

  constructor() {
    const animation = element("fieldset", {}, element("legend", {}, "Animation"), this.speed.root, this.fps.root, this.pixels.root);
    const report = element("fieldset", {}, element("legend", {}, "Report"),
      element("label", {}, this.evidence, " compare all formalisms (slow for large models)"));
    this.root.append(this.formalisms.root, this.panels.root, animation, report);
  }

  /** Sets the available options. */
  offer({ panels, overview, formalisms }: Offer): void {
    const chosen = boxes("Formalisms", formalisms, ["lagrange"]), shown = boxes("Panels of the plots", panels, overview);
    this.formalisms.root.replaceWith(chosen.root);
    this.panels.root.replaceWith(shown.root);
    Object.assign(this, { formalisms: chosen, panels: shown });
  }

  get values(): object {
    return {
      formalisms: this.formalisms.chosen(), panels: this.panels.chosen(), evidence: this.evidence.checked,
      speed: this.speed.value(), fps: this.fps.value(), pixels: this.pixels.value(),
    };
  }
}

function boxes(title: string, options: Named[], on: string[]): { root: HTMLElement; chosen(): string[] } {
  const inputs = options.map(({ name }) => element("input", { type: "checkbox", value: name, ...(on.includes(name) ? { checked: "" } : {}) }));
  const labels = options.map(({ name, text }, i) => element("label", { title: text }, inputs[i], ` ${name}`));
  const root = element("fieldset", {}, element("legend", {}, title), element("div", { class: "boxes" }, ...labels));
  return { root, chosen: () => inputs.filter((each) => each.checked).map((each) => each.value) };
}

function number(title: string, start: number, low: number, high: number): { root: HTMLElement; value(): number } {
  const input = element("input", { type: "number", value: String(start), min: String(low), max: String(high), step: "any" });
  return { root: element("label", {}, `${title} `, input), value: () => Number(input.value) || start };
}
