// Files from outside: dropped anywhere on the page, or chosen by a button.

import { element } from "../../dom";
import type { Studio } from "../studio";

export const ENDINGS = [".toml", ".urdf", ".csv", ".json", ".m", ".mat"];
interface Read { text: string; notes: string[]; name: string }

/** Reads a file as a model; its problems, if it has some, are told. */
export async function readFile({ link, draft, say, work }: Studio, file: File): Promise<boolean> {
  const found = await work<Read>(`Reading ${file.name}`, (tell) => {
    let cancel = (): void => undefined;
    const answer = uploaded(file).then((key) => {
      const asked = link.ask<Read>("import", { key }, tell);
      cancel = asked.cancel;
      return asked.answer;
    });
    return { answer, cancel: () => cancel() };
  });
  if (!found) return false;
  draft.change(found.text);
  say(`${found.name} is read${found.notes.length ? `. Notes of the reader:\n${found.notes.map((each) => `– ${each}`).join("\n")}` : "."}`);
  return true;
}

async function uploaded(file: File): Promise<string> {
  const address = new URL("upload", document.baseURI);
  address.searchParams.set("name", file.name);
  const answer = await fetch(address, { method: "POST", body: file });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return ((await answer.json()) as { key: string }).key;
}

/** A button that opens a file. */
export function openButton(take: (file: File) => void): HTMLElement {
  const input = element("input", { type: "file", accept: ENDINGS.join(","), hidden: "", "aria-label": "Model file to open" });
  const open = element("button", { type: "button", class: "word", title: `${ENDINGS.join(", ")}; files can be dropped anywhere on the page, too` }, "Open a file …");
  open.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    input.value = "";
    if (file) take(file);
  });
  return element("span", {}, open, input);
}

/** Takes files that are dropped anywhere. */
export function takeDropped(take: (file: File) => void): void {
  const veil = element("div", { class: "veil", hidden: "" }, element("p", {}, `Drop a model: ${ENDINGS.join(", ")}`));
  const holdsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) veil.hidden = true; });
  window.addEventListener("drop", (event) => {
    veil.hidden = true;
    if (!holdsFiles(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
  document.body.append(veil);
}
