// Form field of one key, with its error message.

import { element } from "../../dom";
import { words, type About, type KeyPath } from "./format";

export interface Names { bodies: string[]; coordinates: string[] }
type Commit = (value: string, now: boolean) => void;
const COMMIT_DELAY = 400; // ms after the last key
let count = 0;

export class Field {
  readonly root: HTMLElement;
  readonly inputs: (HTMLInputElement | HTMLSelectElement)[];
  private readonly error = element("p", { class: "wrong", hidden: "" });
  private committed = "";
  private timer = 0;

  constructor(readonly keyPath: KeyPath, readonly key: string, readonly about: About, private readonly commit: Commit, title = "") {
    const id = `field-${++count}`, name = title || words(key);
    const pair = about.form === "bodies" && about.expects.startsWith("an array of 2");
    const chosen = pair || about.form === "body" || about.form === "choice" || about.form === "coordinate";
    this.inputs = Array.from({ length: pair ? 2 : 1 }, () => chosen ? element("select", {})
      : about.form === "switch" ? element("input", { type: "checkbox" })
        : element("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: about.default ?? "" }));
    this.error.id = `${id}-error`;
    this.inputs.forEach((input, i) => {
      input.id = i ? `${id}-${i}` : id;
      input.title = about.expects;
      input.setAttribute("aria-describedby", this.error.id);
      if (title || i) input.setAttribute("aria-label", title || `${name}, second`);
      input.addEventListener("change", () => this.change(true));
      if (input.type === "text") input.addEventListener("input", () => { window.clearTimeout(this.timer); if (this.value) this.timer = window.setTimeout(() => this.change(false), COMMIT_DELAY); });
    });
    const label = element("label", { for: id }, name, ...(about.required ? [element("span", { class: "must", title: "required" }, "*")] : []));
    this.root = element("div", { class: "entry" }, ...(title ? [] : [label]), element("div", { class: "inputs" }, ...this.inputs), this.error);
  }

  get value(): string {
    const [first] = this.inputs;
    if (first instanceof HTMLInputElement && first.type === "checkbox") return first.checked ? "true" : this.about.default === "true" ? "false" : "";
    return this.inputs.map((each) => each.value.trim()).filter((each, i) => each || i === 0).join(", ");
  }

  private change(now: boolean): void {
    window.clearTimeout(this.timer);
    if (this.value === this.committed) return;
    this.committed = this.value;
    this.commit(this.value, now);
  }

  /** Updates the value from the source, except while the user edits this field. */
  show(value: string | undefined, names: Names): void {
    const source = value ?? "", parts = this.inputs.length === 2 ? source.split(", ") : [source];
    const busy = this.inputs.some((each) => each === document.activeElement) && this.value !== this.committed;
    if (busy) return;
    this.inputs.forEach((input, i) => {
      const part = parts[i] ?? "";
      if (input instanceof HTMLSelectElement) this.offer(input, part, names);
      else if (input.type === "checkbox") input.checked = (source || this.about.default) === "true";
      else {
        if (input !== document.activeElement || input.value.trim() !== part) input.value = part;
        input.defaultValue = part;
      }
    });
    this.committed = this.value;
  }

  private offer(select: HTMLSelectElement, value: string, names: Names): void {
    const { form, options, default: standard, required } = this.about;
    const known = form === "choice" ? options ?? [] : form === "coordinate" ? names.coordinates : ["world", ...names.bodies];
    const all = known.includes(value) || !value ? known : [value, ...known];
    select.replaceChildren(
      ...(required && value ? [] : [element("option", { value: "" }, standard ? `${standard} (default)` : form === "body" && this.key === "parent" ? "world (default)" : "–")]),
      ...all.map((each) => element("option", { value: each }, each)));
    select.value = value;
  }

  /** Shows error messages. */
  showErrors(messages: string[]): void {
    this.error.textContent = messages.join(" ");
    this.error.hidden = messages.length === 0;
    this.inputs.forEach((each) => each.setAttribute("aria-invalid", String(messages.length > 0)));
  }

  focus(): void { this.inputs[0].focus(); }
}
