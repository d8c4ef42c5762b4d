// Take away: everything as files.

import { element } from "../../dom";
import type { Room, Studio } from "../studio";

export function takeRoom(_: Studio): Room {
  return { title: "Take away", content: element("div", {}) };
}
