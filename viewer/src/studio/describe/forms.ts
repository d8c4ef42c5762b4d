// The model as forms, synchronized with its source in both directions.

import { element } from "../../dom";
import type { Problem } from "../connection";
import type { Tab, Studio } from "../studio";
import { Card } from "./card";
import { Edits } from "./edits";
import type { Field, Names } from "./field";
import { entriesOf, formatOf, words, type Format, type Outline, type KeyPath } from "./format";
import { NamedEntries, TopLevelKeys } from "./entries";

export function formsPage(studio: Studio): Tab {
  const { draft, connection } = studio;
  const page = element("div", { class: "forms" });
  let forms: Forms | null = null;
  const shown = (): void => {
    if (forms) return;
    formatOf(connection).then((format) => { forms ??= new Forms(studio, format, page); forms.follow(); }, (error: unknown) => studio.notify(String(error), "warning"));
  };
  draft.watch(() => forms?.follow());
  return { title: "Forms", content: page, shown };
}

class Forms {
  private readonly edits: Edits;
  private readonly body = element("div", { class: "groups" });
  private readonly note = element("p", { class: "note", role: "status" });
  private cards: Card[] = [];
  private readonly heads: TopLevelKeys[];
  private readonly grids: NamedEntries[];
  private readonly groups: Record<string, HTMLDetailsElement> = {};
  private shape = "";

  constructor(private readonly studio: Studio, private readonly format: Format, page: HTMLElement) {
    this.edits = new Edits(studio);
    this.heads = [new TopLevelKeys([], format.head, this.edits), new TopLevelKeys(["energies"], format.tables["energies"], this.edits), new TopLevelKeys(["simulation"], format.tables["simulation"], this.edits)];
    this.grids = ["parameters", "coordinates", "limits"].map((name) => new NamedEntries(name, format, this.edits));
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
    const keyPath = await this.edits.make({ action: "add", kind });
    if (keyPath) this.toOpen = keyPath;
  }
  private toOpen: KeyPath | null = null; // a new element, opened when it exists

  /** Updates the forms from the description of the source. */
  follow(): void {
    const { outline, problems } = this.studio.draft.described;
    if (!outline) {
      this.note.textContent = outline === null ? "The source is not valid TOML. The forms are updated when it is corrected." : "";
      this.body.inert = outline === null;
      return;
    }
    this.body.inert = false;
    this.note.textContent = outline.convention ? "This is a robot table: edit its links under DH table or Source." : "";
    const names: Names = { bodies: outline.bodies, coordinates: Object.keys(entriesOf(outline, "coordinates")) };
    const shape = JSON.stringify([outline.elements.map(({ kind, index, values }) => [kind, index, Array.isArray(values["joint"]) ? values["joint"].map((each) => each["type"]) : 0]), Object.keys(outline.tables)]);
    if (shape !== this.shape) this.build(outline);
    this.shape = shape;
    this.heads.forEach((each) => each.show(outline, names));
    this.grids.forEach((each) => each.show(entriesOf(outline, each.name), names));
    outline.elements.forEach((each, i) => this.cards[i].show(each, names));
    this.showProblems(problems);
    this.open();
  }

  /** Rebuilds the groups; open cards and the focus are preserved. */
  private build(outline: Outline): void {
    const open = new Set(this.cards.filter((each) => each.root.open).map((each) => String(each.keyPath)));
    const focused = this.fields.find((each) => each.inputs.some((input) => input === document.activeElement));
    const counted = outline.elements.map((each) => new Card(each, this.format, this.edits, open.has(String([each.kind, each.index]))));
    this.cards = counted;
    const [head, energies, simulation] = this.heads;
    const groups: [string, (HTMLElement | null)[]][] = [
      ["Model", [head.root]],
      ...this.grids.slice(0, 2).map((grid): [string, HTMLElement[]] => [words(grid.name), [grid.root]]),
      ...Object.entries(this.format.families).map(([family, kinds]): [string, HTMLElement[]] => [family, counted.filter(({ keyPath }) => kinds.includes(keyPath[0] as string)).map(({ root }) => root)]),
      ["Limits", [outline.tables["limits"] ? this.grids[2].root : null]],
      ["Energies", [outline.tables["energies"] ? energies.root : null]],
      ["Simulation", [simulation.root]],
    ];
    this.body.replaceChildren(...groups.flatMap(([name, inside]) => {
      const visible = inside.filter((each) => each !== null);
      return visible.length ? [this.group(name, visible)] : [];
    }));
    if (focused) queueMicrotask(() => this.fields.find((each) => String(each.keyPath) === String(focused.keyPath))?.focus());
  }

  private group(name: string, inside: HTMLElement[]): HTMLElement {
    this.groups[name] ??= element("details", { class: "family", open: "" });
    this.groups[name].replaceChildren(element("summary", {}, element("span", { class: "title" }, name), element("span", { class: "unit" }, inside[0]?.classList.contains("part") ? String(inside.length) : "")), ...inside);
    return this.groups[name];
  }

  private get fields(): Field[] {
    return [...this.heads.flatMap((each) => each.fields), ...this.grids.flatMap((each) => each.fields), ...this.cards.flatMap((each) => each.fields)];
  }

  /** Shows problems at their fields and cards. */
  private showProblems(problems: Problem[]): void {
    const found = problems.map((each) => ({ keyPath: normalized(each.key_path ?? []), message: `${each.fact} ${each.advice}`.trim() }));
    for (const card of this.cards) {
      const own = found.filter(({ keyPath }) => within(keyPath, card.keyPath));
      card.root.classList.toggle("faulty", own.length > 0);
      if (own.length) card.fill();
    }
    for (const field of this.fields) field.showErrors(found.filter(({ keyPath }) => within(keyPath, field.keyPath)).map((each) => each.message));
    for (const card of this.cards) {
      const unassigned = found.filter(({ keyPath }) => within(keyPath, card.keyPath) && !card.fields.some((field) => within(keyPath, field.keyPath)));
      card.root.querySelector(":scope > .wrong")?.remove();
      if (unassigned.length) card.root.querySelector("summary")!.after(element("p", { class: "wrong" }, unassigned.map((each) => each.message).join(" ")));
    }
  }

  private open(): void {
    const keyPath = this.toOpen;
    if (!keyPath) return;
    const card = this.cards.find((each) => String(each.keyPath) === String(keyPath));
    const field = card ? null : this.fields.find((each) => within(each.keyPath, keyPath));
    if (!card && !field) return;
    this.toOpen = null;
    if (card) {
      card.root.open = true;
      card.fill();
      card.root.scrollIntoView({ block: "nearest" });
    }
    (card?.fields[0] ?? field)?.focus();
  }
}

/** A single joint is the first of its sequence. */
function normalized(keyPath: KeyPath): KeyPath {
  const at = keyPath.indexOf("joint");
  return at >= 0 && at + 1 < keyPath.length && typeof keyPath[at + 1] !== "number" ? [...keyPath.slice(0, at + 1), 0, ...keyPath.slice(at + 1)] : keyPath;
}

function within(keyPath: KeyPath, outer: KeyPath): boolean {
  return outer.every((step, i) => keyPath[i] === step);
}
