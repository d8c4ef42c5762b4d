// End effector: pose, manipulability, and inverse kinematics with closed loops and joint limits.

import type { Mechanism } from "../../mechanism";
import { nullSpaceProjection, damped, dot, eigen, type Matrix } from "../robot/linear";

export interface Target { position?: number[]; rotation?: number[] } // rotation matrix by rows
export interface Manipulability { values: number[]; vectors: Matrix; smallest: number; product: number; about: "position" | "pose" }
export type Limits = Record<string, [number | null, number | null]>;

const MAX_ITERATIONS = 25, TOLERANCE = 1e-9, MAX_STEP = 0.35; // TOLERANCE in lengths of the mechanism; MAX_STEP is the change of a coordinate in one step
const LOOP_WEIGHT = 10; // weight of loop closure relative to the target

export class EndEffector {
  limits: Limits = {};

  constructor(private readonly mechanism: Mechanism, readonly body: number, readonly point: number[]) {}

  private get unit(): number { const { view } = this.mechanism.scene; return view.unit ?? view.size; }

  /** Position and rotation at a state (default: the current one). */
  pose(state = this.mechanism.state): { position: number[]; rotation: number[] } {
    const all = this.mechanism.posesAt(state), p = this.body ? all.subarray(12 * (this.body - 1), 12 * this.body) : [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
    const rotation = Array.from(p).slice(3);
    return { position: [0, 1, 2].map((r) => p[r] + dot(rotation.slice(3 * r, 3 * r + 3), this.point)), rotation };
  }

  /** Moves the mechanism such that the end effector is as close to the target as possible; returns the remaining error as a length. */
  reach(target: Target): number {
    const { mechanism } = this;
    const state = mechanism.state.slice();
    let error = this.error(target, state), mu = 1e-4, left = length(error);
    for (let round = 0; round < MAX_ITERATIONS && left > TOLERANCE; round++) {
      const candidate = this.step(target, state, error, mu * Math.max(left * left, 1e-6));
      const next = candidate && mechanism.closeAt(candidate) ? this.error(target, candidate) : null;
      if (next && length(next) < left * (1 - 1e-9)) {
        const gained = left - length(next);
        state.set(candidate!);
        error = next;
        left = length(next);
        mu = Math.max(mu / 4, 1e-9);
        if (gained < 1e-7) break; // converged
      } else if ((mu *= 10) > 1e9) break;
    }
    mechanism.setCoordinates(state.subarray(0, state.length - 1));
    return left * this.unit;
  }

  /** A damped step from a state within the limits. */
  private step(target: Target, state: Float64Array, error: number[], mu: number): Float64Array {
    const { coordinates } = this.mechanism.scene, scales = this.scales(), fixed = new Set<number>();
    coordinates.forEach((each, i) => { if (each.prescribed) fixed.add(i); });
    const rows = this.rows(target, state), loops = this.loops(state).map((row) => row.map((x) => LOOP_WEIGHT * x));
    const b = [...error, ...loops.map(() => 0)], out = state.slice();
    for (let repeat = true; repeat;) {
      repeat = false;
      const A = [...rows, ...loops].map((row) => row.map((x, j) => (fixed.has(j) ? 0 : x)));
      const dq = damped(A, b, mu), largest = Math.max(...dq.map(Math.abs)), part = Math.min(1, MAX_STEP / Math.max(largest, 1e-300));
      for (let j = 0; j < dq.length; j++) {
        if (fixed.has(j)) continue;
        out[j] = state[j] + part * dq[j] * scales[j];
        const [low, high] = this.limits[coordinates[j].name] ?? [null, null];
        const inside = Math.min(Math.max(out[j], low ?? -Infinity), high ?? Infinity);
        if (inside === out[j]) continue;
        fixed.add(j); // clamped to its limit; the step is computed again without it
        out[j] = Math.abs(state[j] - inside) < 1e-12 ? state[j] : inside;
        repeat = true;
      }
    }
    return out;
  }

  /** Error of the pose, in lengths of the mechanism and radians. */
  private error({ position, rotation }: Target, state: Float64Array): number[] {
    const now = this.pose(state), out: number[] = [];
    if (position) out.push(...position.map((x, i) => (x - now.position[i]) / this.unit));
    if (rotation) out.push(...rotationVector(now.rotation, rotation));
    return out;
  }

  /** Rows of the Jacobian for the components of a target, without units. */
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
      const before = this.pose(at), turn = rotationVector(before.rotation, after.rotation);
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
    return this.mechanism.constraintJacobianAt(state).map((row) => {
      const scaled = row.map((x, j) => x * scales[j]), size = length(scaled) || 1;
      return scaled.map((x) => x / size);
    });
  }

  /** Scale of each coordinate: a radian, or a length of the mechanism. */
  private scales(): number[] { return this.mechanism.scene.coordinates.map(({ turns }) => (turns ? 1 : this.unit)); }

  /** Velocity ellipsoid and manipulability: singular values of J on the free motions. */
  manipulability(): Manipulability {
    const { mechanism } = this, { view, coordinates } = mechanism.scene;
    const J = nullSpaceProjection(this.jacobian().map((row) => row.map((x, j) => (coordinates[j].prescribed ? 0 : x))), this.loops(mechanism.state));
    const square = (rows: Matrix): Matrix => rows.map((a) => rows.map((b) => dot(a, b)));
    const position = eigen(square(J.slice(0, 3))), pose = eigen(square(J));
    const sigma = (values: number[]): number[] => values.map((x) => Math.sqrt(Math.max(x, 0)));
    const free = this.mobility(), about = free >= 6 && !view.planar ? "pose" : "position";
    const count = Math.min(about === "pose" ? 6 : view.planar ? 2 : 3, free);
    const values = sigma(about === "pose" ? pose.values : position.values).slice(0, count);
    const smallest = values.length ? values[values.length - 1] / Math.max(values[0], 1e-300) : 0;
    return { values: sigma(position.values).map((x) => x * this.unit), vectors: position.vectors, smallest, product: values.reduce((a, b) => a * b, 1), about };
  }

  /** Degrees of freedom with closed loops. */
  private mobility(): number {
    const { mechanism } = this, C = this.loops(mechanism.state);
    const n = mechanism.scene.coordinates.filter(({ prescribed }) => !prescribed).length;
    if (!C.length) return n;
    const { values } = eigen(C.map((a) => C.map((b) => dot(a, b))));
    return n - values.filter((x) => x > 1e-9 * values[0]).length;
  }
}

const length = (x: number[]): number => Math.sqrt(dot(x, x));

/** Rotation vector of B Aᵀ, from one rotation to another, in the world frame. */
export function rotationVector(A: number[], B: number[]): number[] {
  const R = [0, 1, 2].map((i) => [0, 1, 2].map((j) => dot(B.slice(3 * i, 3 * i + 3), A.slice(3 * j, 3 * j + 3))));
  const axis = [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]].map((x) => x / 2);
  const sine = length(axis), cosine = (R[0][0] + R[1][1] + R[2][2] - 1) / 2;
  if (sine > 1e-9) return axis.map((x) => (x / sine) * Math.atan2(sine, cosine));
  if (cosine > 0) return axis;
  const k = [0, 1, 2].reduce((a, b) => (R[b][b] > R[a][a] ? b : a)); // rotation by π: the axis is a column of R + 1
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
