// The structure: tree and loops, mobility, ignorable coordinates, speeds, and which formalisms apply.

import { element } from "../../dom";
import { helpFor } from "../help";
import { htmlOf } from "../html";
import type { Tab, Studio } from "../studio";
import { isVisible, missingModel, type SummaryCache, type Part } from "./summary";
import { Marking } from "./tree";

const ORDER = ["tree", "mobility", "ignorable", "speeds", "formalisms", "declared"];
const HELP_KEYS: Record<string, string> = { tree: "tree", mobility: "mobility", ignorable: "ignorable", speeds: "speeds", formalisms: "formalisms", declared: "coordinates" };

export function structurePage(studio: Studio, summaries: SummaryCache): Tab {
  const { draft, connection } = studio;
  const content = element("div", { class: "prose structure" });
  const status = element("p", { class: "note", role: "status" });
  const marking = new Marking(studio), parts = new Map<string, HTMLElement>();
  let text: string | null = null; // the displayed source

  const show = (found: Part[]): void => {
    for (const part of found) parts.set(part.key, sectionOf(studio, part, marking));
    content.replaceChildren(status, ...ORDER.flatMap((key) => parts.get(key) ?? []));
  };

  async function refresh(): Promise<void> {
    const now = draft.text;
    text = now;
    parts.clear();
    status.textContent = missingModel(studio);
    if (status.textContent) return content.replaceChildren(status);
    try {
      const { parts: declared } = await connection.request<{ parts: Part[] }>("declarations", { text: now }).result;
      if (draft.text !== now) return;
      status.textContent = "Analyzing …";
      show(declared);
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
      return content.replaceChildren(status);
    }
    const found = await summaries.now();
    if (draft.text !== now) return;
    status.textContent = found ? "" : "The analysis failed.";
    if (found) show(found.parts);
    else text = null; // requested again when the page is shown again
  }

  return { title: "Structure", content, shown: () => { if (isVisible(content) && text !== draft.text) void refresh(); } };
}

function sectionOf(studio: Studio, { key, title, html }: Part, marking: Marking): HTMLElement {
  const help = HELP_KEYS[key], head = element("div", { class: "head" }, element("h2", {}, title), ...(help ? [helpFor(studio, help)] : []));
  const root = element("section", {}, head, htmlOf(html));
  if (key === "tree") marking.attach(root);
  return root;
}
