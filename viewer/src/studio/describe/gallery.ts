// Examples with pictures, an empty model, and saved drafts.

import { element } from "../../dom";
import type { SavedDraft } from "../draft";
import { htmlOf } from "../html";
import { retry } from "../retry";
import type { Tab, Studio } from "../studio";
import { openButton } from "./drop";

interface Example { name: string; title: string; text: string; tags: string[] }
interface Listed { examples: Example[]; tags: string[]; empty: string }
interface Opened { text: string; title: string; description: string }

/** The first page. `open` goes to another page, `readFile` reads a file. */
export function galleryPage(studio: Studio, open: (title: string) => void, readFile: (file: File) => void): Tab {
  const { connection, draft } = studio;
  const search = element("input", { type: "search", placeholder: "Search examples", "aria-label": "Search examples" });
  const tags = element("div", { class: "chips", role: "group", "aria-label": "Kinds of examples" });
  const cards = element("div", { class: "cards" }), drafts = element("div", { class: "drafts" });
  const empty = element("button", { type: "button", class: "word" }, "Empty model");
  const list = element("div", {}, element("div", { class: "row" }, empty, openButton(readFile), search), drafts, tags, cards);
  const article = element("article", { class: "prose", hidden: "" });
  const pictures = new Pictures(studio);
  let listed: Promise<Listed> | null = null, chosen = "";
  const listing = (): Promise<Listed> => (listed ??= retry(() => connection.request<Listed>("examples").result).catch((error: unknown) => { listed = null; throw error; }));

  const filter = (): void => {
    const wanted = search.value.trim().toLowerCase();
    for (const card of cards.children as HTMLCollectionOf<HTMLElement>)
      card.hidden = !card.dataset["words"]!.includes(wanted) || (chosen !== "" && !card.dataset["tags"]!.split(" ").includes(chosen));
  };
  search.addEventListener("input", filter);

  async function choose(name: string): Promise<void> {
    const found = await studio.work<Opened>("Opening the model", () => connection.request("example", { name }));
    if (!found) return;
    draft.change(found.text);
    const back = element("button", { type: "button", class: "word" }, "All examples"), text = element("button", { type: "button", class: "word" }, "Show source");
    back.addEventListener("click", () => { article.hidden = true; list.hidden = false; search.focus(); });
    text.addEventListener("click", () => open("Source"));
    article.replaceChildren(element("div", { class: "row" }, back, text), element("h1", {}, found.title), htmlOf(found.description));
    article.hidden = false;
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

  void studio.welcomed.then(({ drafts: saved }) => {
    const others = saved.filter((each) => each.key !== studio.connection.tab).slice(0, 3);
    drafts.replaceChildren(...others.map(({ key, name, time }) => {
      const made = element("button", { type: "button", class: "plain" }, element("b", {}, name || "model"), ` ${new Date(1000 * time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`);
      made.addEventListener("click", async () => {
        const found = await studio.work<SavedDraft>("Opening the model", () => connection.request("draft", { key }));
        if (!found) return;
        draft.change(found.text);
        open("Source");
      });
      return made;
    }));
    if (others.length) drafts.prepend(element("span", { class: "unit" }, "Continue:"));
  });

  const failed = (error: unknown): void => studio.notify(error instanceof Error ? error.message : String(error), "warning");
  empty.addEventListener("click", () => void listing().then((found) => { draft.change(found.empty); open("Forms"); }, failed));
  const shown = (): void => { if (!listed) listing().then(fill, failed); };
  return { title: "Examples", content: element("div", { class: "gallery" }, list, article), shown };
}

/** Pictures, requested one after the other when they become visible. */
class Pictures {
  private readonly waiting: HTMLImageElement[] = [];
  private busy = false;
  private readonly watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      this.watch.unobserve(target);
      this.waiting.push(target as HTMLImageElement);
    }
    void this.load();
  }, { rootMargin: "200px" });

  constructor(private readonly studio: Studio) {}

  of(name: string): HTMLElement {
    const image = element("img", { alt: "", "data-name": name, width: "150", height: "150" });
    this.watch.observe(image);
    return image;
  }

  private async load(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      try {
        const image = next;
        const { url } = await retry(() => this.studio.connection.request<{ url: string }>("picture", { name: image.dataset["name"] }).result);
        if (url) next.src = url;
        else next.classList.add("none");
      } catch {
        next.classList.add("none"); // an example without a picture can still be opened
      }
    }
    this.busy = false;
  }
}
