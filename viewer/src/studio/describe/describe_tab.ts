// Model: examples, source, forms and the DH table of a robot, all of the same draft.

import { tabsOf } from "../../tabs";
import type { Tab, Studio } from "../studio";
import { readFile, onDrop } from "./drop";
import { formsPage } from "./forms";
import { galleryPage } from "./gallery";
import { tablePage } from "./table";
import { textPage } from "./text";
import { undoEverywhere } from "./undo";

export function describeTab(studio: Studio): Tab {
  const { draft, stageView } = studio;
  const open = (title: string): void => [...content.querySelectorAll<HTMLElement>("[role=tab]")].find((each) => each.textContent === title)?.click();
  const receive = (file: File): void => void readFile(studio, file).then((done) => { if (done) open("Source"); });
  const content = tabsOf([galleryPage(studio, open, receive), textPage(studio), formsPage(studio), tablePage(studio)]);
  onDrop(receive);
  undoEverywhere(draft);
  // while the source has errors, the last valid scene is displayed in gray
  draft.watch(({ scene, problems }) => {
    if (scene || !problems.length || !stageView.shown) delete stageView.root.dataset["stale"];
    else stageView.root.dataset["stale"] = "Last valid state: the source has errors";
  });
  void studio.welcomed.then(({ draft: saved }) => { if (saved) open("Source"); });
  return { title: "Model", content };
}
