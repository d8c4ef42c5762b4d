// Form controls: numbers, choices, buttons, collapsible sections.

import { element } from "../../dom";

/** Number field; empty means the value of the model, which is the placeholder. */
export function numberField(label: string, changed: (value: number | undefined) => void, unit = ""): { root: HTMLElement; input: HTMLInputElement } {
  const input = element("input", { type: "number", step: "any" });
  input.addEventListener("change", () => changed(input.value === "" ? undefined : Number(input.value)));
  return { root: labelled(label, input, unit), input };
}

/** Drop-down list. */
export function choiceField(label: string, changed: (value: string) => void): { root: HTMLElement; select: HTMLSelectElement } {
  const select = element("select", {});
  select.addEventListener("change", () => changed(select.value));
  return { root: labelled(label, select), select };
}

/** Sets the options; the selection is preserved if it is still available. */
export function offer(select: HTMLSelectElement, options: { value: string; text: string }[], chosen = select.value): void {
  select.replaceChildren(...options.map(({ value, text }) => element("option", { value }, text)));
  if (options.some(({ value }) => value === chosen)) select.value = chosen;
}

/** Checkbox with a label. */
export function checkField(label: string, on: boolean, changed: (on: boolean) => void): { root: HTMLElement; input: HTMLInputElement } {
  const input = element("input", { type: "checkbox" });
  input.checked = on;
  input.addEventListener("change", () => changed(input.checked));
  return { root: element("label", { class: "check" }, input, ` ${label}`), input };
}

export function wordButton(name: string, act: () => void, title = "", kind = ""): HTMLButtonElement {
  const made = element("button", { type: "button", class: `word ${kind}`.trim(), ...(title ? { title } : {}) }, name);
  made.addEventListener("click", act);
  return made;
}

/** Collapsible section of a page. */
export function section(title: string, open: boolean, ...content: Node[]): HTMLDetailsElement {
  const made = element("details", { class: "section" }, element("summary", {}, element("span", { class: "title" }, title)), ...content);
  made.open = open;
  return made;
}

function labelled(label: string, control: HTMLElement, unit = ""): HTMLElement {
  return element("label", { class: "ask" }, element("span", { class: "label" }, unit ? `${label} [${unit}]` : label), control);
}
