// The structure: tree and loops, mobility, ignorable coordinates, speeds, and which formalisms apply.

import { element } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Room, Studio } from "../studio";
import { isSeen, whyNot, type Knowledge, type Part } from "./knowledge";
import { Marking } from "./tree";

const ORDER = ["tree", "mobility", "ignorable", "speeds", "formalisms", "declared"];
const EXPLAINED: Record<string, string> = { tree: "tree", mobility: "mobility", ignorable: "ignorable", speeds: "speeds", formalisms: "formalisms", declared: "coordinates" };

export function structurePage(studio: Studio, knowledge: Knowledge): Room {
  const { draft, link } = studio;
  const content = element("div", { class: "prose structure" });
  const wait = element("p", { class: "note", role: "status" });
  const marking = new Marking(studio), parts = new Map<string, HTMLElement>();
  let text: string | null = null; // that is shown

  const show = (found: Part[]): void => {
    for (const part of found) parts.set(part.key, sectionOf(studio, part, marking));
    content.replaceChildren(wait, ...ORDER.flatMap((key) => parts.get(key) ?? []));
  };

  async function refresh(): Promise<void> {
    const now = draft.text;
    text = now;
    parts.clear();
    wait.textContent = whyNot(studio);
    if (wait.textContent) return content.replaceChildren(wait);
    try {
      const { parts: declared } = await link.ask<{ parts: Part[] }>("declared", { text: now }).answer;
      if (draft.text !== now) return;
      wait.textContent = "Looking for what follows from this …";
      show(declared);
    } catch (error) {
      wait.textContent = error instanceof Error ? error.message : String(error);
      return content.replaceChildren(wait);
    }
    const found = await knowledge.now();
    if (draft.text !== now) return;
    wait.textContent = found ? "" : "What follows from this was not found out.";
    if (found) show(found.parts);
    else text = null; // asked again when the page is shown again
  }

  return { title: "Structure", content, shown: () => { if (isSeen(content) && text !== draft.text) void refresh(); } };
}

function sectionOf(studio: Studio, { key, title, html }: Part, marking: Marking): HTMLElement {
  const help = EXPLAINED[key], head = element("div", { class: "head" }, element("h2", {}, title), ...(help ? [helpFor(studio, help)] : []));
  const root = element("section", {}, head, htmlOf(html));
  if (key === "tree") marking.take(root);
  return root;
}
