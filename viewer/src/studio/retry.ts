// Retries of requests that the page needs at the start, while a busy machine starts its processes.

import { TaskError } from "./connection";

const MAX_ATTEMPTS = 6, DELAY = 1000; // ms, longer after each attempt

/** Returns the result of a request; lost requests are sent again. */
export async function retry<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      const lost = error instanceof TaskError && (error.failure.kind === "work" || error.failure.kind === "lost");
      if (!lost || attempt === MAX_ATTEMPTS) throw error;
      await new Promise((done) => window.setTimeout(done, DELAY * attempt));
    }
  }
}
