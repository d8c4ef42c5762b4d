// A grid that is typed into as a spreadsheet: arrows, Enter, Tab, and cells pasted as text with tabs.

import { element } from "../../dom";

export interface Column { key: string; title: string; label: string; choices?: Record<string, string>; wide?: boolean }
export type Cells = Record<string, string>;
type Cell = HTMLInputElement | HTMLSelectElement;

export class Sheet {
  readonly root = element("table", { class: "sheet" });
  rows: Cells[] = [];
  private columns: Column[] = [];
  private inputs: Cell[][] = [];

  /** `fresh` makes the cells of a new row, `changed` hears of every change, `mark` may say more about a cell. */
  constructor(label: string, private readonly fresh: (index: number) => Cells, private readonly changed: () => void,
    private readonly mark: (row: Cells, column: Column, input: Cell) => void = () => {}) {
    this.root.setAttribute("aria-label", label);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("paste", (event) => this.paste(event));
  }

  /** Other columns and rows; what is typed at the moment is left alone where it says the same. */
  show(columns: Column[], rows: Cells[]): void {
    const same = rows.length === this.rows.length && JSON.stringify(columns) === JSON.stringify(this.columns);
    this.columns = columns;
    this.rows = rows;
    if (!same) this.build();
    this.refresh();
  }

  /** A row at the end. */
  add(cells = this.fresh(this.rows.length), focus = true): void {
    this.rows = [...this.rows, cells];
    this.build();
    this.refresh();
    if (focus) this.inputs[this.rows.length - 1]?.[0]?.focus();
    this.changed();
  }

  remove(index: number): void {
    this.rows = this.rows.filter((_, i) => i !== index);
    this.build();
    this.refresh();
    this.inputs[Math.min(index, this.rows.length - 1)]?.[0]?.focus();
    this.changed();
  }

  /** Says what is wrong with a cell, or with none. */
  blame(row: number, key: string): void {
    this.inputs.forEach((cells, i) => cells.forEach((each, j) =>
      each.setAttribute("aria-invalid", String(i === row && this.columns[j].key === key))));
  }

  refresh(): void {
    this.rows.forEach((row, i) => this.columns.forEach((column, j) => {
      const input = this.inputs[i][j], value = row[column.key] ?? "";
      if (input.value !== value) input.value = value;
      this.mark(row, column, input);
    }));
  }

  private build(): void {
    const held = this.place(document.activeElement);
    this.inputs = this.rows.map((_, i) => this.columns.map((column) => this.cell(column, i)));
    const head = element("tr", {}, element("th", { scope: "col" }, ""), ...this.columns.map(({ title, label }) => element("th", { scope: "col", title: label }, title)), element("th", {}, ""));
    const lines = this.inputs.map((cells, i) => {
      const away = element("button", { type: "button", class: "away", "aria-label": `Delete row ${i + 1}`, title: "Delete this row" }, "×");
      away.addEventListener("click", () => this.remove(i));
      return element("tr", {}, element("th", { scope: "row" }, String(i + 1)), ...cells.map((each) => element("td", {}, each)), element("td", {}, away));
    });
    this.root.replaceChildren(element("thead", {}, head), element("tbody", {}, ...lines));
    if (held) this.inputs[held[0]]?.[held[1]]?.focus();
  }

  private cell(column: Column, index: number): Cell {
    const label = `Row ${index + 1}, ${column.label}`;
    const made: Cell = column.choices
      ? element("select", { "aria-label": label }, ...Object.entries(column.choices).map(([value, text]) => element("option", { value }, text)))
      : element("input", { type: "text", "aria-label": label, autocomplete: "off", spellcheck: "false", inputmode: "text", class: column.wide ? "wide" : "" });
    made.addEventListener("input", () => {
      this.rows[index][column.key] = made.value;
      this.refresh();
      this.changed();
    });
    if (made instanceof HTMLInputElement) made.addEventListener("focus", () => made.select());
    return made;
  }

  private place(target: EventTarget | null): [number, number] | null {
    for (let i = 0; i < this.inputs.length; i++) {
      const j = this.inputs[i].indexOf(target as Cell);
      if (j >= 0) return [i, j];
    }
    return null;
  }

  private key(event: KeyboardEvent): void {
    const at = this.place(event.target);
    if (!at || event.altKey || event.metaKey) return;
    const [i, j] = at, cell = this.inputs[i][j], text = cell instanceof HTMLInputElement ? cell : null;
    const all = text !== null && text.selectionStart === 0 && text.selectionEnd === text.value.length;
    const begins = !text || all || (text.selectionStart === 0 && text.selectionEnd === 0), ends = !text || all || text.selectionStart === text.value.length;
    const ways: Record<string, [number, number] | undefined> = {
      ArrowUp: text ? [i - 1, j] : undefined, ArrowDown: text ? [i + 1, j] : undefined, Enter: [i + (event.shiftKey ? -1 : 1), j],
      ArrowLeft: begins ? [i, j - 1] : undefined, ArrowRight: ends ? [i, j + 1] : undefined,
    };
    if (event.key === "Delete" && event.ctrlKey) { event.preventDefault(); this.remove(i); return; }
    const to = ways[event.key];
    if (!to) return;
    event.preventDefault();
    if (event.key === "Enter" && to[0] === this.rows.length) { this.add(undefined, false); this.inputs[to[0]][0].focus(); return; }
    this.inputs[to[0]]?.[to[1]]?.focus();
  }

  /** Cells of a spreadsheet, from the present one to the right and below. */
  private paste(event: ClipboardEvent): void {
    const at = this.place(event.target), text = event.clipboardData?.getData("text/plain") ?? "";
    if (!at || !/[\t\n]/.test(text.trim())) return;
    event.preventDefault();
    text.replace(/\r/g, "").replace(/\n+$/, "").split("\n").slice(0, 200).forEach((line, i) => {
      const index = at[0] + i;
      if (index === this.rows.length) this.rows.push(this.fresh(index));
      line.split("\t").forEach((cell, k) => {
        const column = this.columns[at[1] + k];
        if (column) this.rows[index][column.key] = read(cell.trim(), column);
      });
    });
    this.build();
    this.refresh();
    this.changed();
  }
}

/** A pasted cell: of a choice by its value, its words or their first letter. */
function read(cell: string, { choices }: Column): string {
  if (!choices) return cell;
  const found = Object.entries(choices).find(([value, text]) => [value, text, text[0]].some((each) => each.toLowerCase() === cell.toLowerCase()));
  return found?.[0] ?? Object.keys(choices)[0];
}
