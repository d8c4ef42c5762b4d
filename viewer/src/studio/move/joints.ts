// By hand: a slider for each coordinate, loops stay closed; where it stands can become the start.

import { element } from "../../dom";
import type { Room, Studio } from "../studio";
import { wordButton } from "./fields";
import type { Setup } from "./setup";

export function jointsPage({ theatre, say }: Studio, setup: Setup): Room {
  const place = element("div", {});
  const here = (): Record<string, number> => {
    const { shown } = theatre;
    return Object.fromEntries((shown?.mechanism.scene.coordinates ?? []).map(({ name }, i) => [name, shown!.mechanism.state[i]]));
  };
  const start = wordButton("Start from here", () => {
    setup.wish({ start: here() });
    say("The next simulation begins at this position. Its rates stand under Simulate, Start.");
  }, "The next simulation begins at this position");
  const write = wordButton("Write into the text", async () => {
    if (await setup.write({ start: here() })) say("The coordinates of the text start here now.");
  }, "The coordinates of the text start at this position");
  const buttons = element("div", { class: "buttons" }, start, write);
  theatre.watch((shown) => {
    place.replaceChildren(...(shown ? [shown.sliders.root] : []));
    buttons.hidden = !shown;
  });
  return { title: "By hand", content: element("div", { class: "move" }, place, buttons) };
}
