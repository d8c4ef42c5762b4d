// The hand on the stage: any body follows the pointer, a gizmo moves and turns the hand, an ellipsoid shows where it can go.

import * as THREE from "three";
import { TransformControls } from "three/examples/jsm/controls/TransformControls.js";
import type { Shown } from "../theatre";
import { Hand, type Ability, type Limits } from "./hand";

export type Gizmo = "none" | "translate" | "rotate";

export class Drag {
  limits: Limits = {};
  hold = false; // keeps the orientation while the hand is moved
  on = true; // whether bodies follow the pointer
  private hand: Hand;
  private gizmo: Gizmo = "none";
  private readonly until = new AbortController();
  private readonly goal = new THREE.Object3D();
  private readonly controls: TransformControls;
  private readonly ball: THREE.Mesh;
  private readonly removers: (() => void)[];
  private busy = false;

  constructor(private readonly shown: Shown, body: number, point: number[], private readonly told: (left: number) => void) {
    const { stage, mechanism, scene } = shown, unit = scene.view.unit ?? scene.view.size;
    this.hand = new Hand(mechanism, body, point);
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
    this.controls.addEventListener("objectChange", () => this.pulled());
    this.removers = [stage.add(this.goal), stage.add(this.controls.getHelper()), stage.add(this.ball)];
    this.listen();
    this.follow();
  }

  get at(): Hand { return this.hand; }

  /** Another hand. */
  take(body: number, point: number[]): void {
    this.hand = new Hand(this.shown.mechanism, body, point);
    this.follow();
  }

  /** Arrows, rings, or nothing at the hand. */
  use(gizmo: Gizmo): void {
    this.gizmo = gizmo;
    this.controls.enabled = this.controls.getHelper().visible = gizmo !== "none";
    if (gizmo !== "none") this.controls.setMode(gizmo);
    this.follow();
  }

  /** The gizmo goes where the hand is, unless it is held. */
  follow(): void {
    this.controls.camera = this.shown.stage.cameras.camera;
    if (this.busy) return;
    const { position, rotation: R } = this.hand.pose();
    this.goal.position.fromArray(position);
    this.goal.quaternion.setFromRotationMatrix(new THREE.Matrix4().set(R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8], 0, 0, 0, 0, 1));
    this.goal.updateMatrixWorld();
    this.shown.stage.ask();
  }

  /** Velocities of the hand for all unit rates of the coordinates: an ellipsoid about it. */
  draw(ability: Ability | null): void {
    this.ball.visible = ability !== null;
    if (ability) {
      const most = Math.max(ability.values[0], 1e-300), size = this.ball.userData.size as number;
      const [u, v, w] = ability.vectors.map((each, i) => new THREE.Vector3().fromArray(each).multiplyScalar(size * Math.max(ability.values[i] / most, 0.012)));
      this.ball.matrix.makeBasis(u, v, w).setPosition(new THREE.Vector3().fromArray(this.hand.pose().position));
      if (this.ball.matrix.determinant() < 0) this.ball.matrix.makeBasis(u, v, w.negate()).setPosition(new THREE.Vector3().fromArray(this.hand.pose().position));
      this.ball.matrixWorldNeedsUpdate = true;
    }
    this.shown.stage.ask();
  }

  /** Nothing more is heard or drawn. */
  end(): void {
    this.until.abort();
    this.controls.detach();
    this.controls.dispose();
    this.removers.forEach((each) => each());
  }

  /** The hand goes to a pose, or to a position; what is left. */
  go(position: number[], rotation?: number[]): number {
    this.hand.limits = this.limits;
    return this.hand.reach({ position, ...(rotation ? { rotation } : {}) });
  }

  /** The hand goes to where the gizmo was moved. */
  private pulled(): void {
    const m = new THREE.Matrix4().makeRotationFromQuaternion(this.goal.quaternion).elements;
    const rotation = [m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]];
    this.told(this.go(this.goal.position.toArray(), this.gizmo === "rotate" || this.hold ? rotation : undefined));
  }

  /** A body that is pressed goes with the pointer, in the plane that faces the reader. */
  private listen(): void {
    const { stage, player, mechanism } = this.shown, { canvas, cameras } = stage;
    const plane = new THREE.Plane(), ray = new THREE.Raycaster(), place = new THREE.Vector3();
    let held: Hand | null = null, start: number[] = [];
    const aim = ({ clientX, clientY }: PointerEvent): THREE.Vector3 | null => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      ray.setFromCamera(new THREE.Vector2((2 * (clientX - left)) / width - 1, 1 - (2 * (clientY - top)) / height), cameras.camera);
      return ray.ray.intersectPlane(plane, place);
    };
    const signal = this.until.signal;
    canvas.addEventListener("pointerdown", (event) => {
      const hit = this.on && event.button === 0 && !event.shiftKey && !this.controls.axis ? stage.pick(event) : null;
      if (!hit) return;
      event.stopImmediatePropagation();
      player.pause();
      canvas.setPointerCapture(event.pointerId);
      plane.setFromNormalAndCoplanarPoint(cameras.camera.getWorldDirection(new THREE.Vector3()), hit.at);
      const p = Array.from(mechanism.placeOf(hit.body)), far = hit.at.toArray().map((x, r) => x - p[r]);
      held = new Hand(mechanism, hit.body, [0, 1, 2].map((c) => p[3 + c] * far[0] + p[6 + c] * far[1] + p[9 + c] * far[2]));
      held.limits = this.limits;
      start = held.pose().rotation;
      canvas.style.cursor = "grabbing";
    }, { capture: true, signal });
    canvas.addEventListener("pointermove", (event) => {
      const to = held && event.buttons & 1 ? aim(event) : null;
      if (!held || !to) return;
      event.stopImmediatePropagation();
      this.told(held.reach({ position: to.toArray(), ...(this.hold ? { rotation: start } : {}) }));
    }, { capture: true, signal });
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, () => { if (held) this.told(0); held = null; canvas.style.cursor = ""; }, { capture: true, signal });
  }
}
