// Drawing of the tree: a body selected in it is highlighted on the stage, and vice versa.

import { element } from "../../dom";
import type { Studio } from "../studio";

export class Marking {
  private name: string | null = null; // of the highlighted body
  private bodies: SVGGElement[] = [];

  constructor(private readonly studio: Studio) {
    studio.stageView.watch(() => this.show());
    studio.stageView.root.addEventListener("body", (event) => { if (this.bodies.length) this.choose((event as CustomEvent<string>).detail); });
  }

  /** Makes the bodies of a drawing buttons. */
  attach(root: HTMLElement): void {
    root.querySelector("svg")?.setAttribute("role", "group");
    this.bodies = Array.from(root.querySelectorAll<SVGGElement>("[data-body]"));
    for (const each of this.bodies) this.press(each, each.dataset["body"] ?? "");
    root.append(element("p", { class: "note" }, "Select a body to highlight it on the stage."));
    this.show();
  }

  private press(body: SVGGElement, name: string): void {
    for (const [key, value] of Object.entries({ role: "button", tabindex: "0", "aria-label": `${name}: highlight on the stage` })) body.setAttribute(key, value);
    body.addEventListener("click", () => this.choose(name));
    body.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(name);
    });
  }

  private choose(name: string): void {
    this.name = name === this.name ? null : name;
    this.show();
  }

  private show(): void {
    this.bodies.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset["body"] === this.name)));
    this.studio.stageView.shown?.stage.mark(this.name);
  }
}
