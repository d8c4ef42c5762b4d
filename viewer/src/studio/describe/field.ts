// One key of an element in a form: a field that fits what the key expects, and what is wrong with it.

import { element } from "../../dom";
import { words, type About, type Place } from "./format";

export interface Names { bodies: string[]; coordinates: string[] }
type Commit = (written: string, now: boolean) => void;
const PAUSE = 400; // ms after the last key before a value is taken
let count = 0;

export class Field {
  readonly root: HTMLElement;
  readonly inputs: (HTMLInputElement | HTMLSelectElement)[];
  private readonly said = element("p", { class: "wrong", hidden: "" });
  private committed = "";
  private timer = 0;

  constructor(readonly place: Place, readonly key: string, readonly about: About, private readonly commit: Commit, title = "") {
    const id = `field-${++count}`, name = title || words(key);
    const pair = about.form === "bodies" && about.expects.startsWith("an array of 2");
    const chosen = pair || about.form === "body" || about.form === "choice" || about.form === "coordinate";
    this.inputs = Array.from({ length: pair ? 2 : 1 }, () => chosen ? element("select", {})
      : about.form === "switch" ? element("input", { type: "checkbox" })
        : element("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: about.usual ?? "" }));
    this.said.id = `${id}-said`;
    this.inputs.forEach((input, i) => {
      input.id = i ? `${id}-${i}` : id;
      input.title = about.expects;
      input.setAttribute("aria-describedby", this.said.id);
      if (title || i) input.setAttribute("aria-label", title || `${name}, second`);
      input.addEventListener("change", () => this.take(true));
      if (input.type === "text") input.addEventListener("input", () => { window.clearTimeout(this.timer); if (this.written) this.timer = window.setTimeout(() => this.take(false), PAUSE); });
    });
    const label = element("label", { for: id }, name, ...(about.required ? [element("span", { class: "must", title: "required" }, "*")] : []));
    this.root = element("div", { class: "entry" }, ...(title ? [] : [label]), element("div", { class: "inputs" }, ...this.inputs), this.said);
  }

  get written(): string {
    const [first] = this.inputs;
    if (first instanceof HTMLInputElement && first.type === "checkbox") return first.checked ? "true" : this.about.usual === "true" ? "false" : "";
    return this.inputs.map((each) => each.value.trim()).filter((each, i) => each || i === 0).join(", ");
  }

  private take(now: boolean): void {
    window.clearTimeout(this.timer);
    if (this.written === this.committed) return;
    this.committed = this.written;
    this.commit(this.written, now);
  }

  /** What the text says now; a field in which somebody is writing keeps what is written. */
  show(value: string | undefined, names: Names): void {
    const said = value ?? "", parts = this.inputs.length === 2 ? said.split(", ") : [said];
    const busy = this.inputs.some((each) => each === document.activeElement) && this.written !== this.committed;
    if (busy) return;
    this.inputs.forEach((input, i) => {
      const part = parts[i] ?? "";
      if (input instanceof HTMLSelectElement) this.offer(input, part, names);
      else if (input.type === "checkbox") input.checked = (said || this.about.usual) === "true";
      else {
        if (input !== document.activeElement || input.value.trim() !== part) input.value = part;
        input.defaultValue = part;
      }
    });
    this.committed = this.written;
  }

  private offer(select: HTMLSelectElement, value: string, names: Names): void {
    const { form, options, usual, required } = this.about;
    const known = form === "choice" ? options ?? [] : form === "coordinate" ? names.coordinates : ["world", ...names.bodies];
    const all = known.includes(value) || !value ? known : [value, ...known];
    select.replaceChildren(
      ...(required && value ? [] : [element("option", { value: "" }, usual ? `${usual} (usual)` : form === "body" && this.key === "parent" ? "world (usual)" : "–")]),
      ...all.map((each) => element("option", { value: each }, each)));
    select.value = value;
  }

  /** Shows what is wrong with it. */
  tell(messages: string[]): void {
    this.said.textContent = messages.join(" ");
    this.said.hidden = messages.length === 0;
    this.inputs.forEach((each) => each.setAttribute("aria-invalid", String(messages.length > 0)));
  }

  focus(): void { this.inputs[0].focus(); }
}
