// The hand: where it is, which way it can go, and coordinates that bring it to a target. Loops stay closed, limits are kept.

import type { Mechanism } from "../../mechanism";
import { along, damped, dot, eigen, type Matrix } from "../robot/linear";

export interface Target { position?: number[]; rotation?: number[] } // the rotation row by row
export interface Ability { values: number[]; vectors: Matrix; smallest: number; product: number; about: "position" | "pose" }
export type Limits = Record<string, [number | null, number | null]>;

const ROUNDS = 25, NEAR = 1e-9, LONGEST = 0.35; // steps, error in lengths of the mechanism, change of a coordinate in one step
const LOOPS = 10; // weight of loops beside the target

export class Hand {
  limits: Limits = {};

  constructor(private readonly mechanism: Mechanism, readonly body: number, readonly point: number[]) {}

  private get unit(): number { const { view } = this.mechanism.scene; return view.unit ?? view.size; }

  /** Position and rotation at a state, by default now. */
  pose(state = this.mechanism.state): { position: number[]; rotation: number[] } {
    const all = this.mechanism.posesAt(state), p = this.body ? all.subarray(12 * (this.body - 1), 12 * this.body) : [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
    const rotation = Array.from(p).slice(3);
    return { position: [0, 1, 2].map((r) => p[r] + dot(rotation.slice(3 * r, 3 * r + 3), this.point)), rotation };
  }

  /** Moves the mechanism so that the hand comes as near to a target as it can; what is left, in lengths. */
  reach(target: Target): number {
    const { mechanism } = this;
    const state = mechanism.state.slice();
    let error = this.error(target, state), mu = 1e-4, left = length(error);
    for (let round = 0; round < ROUNDS && left > NEAR; round++) {
      const tried = this.step(target, state, error, mu * Math.max(left * left, 1e-6));
      const next = tried && mechanism.closeAt(tried) ? this.error(target, tried) : null;
      if (next && length(next) < left * (1 - 1e-9)) {
        const gained = left - length(next);
        state.set(tried!);
        error = next;
        left = length(next);
        mu = Math.max(mu / 4, 1e-9);
        if (gained < 1e-7) break; // it comes no nearer
      } else if ((mu *= 10) > 1e9) break;
    }
    mechanism.place(state.subarray(0, state.length - 1));
    return left * this.unit;
  }

  /** A damped step from a state within the limits. */
  private step(target: Target, state: Float64Array, error: number[], mu: number): Float64Array {
    const { coordinates } = this.mechanism.scene, scales = this.scales(), held = new Set<number>();
    coordinates.forEach((each, i) => { if (each.given) held.add(i); });
    const rows = this.rows(target, state), loops = this.loops(state).map((row) => row.map((x) => LOOPS * x));
    const b = [...error, ...loops.map(() => 0)], out = state.slice();
    for (let again = true; again;) {
      again = false;
      const A = [...rows, ...loops].map((row) => row.map((x, j) => (held.has(j) ? 0 : x)));
      const dq = damped(A, b, mu), most = Math.max(...dq.map(Math.abs)), part = Math.min(1, LONGEST / Math.max(most, 1e-300));
      for (let j = 0; j < dq.length; j++) {
        if (held.has(j)) continue;
        out[j] = state[j] + part * dq[j] * scales[j];
        const [low, high] = this.limits[coordinates[j].name] ?? [null, null];
        const inside = Math.min(Math.max(out[j], low ?? -Infinity), high ?? Infinity);
        if (inside === out[j]) continue;
        held.add(j); // it stays where its limit is, and the others go on
        out[j] = Math.abs(state[j] - inside) < 1e-12 ? state[j] : inside;
        again = true;
      }
    }
    return out;
  }

  /** How far the target is away, in lengths of the mechanism and radians. */
  private error({ position, rotation }: Target, state: Float64Array): number[] {
    const now = this.pose(state), out: number[] = [];
    if (position) out.push(...position.map((x, i) => (x - now.position[i]) / this.unit));
    if (rotation) out.push(...turnBetween(now.rotation, rotation));
    return out;
  }

  /** The Jacobian of what a target asks for, without units. */
  private rows({ position, rotation }: Target, state: Float64Array): Matrix {
    const J = this.jacobian(state);
    return [...(position ? J.slice(0, 3) : []), ...(rotation ? J.slice(3) : [])];
  }

  /** J (6, n) in lengths of the mechanism and radians, from central differences. */
  jacobian(state = this.mechanism.state): Matrix {
    const n = state.length - 1, scales = this.scales(), J: Matrix = Array.from({ length: 6 }, () => new Array<number>(n).fill(0));
    const at = state.slice(), h = 1e-6;
    for (let j = 0; j < n; j++) {
      at[j] = state[j] + h * scales[j];
      const after = this.pose(at);
      at[j] = state[j] - h * scales[j];
      const before = this.pose(at), turn = turnBetween(before.rotation, after.rotation);
      at[j] = state[j];
      for (let r = 0; r < 3; r++) {
        J[r][j] = (after.position[r] - before.position[r]) / (2 * h * this.unit);
        J[3 + r][j] = turn[r] / (2 * h);
      }
    }
    return J;
  }

  /** ∂g/∂q of the loops in the same scales, each row of length 1. */
  private loops(state: Float64Array): Matrix {
    const scales = this.scales();
    return this.mechanism.slopesAt(state).map((row) => {
      const scaled = row.map((x, j) => x * scales[j]), size = length(scaled) || 1;
      return scaled.map((x) => x / size);
    });
  }

  /** What one step of a coordinate is: a radian, or a length of the mechanism. */
  private scales(): number[] { return this.mechanism.scene.coordinates.map(({ turns }) => (turns ? 1 : this.unit)); }

  /** In which directions the hand can go, and how well: singular values of J along free motions. */
  ability(): Ability {
    const { mechanism } = this, { view, coordinates } = mechanism.scene;
    const J = along(this.jacobian().map((row) => row.map((x, j) => (coordinates[j].given ? 0 : x))), this.loops(mechanism.state));
    const square = (rows: Matrix): Matrix => rows.map((a) => rows.map((b) => dot(a, b)));
    const place = eigen(square(J.slice(0, 3))), whole = eigen(square(J));
    const sigma = (values: number[]): number[] => values.map((x) => Math.sqrt(Math.max(x, 0)));
    const free = this.free(), about = free >= 6 && !view.planar ? "pose" : "position";
    const usual = Math.min(about === "pose" ? 6 : view.planar ? 2 : 3, free);
    const values = sigma(about === "pose" ? whole.values : place.values).slice(0, usual);
    const smallest = values.length ? values[values.length - 1] / Math.max(values[0], 1e-300) : 0;
    return { values: sigma(place.values).map((x) => x * this.unit), vectors: place.vectors, smallest, product: values.reduce((a, b) => a * b, 1), about };
  }

  /** How many coordinates are free when loops are closed. */
  private free(): number {
    const { mechanism } = this, C = this.loops(mechanism.state);
    const n = mechanism.scene.coordinates.filter(({ given }) => !given).length;
    if (!C.length) return n;
    const { values } = eigen(C.map((a) => C.map((b) => dot(a, b))));
    return n - values.filter((x) => x > 1e-9 * values[0]).length;
  }
}

const length = (x: number[]): number => Math.sqrt(dot(x, x));

/** The turn from one rotation to another about one axis, as a vector in the world: of B Aᵀ. */
export function turnBetween(A: number[], B: number[]): number[] {
  const R = [0, 1, 2].map((i) => [0, 1, 2].map((j) => dot(B.slice(3 * i, 3 * i + 3), A.slice(3 * j, 3 * j + 3))));
  const axis = [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]].map((x) => x / 2);
  const sine = length(axis), cosine = (R[0][0] + R[1][1] + R[2][2] - 1) / 2;
  if (sine > 1e-9) return axis.map((x) => (x / sine) * Math.atan2(sine, cosine));
  if (cosine > 0) return axis;
  const k = [0, 1, 2].reduce((a, b) => (R[b][b] > R[a][a] ? b : a)); // half a turn: the axis is a column of R + 1
  const column = [0, 1, 2].map((i) => R[i][k] + Number(i === k)), size = length(column);
  return column.map((x) => (Math.PI * x) / size);
}

/** Roll, pitch and yaw of a rotation: R = Rz(yaw) Ry(pitch) Rx(roll). */
export function anglesOf(R: number[]): [number, number, number] {
  const flat = Math.hypot(R[0], R[3]);
  if (flat < 1e-9) return [Math.atan2(-R[5], R[4]), Math.atan2(-R[6], flat), 0];
  return [Math.atan2(R[7], R[8]), Math.atan2(-R[6], flat), Math.atan2(R[3], R[0])];
}

/** The rotation of roll, pitch and yaw, row by row. */
export function rotationOf([roll, pitch, yaw]: number[]): number[] {
  const [a, b, c] = [Math.cos(yaw), Math.cos(pitch), Math.cos(roll)], [x, y, z] = [Math.sin(yaw), Math.sin(pitch), Math.sin(roll)];
  return [a * b, a * y * z - x * c, a * y * c + x * z, x * b, x * y * z + a * c, x * y * c - a * z, -y, b * z, b * c];
}
