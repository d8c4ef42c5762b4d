// Move: by simulation, by hand, around its rest, many times.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { jointsPage } from "./joints";
import { restPage } from "./rest";
import { Setup } from "./setup";
import { simulatePage } from "./simulate";
import { sweepPage } from "./sweep";

export function moveRoom(studio: Studio): Room {
  const setup = new Setup(studio);
  return { title: "Move", content: tabsOf([simulatePage(studio, setup), jointsPage(studio, setup), restPage(studio, setup), sweepPage(studio, setup)]), shown: () => setup.shown() };
}
