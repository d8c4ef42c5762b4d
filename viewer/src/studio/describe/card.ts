// Collapsible form of an element of the model.

import { element } from "../../dom";
import type { Edits } from "./edits";
import { Field, type Names } from "./field";
import { words, type ElementValues, type Format, type Keys, type OutlineElement, type KeyPath, type Values } from "./format";

export class Card {
  readonly root: HTMLDetailsElement;
  readonly fields: Field[] = [];
  private values: ElementValues = {};
  private names: Names = { bodies: [], coordinates: [] };
  private readonly title = element("span", { class: "title" });
  private readonly note = element("span", { class: "unit" });

  constructor(private readonly of: OutlineElement, private readonly format: Format, private readonly edits: Edits, open: boolean) {
    const remove = element("button", { type: "button", class: "plain remove", "aria-label": `Remove this ${words(of.kind).toLowerCase()}` }, "×");
    remove.title = "Remove";
    remove.addEventListener("click", (event) => { event.preventDefault(); void edits.make({ action: "remove", key_path: [of.kind, of.index] }); });
    this.root = element("details", { class: "part" }, element("summary", {}, this.title, this.note, remove));
    this.root.addEventListener("toggle", () => { if (this.root.open) this.fill(); });
    this.root.open = open;
    if (open) queueMicrotask(() => this.fill());
  }

  get keyPath(): KeyPath { return [this.of.kind, this.of.index]; }

  /** The form is built when it is first opened. */
  fill(): void {
    if (this.root.childElementCount > 1) return;
    const { kind } = this.of, keys = this.format.elements[kind];
    const first: Node[] = [], more: Node[] = [];
    for (const [key, about] of Object.entries(keys)) {
      const value = this.values[key];
      if (about.form === "joint") first.push(...this.joints(value));
      else (about.required || value !== undefined || key === "name" || (kind === "body" && ["mass", "center", "inertia"].includes(key)) ? first : more).push(this.field([...this.keyPath, key], key, keys).root);
    }
    this.root.append(element("div", { class: "entries" }, ...first));
    if (more.length) this.root.append(element("details", { class: "more" }, element("summary", {}, "More"), element("div", { class: "entries" }, ...more)));
    this.update();
  }

  private field(keyPath: KeyPath, key: string, keys: Keys): Field {
    const made: Field = new Field(keyPath, key, keys[key], (value) => {
      const rename = key === "name" && keyPath.length === 3 && value;
      void this.edits.make(rename ? { action: "rename", key_path: keyPath, name: value } : { action: "set", key_path: keyPath, value, form: keys[key].form }, made);
    });
    this.fields.push(made);
    return made;
  }

  private joints(joints: string | Values[] | undefined): HTMLElement[] {
    if (!Array.isArray(joints)) return [];
    const kinds = this.of.kind === "loop" ? this.format.loop_joints : this.format.joints;
    return joints.map((joint, i) => {
      const keys: Keys = { ...kinds[joint["type"]], type: { expects: "joint type", required: true, form: "choice", options: Object.keys(kinds) } };
      const title = joints.length > 1 ? `Joint ${i + 1}` : "Joint";
      const names = ["type", ...Object.keys(keys).filter((key) => key !== "type")];
      return element("fieldset", {}, element("legend", {}, title),
        ...names.map((key) => this.field([...this.keyPath, "joint", i, key], key, keys).root));
    });
  }

  /** Updates the values from the source. */
  show(of: OutlineElement, names: Names): void {
    this.values = of.values;
    this.names = names;
    const joint = Array.isArray(of.values["joint"]) ? of.values["joint"].map((each) => each["type"] ?? "?").join(", ") : "";
    const name = typeof of.values["name"] === "string" ? of.values["name"] : "";
    this.title.textContent = name || words(of.kind);
    const about = of.kind === "body" ? [joint, `on ${String(of.values["parent"] ?? "world")}`] : [name ? words(of.kind).toLowerCase() : "", String(of.values["body"] ?? of.values["bodies"] ?? "")];
    this.note.textContent = about.filter((each) => each).join(" · ");
    this.update();
  }

  private update(): void {
    for (const field of this.fields) field.show(valueAt(this.values, field.keyPath.slice(2)), this.names);
  }
}

function valueAt(values: ElementValues, path: KeyPath): string | undefined {
  const found = values[path[0]];
  if (!Array.isArray(found)) return found;
  return found[path[1] as number]?.[path[2]];
}
