// Understand: structure, equations and the evidence.

import { tabsOf } from "../../tabs";
import type { Room, Studio } from "../studio";
import { equationsPage } from "./equations";
import { evidencePage } from "./evidence";
import { Knowledge } from "./knowledge";
import { structurePage } from "./structure";

export function understandRoom(studio: Studio): Room {
  const knowledge = new Knowledge(studio);
  const pages = [structurePage(studio, knowledge), equationsPage(studio, knowledge), evidencePage(studio, knowledge)];
  const shown = (): void => pages.forEach((each) => each.shown?.()); // each looks whether it is seen
  studio.draft.watch(shown);
  return { title: "Understand", content: tabsOf(pages, "Understand"), shown };
}
