// Understand: structure, equations and the evidence.

import { element } from "../../dom";
import type { Room, Studio } from "../studio";

export function understandRoom(_: Studio): Room {
  return { title: "Understand", content: element("div", {}) };
}
