// DH frames of the draft on the current stage, and their transforms as matrices.

import { element } from "../../dom";
import type { Studio } from "../studio";
import type { Shown } from "../stage_view";
import { Frames, framesOf, partialFrame, type FrameTable } from "./frames";
import { times, type Matrix } from "./linear";
import { inverse, matrixOf } from "./matrices";

export class FrameLayer {
  readonly root = element("section", { class: "transforms", "aria-label": "Transforms" });
  private table: FrameTable | null = null;
  private enabled = true;
  private drawn: Frames | null = null;
  private remove: () => void = () => {};
  private readonly from = element("select", { "aria-label": "From frame" });
  private readonly to = element("select", { "aria-label": "To frame" });
  private readonly chosen = matrixOf("Transform between the frames");
  private readonly slider = element("input", { type: "range", min: "0", step: "0.02", value: "0", "aria-label": "Step through the transforms from frame to frame" });
  private readonly label = element("output", {});
  private readonly links = element("div", { class: "matrices" });
  private readonly all: { show(T: Matrix): void }[] = [];

  constructor(private readonly studio: Studio) {
    for (const each of [this.from, this.to]) each.addEventListener("change", () => this.refresh());
    this.slider.addEventListener("input", () => this.refresh());
    const every = element("details", {}, element("summary", {}, "Transforms of all links"), this.links);
    this.root.append(element("h3", {}, "Step through the transforms"), element("p", { class: "row" }, this.slider, this.label), element("h3", {}, "Transforms at the current coordinates"),
      element("p", { class: "row" }, "From frame ", this.from, " to frame ", this.to), this.chosen.root, every);
    studio.stageView.watch((shown) => this.display(shown));
    this.root.hidden = true;
  }

  /** Switches the display of the frames. */
  draw(on: boolean): void {
    this.enabled = on;
    this.display(this.studio.stageView.shown);
  }

  /** Sets the table; null for none. */
  show(table: FrameTable | null): void {
    this.table = table;
    this.root.hidden = !table;
    if (table) this.options(table.rows.length);
    this.display(this.studio.stageView.shown);
  }

  private options(count: number): void {
    if (this.to.childElementCount === count + 1) return;
    for (const each of [this.from, this.to]) each.replaceChildren(...Array.from({ length: count + 1 }, (_, i) => element("option", { value: String(i) }, String(i))));
    this.to.value = String(count);
    this.slider.max = String(4 * count);
    this.slider.value = "0";
    this.all.length = 0;
    this.links.replaceChildren(...Array.from({ length: count }, (_, i) => {
      const made = matrixOf(`Transform from frame ${i} to frame ${i + 1}`);
      this.all.push(made);
      return element("figure", {}, element("figcaption", {}, `${i} → ${i + 1}`), made.root);
    }));
  }

  private display(shown: Shown | null): void {
    this.remove();
    this.remove = () => {};
    this.drawn = null;
    if (!shown || !this.table) return;
    const { view, coordinates } = shown.scene, table = this.table;
    if (table.rows.some(({ coordinate }) => coordinate && !coordinates.some(({ name }) => name === coordinate))) return; // of another model
    if (this.enabled) {
      this.drawn = new Frames(table, view.unit ?? view.size);
      this.remove = shown.stage.add(this.drawn.group);
    }
    shown.mechanism.watch(() => { if (this.studio.stageView.shown === shown) this.refresh(); });
    this.refresh();
  }

  private refresh(): void {
    const { shown } = this.studio.stageView, { table } = this;
    if (!shown || !table) return;
    const { coordinates } = shown.scene;
    const at = (name: string): number => shown.mechanism.state[coordinates.findIndex((each) => each.name === name)] ?? 0;
    this.drawn?.refresh(at);
    const done = Number(this.slider.value), step = done > 0 ? partialFrame(table, at, done) : null;
    this.drawn?.showPartial(step && step.frame);
    this.label.textContent = step ? step.label : "from the base to the end effector";
    this.slider.style.setProperty("--part", `${(100 * done) / Math.max(Number(this.slider.max), 1)}%`);
    shown.stage.ask();
    if (!this.root.clientWidth) return;
    const { frames } = framesOf(table, at);
    const between = (i: number, j: number): Matrix => times(inverse(frames[i]), frames[j]);
    this.chosen.show(between(Math.min(Number(this.from.value), frames.length - 1), Math.min(Number(this.to.value), frames.length - 1)));
    this.all.forEach((each, i) => each.show(between(i, i + 1)));
  }
}
