// The stage of the studio: one scene after the other, each with its player, plots and sliders.

import { Controls } from "../controls";
import type { SceneData } from "../data";
import { element } from "../dom";
import { Mechanism } from "../mechanism";
import { Panels } from "../panels";
import { Player } from "../player";
import { Sliders } from "../sliders";
import { Stage } from "../stage/stage";
import { Theme } from "../theme";
import { toolsOf } from "../tools";

/** The displayed scene with its controls. */
export interface Shown { scene: SceneData; mechanism: Mechanism; player: Player; stage: Stage; panels: Panels; sliders: Sliders }

export class StageView {
  readonly root = element("section", { class: "left", "aria-label": "Mechanism" });
  readonly theme: Theme;
  shown: Shown | null = null;
  private until = new AbortController();
  private readonly listeners: ((shown: Shown | null) => void)[] = [];

  constructor() {
    this.theme = new Theme((paint) => { this.shown?.stage.paint(paint); this.shown?.panels.repaint(); });
    this.root.append(element("div", { class: "stage" }));
  }

  /** Calls back when another scene is displayed. */
  watch(listener: (shown: Shown | null) => void): void { this.listeners.push(listener); }

  /** Displays a scene; with `keep`, coordinates that the user moved are preserved for a new scene of the same model. */
  show(scene: SceneData, { keep = false, play = true } = {}): Shown {
    const before = this.shown, same = before?.scene.model.name === scene.model.name;
    const previous = keep && same && before?.mechanism.isManual && !scene.run ? before.mechanism : null;
    this.clear();
    const mechanism = new Mechanism(scene), player = new Player(mechanism);
    const container = element("div", { class: "stage" });
    this.root.replaceChildren(container);
    if (scene.run) this.root.append(new Controls(mechanism, player, this.until.signal).root);
    const stage = new Stage(container, mechanism);
    container.append(toolsOf(stage, scene.model.name, this.until.signal));
    if (!stage.solid) container.append(element("p", { class: "warning", role: "alert" }, "This browser has no WebGL, so only the edges of the mechanism are drawn."));
    this.shown = { scene, mechanism, player, stage, panels: new Panels(mechanism, player), sliders: new Sliders(mechanism, player) };
    this.theme.apply();
    if (previous) mechanism.copyConfiguration(previous);
    this.listeners.forEach((each) => each(this.shown));
    if (play && scene.run && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) player.play();
    return this.shown;
  }

  /** An empty stage with a message. */
  empty(message: string): void {
    this.clear();
    this.root.replaceChildren(element("div", { class: "stage" }, element("p", { class: "empty" }, message)));
    this.listeners.forEach((each) => each(null));
  }

  private clear(): void {
    this.until.abort();
    this.until = new AbortController();
    this.shown?.player.pause();
    this.shown?.stage.end();
    this.shown = null;
  }
}
