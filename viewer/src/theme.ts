// Dark and light: as the reader's system has it, until the switch is pressed.

import { button } from "./dom";
import type { Paint } from "./stage/stage";

const STAGE: Record<"dark" | "light", Paint> = {
  light: { background: "#f3f5f8", grid: "#5b6b80", strength: 0.42, shadow: 0.2 },
  dark: { background: "#181d25", grid: "#8fa3bf", strength: 0.3, shadow: 0.5 },
};

export class Theme {
  private readonly dark = window.matchMedia("(prefers-color-scheme: dark)");
  private chosen: "dark" | "light" | null = null;

  constructor(private readonly changed: (paint: Paint) => void) {
    this.dark.addEventListener("change", () => this.apply());
  }

  get name(): "dark" | "light" { return this.chosen ?? (this.dark.matches ? "dark" : "light"); }

  apply(): void {
    document.documentElement.dataset.theme = this.name;
    this.changed(STAGE[this.name]);
  }

  flip(): void {
    this.chosen = this.name === "dark" ? "light" : "dark";
    this.apply();
  }

  get switch(): HTMLButtonElement { return button("Dark or light", "theme", () => this.flip(), "D"); }
}

/** A colour of the style sheet as it is now. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
