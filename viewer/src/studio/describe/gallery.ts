// Examples with pictures, an empty model, and drafts of earlier times.

import { element } from "../../dom";
import type { Kept } from "../draft";
import { htmlOf } from "../html";
import { patiently } from "../patience";
import type { Room, Studio } from "../studio";
import { openButton } from "./drop";

interface Example { name: string; title: string; text: string; tags: string[] }
interface Listed { examples: Example[]; tags: string[]; empty: string }
interface Opened { text: string; title: string; story: string }

/** The first page: what to begin with. `open` goes to another page, `take` reads a file. */
export function galleryPage(studio: Studio, open: (title: string) => void, take: (file: File) => void): Room {
  const { link, draft } = studio;
  const search = element("input", { type: "search", placeholder: "Search examples", "aria-label": "Search examples" });
  const tags = element("div", { class: "chips", role: "group", "aria-label": "Kinds of examples" });
  const cards = element("div", { class: "cards" }), drafts = element("div", { class: "drafts" });
  const empty = element("button", { type: "button", class: "word" }, "Empty model");
  const list = element("div", {}, element("div", { class: "row" }, empty, openButton(take), search), drafts, tags, cards);
  const story = element("article", { class: "prose", hidden: "" });
  const pictures = new Pictures(studio);
  let listed: Promise<Listed> | null = null, chosen = "";
  const listing = (): Promise<Listed> => (listed ??= patiently(() => link.ask<Listed>("examples").answer).catch((error: unknown) => { listed = null; throw error; }));

  const filter = (): void => {
    const wanted = search.value.trim().toLowerCase();
    for (const card of cards.children as HTMLCollectionOf<HTMLElement>)
      card.hidden = !card.dataset["words"]!.includes(wanted) || (chosen !== "" && !card.dataset["tags"]!.split(" ").includes(chosen));
  };
  search.addEventListener("input", filter);

  async function choose(name: string): Promise<void> {
    const found = await studio.work<Opened>("Opening", () => link.ask("example", { name }));
    if (!found) return;
    draft.change(found.text);
    const back = element("button", { type: "button", class: "word" }, "All examples"), text = element("button", { type: "button", class: "word" }, "Its text");
    back.addEventListener("click", () => { story.hidden = true; list.hidden = false; search.focus(); });
    text.addEventListener("click", () => open("Text"));
    story.replaceChildren(element("div", { class: "row" }, back, text), element("h1", {}, found.title), htmlOf(found.story));
    story.hidden = false;
    list.hidden = true;
    back.focus();
  }

  function fill({ examples, tags: kinds }: Listed): void {
    tags.replaceChildren(...kinds.map((kind) => {
      const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false" }, kind);
      chip.addEventListener("click", () => {
        chosen = chosen === kind ? "" : kind;
        for (const each of tags.children) each.setAttribute("aria-pressed", String(each.textContent === chosen));
        filter();
      });
      return chip;
    }));
    cards.replaceChildren(...examples.map((each) => {
      const card = element("button", { type: "button", class: "example", title: each.text || each.title, "data-tags": each.tags.join(" "), "data-words": `${each.name} ${each.title} ${each.text} ${each.tags.join(" ")}`.toLowerCase() },
        pictures.of(each.name), element("span", {}, each.title));
      card.addEventListener("click", () => void choose(each.name));
      return card;
    }));
  }

  void studio.welcomed.then(({ drafts: kept }) => {
    const others = kept.filter((each) => each.key !== studio.link.tab).slice(0, 3);
    drafts.replaceChildren(...others.map(({ key, name, time }) => {
      const made = element("button", { type: "button", class: "plain" }, element("b", {}, name || "model"), ` ${new Date(1000 * time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`);
      made.addEventListener("click", async () => {
        const found = await studio.work<Kept>("Opening", () => link.ask("draft", { key }));
        if (!found) return;
        draft.change(found.text);
        open("Text");
      });
      return made;
    }));
    if (others.length) drafts.prepend(element("span", { class: "unit" }, "Continue:"));
  });

  const failed = (error: unknown): void => studio.say(error instanceof Error ? error.message : String(error), "warning");
  empty.addEventListener("click", () => void listing().then((found) => { draft.change(found.empty); open("Forms"); }, failed));
  const shown = (): void => { if (!listed) listing().then(fill, failed); };
  return { title: "Examples", content: element("div", { class: "gallery" }, list, story), shown };
}

/** Pictures, asked for one after the other as they come into view. */
class Pictures {
  private readonly waiting: HTMLImageElement[] = [];
  private busy = false;
  private readonly watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      this.watch.unobserve(target);
      this.waiting.push(target as HTMLImageElement);
    }
    void this.go();
  }, { rootMargin: "200px" });

  constructor(private readonly studio: Studio) {}

  of(name: string): HTMLElement {
    const image = element("img", { alt: "", "data-name": name, width: "150", height: "150" });
    this.watch.observe(image);
    return image;
  }

  private async go(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      try {
        const image = next;
        const { address } = await patiently(() => this.studio.link.ask<{ address: string }>("picture", { name: image.dataset["name"] }).answer);
        if (address) next.src = address;
        else next.classList.add("none");
      } catch {
        next.classList.add("none"); // an example without its picture can be opened all the same
      }
    }
    this.busy = false;
  }
}
