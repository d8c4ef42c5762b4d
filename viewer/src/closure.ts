// Loop closure while the user moves one coordinate: damped Newton iteration on the others.

import type { Code } from "./data";
import { Program } from "./program";

const TOLERANCE = 1e-10; // |g| of closed loops, in units of the model
const MAX_ITERATIONS = 40;

export class Closure {
  private readonly program: Program;
  private readonly rows: number;

  constructor(code: Code, private readonly count: number, private readonly prescribed: ReadonlySet<number>) {
    this.program = new Program(code);
    this.rows = code.outputs.length / (count + 1);
  }

  /** max |g|. */
  residual(state: Float64Array): number {
    return Math.max(0, ...Array.from(this.program.run(state).subarray(0, this.rows), Math.abs));
  }

  /** ∂g/∂q by rows. */
  jacobian(state: Float64Array): number[][] {
    const { count, rows } = this, out = this.program.run(state);
    return Array.from({ length: rows }, (_, i) => Array.from(out.subarray(rows + i * count, rows + (i + 1) * count)));
  }

  /** Moves coordinate k of a state (q..., t) to a value in steps; returns true if it is reached. */
  move(state: Float64Array, k: number, value: number, step: number): boolean {
    const begin = state[k], distance = value - begin;
    let done = 0, next = Math.min(1, step / Math.max(Math.abs(distance), 1e-300));
    while (done < 1 && next > 1e-4) {
      const target = Math.min(1, done + next), candidate = state.slice();
      candidate[k] = target < 1 ? begin + distance * target : value;
      if (this.close(candidate, k)) {
        state.set(candidate);
        done = target;
        next = Math.min(2 * next, step / Math.max(Math.abs(distance), 1e-300));
      } else next /= 2;
    }
    return done >= 1;
  }

  /** Newton iteration for g = 0 with coordinate k fixed (none for −1); steps of minimum norm. */
  close(state: Float64Array, k = -1): boolean {
    const { count, rows } = this;
    let size = this.residual(state);
    for (let iteration = 0; iteration < MAX_ITERATIONS && size > TOLERANCE; iteration++) {
      const out = this.program.run(state).slice();
      const J = Array.from({ length: rows }, (_, i) =>
        Array.from({ length: count }, (_, j) => (j === k || this.prescribed.has(j) ? 0 : out[rows + i * count + j])));
      const step = minimumNorm(J, out.subarray(0, rows));
      size = this.damped(state, step, size);
      if (!Number.isFinite(size)) return false;
    }
    return size <= TOLERANCE;
  }

  /** Applies the largest fraction of a step that reduces |g| and returns |g|; infinite if there is none. */
  private damped(state: Float64Array, step: number[], size: number): number {
    for (let part = 1; part > 1e-3; part /= 2) {
      const candidate = state.slice();
      for (let j = 0; j < this.count; j++) candidate[j] -= part * step[j];
      const smaller = this.residual(candidate);
      if (smaller < size) {
        state.set(candidate);
        return smaller;
      }
    }
    return Infinity;
  }
}

/** Minimum-norm x with J x = g: Jᵀ y with (J Jᵀ + μ) y = g; a small μ regularizes dependent rows. */
function minimumNorm(J: number[][], g: Float64Array): number[] {
  const rows = J.length, dot = (a: number[], b: number[]) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const A = J.map((a) => J.map((b) => dot(a, b)));
  const mu = 1e-13 * A.reduce((sum, row, i) => sum + row[i], 0) + 1e-300;
  const y = Array.from(g);
  for (let i = 0; i < rows; i++) A[i][i] += mu;
  for (let i = 0; i < rows; i++) { // Gaussian elimination without pivoting: A is positive definite
    for (let r = i + 1; r < rows; r++) {
      const f = A[r][i] / A[i][i];
      if (f === 0) continue;
      for (let c = i; c < rows; c++) A[r][c] -= f * A[i][c];
      y[r] -= f * y[i];
    }
  }
  for (let i = rows - 1; i >= 0; i--) {
    for (let c = i + 1; c < rows; c++) y[i] -= A[i][c] * y[c];
    y[i] /= A[i][i];
  }
  return J[0].map((_, j) => J.reduce((sum, row, i) => sum + row[j] * y[i], 0));
}
