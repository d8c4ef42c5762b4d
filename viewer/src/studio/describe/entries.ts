// Forms of tables with named entries, such as parameters, and of single tables.

import { element } from "../../dom";
import type { Edits } from "./edits";
import { Field, type Names } from "./field";
import { words, type Format, type Keys, type Outline, type KeyPath, type Values } from "./format";

/** Form of the top-level keys, or of one table. */
export class TopLevelKeys {
  readonly fields: Field[];
  readonly root: HTMLElement;

  constructor(private readonly keyPath: KeyPath, keys: Keys, edits: Edits) {
    this.fields = Object.entries(keys).map(([key, about]) => {
      const made: Field = new Field([...keyPath, key], key, about, (value) => void edits.make({ action: "set", key_path: [...keyPath, key], value, form: about.form }, made));
      return made;
    });
    this.root = element("div", { class: "entries" }, ...this.fields.map((each) => each.root));
  }

  show(outline: Outline, names: Names): void {
    const values = (this.keyPath.length ? outline.tables[this.keyPath[0]] ?? {} : outline.head) as Values;
    this.fields.forEach((each) => each.show(values[each.key], names));
  }
}

/** Named entries as rows. */
export class NamedEntries {
  readonly root = element("div", { class: "grid-table", role: "table" });
  fields: Field[] = [];
  private rows = "";

  constructor(readonly name: string, private readonly format: Format, private readonly edits: Edits) {
    this.root.setAttribute("aria-label", words(name));
  }

  show(entries: Record<string, Values>, names: Names): void {
    const rows = JSON.stringify(Object.keys(entries));
    if (rows !== this.rows) this.build(Object.keys(entries));
    this.rows = rows;
    for (const field of this.fields) field.show(field.keyPath.length === 2 ? field.keyPath[1] as string : entries[field.keyPath[1]]?.[field.key], names);
  }

  private build(names: string[]): void {
    const keys = this.format.tables[this.name], columns = ["name", ...Object.keys(keys)];
    const focused = this.fields.find((each) => each.inputs.some((input) => input === document.activeElement))?.keyPath;
    const row = names.indexOf(String(focused?.[1]));
    this.fields = [];
    const head = element("div", { role: "row", class: "head" }, ...columns.map((key) => element("span", { role: "columnheader" }, words(key))), element("span", {}));
    this.root.style.setProperty("--columns", columns.map((key) => (key === "description" ? "minmax(60px, 2fr)" : key === "value" || key === "name" || key === "start" ? "minmax(52px, 1.1fr)" : "minmax(36px, 0.7fr)")).join(" "));
    this.root.replaceChildren(...(names.length ? [head] : []), ...names.map((name) => this.row(name, keys)), this.adding());
    if (focused && row >= 0) this.fields.find((each) => String(each.keyPath) === String(focused))?.focus();
  }

  private row(name: string, keys: Keys): HTMLElement {
    const keyPath: KeyPath = [this.name, name];
    const named = new Field(keyPath, "name", { expects: "a name; all its uses are renamed too", required: true, form: "text" },
      (value, now) => { if (now && value && value !== name) void this.edits.make({ action: "rename", key_path: keyPath, name: value }); }, `Name of ${name}`);
    const others = Object.entries(keys).map(([key, about]) => {
      const made: Field = new Field([...keyPath, key], key, about, (value) => void this.edits.make({ action: "set", key_path: [...keyPath, key], value, form: about.form }, made), `${words(key)} of ${name}`);
      return made;
    });
    this.fields.push(named, ...others);
    const remove = element("button", { type: "button", class: "plain remove", "aria-label": `Remove ${name}`, title: "Remove" }, "×");
    remove.addEventListener("click", () => void this.edits.make({ action: "remove", key_path: keyPath }));
    return element("div", { role: "row" }, ...[named, ...others].map((each) => { each.root.setAttribute("role", "cell"); return each.root; }), remove);
  }

  private adding(): HTMLElement {
    if (this.name !== "parameters" && this.name !== "coordinates") return element("span", {});
    const add = element("button", { type: "button", class: "plain add" }, `+ ${this.name.slice(0, -1)}`);
    add.addEventListener("click", () => void this.edits.make({ action: "add", kind: this.name }));
    return add;
  }
}
