// Denavit–Hartenberg table of a robot: a grid that writes the source of the model and draws its frames.

import { element } from "../../dom";
import type { FrameTable } from "../robot/frames";
import { FrameLayer } from "../robot/layer";
import { Grid, type Cells, type Column } from "../robot/grid";
import type { Tab, Studio } from "../studio";
import { TaskError } from "../connection";

interface Read {
  is_robot_table: boolean; reason: string; frames: FrameTable | null;
  name?: string; convention?: string; unit?: string; gravity?: string; rows?: Cells[];
}

const WRITE_DELAY = 200; // ms after the last key
const TYPE = { revolute: "R", prismatic: "P", fixed: "F" };
const ANGLES = ["theta", "alpha"], JOINT_VALUES = ["start", "lower", "upper"];
const GEOMETRY: Column[] = [
  { key: "type", title: "joint", label: "joint: R revolute, P prismatic, F fixed", choices: TYPE },
  { key: "theta", title: "θ", label: "θ, joint angle" }, { key: "d", title: "d", label: "d, joint offset" },
  { key: "a", title: "a", label: "a, connection length" }, { key: "alpha", title: "α", label: "α, twist angle" },
  { key: "start", title: "start", label: "initial value" }, { key: "lower", title: "min", label: "lower limit" }, { key: "upper", title: "max", label: "upper limit" },
];
const MASSES: Column[] = [
  { key: "name", title: "link", label: "name of the link", wide: true }, { key: "mass", title: "mass", label: "mass" },
  ...["x", "y", "z"].map((c) => ({ key: `c${c}`, title: `c${c}`, label: `mass center, ${c}` })),
  ...["xx", "yy", "zz", "xy", "xz", "yz"].map((c) => ({ key: `I${c}`, title: `I${c}`, label: `inertia ${c}` })),
];

export function tablePage(studio: Studio): Tab { return new TablePage(studio).tab; }

class TablePage {
  private readonly convention = choice("Convention", { dh: "Standard (DH)", mdh: "Modified (MDH)" });
  private readonly unit = choice("Angles", { deg: "degrees", rad: "radians" });
  private readonly columns = choice("Columns", { geometry: "Geometry", masses: "Masses" });
  private readonly name = element("input", { type: "text", "aria-label": "Name of the robot", value: "robot", size: "12" });
  private readonly gravity = element("input", { type: "text", "aria-label": "Gravity, three numbers", value: "0 0 -9.81", size: "10" });
  private readonly note = element("p", { class: "hint", role: "status" });
  private readonly adopt = element("button", { type: "button", class: "word" }, "Convert the model to this table");
  private readonly sheet: Grid;
  private readonly layer: FrameLayer;
  private readonly content: HTMLElement;
  private isNew = true; // the other sections of the source are discarded
  private lastWritten = ""; // source last written by this table
  private angles = "deg"; // the unit of the cells now
  private timer = 0;

  constructor(private readonly studio: Studio) {
    this.sheet = new Grid("Denavit–Hartenberg table", () => ({ type: "revolute" }), () => this.changed(), mark);
    this.layer = new FrameLayer(studio);
    const start = button("New table", () => this.begin()), add = button("Add a row", () => this.sheet.add());
    const draw = element("input", { type: "checkbox" });
    draw.checked = true;
    draw.addEventListener("change", () => this.layer.draw(draw.checked));
    this.adopt.addEventListener("click", () => { this.adopt.hidden = true; this.write(); });
    this.convention.select.addEventListener("change", () => this.changed());
    this.columns.select.addEventListener("change", () => this.show());
    this.unit.select.addEventListener("change", () => this.convertAngles());
    for (const each of [this.name, this.gravity]) each.addEventListener("input", () => this.changed());
    this.content = element("div", { class: "dh" },
      element("div", { class: "row" }, start, this.convention.root, this.unit.root, this.columns.root),
      element("div", { class: "row" }, element("label", {}, "Name ", this.name), element("label", {}, "Gravity ", this.gravity), element("label", {}, draw, " Frames on the stage")),
      element("div", { class: "wide" }, this.sheet.root), element("div", { class: "row" }, add, this.adopt, this.note), this.layer.root);
    this.begin();
    studio.draft.watch(() => { void this.read(); });
    let visible = false;
    new ResizeObserver(() => {
      if (visible === (visible = this.content.clientWidth > 0)) return;
      if (visible || this.isRobotTable) void this.read();
      else this.layer.show(null); // frames of a computed table are displayed only together with it
    }).observe(this.content);
  }

  get tab(): Tab { return { title: "DH table", content: this.content }; }

  /** An empty table; the model does not change until the user types. */
  private begin(): void {
    this.isNew = true;
    this.lastWritten = this.studio.draft.text; // is not read again
    this.adopt.hidden = true;
    Object.assign(this.name, { value: "robot" });
    Object.assign(this.gravity, { value: "0 0 -9.81" });
    this.convention.select.value = "dh";
    this.angles = this.unit.select.value = "deg";
    this.sheet.show(this.shown, [{ type: "revolute" }]);
    this.note.textContent = "Enter one row per joint. The coordinate of a revolute joint is added to θ, that of a prismatic joint to d. Enter goes to the next row; cells of a spreadsheet can be pasted. "
      + "Lengths in m, masses in kg. A link without mass is a rod of 1 kg.";
  }

