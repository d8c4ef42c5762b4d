// Export: files of the model, its equations and runs, written to the folder of the studio.

import { element } from "../../dom";
import type { Tab, Studio } from "../studio";
import { ExportOptions, type Offer } from "./export_options";

interface Kind { kind: string; title: string; group: string }
interface Kinds extends Offer { kinds: Kind[] }
interface Written { files: { name: string; bytes: number }[]; notes: string[] }

const GROUPS: Record<string, { title: string; words: string }> = {
  model: { title: "Model", words: "The model description, for dalembert or other programs." },
  run: { title: "Run", words: "The last simulation: plots, animations and data." },
  equations: { title: "Equations", words: "As a document, for the formalisms selected below." },
  code: { title: "Code", words: "Source code of the equations, for the first formalism selected below." },
};

export function downloadsTab(studio: Studio): Tab {
  const { connection, draft } = studio;
  const groups = element("div", { class: "groups" }), files = element("ul", { class: "files", "aria-label": "Files" });
  const none = element("p", { class: "hint" }, "Files are written to the folder in which the studio was started. Existing files are not overwritten.");
  const choices = new ExportOptions();
  const content = element("div", { class: "export" }, none, files, groups, choices.root);
  let loaded = false;

  const download = async ({ kind, title }: Kind): Promise<void> => {
    const parameters = { kind, text: draft.text, run: draft.run, ...choices.values };
    const found = await studio.work<Written>(title, (onProgress) => connection.request("download", parameters, onProgress));
    for (const { name, bytes } of found?.files ?? []) files.prepend(fileOf(name, bytes));
    if (found) studio.notify([`Written: ${found.files.map(({ name }) => name).join(", ")}.`, ...found.notes].join(" "));
  };

  const fill = ({ kinds, ...offer }: Kinds): void => {
    choices.offer(offer);
    groups.replaceChildren(...Object.entries(GROUPS).map(([key, { title, words }]) => {
      const buttons = kinds.filter(({ group }) => group === key).map((each) => {
        const made = element("button", { type: "button", class: "word", "data-kind": each.kind }, each.title);
        made.addEventListener("click", () => void download(each));
        return made;
      });
      const hint = element("p", { class: "hint" }, words);
      return element("section", { class: "group", "aria-label": title, "data-group": key }, element("h2", {}, title), hint, element("div", { class: "buttons" }, ...buttons));
    }));
  };

  const refresh = (): void => {
    for (const each of groups.querySelectorAll<HTMLButtonElement>("[data-group=run] button")) {
      each.disabled = !draft.run;
      each.title = draft.run ? "" : "Run a simulation first, under Motion.";
    }
  };
  const shown = async (): Promise<void> => {
    if (!loaded) {
      loaded = true;
      fill(await connection.request<Kinds>("file_kinds").result);
    }
    refresh();
  };
  return { title: "Export", content, shown: () => void shown() };
}

/** Link to a written file. */
function fileOf(name: string, bytes: number): HTMLElement {
  const size = bytes < 1e4 ? `${bytes} bytes` : bytes < 1e7 ? `${Math.round(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`;
  return element("li", {}, element("a", { href: `files/${encodeURIComponent(name)}`, download: name }, name), element("span", { class: "reading" }, size));
}
