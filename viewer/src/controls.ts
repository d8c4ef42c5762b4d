// Playback controls below the stage: play, seek, speed, loop; and keyboard shortcuts.

import { button, element, icon, toggle } from "./dom";
import { onKeys } from "./keys";
import type { Mechanism } from "./mechanism";
import type { Player } from "./player";

const SPEEDS = [0.01, 0.03, 0.1, 0.25, 0.5, 1, 2, 4, 10, 30, 100];
const MIN_DURATION = 1.5, MAX_DURATION = 40; // s, initial duration of the playback

export class Controls {
  readonly root = element("div", { class: "bar", role: "group", "aria-label": "Playback" });
  private readonly start: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly clock = element("output", { class: "clock" });
  private readonly digits: number;

  constructor(private readonly mechanism: Mechanism, private readonly player: Player, private readonly until?: AbortSignal) {
    const { begin, end } = player;
    this.digits = Math.min(Math.max(2 - Math.floor(Math.log10(end - begin || 1)), 0), 9);
    this.start = button("Play", "play", () => player.toggle(), "space");
    this.scrub = element("input", { type: "range", class: "time", min: String(begin), max: String(end), step: "any", "aria-label": "Time in seconds" });
    this.scrub.addEventListener("input", () => { player.pause(); player.seek(Number(this.scrub.value)); });
    const loop = toggle("Loop", "loop", player.loop, (on) => { player.loop = on; }, "L");
    this.root.append(
      button("To the start", "first", () => player.seek(player.begin), "Home"),
      this.start,
      button("To the end", "last", () => { player.pause(); player.seek(player.end); }, "End"),
      this.scrub, this.clock, this.speeds(), loop,
    );
    player.watch(() => this.refresh());
    mechanism.watch(() => this.refresh());
    mechanism.watchScene(() => { this.scrub.min = String(player.begin); this.scrub.max = String(player.end); });
    this.refresh();
    this.listen(loop);
  }

  private speeds(): HTMLSelectElement {
    const select = element("select", { "aria-label": "Speed", title: "Speed" },
      ...SPEEDS.map((x) => element("option", { value: String(x) }, `${x}×`)));
    this.player.speed = speedOf(this.player.end - this.player.begin);
    select.value = String(this.player.speed);
    select.addEventListener("change", () => { this.player.speed = Number(select.value); });
    return select;
  }

  private refresh(): void {
    const { begin, end, playing } = this.player, { time } = this.mechanism;
    const word = playing ? "Pause" : "Play";
    if (this.start.getAttribute("aria-label") !== word) {
      this.start.setAttribute("aria-label", word);
      this.start.title = `${word} (space)`;
      this.start.replaceChildren(icon(playing ? "pause" : "play"));
    }
    this.scrub.value = String(time);
    this.scrub.style.setProperty("--part", `${(100 * (time - begin)) / (end - begin || 1)}%`);
    this.clock.textContent = `${time.toFixed(this.digits)} / ${end.toFixed(this.digits)} s`;
  }

  private listen(loop: HTMLButtonElement): void {
    const { player, mechanism } = this;
    const seek = (time: number): void => { player.pause(); player.seek(time); };
    const step = (event: KeyboardEvent): number => (player.end - player.begin) * (event.shiftKey ? 0.05 : 0.005);
    onKeys({
      " ": () => player.toggle(),
      ArrowLeft: (event) => seek(mechanism.time - step(event)),
      ArrowRight: (event) => seek(mechanism.time + step(event)),
      Home: () => seek(player.begin),
      End: () => seek(player.end),
      l: () => loop.click(),
    }, this.until);
  }
}

/** Real time, or the nearest speed at which the playback is neither too short nor too long. */
function speedOf(duration: number): number {
  const fit = SPEEDS.filter((x) => duration / x >= MIN_DURATION && duration / x <= MAX_DURATION);
  const far = (x: number): number => Math.abs(Math.log(x));
  return fit.sort((a, b) => far(a) - far(b))[0] ?? 1;
}
