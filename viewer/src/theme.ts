// Dark and light theme: that of the system, until the user selects one.

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

/** Current color of the style sheet. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
