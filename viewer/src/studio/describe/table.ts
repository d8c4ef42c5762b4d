// The table of a robot by Denavit and Hartenberg: a grid that writes the text of the model, and draws its frames as one types.

import { element } from "../../dom";
import type { FrameTable } from "../robot/frames";
import { FrameLayer } from "../robot/layer";
import { Sheet, type Cells, type Column } from "../robot/sheet";
import type { Room, Studio } from "../studio";
import { TaskError } from "../link";

interface Read {
  own: boolean; why: string; frames: FrameTable | null;
  name?: string; convention?: string; unit?: string; gravity?: string; rows?: Cells[];
}

const WAIT = 200; // ms after the last key before the text is written
const TYPE = { revolute: "R", prismatic: "P", fixed: "F" };
const TURNS = ["theta", "alpha"], OWN = ["start", "lower", "upper"];
const GEOMETRY: Column[] = [
  { key: "type", title: "joint", label: "joint: R turns, P slides, F is fixed", choices: TYPE },
  { key: "theta", title: "θ", label: "θ, joint angle" }, { key: "d", title: "d", label: "d, joint offset" },
  { key: "a", title: "a", label: "a, link length" }, { key: "alpha", title: "α", label: "α, twist angle" },
  { key: "start", title: "start", label: "initial value" }, { key: "lower", title: "min", label: "lower limit" }, { key: "upper", title: "max", label: "upper limit" },
];
const MASSES: Column[] = [
  { key: "name", title: "link", label: "name of the link", wide: true }, { key: "mass", title: "mass", label: "mass" },
  ...["x", "y", "z"].map((c) => ({ key: `c${c}`, title: `c${c}`, label: `mass centre, ${c}` })),
  ...["xx", "yy", "zz", "xy", "xz", "yz"].map((c) => ({ key: `I${c}`, title: `I${c}`, label: `inertia ${c}` })),
];

export function tablePage(studio: Studio): Room { return new TablePage(studio).room; }

class TablePage {
  private readonly convention = choice("Convention", { dh: "Standard (DH)", mdh: "Modified (MDH)" });
  private readonly unit = choice("Angles", { deg: "degrees", rad: "radians" });
  private readonly columns = choice("Columns", { geometry: "Geometry", masses: "Masses" });
  private readonly name = element("input", { type: "text", "aria-label": "Name of the robot", value: "robot", size: "12" });
  private readonly gravity = element("input", { type: "text", "aria-label": "Gravity, three numbers", value: "0 0 -9.81", size: "10" });
  private readonly note = element("p", { class: "hint", role: "status" });
  private readonly adopt = element("button", { type: "button", class: "word" }, "Write the model as this table");
  private readonly sheet: Sheet;
  private readonly layer: FrameLayer;
  private readonly content: HTMLElement;
  private fresh = true; // nothing of the present text is kept
  private mine = ""; // the text that was last written here
  private angles = "deg"; // the unit of the cells now
  private timer = 0;

  constructor(private readonly studio: Studio) {
    this.sheet = new Sheet("Denavit–Hartenberg table", () => ({ type: "revolute" }), () => this.changed(), mark);
    this.layer = new FrameLayer(studio);
    const start = button("New table", () => this.begin()), add = button("Add a row", () => this.sheet.add());
    const draw = element("input", { type: "checkbox" });
    draw.checked = true;
    draw.addEventListener("change", () => this.layer.draw(draw.checked));
    this.adopt.addEventListener("click", () => { this.adopt.hidden = true; this.write(); });
    this.convention.select.addEventListener("change", () => this.changed());
    this.columns.select.addEventListener("change", () => this.show());
    this.unit.select.addEventListener("change", () => this.turn());
    for (const each of [this.name, this.gravity]) each.addEventListener("input", () => this.changed());
    this.content = element("div", { class: "dh" },
      element("div", { class: "row" }, start, this.convention.root, this.unit.root, this.columns.root),
      element("div", { class: "row" }, element("label", {}, "Name ", this.name), element("label", {}, "Gravity ", this.gravity), element("label", {}, draw, " Frames on the stage")),
      element("div", { class: "wide" }, this.sheet.root), element("div", { class: "row" }, add, this.adopt, this.note), this.layer.root);
    this.begin();
    studio.draft.watch(() => { void this.read(); });
    let seen = false;
    new ResizeObserver(() => {
      if (seen === (seen = this.content.clientWidth > 0)) return;
      if (seen || this.owned) void this.read();
      else this.layer.show(null); // frames that nobody wrote are drawn beside their table only
    }).observe(this.content);
  }

  get room(): Room { return { title: "DH table", content: this.content }; }

  /** An empty table in its usual form; the model stays as it is until something is typed. */
  private begin(): void {
    this.fresh = true;
    this.mine = this.studio.draft.text; // which is not read again
    this.adopt.hidden = true;
    Object.assign(this.name, { value: "robot" });
    Object.assign(this.gravity, { value: "0 0 -9.81" });
    this.convention.select.value = "dh";
    this.angles = this.unit.select.value = "deg";
    this.sheet.show(this.shown, [{ type: "revolute" }]);
    this.note.textContent = "Type a row: the joint turns by θ or slides along d, so this cell is its offset. Enter goes to the next row; cells of a spreadsheet can be pasted. "
      + "Lengths in m, masses in kg. Without masses, each link is a rod of 1 kg.";
  }

