// Buttons on the stage: views, arrows, trails, picture.

import { button, element, toggle } from "./dom";
import { onKeys } from "./keys";
import { KINDS } from "./stage/arrows";
import type { Stage } from "./stage/stage";

export function toolsOf(stage: Stage, name: string, until?: AbortSignal): HTMLElement {
  const { cameras, arrows } = stage;
  const solid = toggle("Perspective", "solid", !cameras.flat, (on) => cameras.use(on ? cameras.perspective : cameras.orthographic), "P");
  const fit = button("Fit to view", "fit", () => cameras.fit(), "F");
  const axes = toggle("Axes of the bodies", "axes", false, (on) => stage.showAxes(on), "A");
  const picture = button("Save a picture", "camera", () => element("a", { href: stage.snapshot(), download: `${name}.png` }).click(), "S");
  const root = element("div", { class: "tools", role: "group", "aria-label": "View" }, fit, solid, axes);
  if (stage.trails.group.children.length) root.append(toggle("Trails", "trails", true, (on) => { stage.trails.group.visible = on; stage.ask(); }));
  root.append(picture);
  onKeys({ f: () => fit.click(), p: () => solid.click(), a: () => axes.click(), s: () => picture.click() }, until);
  if (!arrows.kinds.length) return root;
  return element("div", {}, root, element("div", { class: "kinds", role: "group", "aria-label": "Arrows" }, ...arrows.kinds.map((kind) => switchOf(stage, kind))));
}

/** Toggle button of one kind of arrows. */
function switchOf(stage: Stage, kind: string): HTMLButtonElement {
  const { title, color } = KINDS[kind] ?? { title: kind, color: "#888888" }, dot = element("span", { class: "dot" });
  dot.style.background = color;
  const made = element("button", { type: "button", class: "chip", "aria-pressed": "false", "data-kind": kind }, dot, title);
  made.addEventListener("click", () => {
    const on = !stage.arrows.shown.delete(kind);
    if (on) stage.arrows.shown.add(kind);
    made.setAttribute("aria-pressed", String(on));
    stage.refresh();
  });
  return made;
}
