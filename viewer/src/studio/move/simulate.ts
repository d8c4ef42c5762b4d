// Simulation: the run, its plots, and repeated runs while parameters are dragged.

import type { SceneData } from "../../data";
import { element, formatNumber } from "../../dom";
import type { OnProgress, TaskHandle } from "../connection";
import type { Tab, Studio } from "../studio";
import { wordButton } from "./fields";
import { settingsSection, lengthFields, startSection } from "./settings";
import { LatestRequest } from "./latest_request";
import { Parameters } from "./parameters";
import { Phase } from "./phase";
import { Result } from "./result";
import { Runs } from "./runs";
import type { Setup } from "./setup";

export interface Simulated {
  run: string; scene: SceneData; tables: string; status: string; notes: string[]; events: { name: string; t: number }[];
  integrator: string; formalism: string; energy_error: number | null; constraint_error: number | null; seconds: number;
}

const QUICK: [string, string][] = [["energy", "Energy"], ["violation", "Drift"], ["reactions", "Reactions"]];

export function simulatePage(studio: Studio, setup: Setup): Tab {
  const { draft, connection, stageView } = studio;
  const plots = element("div", {}), phase = new Phase(), runs = new Runs();
  const result = new Result((time) => { stageView.shown?.player.pause(); stageView.shown?.player.seek(time); });
  const start = element("button", { type: "button", class: "word primary" }, "Simulate");
  let requestTime = 0, busy = false;
  const refresh = (): void => { start.disabled = busy || !setup.options; };
  setup.watch(refresh);
  refresh();

  /** Displays a run; the animation continues if the mechanism is the same. */
  const show = (found: Simulated, label: string): void => {
    const { shown } = stageView, lasts = (scene?: SceneData): number => scene?.run?.duration ?? 0;
    if (shown && shown.mechanism.fits(found.scene) && lasts(shown.mechanism.scene) === lasts(found.scene)) {
      shown.mechanism.replaceScene(found.scene);
      if (shown.mechanism.isManual) shown.player.seek(shown.mechanism.time);
    } else stageView.show(found.scene);
    result.show(found);
    runs.show(label, found.scene.run);
  };

  const run = async (startTask: (tell: OnProgress) => TaskHandle<Simulated>): Promise<void> => {
    busy = true;
    refresh();
    const { text } = draft, label = labelOf(setup);
    const found = await studio.work<Simulated>("Simulation", startTask);
    busy = false;
    refresh();
    if (!found || text !== draft.text) return;
    draft.run = found.run;
    show(found, label);
  };
  start.addEventListener("click", () => void run((onProgress) => setup.whenReady(() => connection.request("simulate", { ...setup.parameters, save: true }, onProgress))));
  connection.onResume<Simulated>("simulate", (startTask) => void run(startTask)); // after the page was loaded again

  const live = new LatestRequest<Simulated>(
    () => { requestTime = performance.now(); return setup.whenReady(() => connection.request<Simulated>("simulate", { ...setup.parameters, save: false })).result; },
    (found) => { show(found, labelOf(setup)); parameters.showTime(found.seconds, performance.now() - requestTime); },
    (reason) => result.fail(reason),
    () => void save(),
  );
  /** When dragging has ended, saves the run for exports. */
  const save = async (): Promise<void> => {
    const { text } = draft, current = JSON.stringify(setup.overrides);
    try {
      const { run: key } = await connection.request<Simulated>("simulate", { ...setup.parameters, save: true }).result;
      if (text === draft.text && current === JSON.stringify(setup.overrides)) draft.run = key;
    } catch { // the page has displayed the reason
      draft.run = "";
    }
  };
  const parameters = new Parameters(setup, () => { draft.run = ""; live.update(); });

  const quick = element("div", { class: "buttons quick", role: "group", "aria-label": "Shortcuts" },
    ...QUICK.map(([group, title]) => {
      const made = wordButton(title, () => stageView.shown?.panels.open(group));
      made.dataset["group"] = group;
      return made;
    }),
    wordButton("Phase portrait", () => { phase.root.open = true; phase.root.scrollIntoView({ block: "start" }); }),
    wordButton("Reaction arrows", () => stageView.root.querySelector<HTMLButtonElement>("[data-kind=reaction]")?.click(), "On the stage"));

  stageView.watch((shown) => {
    const hasRun = Boolean(shown?.scene.run);
    plots.replaceChildren(...(shown && hasRun ? [shown.panels.root] : []));
    quick.hidden = runs.root.hidden = !hasRun;
    phase.use(shown);
    shown?.panels.overlay(runs.overlays);
    if (!hasRun) { result.clear(); runs.show("", null); }
    for (const each of quick.querySelectorAll<HTMLButtonElement>("[data-group]")) each.hidden = !shown?.scene.run?.channels.some(({ group }) => group === each.dataset["group"]);
  });
  runs.watch((overlays) => { stageView.shown?.panels.overlay(overlays); phase.overlay(overlays); });
  setup.watchModel(() => runs.clear());

  const content = element("div", { class: "move" },
    element("div", { class: "go" }, lengthFields(setup), start), result.status,
    settingsSection(setup), startSection(setup), parameters.root, quick, runs.root, plots, phase.root, result.more);
  quick.hidden = runs.root.hidden = phase.root.hidden = true;
  return { title: "Simulate", content };
}

/** Label of a run: values that differ from the source. */
function labelOf({ overrides }: Setup): string {
  const { parameters, start, rate, formalism, integrator } = overrides;
  const changes = [...Object.entries(parameters), ...Object.entries(start), ...Object.entries(rate).map(([name, x]) => [`dot(${name})`, x] as const)]
    .map(([name, x]) => `${name} = ${formatNumber(x)}`);
  const methods = [formalism, integrator].filter((each) => each !== undefined);
  return [...changes.slice(0, 3), ...(changes.length > 3 ? ["…"] : []), ...methods].join(", ") || "as in the source";
}
