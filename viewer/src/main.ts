// Start of the page.

import { Controls } from "./controls";
import { sceneOf, type SceneData } from "./data";
import { element } from "./dom";
import { onKeys } from "./keys";
import { Mechanism, type Pose } from "./mechanism";
import { Panels } from "./panels";
import { Player } from "./player";
import { Sliders } from "./sliders";
import { splitter } from "./splitter";
import { Stage } from "./stage/stage";
import { tabsOf, templatePage } from "./tabs";
import { Theme } from "./theme";
import { toolsOf } from "./tools";

export interface Hooks {
  ready: boolean;
  setTime(t: number): void;
  time(): number;
  play(): void;
  pause(): void;
  pose(body: string): Pose;
  setCoordinate(name: string, value: number): boolean;
  coordinates(): Record<string, number>;
  residual(): number;
  snapshot(): string;
}
declare global { interface Window { dalembert: Hooks } }

function hooksOf(mechanism: Mechanism, player: Player, stage: Stage): Hooks {
  const { coordinates } = mechanism.scene;
  return {
    ready: true,
    setTime: (t) => { player.pause(); mechanism.setTime(t); },
    time: () => mechanism.time,
    play: () => player.play(),
    pause: () => player.pause(),
    pose: (body) => mechanism.pose(body),
    setCoordinate: (name, value) => { player.pause(); return mechanism.setCoordinate(name, value); },
    coordinates: () => Object.fromEntries(coordinates.map((each, i) => [each.name, mechanism.state[i]])),
    residual: () => mechanism.residual(),
    snapshot: () => stage.snapshot(),
  };
}

function header({ model, run }: SceneData, ...tools: Node[]): HTMLElement {
  const made = element("header", {}, element("h1", {}, model.name), element("p", { title: model.description }, model.description));
  if (run) made.append(element("span", { class: "badge", title: "the formalism of this run" }, run.formalism));
  made.append(...tools);
  return made;
}

function begin(): void {
  const scene = sceneOf(document);
  const mechanism = new Mechanism(scene), player = new Player(mechanism);
  const panels = new Panels(mechanism, player), sliders = new Sliders(mechanism, player);
  const container = element("div", { class: "stage" });
  const pages = [...(scene.run ? [{ title: "Plots", content: panels.root }] : []), { title: "Joints", content: sliders.root }];
  const side = tabsOf([...pages, ...scene.tabs.map(({ title }, i) => templatePage(title, i))]);
  const left = element("section", { class: "left", "aria-label": "Mechanism" }, container);
  if (scene.run) left.append(new Controls(mechanism, player).root);
  const theme = new Theme((paint) => { stage.paint(paint); panels.repaint(); });
  const main = element("main", { class: "dalembert" }, header(scene, theme.switch), left, splitter(), side);
  document.body.append(main);
  const stage = new Stage(container, mechanism);
  container.append(toolsOf(stage, scene.model.name));
  if (!stage.solid) container.append(element("p", { class: "warning", role: "alert" },
    "This browser has no WebGL, so the mechanism is drawn by its edges only. Turn on hardware acceleration to see it in full."));
  theme.apply();
  onKeys({ d: () => theme.flip() });
  window.dalembert = hooksOf(mechanism, player, stage);
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) player.play();
}

try {
  begin();
} catch (error) {
  document.body.append(element("p", { class: "warning", role: "alert" }, `This page cannot be shown: ${error instanceof Error ? error.message : error}.`));
  throw error;
}