  /** Whether the text of the model is a robot table. */
  private get owned(): boolean { return /^\s*convention\s*=\s*"m?dh"/m.test(this.studio.draft.text); }
  private get shown(): Column[] { return this.columns.select.value === "masses" ? MASSES : GEOMETRY; }
  private show(): void { this.sheet.show(this.shown, this.sheet.rows); }

  private changed(): void {
    window.clearTimeout(this.timer);
    if (this.adopt.hidden) this.timer = window.setTimeout(() => this.write(), WAIT);
  }

  private async write(): Promise<void> {
    const { draft, link } = this.studio;
    const filled = this.sheet.rows.map((cells, index) => ({ cells, index })).filter(({ cells }) => Object.entries(cells).some(([key, x]) => !["type", "was", "coordinate"].includes(key) && x !== ""));
    if (!filled.length) return;
    const given = {
      text: draft.text, fresh: this.fresh, rows: filled.map(({ cells }) => cells), name: this.name.value, gravity: this.gravity.value,
      convention: this.convention.select.value, unit: this.unit.select.value,
    };
    try {
      const { text } = await link.ask<{ text: string }>("write_table", given).answer;
      this.sheet.blame(-1, "");
      this.note.textContent = "";
      this.fresh = false;
      this.mine = text;
      draft.change(text, this);
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
      this.note.textContent = error.message;
      const found = /^row (\d+), (\w+)/.exec(error.message);
      if (found) this.sheet.blame(filled[Number(found[1]) - 1]?.index ?? -1, found[2]);
    }
  }

  /** What the text of the model says, unless it was written here. */
  private async read(): Promise<void> {
    const { draft, link } = this.studio, { text } = draft;
    if (!text || (!this.owned && !this.content.clientWidth)) { this.layer.show(null); return; }
    try {
      const found = await link.ask<Read>("read_table", { text }).answer;
      if (draft.text === text) this.take(found, text);
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
      this.note.textContent = error.message;
    }
  }

  private take(found: Read, text: string): void {
    this.layer.show(found.frames);
    if (text === this.mine) {
      if (!this.fresh) this.names(found);
      return;
    }
    if (!found.rows) {
      if (!this.typed || !this.fresh) this.begin();
      this.note.textContent = `${found.why} A table typed here makes another model.`;
      return;
    }
    this.fresh = !found.own;
    this.mine = found.own ? text : "";
    this.adopt.hidden = found.own;
    this.name.value = found.name ?? "robot";
    this.gravity.value = found.gravity ?? "0 0 -9.81";
    this.convention.select.value = found.convention ?? "dh";
    this.angles = this.unit.select.value = found.unit ?? "rad";
    this.sheet.show(this.shown, found.rows.map((cells) => ({ ...cells, was: cells["name"] ?? "" })));
    this.note.textContent = found.own ? found.why : "This table was found from the axes of the joints. Written as a table, the model keeps its axes, starts and limits; its links become rods of 1 kg, and loads and loops are left out.";
  }

  private get typed(): boolean { return this.sheet.rows.some((row) => Object.entries(row).some(([key, x]) => key !== "type" && x !== "")); }

  /** Names and coordinates that the rows have got. */
  private names({ rows }: Read): void {
    const filled = this.sheet.rows.filter((row) => Object.entries(row).some(([key, x]) => key !== "type" && x !== ""));
    filled.forEach((row, i) => { Object.assign(row, { was: rows?.[i]?.["name"] ?? "", coordinate: rows?.[i]?.["coordinate"] ?? "" }); });
    this.sheet.refresh();
  }

  /** Angles in the other unit: numbers are converted, formulas get the factor. */
  private turn(): void {
    const unit = this.unit.select.value;
    if (unit === this.angles) return;
    this.angles = unit;
    const factor = unit === "deg" ? 180 / Math.PI : Math.PI / 180, words = unit === "deg" ? "*180/pi" : "*pi/180";
    for (const row of this.sheet.rows) for (const key of [...TURNS, ...(row["type"] === "revolute" ? OWN : [])]) {
      const cell = row[key] ?? "";
      if (cell !== "") row[key] = Number.isFinite(Number(cell)) ? String(Number((Number(cell) * factor).toPrecision(15))) : `(${cell})${words}`;
    }
    this.sheet.refresh();
    this.changed();
  }
}

/** Which cell is the variable of the joint, and what an empty one means. */
function mark(row: Cells, { key }: Column, input: HTMLInputElement | HTMLSelectElement): void {
  const moves = row["type"] === "prismatic" ? "d" : row["type"] === "fixed" ? "" : "theta";
  input.classList.toggle("variable", key === moves);
  if (!(input instanceof HTMLInputElement)) return;
  input.title = key === moves ? `The joint adds its coordinate ${row["coordinate"] ?? ""} to this offset.` : "";
  input.placeholder = key === "name" ? "link" : key === "mass" ? "1" : /^[cI][xyz]/.test(key) ? "rod" : OWN.includes(key) ? "" : "0";
  input.disabled = row["type"] === "fixed" && OWN.includes(key);
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
