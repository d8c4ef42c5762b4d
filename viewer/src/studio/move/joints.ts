// Joints: a slider for each coordinate, with closed loops; the configuration can become the initial state.

import { element } from "../../dom";
import type { Tab, Studio } from "../studio";
import { wordButton } from "./fields";
import type { Setup } from "./setup";

export function jointsPage({ stageView, notify }: Studio, setup: Setup): Tab {
  const sliders = element("div", {});
  const current = (): Record<string, number> => {
    const { shown } = stageView;
    return Object.fromEntries((shown?.mechanism.scene.coordinates ?? []).map(({ name }, i) => [name, shown!.mechanism.state[i]]));
  };
  const start = wordButton("Use as initial state", () => {
    setup.change({ start: current() });
    notify("The next simulation starts at this position. The rates are set under Simulate, Initial state.");
  }, "The next simulation starts at this position");
  const write = wordButton("Write to source", async () => {
    if (await setup.write({ start: current() })) notify("The initial values in the source were updated.");
  }, "Writes this position to the source as initial values");
  const buttons = element("div", { class: "buttons" }, start, write);
  stageView.watch((shown) => {
    sliders.replaceChildren(...(shown ? [shown.sliders.root] : []));
    buttons.hidden = !shown;
  });
  return { title: "Joints", content: element("div", { class: "move" }, sliders, buttons) };
}
