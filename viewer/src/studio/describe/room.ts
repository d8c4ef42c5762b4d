// Describe: examples, text, forms and the table of a robot, all of the same draft.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { readFile, takeDropped } from "./drop";
import { formsPage } from "./forms";
import { galleryPage } from "./gallery";
import { tablePage } from "./table";
import { textPage } from "./text";
import { undoEverywhere } from "./undo";

export function describeRoom(studio: Studio): Room {
  const { draft, theatre } = studio;
  const open = (title: string): void => [...content.querySelectorAll<HTMLElement>("[role=tab]")].find((each) => each.textContent === title)?.click();
  const take = (file: File): void => void readFile(studio, file).then((done) => { if (done) open("Text"); });
  const content = tabsOf([galleryPage(studio, open, take), textPage(studio), formsPage(studio), tablePage(studio)]);
  takeDropped(take);
  undoEverywhere(draft);
  // with problems the last sound scene stays, greyed
  draft.watch(({ scene, problems }) => {
    if (scene || !problems.length || !theatre.shown) delete theatre.root.dataset["stale"];
    else theatre.root.dataset["stale"] = "As it was before: the text has problems";
  });
  void studio.welcomed.then(({ draft: kept }) => { if (kept) open("Text"); });
  return { title: "Describe", content };
}
