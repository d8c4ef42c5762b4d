// Time histories, one panel for each group and unit, with one cursor for all of them and for the film.

import uPlot from "uplot";
import { numbersOf, type Channel } from "./data";
import { element, written } from "./dom";
import type { Mechanism } from "./mechanism";
import { along, type Motion } from "./motion";
import type { Player } from "./player";
import { colorOf } from "./theme";

const TITLES: Record<string, string> = {
  coordinates: "Coordinates", speeds: "Speeds", accelerations: "Accelerations", energy: "Energy", work: "Work",
  violation: "Constraint violation", multipliers: "Multipliers", reactions: "Reactions", efforts: "Drive efforts",
};
const OPEN = new Set(["coordinates", "speeds", "energy"]);
const MANY = 4; // panels that are open at first
const COLORS = ["#3b82f6", "#f2762e", "#16a37b", "#d6479a", "#c79208", "#7c6cf0", "#0ea5c6", "#d2473f", "#7fa31a", "#9a6b45"];

class Panel {
  readonly root: HTMLDetailsElement;
  private readonly place = element("div", { class: "plot" });
  private readonly values: Float64Array[];
  private readonly readings: HTMLElement[] = [];
  private readonly marker = element("div", { class: "marker" });
  private readonly hidden = new Set<number>();
  private plot: uPlot | null = null;

  constructor(private readonly channels: Channel[], private readonly mechanism: Mechanism, private readonly player: Player, open: boolean) {
    const { group, unit } = channels[0];
    this.values = channels.map((each) => numbersOf(each.values));
    const title = element("summary", {}, element("span", { class: "title" }, TITLES[group] ?? group), element("span", { class: "unit" }, unit));
    const chips = element("div", { class: "chips" }, ...channels.map((each, i) => this.chip(each, i)));
    this.root = element("details", { class: "panel" }, title, chips, this.place);
    this.root.open = open;
    this.root.addEventListener("toggle", () => this.show());
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  /** Colours come from the theme, so a new theme means a new plot. */
  repaint(): void {
    this.plot?.destroy();
    this.plot = null;
    this.show();
  }

  refresh(): void {
    const { motion, time, byHand } = this.mechanism;
    if (!motion || !this.root.open) return;
    this.values.forEach((values, i) => { this.readings[i].textContent = byHand ? "" : written(along(values, motion, 0, time)); });
    if (this.plot) this.marker.style.transform = `translateX(${this.plot.valToPos(time, "x")}px)`;
  }

  private show(): void {
    if (this.root.open && !this.plot && this.place.clientWidth && this.mechanism.motion) this.plot = this.plotted(this.mechanism.motion);
    this.refresh();
  }

  private resize(): void {
    if (!this.plot) this.show();
    else if (this.place.clientWidth) this.plot.setSize({ width: this.place.clientWidth, height: HEIGHT });
    this.refresh();
  }

  private chip(channel: Channel, i: number): HTMLButtonElement {
    const dot = element("span", { class: "dot" }), reading = element("span", { class: "reading" });
    dot.style.background = COLORS[i % COLORS.length];
    this.readings.push(reading);
    const chip = element("button", { type: "button", class: "chip", "aria-pressed": "true", title: channel.name }, dot, channel.label, reading);
    chip.addEventListener("click", () => {
      const show = this.hidden.delete(i) || (this.hidden.add(i), false);
      chip.setAttribute("aria-pressed", String(show));
      this.plot?.setSeries(i + 1, { show });
    });
    return chip;
  }

  private plotted(motion: Motion): uPlot {
    const plot = new uPlot(optionsOf(this.channels, this.place.clientWidth, this.hidden), [motion.t, ...this.values], this.place);
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

function optionsOf(channels: Channel[], width: number, hidden: ReadonlySet<number>): uPlot.Options {
  const ink = colorOf("--faint"), line = colorOf("--line"), font = `11px ${colorOf("--font")}`;
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const values = (_: uPlot, splits: number[]): string[] => splits.map((x) => written(x));
  return {
    width,
    height: HEIGHT,
    padding: [8, 12, 0, 0],
    pxAlign: 0,
    legend: { show: false },
    cursor: { sync: { key: "dalembert" }, drag: { x: false, y: false }, points: { size: 6 }, y: false },
    scales: { x: { time: false } },
    axes: [{ ...axis, size: 24, gap: 4, values }, { ...axis, size: 54, gap: 6, values }],
    series: [{}, ...channels.map((each, i) => ({
      label: each.label, stroke: COLORS[i % COLORS.length], width: 1.6, pxAlign: 0, points: { show: false }, show: !hidden.has(i),
    }))],
  };
}

export class Panels {
  readonly root = element("div", { class: "panels" });
  private readonly panels: Panel[];

  constructor(mechanism: Mechanism, player: Player) {
    const groups = new Map<string, Channel[]>();
    for (const each of mechanism.scene.run?.channels ?? []) {
      const key = `${each.group} ${each.unit}`;
      groups.set(key, [...(groups.get(key) ?? []), each]);
    }
    let open = 0;
    this.panels = [...groups.values()].map((channels) =>
      new Panel(channels, mechanism, player, OPEN.has(channels[0].group) && open++ < MANY));
    this.root.append(...this.panels.map((each) => each.root));
    mechanism.watch(() => this.panels.forEach((each) => each.refresh()));
  }

  repaint(): void { this.panels.forEach((each) => each.repaint()); }
}
