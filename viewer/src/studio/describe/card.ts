// An element of the model as a form that opens.

import { element } from "../../dom";
import type { Edits } from "./edits";
import { Field, type Names } from "./field";
import { words, type ElementValues, type Format, type Keys, type Outlined, type Place, type Values } from "./format";

export class Card {
  readonly root: HTMLDetailsElement;
  readonly fields: Field[] = [];
  private values: ElementValues = {};
  private names: Names = { bodies: [], coordinates: [] };
  private readonly title = element("span", { class: "title" });
  private readonly note = element("span", { class: "unit" });

  constructor(private readonly of: Outlined, private readonly format: Format, private readonly edits: Edits, open: boolean) {
    const remove = element("button", { type: "button", class: "plain remove", "aria-label": `Remove this ${words(of.kind).toLowerCase()}` }, "×");
    remove.title = "Remove";
    remove.addEventListener("click", (event) => { event.preventDefault(); void edits.make({ do: "remove", place: [of.kind, of.index] }); });
    this.root = element("details", { class: "part" }, element("summary", {}, this.title, this.note, remove));
    this.root.addEventListener("toggle", () => { if (this.root.open) this.fill(); });
    this.root.open = open;
    if (open) queueMicrotask(() => this.fill());
  }

  get place(): Place { return [this.of.kind, this.of.index]; }

  /** The form is built when it is first opened. */
  fill(): void {
    if (this.root.childElementCount > 1) return;
    const { kind } = this.of, keys = this.format.elements[kind];
    const first: Node[] = [], more: Node[] = [];
    for (const [key, about] of Object.entries(keys)) {
      const given = this.values[key];
      if (about.form === "joint") first.push(...this.joints(given));
      else (about.required || given !== undefined || key === "name" || (kind === "body" && ["mass", "center", "inertia"].includes(key)) ? first : more).push(this.field([...this.place, key], key, keys).root);
    }
    this.root.append(element("div", { class: "entries" }, ...first));
    if (more.length) this.root.append(element("details", { class: "more" }, element("summary", {}, "More"), element("div", { class: "entries" }, ...more)));
    this.spread();
  }

  private field(place: Place, key: string, keys: Keys): Field {
    const made: Field = new Field(place, key, keys[key], (written) => {
      const rename = key === "name" && place.length === 3 && written;
      void this.edits.make(rename ? { do: "rename", place, name: written } : { do: "set", place, written, form: keys[key].form }, made);
    });
    this.fields.push(made);
    return made;
  }

  private joints(given: string | Values[] | undefined): HTMLElement[] {
    if (!Array.isArray(given)) return [];
    const kinds = this.of.kind === "loop" ? this.format.loop_joints : this.format.joints;
    return given.map((joint, i) => {
      const keys: Keys = { ...kinds[joint["type"]], type: { expects: "the type of the joint", required: true, form: "choice", options: Object.keys(kinds) } };
      const title = given.length > 1 ? `Joint ${i + 1}` : "Joint";
      const names = ["type", ...Object.keys(keys).filter((key) => key !== "type")];
      return element("fieldset", {}, element("legend", {}, title),
        ...names.map((key) => this.field([...this.place, "joint", i, key], key, keys).root));
    });
  }

  /** What the text says now. */
  show(of: Outlined, names: Names): void {
    this.values = of.values;
    this.names = names;
    const joint = Array.isArray(of.values["joint"]) ? of.values["joint"].map((each) => each["type"] ?? "?").join(", ") : "";
    const name = typeof of.values["name"] === "string" ? of.values["name"] : "";
    this.title.textContent = name || words(of.kind);
    const about = of.kind === "body" ? [joint, `on ${String(of.values["parent"] ?? "world")}`] : [name ? words(of.kind).toLowerCase() : "", String(of.values["body"] ?? of.values["bodies"] ?? "")];
    this.note.textContent = about.filter((each) => each).join(" · ");
    this.spread();
  }

  private spread(): void {
    for (const field of this.fields) field.show(valueAt(this.values, field.place.slice(2)), this.names);
  }
}

function valueAt(values: ElementValues, way: Place): string | undefined {
  const found = values[way[0]];
  if (!Array.isArray(found)) return found;
  return found[way[1] as number]?.[way[2]];
}
