// HTML elements; strings of models are inserted as text nodes only.

type Children = (Node | string)[];

/** An element with properties and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, properties: Partial<Record<string, string>> = {}, ...children: Children
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) if (value !== undefined) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const PATHS = {
  play: "M8 5.5v13l10.5-6.5z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  first: "M6 5h2.4v14H6zM19 5.5v13L9.5 12z",
  last: "M15.6 5H18v14h-2.4zM5 5.5v13l9.5-6.5z",
  loop: "M17 4l3 3-3 3V8H8a3 3 0 0 0-3 3v1H3v-1a5 5 0 0 1 5-5h9zM7 20l-3-3 3-3v2h9a3 3 0 0 0 3-3v-1h2v1a5 5 0 0 1-5 5H7z",
  fit: "M4 9V4h5v2H6v3zM15 4h5v5h-2V6h-3zM4 15h2v3h3v2H4zM18 15h2v5h-5v-2h3z",
  solid: "M12 2l9 5v10l-9 5-9-5V7zm0 2.3L6.1 7.6 12 10.9l5.9-3.3zM5 9.3v6.5l6 3.3v-6.4zm8 9.8l6-3.3V9.3l-6 3.4z",
  trails: "M3 17c4 0 4-10 9-10s4 8 9 8v2c-6 0-6-8-9-8s-3 10-9 10z",
  axes: "M11 3h2v10.2l7.2 4.6-1 1.7-7.2-4.6-7.2 4.6-1-1.7 7.2-4.6z",
  camera: "M9 4h6l1.5 2H20a1 1 0 0 1 1 1v11a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h3.5zm3 4.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0 2a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
  theme: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 0 0-14z",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2a7 7 0 1 1 0 14 7 7 0 0 1 0-14zm-1 10.5h2v2h-2zm1-8.5c-2 0-3.3 1.3-3.3 3h1.9c0-.8.5-1.4 1.4-1.4s1.4.5 1.4 1.3c0 1.4-2.4 1.5-2.4 4.1h1.9c0-1.8 2.4-2 2.4-4.2C15.3 8.2 14 7 12 7z",
  undo: "M9 5v4h6a5 5 0 0 1 0 10h-5v-2h5a3 3 0 0 0 0-6H9v4L3 10z",
  redo: "M15 5v4H9a5 5 0 0 0 0 10h5v-2H9a3 3 0 0 1 0-6h6v4l6-5z",
  reset: "M12 5V2L7 6l5 4V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z",
  remove: "M6.4 5L12 10.6 17.6 5 19 6.4 13.4 12 19 17.6 17.6 19 12 13.4 6.4 19 5 17.6 10.6 12 5 6.4z",
};
export type Icon = keyof typeof PATHS;

/** Icon, hidden from screen readers. */
export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  path.setAttribute("fill-rule", "evenodd");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

/** Button with an icon and a name. */
export function button(name: string, iconName: Icon, act: () => void, keys = ""): HTMLButtonElement {
  const made = element("button", { type: "button", class: "icon", "aria-label": name, title: keys ? `${name} (${keys})` : name }, icon(iconName));
  made.addEventListener("click", act);
  return made;
}

/** Toggle button. */
export function toggle(name: string, iconName: Icon, on: boolean, act: (on: boolean) => void, keys = ""): HTMLButtonElement {
  const made = button(name, iconName, () => {
    const now = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", String(now));
    act(now);
  }, keys);
  made.setAttribute("aria-pressed", String(on));
  return made;
}

/** Short form of a number, with a minus sign. */
export function formatNumber(x: number, digits = 4): string {
  if (x === 0 || Math.abs(x) < 1e-12) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(digits - 2) : String(Number(x.toPrecision(digits)));
  return text.replace("e+", "e").replaceAll("-", "−");
}
