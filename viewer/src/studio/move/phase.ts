// A phase portrait: one channel over another, with the current point and runs for comparison.

import { numbersOf, type Channel, type RunData } from "../../data";
import { element, formatNumber } from "../../dom";
import { interpolateAt } from "../../motion";
import { COLORS, type Overlay } from "../../panels";
import { colorOf } from "../../theme";
import type { Shown } from "../stage_view";
import { offer } from "./fields";

const HEIGHT = 280, LEFT = 60, BOTTOM = 40, RIGHT = 14, TOP = 12;
interface Curve { x: Float64Array; y: Float64Array; color: string; dash: number[] }

export class Phase {
  private readonly across = element("select", { "aria-label": "Across" });
  private readonly up = element("select", { "aria-label": "Upwards" });
  private readonly canvas = element("canvas", { class: "phase", role: "img" });
  readonly root = element("details", { class: "panel", "data-group": "phase" },
    element("summary", {}, element("span", { class: "title" }, "Phase portrait")),
    element("div", { class: "pair" }, this.up, " over ", this.across), this.canvas);
  private shown: Shown | null = null;
  private overlays: Overlay[] = [];
  private picture: HTMLCanvasElement | null = null; // curves and axes, without the point
  private span = [0, 1, 0, 1];

  constructor() {
    for (const each of [this.across, this.up]) each.addEventListener("change", () => this.redraw());
    this.root.addEventListener("toggle", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    new MutationObserver(() => this.redraw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  /** Another run on the stage. */
  use(shown: Shown | null): void {
    this.shown = shown;
    this.root.hidden = !shown?.scene.run;
    if (!shown) return;
    this.offer();
    shown.mechanism.watchScene(() => { if (this.shown === shown) this.offer(); });
    shown.mechanism.watch(() => { if (this.shown === shown) this.draw(); });
  }

  overlay(overlays: Overlay[]): void {
    this.overlays = overlays;
    this.redraw();
  }

  private get run(): RunData | null { return this.shown?.mechanism.scene.run ?? null; }

  private offer(): void {
    const channels = this.run?.channels ?? [], first = channels[0]?.key ?? "";
    const options = channels.map(({ key, label, unit }) => ({ value: key, text: unit && unit !== "1" ? `${label} [${unit}]` : label }));
    const before = [this.across.value, this.up.value];
    offer(this.across, options, before[0] || first);
    offer(this.up, options, before[1] || (channels.find(({ key }) => key === `dot(${first})`)?.key ?? first));
    this.redraw();
  }

  private channel(run: RunData, { value }: HTMLSelectElement): Channel | undefined { return run.channels.find(({ key }) => key === value); }

  private curve(run: RunData, color: string, dash: number[]): Curve[] {
    const [x, y] = [this.channel(run, this.across), this.channel(run, this.up)];
    return x && y ? [{ x: numbersOf(x.values), y: numbersOf(y.values), color, dash }] : [];
  }

  /** Draws curves, axes and labels on a cached canvas. */
  private redraw(): void {
    this.picture = null;
    const { run } = this;
    if (!run || !this.root.open || !this.canvas.clientWidth) return;
    const curves = [...this.overlays.flatMap((each) => this.curve(each.run, each.color, [5, 4])), ...this.curve(run, COLORS[0], [])];
    this.span = [...spanOf(curves.map(({ x }) => x)), ...spanOf(curves.map(({ y }) => y))];
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth;
    this.picture = element("canvas", { width: String(Math.round(width * ratio)), height: String(Math.round(HEIGHT * ratio)) });
    const brush = this.picture.getContext("2d")!;
    brush.scale(ratio, ratio);
    this.axes(brush, width);
    for (const { x, y, color, dash } of curves) {
      brush.beginPath();
      for (let i = 0; i < x.length; i++) brush.lineTo(...this.at(x[i], y[i], width));
      Object.assign(brush, { strokeStyle: color, lineWidth: dash.length ? 1.2 : 1.6 });
      brush.setLineDash(dash);
      brush.stroke();
    }
    this.canvas.width = this.picture.width;
    this.canvas.height = this.picture.height;
    this.canvas.setAttribute("aria-label", `${this.up.selectedOptions[0]?.text} over ${this.across.selectedOptions[0]?.text}`);
    this.draw();
  }

  private draw(): void {
    const { run, picture, shown } = this;
    if (!run || !picture || !shown?.mechanism.motion || !this.root.open) return;
    const { motion, time, isManual } = shown.mechanism, brush = this.canvas.getContext("2d")!, ratio = window.devicePixelRatio || 1;
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.clearRect(0, 0, picture.width, picture.height);
    brush.drawImage(picture, 0, 0);
    if (isManual) return;
    const [x, y] = [this.channel(run, this.across), this.channel(run, this.up)].map((each) => (each ? interpolateAt(numbersOf(each.values), motion, 0, time) : 0));
    brush.scale(ratio, ratio);
    brush.beginPath();
    brush.arc(...this.at(x, y, picture.width / ratio), 5, 0, 2 * Math.PI);
    Object.assign(brush, { fillStyle: colorOf("--accent"), strokeStyle: colorOf("--ground"), lineWidth: 2 });
    brush.fill();
    brush.stroke();
  }

  private at(x: number, y: number, width: number): [number, number] {
    const [left, right, low, high] = this.span;
    return [LEFT + ((x - left) / (right - left)) * (width - LEFT - RIGHT), HEIGHT - BOTTOM - ((y - low) / (high - low)) * (HEIGHT - TOP - BOTTOM)];
  }

  private axes(brush: CanvasRenderingContext2D, width: number): void {
    const [left, right, low, high] = this.span;
    Object.assign(brush, { strokeStyle: colorOf("--line"), fillStyle: colorOf("--faint"), lineWidth: 1, font: `11px ${colorOf("--font")}`, textAlign: "center", textBaseline: "top" });
    for (const x of ticks(left, right)) {
      const [at] = this.at(x, 0, width);
      brush.strokeRect(at, TOP, 0, HEIGHT - TOP - BOTTOM);
      brush.fillText(formatNumber(x), at, HEIGHT - BOTTOM + 5);
    }
    brush.fillText(this.across.selectedOptions[0]?.text ?? "", (LEFT + width - RIGHT) / 2, HEIGHT - 16);
    Object.assign(brush, { textAlign: "right", textBaseline: "middle" });
    for (const y of ticks(low, high)) {
      const [, at] = this.at(0, y, width);
      brush.strokeRect(LEFT, at, width - LEFT - RIGHT, 0);
      brush.fillText(formatNumber(y), LEFT - 6, at);
    }
  }
}

/** The least and the largest of all values, with a little margin. */
function spanOf(all: Float64Array[]): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const values of all) for (const x of values) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
  if (!(low <= high)) return [0, 1];
  const margin = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1;
  return [low - margin, high + margin];
}

/** Round numbers between two others, about six. */
function ticks(low: number, high: number): number[] {
  const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough)!;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
}
