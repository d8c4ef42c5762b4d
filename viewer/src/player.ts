// The clock of a run: play, pause, speed, loop.

import type { Mechanism } from "./mechanism";

export class Player {
  speed = 1;
  loop = true;
  private last = 0;
  private frame = 0;
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly mechanism: Mechanism) {}

  get playing(): boolean { return this.frame !== 0; }
  get begin(): number { return this.mechanism.motion?.begin ?? 0; }
  get end(): number { return this.mechanism.motion?.end ?? 0; }

  watch(listener: () => void): void { this.listeners.push(listener); }

  play(): void {
    if (this.playing || this.end <= this.begin) return;
    const { mechanism } = this;
    mechanism.setTime(mechanism.time >= this.end ? this.begin : mechanism.time);
    this.last = performance.now();
    this.frame = requestAnimationFrame(this.tick);
    this.notify();
  }

  pause(): void {
    if (!this.playing) return;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.notify();
  }

  toggle(): void { if (this.playing) this.pause(); else this.play(); }

  /** Goes to a time; the playback continues from there. */
  seek(time: number): void { this.mechanism.setTime(time); }

  private readonly tick = (now: number): void => {
    const passed = Math.min(Math.max(now - this.last, 0), 250) / 1000;
    let time = this.mechanism.time + passed * this.speed;
    this.last = now;
    this.frame = requestAnimationFrame(this.tick);
    if (time >= this.end) {
      if (this.loop) time = this.begin + (time - this.end) % (this.end - this.begin);
      else this.pause();
    }
    this.mechanism.setTime(time);
  };

  private notify(): void { this.listeners.forEach((each) => each()); }
}
