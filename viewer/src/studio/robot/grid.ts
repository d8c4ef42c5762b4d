// Editable grid like a spreadsheet: arrow keys, Enter, Tab, and pasted tab-separated cells.

import { element } from "../../dom";

export interface Column { key: string; title: string; label: string; choices?: Record<string, string>; wide?: boolean }
export type Cells = Record<string, string>;
type Cell = HTMLInputElement | HTMLSelectElement;

export class Grid {
  readonly root = element("table", { class: "sheet" });
  rows: Cells[] = [];
  private columns: Column[] = [];
  private inputs: Cell[][] = [];

  /** `newRow` returns the cells of a new row, `changed` is called after every change, `mark` may format a cell. */
  constructor(label: string, private readonly newRow: (index: number) => Cells, private readonly changed: () => void,
    private readonly mark: (row: Cells, column: Column, input: Cell) => void = () => {}) {
    this.root.setAttribute("aria-label", label);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("paste", (event) => this.paste(event));
  }

  /** Sets columns and rows; unchanged cells are not replaced. */
  show(columns: Column[], rows: Cells[]): void {
    const same = rows.length === this.rows.length && JSON.stringify(columns) === JSON.stringify(this.columns);
    this.columns = columns;
    this.rows = rows;
    if (!same) this.build();
    this.refresh();
  }

  /** Appends a row. */
  add(cells = this.newRow(this.rows.length), focus = true): void {
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

  /** Marks a cell as invalid, or none. */
  markInvalid(row: number, key: string): void {
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
    const focused = this.position(document.activeElement);
    this.inputs = this.rows.map((_, i) => this.columns.map((column) => this.cell(column, i)));
    const head = element("tr", {}, element("th", { scope: "col" }, ""), ...this.columns.map(({ title, label }) => element("th", { scope: "col", title: label }, title)), element("th", {}, ""));
    const lines = this.inputs.map((cells, i) => {
      const away = element("button", { type: "button", class: "away", "aria-label": `Delete row ${i + 1}`, title: "Delete this row" }, "×");
      away.addEventListener("click", () => this.remove(i));
      return element("tr", {}, element("th", { scope: "row" }, String(i + 1)), ...cells.map((each) => element("td", {}, each)), element("td", {}, away));
    });
    this.root.replaceChildren(element("thead", {}, head), element("tbody", {}, ...lines));
    if (focused) this.inputs[focused[0]]?.[focused[1]]?.focus();
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

  private position(target: EventTarget | null): [number, number] | null {
    for (let i = 0; i < this.inputs.length; i++) {
      const j = this.inputs[i].indexOf(target as Cell);
      if (j >= 0) return [i, j];
    }
    return null;
  }

  private key(event: KeyboardEvent): void {
    const at = this.position(event.target);
    if (!at || event.altKey || event.metaKey) return;
    const [i, j] = at, cell = this.inputs[i][j], text = cell instanceof HTMLInputElement ? cell : null;
    const all = text !== null && text.selectionStart === 0 && text.selectionEnd === text.value.length;
    const begins = !text || all || (text.selectionStart === 0 && text.selectionEnd === 0), ends = !text || all || text.selectionStart === text.value.length;
    const targets: Record<string, [number, number] | undefined> = {
      ArrowUp: text ? [i - 1, j] : undefined, ArrowDown: text ? [i + 1, j] : undefined, Enter: [i + (event.shiftKey ? -1 : 1), j],
      ArrowLeft: begins ? [i, j - 1] : undefined, ArrowRight: ends ? [i, j + 1] : undefined,
    };
    if (event.key === "Delete" && event.ctrlKey) { event.preventDefault(); this.remove(i); return; }
    const to = targets[event.key];
    if (!to) return;
    event.preventDefault();
    if (event.key === "Enter" && to[0] === this.rows.length) { this.add(undefined, false); this.inputs[to[0]][0].focus(); return; }
    this.inputs[to[0]]?.[to[1]]?.focus();
  }

  /** Pastes cells of a spreadsheet to the right of and below the focused cell. */
  private paste(event: ClipboardEvent): void {
    const at = this.position(event.target), text = event.clipboardData?.getData("text/plain") ?? "";
    if (!at || !/[\t\n]/.test(text.trim())) return;
    event.preventDefault();
    text.replace(/\r/g, "").replace(/\n+$/, "").split("\n").slice(0, 200).forEach((line, i) => {
      const index = at[0] + i;
      if (index === this.rows.length) this.rows.push(this.newRow(index));
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

/** A pasted cell; a choice is given by its value, its label or the first letter. */
function read(cell: string, { choices }: Column): string {
  if (!choices) return cell;
  const found = Object.entries(choices).find(([value, text]) => [value, text, text[0]].some((each) => each.toLowerCase() === cell.toLowerCase()));
  return found?.[0] ?? Object.keys(choices)[0];
}
