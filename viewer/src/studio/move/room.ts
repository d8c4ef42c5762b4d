// Move: by simulation, by hand, as a robot, around its rest, many times.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { jointsPage } from "./joints";
import { restPage } from "./rest";
import { robotPage } from "./robot";
import { Setup } from "./setup";
import { simulatePage } from "./simulate";
import { sweepPage } from "./sweep";
import { Postures, waypointsPage } from "./waypoints";

export function moveRoom(studio: Studio): Room {
  const setup = new Setup(studio), postures = new Postures(studio);
  const pages = [simulatePage(studio, setup), jointsPage(studio, setup), robotPage(studio, postures), waypointsPage(studio, postures), restPage(studio, setup), sweepPage(studio, setup)];
  return { title: "Move", content: tabsOf(pages), shown: () => setup.shown() };
}
