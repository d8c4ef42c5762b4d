// By hand, or by simulation.

import type { SceneData } from "../../data";
import { element } from "../../dom";
import type { Room, Studio } from "../studio";

export interface Simulated { run: string; scene: SceneData; tables: string; status: string }

export function simulatePage(studio: Studio): Room {
  const { draft, link, theatre } = studio;
  const place = element("div", {});
  const run = element("button", { type: "button", class: "word" }, "Simulate");
  run.addEventListener("click", async () => {
    const found = await studio.work<Simulated>("Simulation", (tell) => link.ask("simulate", { text: draft.text }, tell));
    if (!found) return;
    draft.run = found.run;
    theatre.show(found.scene);
  });
  theatre.watch((shown) => place.replaceChildren(...(shown ? [shown.sliders.root, shown.panels.root] : [])));
  return { title: "Simulate", content: element("div", {}, run, place) };
}
