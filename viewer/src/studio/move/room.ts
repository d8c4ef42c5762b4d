// Move: by hand, by simulation, as a robot, around its rest.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { simulatePage } from "./simulate";

export function moveRoom(studio: Studio): Room {
  return { title: "Move", content: tabsOf([simulatePage(studio)]) };
}
