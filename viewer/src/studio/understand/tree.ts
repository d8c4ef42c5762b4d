// The drawing of the tree: a body that is chosen in it is marked on the stage, and the other way round.

import { element } from "../../dom";
import type { Studio } from "../studio";

let marked: string | null = null;
let listening: AbortController | null = null;

/** Makes the bodies of a drawing buttons. */
export function markable({ theatre }: Studio, root: HTMLElement): void {
  root.querySelector("svg")?.setAttribute("role", "group");
  const bodies = Array.from(root.querySelectorAll<SVGGElement>("[data-body]"));
  const show = (): void => {
    bodies.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset["body"] === marked)));
    theatre.shown?.stage.mark(marked);
  };
  const choose = (name: string): void => { marked = name === marked ? null : name; show(); };
  for (const each of bodies) {
    const name = each.dataset["body"] ?? "";
    for (const [key, value] of Object.entries({ role: "button", tabindex: "0", "aria-label": `${name}: mark it on the stage` })) each.setAttribute(key, value);
    each.addEventListener("click", () => choose(name));
    each.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      choose(name);
    });
  }
  listening?.abort();
  listening = new AbortController();
  theatre.root.addEventListener("body", (event) => choose((event as CustomEvent<string>).detail), { signal: listening.signal });
  root.append(element("p", { class: "note" }, "Choose a body to mark it on the stage."));
  show();
}
