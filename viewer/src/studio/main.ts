// The studio comes to life: the stage on the left, rooms on the right, one draft for all of them.

import { button, element } from "../dom";
import { onKeys } from "../keys";
import { splitter } from "../splitter";
import { tabsOf } from "../tabs";
import { describeRoom } from "./describe/room";
import { Draft, type Described, type Kept } from "./draft";
import { Help } from "./help";
import { Link, type Problem, type Welcome } from "./link";
import { moveRoom } from "./move/room";
import type { Studio } from "./studio";
import { takeRoom } from "./take/room";
import { Theatre, type Shown } from "./theatre";
import { understandRoom } from "./understand/room";
import { Works } from "./works";

/** For tests and for scripts in the page. */
export interface Hooks { text(): string; change(text: string): void; problems(): Problem[]; shown(): Shown | null }
declare global { interface Window { studio: Hooks } }

/** The key of this tab, the same after a reload; a fresh one where a copy of this tab has it. */
function tabKey(fresh: boolean): string {
  const kept = sessionStorage.getItem("tab");
  if (kept && !fresh) return kept;
  const made = Array.from(crypto.getRandomValues(new Uint8Array(8)), (x) => x.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem("tab", made);
  return made;
}

function begin(): void {
  const works = new Works(), theatre = new Theatre();
  const state = element("span", { class: "badge", role: "status" }, "connecting");
  let welcomed = false;
  let welcome = (_: Welcome): void => undefined;
  const welcomedBy = new Promise<Welcome>((done) => { welcome = done; });
  const link = new Link(tabKey, (said) => { if (welcomed) draft.save(); else { welcomed = true; welcome(said); greet(said); } },
    (open) => { state.textContent = open ? "saved" : "not connected"; },
    (done, why) => { state.textContent = done ? "saved" : "not saved"; if (!done) works.say(why, "warning"); });
  const draft = new Draft(link);
  const studio: Studio = { link, draft, theatre, welcomed: welcomedBy, work: (title, question) => works.show(title, question), say: (words, kind) => works.say(words, kind) };

  const side = tabsOf([describeRoom(studio), understandRoom(studio), moveRoom(studio), takeRoom(studio)], "Rooms");
  const help = new Help(studio);
  const title = element("h1", {}, "dalembert studio");
  const undo = button("Undo", "undo", () => draft.undo(), "Ctrl+Z"), redo = button("Redo", "redo", () => draft.redo(), "Ctrl+Y");
  const header = element("header", {}, title, element("p", {}), state, undo, redo, help.button, theatre.theme.switch);
  document.body.append(element("div", { class: "dalembert studio" }, header, element("main", {}, theatre.root, splitter(), side)), help.root, works.root);
  theatre.theme.apply();
  onKeys({ d: () => theatre.theme.flip() });

  draft.watchText(() => { undo.disabled = !draft.canUndo; redo.disabled = !draft.canRedo; state.textContent = "saving"; });
  draft.watch((found) => {
    if (found.name) title.textContent = found.name;
    if (found.scene) theatre.show({ ...found.scene, tabs: [] }, { keep: true });
    else if (!theatre.shown || !found.problems.length) theatre.empty(found.problems.length ? "The text has to be mended before there is something to see." : "This model is given by its energies: there is nothing to draw.");
  });

  window.studio = { text: () => draft.text, change: (text) => draft.change(text), problems: () => draft.described.problems, shown: () => theatre.shown };

  function greet({ draft: kept, first }: Welcome): void {
    let once = (): void => { once = () => {}; link.resume(); }; // when what was kept is on the stage
    draft.watch(() => once());
    if (kept) draft.restore(kept as Kept);
    else if (first) { draft.begin(first.text, first.described as Described); state.textContent = "saved"; }
  }
}

try {
  begin();
} catch (error) {
  document.body.append(element("p", { class: "warning", role: "alert" }, `The studio cannot be shown: ${error instanceof Error ? error.message : error}.`));
  throw error;
}
