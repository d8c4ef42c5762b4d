// The model as forms, in step with its text: what is written here changes the text, and the text changes what stands here.

import { element } from "../../dom";
import type { Problem } from "../link";
import type { Room, Studio } from "../studio";
import { Card } from "./card";
import { Edits } from "./edits";
import type { Field, Names } from "./field";
import { entriesOf, formatOf, words, type Format, type Outline, type Place } from "./format";
import { Grid, Head } from "./grid";

export function formsPage(studio: Studio): Room {
  const { draft, link } = studio;
  const page = element("div", { class: "forms" });
  let forms: Forms | null = null;
  const shown = (): void => {
    if (forms) return;
    formatOf(link).then((format) => { forms ??= new Forms(studio, format, page); forms.follow(); }, (error: unknown) => studio.say(String(error), "warning"));
  };
  draft.watch(() => forms?.follow());
  return { title: "Forms", content: page, shown };
}

class Forms {
  private readonly edits: Edits;
  private readonly body = element("div", { class: "groups" });
  private readonly note = element("p", { class: "note", role: "status" });
  private cards: Card[] = [];
  private readonly heads: Head[];
  private readonly grids: Grid[];
  private readonly groups: Record<string, HTMLDetailsElement> = {};
  private shape = "";

  constructor(private readonly studio: Studio, private readonly format: Format, page: HTMLElement) {
    this.edits = new Edits(studio);
    this.heads = [new Head([], format.head, this.edits), new Head(["energies"], format.tables["energies"], this.edits), new Head(["simulation"], format.tables["simulation"], this.edits)];
    this.grids = ["parameters", "coordinates", "limits"].map((name) => new Grid(name, format, this.edits));
    page.append(element("div", { class: "row" }, this.menu(), this.note), this.body);
  }

  private menu(): HTMLSelectElement {
    const menu = element("select", { class: "word", "aria-label": "Add to the model" }, element("option", { value: "" }, "Add …"),
      element("option", { value: "parameters" }, "Parameter"), element("option", { value: "coordinates" }, "Coordinate"),
      ...Object.entries(this.format.families).map(([family, kinds]) => element("optgroup", { label: family }, ...kinds.map((kind) => element("option", { value: kind }, words(kind))))));
    menu.addEventListener("change", () => {
      const kind = menu.value;
      menu.value = "";
      if (kind) void this.add(kind);
    });
    return menu;
  }

  private async add(kind: string): Promise<void> {
    const place = await this.edits.make({ do: "add", kind });
    if (place) this.wanted = place;
  }
  private wanted: Place | null = null; // what is opened when it is there

  /** Shows what the server understood of the text. */
  follow(): void {
    const { outline, problems } = this.studio.draft.described;
    if (!outline) {
      this.note.textContent = outline === null ? "The text is no TOML at the moment; the forms follow when it is mended." : "";
      this.body.inert = outline === null;
      return;
    }
    this.body.inert = false;
    this.note.textContent = outline.convention ? "A robot table: its links are edited in the table, or in the text." : "";
    const names: Names = { bodies: outline.bodies, coordinates: Object.keys(entriesOf(outline, "coordinates")) };
    const shape = JSON.stringify([outline.elements.map(({ kind, index, values }) => [kind, index, Array.isArray(values["joint"]) ? values["joint"].map((each) => each["type"]) : 0]), Object.keys(outline.tables)]);
    if (shape !== this.shape) this.build(outline);
    this.shape = shape;
    this.heads.forEach((each) => each.show(outline, names));
    this.grids.forEach((each) => each.show(entriesOf(outline, each.name), names));
    outline.elements.forEach((each, i) => this.cards[i].show(each, names));
    this.tell(problems);
    this.open();
  }

  /** Builds the groups anew; what was open stays open, and the focus stays. */
  private build(outline: Outline): void {
    const open = new Set(this.cards.filter((each) => each.root.open).map((each) => String(each.place)));
    const focused = this.fields.find((each) => each.inputs.some((input) => input === document.activeElement));
    const counted = outline.elements.map((each) => new Card(each, this.format, this.edits, open.has(String([each.kind, each.index]))));
    this.cards = counted;
    const [head, energies, simulation] = this.heads;
    const groups: [string, (HTMLElement | null)[]][] = [
      ["Model", [head.root]],
      ...this.grids.slice(0, 2).map((grid): [string, HTMLElement[]] => [words(grid.name), [grid.root]]),
      ...Object.entries(this.format.families).map(([family, kinds]): [string, HTMLElement[]] => [family, counted.filter(({ place }) => kinds.includes(place[0] as string)).map(({ root }) => root)]),
      ["Limits", [outline.tables["limits"] ? this.grids[2].root : null]],
      ["Energies", [outline.tables["energies"] ? energies.root : null]],
      ["Simulation", [simulation.root]],
    ];
    this.body.replaceChildren(...groups.flatMap(([name, inside]) => {
      const there = inside.filter((each) => each !== null);
      return there.length ? [this.group(name, there)] : [];
    }));
    if (focused) queueMicrotask(() => this.fields.find((each) => String(each.place) === String(focused.place))?.focus());
  }

  private group(name: string, inside: HTMLElement[]): HTMLElement {
    this.groups[name] ??= element("details", { class: "family", open: "" });
    this.groups[name].replaceChildren(element("summary", {}, element("span", { class: "title" }, name), element("span", { class: "unit" }, inside[0]?.classList.contains("part") ? String(inside.length) : "")), ...inside);
    return this.groups[name];
  }

  private get fields(): Field[] {
    return [...this.heads.flatMap((each) => each.fields), ...this.grids.flatMap((each) => each.fields), ...this.cards.flatMap((each) => each.fields)];
  }

  /** Problems at the fields they are about, and at the cards that hold them. */
  private tell(problems: Problem[]): void {
    const found = problems.map((each) => ({ place: settled(each.place ?? []), words: `${each.fact} ${each.advice}`.trim() }));
    for (const card of this.cards) {
      const own = found.filter(({ place }) => within(place, card.place));
      card.root.classList.toggle("faulty", own.length > 0);
      if (own.length) card.fill();
    }
    for (const field of this.fields) field.tell(found.filter(({ place }) => within(place, field.place)).map((each) => each.words));
    for (const card of this.cards) {
      const said = found.filter(({ place }) => within(place, card.place) && !card.fields.some((field) => within(place, field.place)));
      card.root.querySelector(":scope > .wrong")?.remove();
      if (said.length) card.root.querySelector("summary")!.after(element("p", { class: "wrong" }, said.map((each) => each.words).join(" ")));
    }
  }

  private open(): void {
    const place = this.wanted;
    if (!place) return;
    const card = this.cards.find((each) => String(each.place) === String(place));
    const field = card ? null : this.fields.find((each) => within(each.place, place));
    if (!card && !field) return;
    this.wanted = null;
    if (card) {
      card.root.open = true;
      card.fill();
      card.root.scrollIntoView({ block: "nearest" });
    }
    (card?.fields[0] ?? field)?.focus();
  }
}

/** A single joint is the first of its sequence. */
function settled(place: Place): Place {
  const at = place.indexOf("joint");
  return at >= 0 && at + 1 < place.length && typeof place[at + 1] !== "number" ? [...place.slice(0, at + 1), 0, ...place.slice(at + 1)] : place;
}

function within(place: Place, outer: Place): boolean {
  return outer.every((step, i) => place[i] === step);
}
