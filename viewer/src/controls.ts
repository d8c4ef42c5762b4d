// The bar under the stage: play, scrub, speed, loop; and the keys.

import { button, element, icon, toggle } from "./dom";
import type { Mechanism } from "./mechanism";
import type { Player } from "./player";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10];

export class Controls {
  readonly root = element("div", { class: "bar", role: "group", "aria-label": "Film" });
  private readonly start: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly clock = element("output", { class: "clock" });
  private readonly digits: number;

  constructor(private readonly mechanism: Mechanism, private readonly player: Player) {
    const { begin, end } = player;
    this.digits = Math.min(Math.max(2 - Math.floor(Math.log10(end - begin || 1)), 0), 9);
    this.start = button("Play", "play", () => player.toggle(), "space");
    this.scrub = element("input", { type: "range", min: String(begin), max: String(end), step: "any", "aria-label": "Time in seconds" });
    this.scrub.addEventListener("input", () => { player.pause(); player.seek(Number(this.scrub.value)); });
    const loop = toggle("Loop", "loop", player.loop, (on) => { player.loop = on; }, "L");
    this.root.append(
      button("To the start", "first", () => player.seek(begin), "Home"),
      this.start,
      button("To the end", "last", () => { player.pause(); player.seek(end); }, "End"),
      this.scrub, this.clock, this.speeds(), loop,
    );
    player.watch(() => this.refresh());
    mechanism.watch(() => this.refresh());
    this.refresh();
    window.addEventListener("keydown", (event) => this.key(event, loop));
  }

  private speeds(): HTMLSelectElement {
    const select = element("select", { "aria-label": "Speed", title: "Speed" },
      ...SPEEDS.map((x) => element("option", { value: String(x) }, `${x}×`)));
    select.value = "1";
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

  private key(event: KeyboardEvent, loop: HTMLButtonElement): void {
    const at = event.target instanceof HTMLElement ? event.target.tagName : "";
    const other = event.ctrlKey || event.altKey || event.metaKey;
    if (other || (at === "INPUT" && event.target !== this.scrub) || at === "SELECT") return;
    if (event.key === " " && (at === "BUTTON" || at === "SUMMARY")) return;
    const step = (this.player.end - this.player.begin) * (event.shiftKey ? 0.05 : 0.005), { time } = this.mechanism;
    const seek = (to: number) => () => { this.player.pause(); this.player.seek(to); };
    const acts: Record<string, () => void> = {
      " ": () => this.player.toggle(),
      ArrowLeft: seek(time - step),
      ArrowRight: seek(time + step),
      Home: seek(this.player.begin),
      End: seek(this.player.end),
      l: () => loop.click(),
    };
    const act = at === "BUTTON" && event.key.startsWith("Arrow") ? undefined : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
