// Tabs beside the stage; those written by Python are templates in the page.

import { element } from "./dom";

export interface Page { title: string; content: HTMLElement; shown?(): void }

/** A page written by Python, which has escaped it. */
export function templatePage(title: string, index: number): Page {
  const content = element("article", { class: "prose" });
  const template = document.getElementById(`dalembert-tab-${index}`);
  if (template instanceof HTMLTemplateElement) content.append(template.content.cloneNode(true));
  return { title, content };
}

let lists = 0; // tabs can be nested

/** List of tabs and the page of the selected one; arrow keys go from tab to tab. */
export function tabsOf(pages: Page[], name = "Details"): HTMLElement {
  const key = lists++ ? `-${lists}` : "";
  const list = element("div", { role: "tablist", class: "tabs", "aria-label": name });
  const body = element("div", { class: "pages" });
  const tabs = pages.map(({ title }, i) =>
    element("button", { type: "button", role: "tab", id: `tab${key}-${i}`, "aria-controls": `page${key}-${i}` }, title));
  const choose = (chosen: number): void => {
    pages.forEach(({ content }, i) => {
      tabs[i].setAttribute("aria-selected", String(i === chosen));
      tabs[i].tabIndex = i === chosen ? 0 : -1;
      content.hidden = i !== chosen;
    });
    pages[chosen].shown?.();
  };
  pages.forEach(({ content }, i) => {
    for (const [name, value] of Object.entries({ role: "tabpanel", id: `page${key}-${i}`, "aria-labelledby": `tab${key}-${i}`, tabindex: "0" })) content.setAttribute(name, value);
    tabs[i].addEventListener("click", () => choose(i));
    tabs[i].addEventListener("keydown", ({ key }) => {
      const to = key === "ArrowRight" ? i + 1 : key === "ArrowLeft" ? i - 1 : i;
      const next = (to + pages.length) % pages.length;
      if (next === i) return;
      choose(next);
      tabs[next].focus();
    });
  });
  list.append(...tabs);
  body.append(...pages.map((each) => each.content));
  choose(0);
  return element("section", { class: "side", "aria-label": name }, list, body);
}
