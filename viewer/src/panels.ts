// Time histories, one panel for each group and unit, with a common cursor that follows the playback.

import uPlot from "uplot";
import { numbersOf, type Channel, type RunData } from "./data";
import { element, formatNumber } from "./dom";
import type { Mechanism } from "./mechanism";
import { interpolateAt } from "./motion";
import type { Player } from "./player";
import { colorOf } from "./theme";

const TITLES: Record<string, string> = {
  coordinates: "Coordinates", speeds: "Speeds", accelerations: "Accelerations", energy: "Energy", work: "Work",
  violation: "Constraint violation", multipliers: "Multipliers", reactions: "Reactions", efforts: "Drive efforts",
};
const OPEN = new Set(["coordinates", "speeds", "energy"]);
const MAX_OPEN = 4; // panels that are open initially
const DASHES = [[6, 4], [2, 3], [10, 3, 2, 3], [1, 2], [12, 4]]; // of channels of other runs
export const COLORS = ["#3b82f6", "#f2762e", "#16a37b", "#d6479a", "#c79208", "#7c6cf0", "#0ea5c6", "#d2473f", "#7fa31a", "#9a6b45"];

/** Another run for comparison, drawn thinner and dashed, in its own color. */
export interface Overlay { color: string; run: RunData }
interface OverlayData { color: string; t: Float64Array; values: (Float64Array | null)[] } // null: it has no such channel

class Panel {
  readonly root: HTMLDetailsElement;
  private readonly container = element("div", { class: "plot" });
  private readonly readings: HTMLElement[] = [];
  private readonly marker = element("div", { class: "marker" });
  private readonly hidden = new Set<number>();
  private values: Float64Array[];
  private overlayData: OverlayData[] = [];
  private plot: uPlot | null = null;

  constructor(private readonly channels: Channel[], private readonly mechanism: Mechanism, private readonly player: Player, open: boolean) {
    const { group, unit } = channels[0];
    this.values = channels.map((each) => numbersOf(each.values));
    const title = element("summary", {}, element("span", { class: "title" }, TITLES[group] ?? group), element("span", { class: "unit" }, unit));
    const chips = element("div", { class: "chips" }, ...channels.map((each, i) => this.chip(each, i)));
    this.root = element("details", { class: "panel", "data-group": group }, title, chips, this.container);
    this.root.open = open;
    this.root.addEventListener("toggle", () => this.show());
    new ResizeObserver(() => this.resize()).observe(this.container);
  }

  /** Draws the plot again, with the colors of the theme. */
  repaint(): void {
    this.plot?.destroy();
    this.plot = null;
    this.show();
  }

  /** Replaces the values of the channels. */
  replaceChannels(channels: Channel[]): void {
    this.values = channels.map((each) => numbersOf(each.values));
    this.plot?.setData(this.table());
    this.refresh();
  }

  /** Sets the other runs. */
  overlay(overlays: Overlay[]): void {
    this.overlayData = overlays.map(({ color, run }) => {
      const found = this.channels.map(({ key }) => run.channels.find((each) => each.key === key));
      return { color, t: numbersOf(run.t), values: found.map((each) => (each ? numbersOf(each.values) : null)) };
    }).filter(({ values }) => values.some((each) => each !== null));
    this.repaint();
  }

  refresh(): void {
    const { motion, time, isManual } = this.mechanism;
    if (!motion || !this.root.open) return;
    this.values.forEach((values, i) => { this.readings[i].textContent = isManual ? "" : formatNumber(interpolateAt(values, motion, 0, time)); });
    if (this.plot) this.marker.style.transform = `translateX(${this.plot.valToPos(time, "x")}px)`;
  }

  private show(): void {
    if (this.root.open && !this.plot && this.container.clientWidth && this.mechanism.motion) this.plot = this.plotted();
    this.refresh();
  }

  private resize(): void {
    if (!this.plot) this.show();
    else if (this.container.clientWidth) this.plot.setSize({ width: this.container.clientWidth, height: HEIGHT });
    this.refresh();
  }

  /** Times and values of this run and of those overlayData over, on the times of all of them. */
  private table(): uPlot.AlignedData {
    const own: uPlot.AlignedData = [this.mechanism.motion!.t, ...this.values];
    if (!this.overlayData.length) return own;
    return uPlot.join([own, ...this.overlayData.map(({ t, values }) => [t, ...values.filter((each) => each !== null)] as uPlot.AlignedData)]);
  }

