// Interpolation of a run between its samples: quintic Hermite polynomial through q, q̇ and q̈.

import { numbersOf, type RunData } from "./data";

export class Motion {
  readonly t: Float64Array;
  private readonly levels: Float64Array[];

  constructor(run: RunData) {
    this.t = numbersOf(run.t);
    this.levels = [run.q, run.qd, run.qdd].map(numbersOf);
  }

  get begin(): number { return this.t[0]; }
  get end(): number { return this.t[this.t.length - 1]; }

  /** The sample at or before a time, such that a later one follows. */
  sample(time: number): number {
    let low = 0, high = this.t.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.t[middle] <= time) low = middle; else high = middle;
    }
    return low;
  }

  /** Coordinates at a time, written into `q`. */
  at(time: number, q: Float64Array): void {
    const { t, levels: [x, v, a] } = this, count = t.length;
    const i = this.sample(time), j = Math.min(i + 1, count - 1);
    const h = t[j] - t[i], s = h > 0 ? Math.min(Math.max((time - t[i]) / h, 0), 1) : 0;
    const r = 1 - s, s3 = s * s * s, r3 = r * r * r;
    for (let k = 0; k < q.length; k++) {
      const m = k * count + i, n = k * count + j;
      q[k] = r3 * (1 + 3 * s + 6 * s * s) * x[m] + s3 * (1 + 3 * r + 6 * r * r) * x[n]
        + h * (r3 * s * (1 + 3 * s) * v[m] - s3 * r * (1 + 3 * r) * v[n])
        + h * h / 2 * (r3 * s * s * a[m] + s3 * r * r * a[n]);
    }
  }
}

/** Row `row` of a table with one column per sample, interpolated linearly. */
export function interpolateAt(values: Float64Array, motion: Motion, row: number, time: number): number {
  const { t } = motion, i = motion.sample(time), j = Math.min(i + 1, t.length - 1);
  const h = t[j] - t[i], s = h > 0 ? Math.min(Math.max((time - t[i]) / h, 0), 1) : 0;
  const a = values[row * t.length + i], b = values[row * t.length + j];
  return a + s * (b - a);
}
