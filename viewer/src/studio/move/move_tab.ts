// Motion: simulation, joint sliders, robot, trajectories, equilibria, parameter sweeps.

import { tabsOf } from "../../tabs";
import type { Tab, Studio } from "../studio";
import { jointsPage } from "./joints";
import { equilibriaPage } from "./equilibria";
import { robotPage } from "./robot";
import { Setup } from "./setup";
import { simulatePage } from "./simulate";
import { sweepPage } from "./sweep";
import { Postures, trajectoryPage } from "./trajectory";

export function moveTab(studio: Studio): Tab {
  const setup = new Setup(studio), postures = new Postures(studio);
  const pages = [simulatePage(studio, setup), jointsPage(studio, setup), robotPage(studio, postures), trajectoryPage(studio, postures), equilibriaPage(studio, setup), sweepPage(studio, setup)];
  return { title: "Motion", content: tabsOf(pages), shown: () => setup.shown() };
}
