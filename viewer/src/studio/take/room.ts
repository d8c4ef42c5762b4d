// Take away: everything as files, written to the folder of the studio and ready to be downloaded.

import { element } from "../../dom";
import type { Room, Studio } from "../studio";
import { Choices, type Offer } from "./choices";

interface Kind { kind: string; title: string; group: string }
interface Kinds extends Offer { kinds: Kind[] }
interface Taken { files: { name: string; bytes: number }[]; notes: string[] }

const GROUPS: Record<string, { title: string; words: string }> = {
  model: { title: "Model", words: "The description, for this program or another one." },
  run: { title: "Run", words: "The last simulation: what moved, as pictures and as numbers." },
  equations: { title: "Equations", words: "As a document, by the formalisms that are chosen below." },
  code: { title: "Code", words: "The equations as a program of your own, by the first formalism that is chosen." },
};

export function takeRoom(studio: Studio): Room {
  const { link, draft } = studio;
  const groups = element("div", { class: "groups" }), files = element("ul", { class: "files", "aria-label": "Files" });
  const none = element("p", { class: "hint" }, "Files are written to the folder in which the studio was started. Nothing that is there already is written over.");
  const choices = new Choices();
  const content = element("div", { class: "take" }, none, files, groups, choices.root);
  let asked = false;

  const take = async ({ kind, title }: Kind): Promise<void> => {
    const given = { kind, text: draft.text, run: draft.run, ...choices.values };
    const found = await studio.work<Taken>(title, (tell) => link.ask("take", given, tell));
    for (const { name, bytes } of found?.files ?? []) files.prepend(fileOf(name, bytes));
    if (found) studio.say([`Written: ${found.files.map(({ name }) => name).join(", ")}.`, ...found.notes].join(" "));
  };

  const fill = ({ kinds, ...offer }: Kinds): void => {
    choices.offer(offer);
    groups.replaceChildren(...Object.entries(GROUPS).map(([key, { title, words }]) => {
      const buttons = kinds.filter(({ group }) => group === key).map((each) => {
        const made = element("button", { type: "button", class: "word", "data-kind": each.kind }, each.title);
        made.addEventListener("click", () => void take(each));
        return made;
      });
      const hint = element("p", { class: "hint" }, words);
      return element("section", { class: "group", "aria-label": title, "data-group": key }, element("h2", {}, title), hint, element("div", { class: "buttons" }, ...buttons));
    }));
  };

  const refresh = (): void => {
    for (const each of groups.querySelectorAll<HTMLButtonElement>("[data-group=run] button")) {
      each.disabled = !draft.run;
      each.title = draft.run ? "" : "Simulate first, in the room Move.";
    }
  };
  const shown = async (): Promise<void> => {
    if (!asked) {
      asked = true;
      fill(await link.ask<Kinds>("kinds").answer);
    }
    refresh();
  };
  return { title: "Take away", content, shown: () => void shown() };
}

/** A file that was written, to be downloaded. */
function fileOf(name: string, bytes: number): HTMLElement {
  const size = bytes < 1e4 ? `${bytes} bytes` : bytes < 1e7 ? `${Math.round(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`;
  return element("li", {}, element("a", { href: `files/${encodeURIComponent(name)}`, download: name }, name), element("span", { class: "reading" }, size));
}
