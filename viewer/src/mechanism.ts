// The mechanism in one configuration: of a run at a time, or set by the user.

import { Closure } from "./closure";
import type { SceneData } from "./data";
import { Motion } from "./motion";
import { Program } from "./program";

interface Parts { motion: Motion | null; program: Program; closure: Closure | null }
export interface Pose { position: number[]; rotation: number[][] }
const WORLD = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];

export class Mechanism {
  readonly state: Float64Array; // q..., t
  isManual: boolean;
  private parts: Parts;
  private readonly listeners: (() => void)[] = [];
  private readonly sceneListeners: (() => void)[] = [];
  private poses: Float64Array;

  constructor(public scene: SceneData) {
    const { coordinates, run } = scene;
    this.parts = partsOf(scene);
    this.isManual = !run;
    this.state = Float64Array.from([...coordinates.map((each) => each.start), this.motion?.begin ?? 0]);
    if (this.motion) this.motion.at(this.motion.begin, this.q);
    else this.closure?.close(this.state); // initial values are rounded
    this.poses = this.program.run(this.state).slice();
  }

  get motion(): Motion | null { return this.parts.motion; }
  private get program(): Program { return this.parts.program; }
  private get closure(): Closure | null { return this.parts.closure; }
  get q(): Float64Array { return this.state.subarray(0, this.state.length - 1); }
  get time(): number { return this.state[this.state.length - 1]; }

  /** Calls back after every change. */
  watch(listener: () => void): void { this.listeners.push(listener); }
  /** Calls back when the scene is replaced. */
  watchScene(listener: () => void): void { this.sceneListeners.push(listener); }

  /** True if a scene has the same bodies and coordinates. */
  fits({ coordinates, bodies, run }: SceneData): boolean {
    const names = (all: { name: string }[]): string => JSON.stringify(all.map((each) => each.name));
    return !run === !this.scene.run && names(coordinates) === names(this.scene.coordinates) && names(bodies) === names(this.scene.bodies);
  }

  /** Replaces the scene by one with the same bodies, such as a run with other parameters; time and configuration are preserved. */
  replaceScene(scene: SceneData): void {
    this.scene = scene;
    this.parts = partsOf(scene);
    this.sceneListeners.forEach((each) => each());
    if (this.isManual) this.setCoordinates(this.q);
    else this.setTime(this.time);
  }

  /** Sets all coordinates; loops are closed if possible. */
  setCoordinates(q: ArrayLike<number>): void {
    this.isManual = true;
    for (let i = 0; i < this.q.length; i++) this.state[i] = q[i];
    const before = this.state.slice();
    if (this.closure && !this.closure.close(this.state)) this.state.set(before);
    this.refresh();
  }

  /** Sets the time of the run, clamped to its duration. */
  setTime(time: number): void {
    if (!this.motion) return;
    this.isManual = false;
    this.state[this.state.length - 1] = Math.min(Math.max(time, this.motion.begin), this.motion.end);
    this.motion.at(this.time, this.q);
    this.refresh();
  }

  /** Moves one coordinate; loops stay closed, and it stops where they cannot be closed. */
  setCoordinate(name: string, value: number): boolean {
    const k = this.scene.coordinates.findIndex((each) => each.name === name);
    if (k < 0) throw new Error(`there is no coordinate '${name}'`);
    this.isManual = true;
    const step = this.scene.coordinates[k].turns ? 0.1 : 0.05 * this.scene.view.size;
    const reached = this.closure ? this.closure.move(this.state, k, value, step) : true;
    if (!this.closure) this.state[k] = value;
    this.refresh();
    return reached;
  }

  /** Copies coordinates of the same names that were moved in another mechanism; loops are closed again. */
  copyConfiguration(other: Mechanism): void {
    this.isManual = true;
    this.scene.coordinates.forEach(({ name }, i) => {
      const k = other.scene.coordinates.findIndex((each) => each.name === name);
      if (k >= 0 && Math.abs(other.state[k] - other.scene.coordinates[k].start) > 1e-6) this.state[i] = other.state[k];
    });
    const before = this.state.slice();
    if (this.closure && !this.closure.close(this.state)) { this.state.set(before); this.reset(); return; }
    this.refresh();
  }

  /** Resets all coordinates to their initial values. */
  reset(): void {
    this.isManual = true;
    this.scene.coordinates.forEach((each, i) => { this.state[i] = each.start; });
    this.closure?.close(this.state);
    this.refresh();
  }

  /** max |g| of the loops. */
  residual(): number { return this.closure?.residual(this.state) ?? 0; }

  /** Position and rotation matrix by rows of body `index`; 0 is the world. */
  poseOf(index: number): ArrayLike<number> {
    return index === 0 ? WORLD : this.poses.subarray(12 * (index - 1), 12 * index);
  }

  pose(name: string): Pose {
    const index = this.bodyIndex(name), p = Array.from(this.poseOf(index));
    return { position: p.slice(0, 3), rotation: [p.slice(3, 6), p.slice(6, 9), p.slice(9, 12)] };
  }

  bodyIndex(name: string): number {
    const index = this.scene.bodies.findIndex((each) => each.name === name);
    if (index < 0) throw new Error(`there is no body '${name}'; the bodies are ${this.scene.bodies.map((b) => b.name).join(", ")}`);
    return index;
  }

  /** Positions of body-fixed points at times of the run, three numbers each. */
  paths(points: { body: number; point: number[] }[], times: Float64Array): Float32Array[] {
    const state = this.state.slice(), q = state.subarray(0, state.length - 1);
    const paths = points.map(() => new Float32Array(3 * times.length));
    times.forEach((time, i) => {
      this.motion?.at(time, q);
      state[state.length - 1] = time;
      const poses = this.program.run(state);
      points.forEach(({ body, point: [x, y, z] }, k) => {
        const p = body === 0 ? WORLD : poses.subarray(12 * (body - 1), 12 * body);
        for (let r = 0; r < 3; r++) paths[k][3 * i + r] = p[r] + p[3 + 3 * r] * x + p[4 + 3 * r] * y + p[5 + 3 * r] * z;
      });
    });
    return paths;
  }

  /** Poses of the bodies at a state (q..., t), twelve numbers each; the array is reused by the next call. */
  posesAt(state: Float64Array): Float64Array { return this.program.run(state); }
  /** Closes the loops of a state; returns true if it succeeded or there are none. */
  closeAt(state: Float64Array): boolean { return this.closure?.close(state) ?? true; }
  /** ∂g/∂q of the loops, by rows. */
  constraintJacobianAt(state: Float64Array): number[][] { return this.closure?.jacobian(state) ?? []; }

  private refresh(): void {
    this.poses = this.program.run(this.state).slice();
    this.listeners.forEach((each) => each());
  }
}

function partsOf({ coordinates, run, kinematics, closure }: SceneData): Parts {
  const prescribed = new Set(coordinates.flatMap((each, i) => (each.prescribed ? [i] : [])));
  return {
    motion: run ? new Motion(run) : null,
    program: new Program(kinematics),
    closure: closure ? new Closure(closure, coordinates.length, prescribed) : null,
  };
}