  /** True if the source of the model is a robot table. */
  private get isRobotTable(): boolean { return /^\s*convention\s*=\s*"m?dh"/m.test(this.studio.draft.text); }
  private get shown(): Column[] { return this.columns.select.value === "masses" ? MASSES : GEOMETRY; }
  private show(): void { this.sheet.show(this.shown, this.sheet.rows); }

  private changed(): void {
    window.clearTimeout(this.timer);
    if (this.adopt.hidden) this.timer = window.setTimeout(() => this.write(), WRITE_DELAY);
  }

  private async write(): Promise<void> {
    const { draft, connection } = this.studio;
    const filled = this.sheet.rows.map((cells, index) => ({ cells, index })).filter(({ cells }) => Object.entries(cells).some(([key, x]) => !["type", "old_name", "coordinate"].includes(key) && x !== ""));
    if (!filled.length) return;
    const parameters = {
      text: draft.text, new: this.isNew, rows: filled.map(({ cells }) => cells), name: this.name.value, gravity: this.gravity.value,
      convention: this.convention.select.value, unit: this.unit.select.value,
    };
    try {
      const { text } = await connection.request<{ text: string }>("write_table", parameters).result;
      this.sheet.markInvalid(-1, "");
      this.note.textContent = "";
      this.isNew = false;
      this.lastWritten = text;
      draft.change(text, this);
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
      this.note.textContent = error.message;
      const found = /^row (\d+), (\w+)/.exec(error.message);
      if (found) this.sheet.markInvalid(filled[Number(found[1]) - 1]?.index ?? -1, found[2]);
    }
  }

  /** Reads the table of the source, unless it was written here. */
  private async read(): Promise<void> {
    const { draft, connection } = this.studio, { text } = draft;
    if (!text || (!this.isRobotTable && !this.content.clientWidth)) { this.layer.show(null); return; }
    try {
      const found = await connection.request<Read>("read_table", { text }).result;
      if (draft.text === text) this.update(found, text);
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
      this.note.textContent = error.message;
    }
  }

  private update(found: Read, text: string): void {
    this.layer.show(found.frames);
    if (text === this.lastWritten) {
      if (!this.isNew) this.names(found);
      return;
    }
    if (!found.rows) {
      if (!this.typed || !this.isNew) this.begin();
      this.note.textContent = `${found.reason} A table entered here replaces the model.`;
      return;
    }
    this.isNew = !found.is_robot_table;
    this.lastWritten = found.is_robot_table ? text : "";
    this.adopt.hidden = found.is_robot_table;
    this.name.value = found.name ?? "robot";
    this.gravity.value = found.gravity ?? "0 0 -9.81";
    this.convention.select.value = found.convention ?? "dh";
    this.angles = this.unit.select.value = found.unit ?? "rad";
    this.sheet.show(this.shown, found.rows.map((cells) => ({ ...cells, old_name: cells["name"] ?? "" })));
    this.note.textContent = found.is_robot_table ? found.reason : "This table was computed from the joint axes. Conversion preserves axes, initial values and limits; links become rods of 1 kg, and loads and loops are omitted.";
  }

  private get typed(): boolean { return this.sheet.rows.some((row) => Object.entries(row).some(([key, x]) => key !== "type" && x !== "")); }

  /** Updates names and coordinates of the rows. */
  private names({ rows }: Read): void {
    const filled = this.sheet.rows.filter((row) => Object.entries(row).some(([key, x]) => key !== "type" && x !== ""));
    filled.forEach((row, i) => { Object.assign(row, { old_name: rows?.[i]?.["name"] ?? "", coordinate: rows?.[i]?.["coordinate"] ?? "" }); });
    this.sheet.refresh();
  }

  /** Converts angles to the other unit: numbers directly, formulas by a factor. */
  private convertAngles(): void {
    const unit = this.unit.select.value;
    if (unit === this.angles) return;
    this.angles = unit;
    const factor = unit === "deg" ? 180 / Math.PI : Math.PI / 180, conversion = unit === "deg" ? "*180/pi" : "*pi/180";
    for (const row of this.sheet.rows) for (const key of [...ANGLES, ...(row["type"] === "revolute" ? JOINT_VALUES : [])]) {
      const cell = row[key] ?? "";
      if (cell !== "") row[key] = Number.isFinite(Number(cell)) ? String(Number((Number(cell) * factor).toPrecision(15))) : `(${cell})${conversion}`;
    }
    this.sheet.refresh();
    this.changed();
  }
}

/** Marks the variable of the joint, and shows the meaning of empty cells. */
function mark(row: Cells, { key }: Column, input: HTMLInputElement | HTMLSelectElement): void {
  const variable = row["type"] === "prismatic" ? "d" : row["type"] === "fixed" ? "" : "theta";
  input.classList.toggle("variable", key === variable);
  if (!(input instanceof HTMLInputElement)) return;
  input.title = key === variable ? `The coordinate ${row["coordinate"] ?? ""} of the joint is added to this offset.` : "";
  input.placeholder = key === "name" ? "link" : key === "mass" ? "1" : /^[cI][xyz]/.test(key) ? "rod" : JOINT_VALUES.includes(key) ? "" : "0";
  input.disabled = row["type"] === "fixed" && JOINT_VALUES.includes(key);
}

function choice(label: string, options: Record<string, string>): { root: HTMLElement; select: HTMLSelectElement } {
  const select = element("select", { "aria-label": label }, ...Object.entries(options).map(([value, text]) => element("option", { value }, text)));
  return { root: element("label", {}, `${label} `, select), select };
}

function button(name: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", class: "word" }, name);
  made.addEventListener("click", act);
  return made;
}
