// Interaction on the stage: bodies follow the pointer, a gizmo moves and rotates the end effector, an ellipsoid shows its manipulellipsoid.

import * as THREE from "three";
import { TransformControls } from "three/examples/jsm/controls/TransformControls.js";
import type { Shown } from "../stage_view";
import { EndEffector, type Manipulability, type Limits } from "./end_effector";

export type Gizmo = "none" | "translate" | "rotate";

export class Drag {
  limits: Limits = {};
  fixedOrientation = false; // orientation is fixed while the end effector is moved
  on = true; // bodies follow the pointer
  private endEffector: EndEffector;
  private gizmo: Gizmo = "none";
  private readonly until = new AbortController();
  private readonly goal = new THREE.Object3D();
  private readonly controls: TransformControls;
  private readonly ball: THREE.Mesh;
  private readonly removers: (() => void)[];
  private busy = false;

  constructor(private readonly shown: Shown, body: number, point: number[], private readonly onMoved: (error: number) => void) {
    const { stage, mechanism, scene } = shown, unit = scene.view.unit ?? scene.view.size;
    this.endEffector = new EndEffector(mechanism, body, point);
    this.ball = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 20), new THREE.MeshStandardMaterial({ color: "#16a37b", transparent: true, opacity: 0.28, depthWrite: false }));
    this.ball.matrixAutoUpdate = false;
    this.ball.visible = false;
    this.ball.userData.size = 0.35 * unit;
    this.controls = new TransformControls(stage.cameras.camera, stage.canvas);
    this.controls.setSize(0.8);
    this.controls.attach(this.goal);
    this.controls.enabled = false;
    this.controls.getHelper().visible = false;
    this.controls.addEventListener("change", () => stage.ask());
    this.controls.addEventListener("dragging-changed", ({ value }) => { stage.cameras.orbit.enabled = !value; this.busy = Boolean(value); shown.player.pause(); if (!value) this.follow(); });
    this.controls.addEventListener("objectChange", () => this.gizmoMoved());
    this.removers = [stage.add(this.goal), stage.add(this.controls.getHelper()), stage.add(this.ball)];
    this.listen();
    this.follow();
  }

  get target(): EndEffector { return this.endEffector; }

  /** Selects another end effector. */
  select(body: number, point: number[]): void {
    this.endEffector = new EndEffector(this.shown.mechanism, body, point);
    this.follow();
  }

  /** Sets the gizmo: arrows, rings or none. */
  setGizmo(gizmo: Gizmo): void {
    this.gizmo = gizmo;
    this.controls.enabled = this.controls.getHelper().visible = gizmo !== "none";
    if (gizmo !== "none") this.controls.setMode(gizmo);
    this.follow();
  }

  /** Moves the gizmo to the end effector, unless the user drags it. */
  follow(): void {
    this.controls.camera = this.shown.stage.cameras.camera;
    if (this.busy) return;
    const { position, rotation: R } = this.endEffector.pose();
    this.goal.position.fromArray(position);
    this.goal.quaternion.setFromRotationMatrix(new THREE.Matrix4().set(R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8], 0, 0, 0, 0, 1));
    this.goal.updateMatrixWorld();
    this.shown.stage.ask();
  }

  /** Draws the velocity ellipsoid: velocities of the end effector for all coordinate rates of unit norm. */
  draw(ellipsoid: Manipulability | null): void {
    this.ball.visible = ellipsoid !== null;
    if (ellipsoid) {
      const largest = Math.max(ellipsoid.values[0], 1e-300), size = this.ball.userData.size as number;
      const [u, v, w] = ellipsoid.vectors.map((each, i) => new THREE.Vector3().fromArray(each).multiplyScalar(size * Math.max(ellipsoid.values[i] / largest, 0.012)));
      this.ball.matrix.makeBasis(u, v, w).setPosition(new THREE.Vector3().fromArray(this.endEffector.pose().position));
      if (this.ball.matrix.determinant() < 0) this.ball.matrix.makeBasis(u, v, w.negate()).setPosition(new THREE.Vector3().fromArray(this.endEffector.pose().position));
      this.ball.matrixWorldNeedsUpdate = true;
    }
    this.shown.stage.ask();
  }

  /** Removes listeners and graphics. */
  end(): void {
    this.until.abort();
    this.controls.detach();
    this.controls.dispose();
    this.removers.forEach((each) => each());
  }

  /** Moves the end effector to a pose or a position; returns the remaining error. */
  moveTo(position: number[], rotation?: number[]): number {
    this.endEffector.limits = this.limits;
    return this.endEffector.reach({ position, ...(rotation ? { rotation } : {}) });
  }

  /** Moves the end effector to the gizmo. */
  private gizmoMoved(): void {
    const m = new THREE.Matrix4().makeRotationFromQuaternion(this.goal.quaternion).elements;
    const rotation = [m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]];
    this.onMoved(this.moveTo(this.goal.position.toArray(), this.gizmo === "rotate" || this.fixedOrientation ? rotation : undefined));
  }

  /** Dragging a body moves it in the plane parallel to the screen. */
  private listen(): void {
    const { stage, player, mechanism } = this.shown, { canvas, cameras } = stage;
    const plane = new THREE.Plane(), ray = new THREE.Raycaster(), point3 = new THREE.Vector3();
    let dragged: EndEffector | null = null, start: number[] = [];
    const aim = ({ clientX, clientY }: PointerEvent): THREE.Vector3 | null => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      ray.setFromCamera(new THREE.Vector2((2 * (clientX - left)) / width - 1, 1 - (2 * (clientY - top)) / height), cameras.camera);
      return ray.ray.intersectPlane(plane, point3);
    };
    const signal = this.until.signal;
    canvas.addEventListener("pointerdown", (event) => {
      const hit = this.on && event.button === 0 && !event.shiftKey && !this.controls.axis ? stage.pick(event) : null;
      if (!hit) return;
      event.stopImmediatePropagation();
      player.pause();
      canvas.setPointerCapture(event.pointerId);
      plane.setFromNormalAndCoplanarPoint(cameras.camera.getWorldDirection(new THREE.Vector3()), hit.at);
      const p = Array.from(mechanism.poseOf(hit.body)), far = hit.at.toArray().map((x, r) => x - p[r]);
      dragged = new EndEffector(mechanism, hit.body, [0, 1, 2].map((c) => p[3 + c] * far[0] + p[6 + c] * far[1] + p[9 + c] * far[2]));
      dragged.limits = this.limits;
      start = dragged.pose().rotation;
      canvas.style.cursor = "grabbing";
    }, { capture: true, signal });
    canvas.addEventListener("pointermove", (event) => {
      const to = dragged && event.buttons & 1 ? aim(event) : null;
      if (!dragged || !to) return;
      event.stopImmediatePropagation();
      this.onMoved(dragged.reach({ position: to.toArray(), ...(this.fixedOrientation ? { rotation: start } : {}) }));
    }, { capture: true, signal });
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, () => { if (dragged) this.onMoved(0); dragged = null; canvas.style.cursor = ""; }, { capture: true, signal });
  }
}
