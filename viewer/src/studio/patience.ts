// Questions that are worth asking again: what a page needs to begin with, while a busy machine starts its processes.

import { TaskError } from "./link";

const TRIES = 6, PAUSE = 1000; // ms, longer each time

/** The answer, also where the first tries were lost. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await ask();
    } catch (error) {
      const lost = error instanceof TaskError && (error.failure.kind === "work" || error.failure.kind === "lost");
      if (!lost || tried === TRIES) throw error;
      await new Promise((done) => window.setTimeout(done, PAUSE * tried));
    }
  }
}