  /** The lines of the plot: of this run, then of those overlayData over; each knows its channel. */
  private lines(): (uPlot.Series & { channel: number })[] {
    const own = this.channels.map(({ label }, channel) => ({ label, channel, stroke: COLORS[channel % COLORS.length], width: 1.6 }));
    const overlayData = this.overlayData.flatMap(({ color, values }) => this.channels.flatMap(({ label }, channel) =>
      (values[channel] ? [{ label, channel, stroke: color, width: 1.2, dash: DASHES[channel % DASHES.length] }] : [])));
    return [...overlayData.length ? own.map((each) => ({ ...each, width: 2 })) : own, ...overlayData].map((each) =>
      ({ ...each, pxAlign: 0, points: { show: false }, show: !this.hidden.has(each.channel) }));
  }

  private chip(channel: Channel, i: number): HTMLButtonElement {
    const dot = element("span", { class: "dot" }), reading = element("span", { class: "reading" });
    dot.style.background = COLORS[i % COLORS.length];
    this.readings.push(reading);
    const chip = element("button", { type: "button", class: "chip", "aria-pressed": "true", title: channel.name }, dot, channel.label, reading);
    chip.addEventListener("click", () => {
      const show = this.hidden.delete(i) || (this.hidden.add(i), false);
      chip.setAttribute("aria-pressed", String(show));
      this.lines().forEach((line, k) => { if (line.channel === i) this.plot?.setSeries(k + 1, { show }); });
    });
    return chip;
  }

  private plotted(): uPlot {
    const plot = new uPlot({ ...optionsOf(this.container.clientWidth), series: [{}, ...this.lines()] }, this.table(), this.container);
    plot.over.append(this.marker);
    const seek = (event: PointerEvent): void => {
      this.player.pause();
      this.player.seek(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
    };
    plot.over.addEventListener("pointerdown", (event) => { plot.over.setPointerCapture(event.pointerId); seek(event); });
    plot.over.addEventListener("pointermove", (event) => { if (event.buttons & 1) seek(event); });
    return plot;
  }
}

const HEIGHT = 156;

/** How plots look, but for their lines. */
export function optionsOf(width: number, height = HEIGHT): Omit<uPlot.Options, "series"> {
  const ink = colorOf("--faint"), line = colorOf("--line"), font = `11px ${colorOf("--font")}`;
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const values = (_: uPlot, splits: number[]): string[] => splits.map((x) => formatNumber(x));
  return {
    width,
    height,
    padding: [8, 12, 0, 0],
    pxAlign: 0,
    legend: { show: false },
    cursor: { sync: { key: "dalembert" }, drag: { x: false, y: false }, points: { size: 6 }, y: false },
    scales: { x: { time: false } },
    axes: [{ ...axis, size: 24, gap: 4, values }, { ...axis, size: 54, gap: 6, values }],
  };
}

export class Panels {
  readonly root = element("div", { class: "panels" });
  private panels = new Map<string, Panel>(); // by group, unit and channels
  private overlays: Overlay[] = [];

  constructor(private readonly mechanism: Mechanism, private readonly player: Player) {
    this.refreshPanels();
    mechanism.watch(() => this.panels.forEach((each) => each.refresh()));
    mechanism.watchScene(() => this.refreshPanels());
  }

  repaint(): void { this.panels.forEach((each) => each.repaint()); }

  /** Draws other runs beside the present one. */
  overlay(overlays: Overlay[]): void {
    this.overlays = overlays;
    this.panels.forEach((each) => each.overlay(overlays));
  }

  /** Opens the panels of a group and brings the first of them into view; false where there is none. */
  open(group: string): boolean {
    const found = [...this.root.children].filter((each): each is HTMLDetailsElement => each instanceof HTMLDetailsElement && each.dataset["group"] === group);
    for (const each of found) each.open = true;
    found[0]?.scrollIntoView({ block: "start" });
    return found.length > 0;
  }

  /** The panels of the present run; those that are there already only get other values. */
  private refreshPanels(): void {
    const before = this.panels, groups = new Map<string, Channel[]>();
    for (const each of this.mechanism.scene.run?.channels ?? []) {
      const key = `${each.group} ${each.unit}`;
      groups.set(key, [...(groups.get(key) ?? []), each]);
    }
    let open = 0;
    this.panels = new Map([...groups].map(([key, channels]) => {
      const name = JSON.stringify([key, ...channels.map((each) => each.key)]), known = before.get(name);
      const wanted = OPEN.has(channels[0].group) && open++ < MAX_OPEN;
      if (known) known.replaceChannels(channels);
      const made = known ?? new Panel(channels, this.mechanism, this.player, wanted);
      if (!known && this.overlays.length) made.overlay(this.overlays);
      return [name, made];
    }));
    const roots = [...this.panels.values()].map((each) => each.root);
    if (roots.length !== this.root.childElementCount || roots.some((each, i) => each !== this.root.children[i])) this.root.replaceChildren(...roots);
  }
}
