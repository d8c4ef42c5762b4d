// Describe: examples, text, forms and the table of a robot, all of the same draft.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { tablePage } from "./table";
import { textPage } from "./text";

export function describeRoom(studio: Studio): Room {
  return { title: "Describe", content: tabsOf([textPage(studio), tablePage(studio)]) };
}
