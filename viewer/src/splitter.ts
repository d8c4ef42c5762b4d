// Divider between the stage and the tabs.

import { element } from "./dom";

/** Separator that sets the width of the tabs in percent, by dragging or by an event "share" with the percentage. */
export function splitter(): HTMLElement {
  const made = element("div", { class: "splitter", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": "Width of the tabs", "aria-valuemin": "20", "aria-valuemax": "75" });
  let share = 40;
  const set = (percent: number): void => {
    share = Math.min(Math.max(percent, 20), 75);
    made.setAttribute("aria-valuenow", String(Math.round(share)));
    document.documentElement.style.setProperty("--side", `${share}%`);
  };
  made.addEventListener("pointerdown", ({ pointerId }) => made.setPointerCapture(pointerId));
  made.addEventListener("pointermove", ({ buttons, clientX }) => { if (buttons & 1) set(100 * (1 - clientX / window.innerWidth)); });
  made.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 2, ArrowRight: -2 }[event.key];
    if (!step) return;
    event.stopPropagation();
    set(share + step);
  });
  made.addEventListener("share", (event) => set((event as CustomEvent<number>).detail));
  set(share);
  return made;
}
