// Start of the studio: the stage on the left, tabs on the right, one draft for all of them.

import { button, element } from "../dom";
import { onKeys } from "../keys";
import { splitter } from "../splitter";
import { tabsOf } from "../tabs";
import { describeTab } from "./describe/describe_tab";
import { Draft, type Described, type SavedDraft } from "./draft";
import { Help } from "./help";
import { Connection, type Problem, type Welcome } from "./connection";
import { moveTab } from "./move/move_tab";
import type { Studio } from "./studio";
import { downloadsTab } from "./downloads/downloads_tab";
import { StageView, type Shown } from "./stage_view";
import { understandTab } from "./understand/understand_tab";
import { TaskBars } from "./task_bars";

/** Interface for tests and for scripts in the page. */
export interface Hooks { text(): string; change(text: string): void; problems(): Problem[]; shown(): Shown | null }
declare global { interface Window { studio: Hooks } }

/** Key of this browser tab, preserved by a reload; a new one if a duplicated tab has the same key. */
function tabKey(fresh: boolean): string {
  const stored = sessionStorage.getItem("tab");
  if (stored && !fresh) return stored;
  const made = Array.from(crypto.getRandomValues(new Uint8Array(8)), (x) => x.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem("tab", made);
  return made;
}

function begin(): void {
  const taskBars = new TaskBars(), stageView = new StageView();
  const state = element("span", { class: "badge", role: "status" }, "connecting");
  let welcomed = false;
  let welcome = (_: Welcome): void => undefined;
  const welcomedBy = new Promise<Welcome>((done) => { welcome = done; });
  const connection = new Connection(tabKey, (message) => { if (welcomed) draft.save(); else { welcomed = true; welcome(message); greet(message); } },
    (open) => { state.textContent = open ? "saved" : "not connected"; },
    (done, reason) => { state.textContent = done ? "saved" : "not saved"; if (!done) taskBars.show(reason, "warning"); });
  const draft = new Draft(connection);
  const studio: Studio = { connection, draft, stageView, welcomed: welcomedBy, work: (title, start) => taskBars.run(title, start), notify: (message, kind) => taskBars.show(message, kind) };

  const side = tabsOf([describeTab(studio), understandTab(studio), moveTab(studio), downloadsTab(studio)], "Tabs");
  const help = new Help(studio);
  const title = element("h1", {}, "dalembert studio");
  const undo = button("Undo", "undo", () => draft.undo(), "Ctrl+Z"), redo = button("Redo", "redo", () => draft.redo(), "Ctrl+Y");
  const header = element("header", {}, title, element("p", {}), state, undo, redo, help.button, stageView.theme.switch);
  document.body.append(element("div", { class: "dalembert studio" }, header, element("main", {}, stageView.root, splitter(), side)), help.root, taskBars.root);
  stageView.theme.apply();
  onKeys({ d: () => stageView.theme.flip() });

  draft.watchText(() => { undo.disabled = !draft.canUndo; redo.disabled = !draft.canRedo; state.textContent = "saving"; });
  draft.watch((found) => {
    if (found.name) title.textContent = found.name;
    if (found.scene) stageView.show({ ...found.scene, tabs: [] }, { keep: true });
    else if (!stageView.shown || !found.problems.length) stageView.empty(found.problems.length ? "The source has errors. Correct them to display the mechanism." : "This model is defined by its energies: there is no mechanism to display.");
  });

  window.studio = { text: () => draft.text, change: (text) => draft.change(text), problems: () => draft.described.problems, shown: () => stageView.shown };

  function greet({ draft: saved, first }: Welcome): void {
    let once = (): void => { once = () => {}; connection.resume(); }; // as soon as the restored draft is displayed
    draft.watch(() => once());
    if (saved) draft.restore(saved as SavedDraft);
    else if (first) { draft.begin(first.text, first.described as Described); state.textContent = "saved"; }
  }
}

try {
  begin();
} catch (error) {
  document.body.append(element("p", { class: "warning", role: "alert" }, `The studio cannot start: ${error instanceof Error ? error.message : error}.`));
  throw error;
}
