// Analysis: structure, equations and verification.

import { tabsOf } from "../../tabs";
import type { Tab, Studio } from "../studio";
import { equationsPage } from "./equations";
import { evidencePage } from "./evidence";
import { SummaryCache } from "./summary";
import { structurePage } from "./structure";

export function understandTab(studio: Studio): Tab {
  const summaries = new SummaryCache(studio);
  const pages = [structurePage(studio, summaries), equationsPage(studio, summaries), evidencePage(studio, summaries)];
  const shown = (): void => pages.forEach((each) => each.shown?.()); // each checks whether it is visible
  studio.draft.watch(shown);
  return { title: "Analysis", content: tabsOf(pages, "Analysis"), shown };
}
