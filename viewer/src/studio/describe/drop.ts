// Model files dropped on the page or selected with a button.

import { element } from "../../dom";
import type { Studio } from "../studio";

export const SUFFIXES = [".toml", ".urdf", ".csv", ".json", ".m", ".mat"];
interface Read { text: string; notes: string[]; name: string }

/** Reads a file as a model and shows its problems. */
export async function readFile({ connection, draft, notify, work }: Studio, file: File): Promise<boolean> {
  const found = await work<Read>(`Reading ${file.name}`, (onProgress) => {
    let cancel = (): void => undefined;
    const result = uploaded(file).then((key) => {
      const handle = connection.request<Read>("import", { key }, onProgress);
      cancel = handle.cancel;
      return handle.result;
    });
    return { result, cancel: () => cancel() };
  });
  if (!found) return false;
  draft.change(found.text);
  notify(`Read ${found.name}${found.notes.length ? `. Notes of the importer:\n${found.notes.map((each) => `– ${each}`).join("\n")}` : "."}`);
  return true;
}

async function uploaded(file: File): Promise<string> {
  const address = new URL("upload", document.baseURI);
  address.searchParams.set("name", file.name);
  const answer = await fetch(address, { method: "POST", body: file });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return ((await answer.json()) as { key: string }).key;
}

/** Button that opens a file. */
export function openButton(receive: (file: File) => void): HTMLElement {
  const input = element("input", { type: "file", accept: SUFFIXES.join(","), hidden: "", "aria-label": "Model file to open" });
  const open = element("button", { type: "button", class: "word", title: `${SUFFIXES.join(", ")}; or drop a file on the page` }, "Open file …");
  open.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    input.value = "";
    if (file) receive(file);
  });
  return element("span", {}, open, input);
}

/** Receives files dropped anywhere on the page. */
export function onDrop(receive: (file: File) => void): void {
  const veil = element("div", { class: "veil", hidden: "" }, element("p", {}, `Drop a model: ${SUFFIXES.join(", ")}`));
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
    if (file) receive(file);
  });
  document.body.append(veil);
}
