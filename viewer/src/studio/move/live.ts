// A question that is asked again and again while something is dragged: one under way, the newest next.

export class Live<T> {
  private wanted = false;
  private busy = false;
  private timer = 0;

  constructor(private readonly ask: () => Promise<T>, private readonly done: (found: T) => void,
    private readonly failed: (why: string) => void, private readonly settled: () => void, private readonly quiet = 500) {}

  /** Asks with what is wanted now, as soon as the last answer is there. */
  again(): void {
    this.wanted = true;
    window.clearTimeout(this.timer);
    if (!this.busy) void this.go();
  }

  private async go(): Promise<void> {
    this.busy = true;
    while (this.wanted) {
      this.wanted = false;
      try {
        this.done(await this.ask());
      } catch (error) {
        this.failed(error instanceof Error ? error.message : String(error));
      }
    }
    this.busy = false;
    this.timer = window.setTimeout(this.settled, this.quiet);
  }
}
