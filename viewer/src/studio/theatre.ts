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

/** What is on the stage now. */
export interface Shown { scene: SceneData; mechanism: Mechanism; player: Player; stage: Stage; panels: Panels; sliders: Sliders }

export class Theatre {
  readonly root = element("section", { class: "left", "aria-label": "Mechanism" });
  readonly theme: Theme;
  shown: Shown | null = null;
  private until = new AbortController();
  private readonly listeners: ((shown: Shown | null) => void)[] = [];

  constructor() {
    this.theme = new Theme((paint) => { this.shown?.stage.paint(paint); this.shown?.panels.repaint(); });
    this.root.append(element("div", { class: "stage" }));
  }

  /** Calls back when another scene is on the stage. */
  watch(listener: (shown: Shown | null) => void): void { this.listeners.push(listener); }

  /** Puts a scene on the stage; coordinates stay as they were moved by hand where a new scene of the same model has them too. */
  show(scene: SceneData, { keep = false, play = true } = {}): Shown {
    const before = this.shown, same = before?.scene.model.name === scene.model.name;
    const held = keep && same && before?.mechanism.byHand && !scene.run ? before.mechanism : null;
    this.clear();
    const mechanism = new Mechanism(scene), player = new Player(mechanism);
    const place = element("div", { class: "stage" });
    this.root.replaceChildren(place);
    if (scene.run) this.root.append(new Controls(mechanism, player, this.until.signal).root);
    const stage = new Stage(place, mechanism);
    place.append(toolsOf(stage, scene.model.name, this.until.signal));
    if (!stage.solid) place.append(element("p", { class: "warning", role: "alert" }, "This browser has no WebGL, so the mechanism is drawn by its edges only."));
    this.shown = { scene, mechanism, player, stage, panels: new Panels(mechanism, player), sliders: new Sliders(mechanism, player) };
    this.theme.apply();
    if (held) mechanism.take(held);
    this.listeners.forEach((each) => each(this.shown));
    if (play && scene.run && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) player.play();
    return this.shown;
  }

  /** An empty stage with a few words. */
  empty(words: string): void {
    this.clear();
    this.root.replaceChildren(element("div", { class: "stage" }, element("p", { class: "empty" }, words)));
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
