// Move: by hand, by simulation, as a robot, around its rest.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { robotPage } from "./robot";
import { simulatePage } from "./simulate";
import { Postures, waypointsPage } from "./waypoints";

export function moveRoom(studio: Studio): Room {
  const postures = new Postures(studio);
  return { title: "Move", content: tabsOf([simulatePage(studio), robotPage(studio, postures), waypointsPage(studio, postures)]) };
}
