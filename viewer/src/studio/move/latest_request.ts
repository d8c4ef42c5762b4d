// Repeated requests while a slider is dragged: one is pending, then the latest one is sent.

export class LatestRequest<T> {
  private requested = false;
  private busy = false;
  private timer = 0;

  constructor(private readonly request: () => Promise<T>, private readonly done: (found: T) => void,
    private readonly failed: (reason: string) => void, private readonly settled: () => void, private readonly idleDelay = 500) {}

  /** Sends a request with the current values as soon as the previous one has completed. */
  update(): void {
    this.requested = true;
    window.clearTimeout(this.timer);
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    while (this.requested) {
      this.requested = false;
      try {
        this.done(await this.request());
      } catch (error) {
        this.failed(error instanceof Error ? error.message : String(error));
      }
    }
    this.busy = false;
    this.timer = window.setTimeout(this.settled, this.idleDelay);
  }
}
