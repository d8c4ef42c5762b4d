// A motion by simulation: the run, its plots, and the same again while parameters are dragged.

import type { SceneData } from "../../data";
import { element, written } from "../../dom";
import type { Question, Tell } from "../link";
import type { Room, Studio } from "../studio";
import { wordButton } from "./fields";
import { howSection, lengthFields, startSection } from "./how";
import { Live } from "./live";
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

export function simulatePage(studio: Studio, setup: Setup): Room {
  const { draft, link, theatre } = studio;
  const plots = element("div", {}), phase = new Phase(), runs = new Runs();
  const result = new Result((time) => { theatre.shown?.player.pause(); theatre.shown?.player.seek(time); });
  const start = element("button", { type: "button", class: "word primary" }, "Simulate");
  let asked = 0, busy = false;
  const refresh = (): void => { start.disabled = busy || !setup.choices; };
  setup.watch(refresh);
  refresh();

  /** Puts a run on the stage; the film goes on where it was if the mechanism is the same. */
  const show = (found: Simulated, label: string): void => {
    const { shown } = theatre, lasts = (scene?: SceneData): number => scene?.run?.duration ?? 0;
    if (shown && shown.mechanism.fits(found.scene) && lasts(shown.mechanism.scene) === lasts(found.scene)) {
      shown.mechanism.renew(found.scene);
      if (shown.mechanism.byHand) shown.player.seek(shown.mechanism.time);
    } else theatre.show(found.scene);
    result.show(found);
    runs.show(label, found.scene.run);
  };

  const run = async (asking: (tell: Tell) => Question<Simulated>): Promise<void> => {
    busy = true;
    refresh();
    const { text } = draft, label = labelOf(setup);
    const found = await studio.work<Simulated>("Simulation", asking);
    busy = false;
    refresh();
    if (!found || text !== draft.text) return;
    draft.run = found.run;
    show(found, label);
  };
  start.addEventListener("click", () => void run((tell) => setup.whenReady(() => link.ask("simulate", { ...setup.given, keep: true }, tell))));
  link.resumes<Simulated>("simulate", (asking) => void run(asking)); // after the page was loaded again

  const live = new Live<Simulated>(
    () => { asked = performance.now(); return setup.whenReady(() => link.ask<Simulated>("simulate", { ...setup.given, keep: false })).answer; },
    (found) => { show(found, labelOf(setup)); parameters.took(found.seconds, performance.now() - asked); },
    (why) => result.fail(why),
    () => void keep(),
  );
  /** Once nothing moves any more, the run is kept for what others make of it. */
  const keep = async (): Promise<void> => {
    const { text } = draft, wished = JSON.stringify(setup.wishes);
    try {
      const { run: key } = await link.ask<Simulated>("simulate", { ...setup.given, keep: true }).answer;
      if (text === draft.text && wished === JSON.stringify(setup.wishes)) draft.run = key;
    } catch { // the page has said why
      draft.run = "";
    }
  };
  const parameters = new Parameters(setup, () => { draft.run = ""; live.again(); });

  const quick = element("div", { class: "buttons quick", role: "group", "aria-label": "One click away" },
    ...QUICK.map(([group, title]) => {
      const made = wordButton(title, () => theatre.shown?.panels.open(group));
      made.dataset["group"] = group;
      return made;
    }),
    wordButton("Phase portrait", () => { phase.root.open = true; phase.root.scrollIntoView({ block: "start" }); }),
    wordButton("Reaction arrows", () => theatre.root.querySelector<HTMLButtonElement>("[data-kind=reaction]")?.click(), "On the stage"));

  theatre.watch((shown) => {
    const moves = Boolean(shown?.scene.run);
    plots.replaceChildren(...(shown && moves ? [shown.panels.root] : []));
    quick.hidden = runs.root.hidden = !moves;
    phase.use(shown);
    shown?.panels.overlay(runs.overlays);
    if (!moves) { result.clear(); runs.show("", null); }
    for (const each of quick.querySelectorAll<HTMLButtonElement>("[data-group]")) each.hidden = !shown?.scene.run?.channels.some(({ group }) => group === each.dataset["group"]);
  });
  runs.watch((overlays) => { theatre.shown?.panels.overlay(overlays); phase.overlay(overlays); });
  setup.watchModel(() => runs.clear());

  const content = element("div", { class: "move" },
    element("div", { class: "go" }, lengthFields(setup), start), result.status,
    howSection(setup), startSection(setup), parameters.root, quick, runs.root, plots, phase.root, result.more);
  quick.hidden = runs.root.hidden = phase.root.hidden = true;
  return { title: "Simulate", content };
}

/** What tells a run from others: parameters and starts that are not those of the text. */
function labelOf({ wishes }: Setup): string {
  const { parameters, start, rate, formalism, integrator } = wishes;
  const words = [...Object.entries(parameters), ...Object.entries(start), ...Object.entries(rate).map(([name, x]) => [`dot(${name})`, x] as const)]
    .map(([name, x]) => `${name} = ${written(x)}`);
  const how = [formalism, integrator].filter((each) => each !== undefined);
  return [...words.slice(0, 3), ...(words.length > 3 ? ["…"] : []), ...how].join(", ") || "as in the text";
}
