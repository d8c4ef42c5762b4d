// Perspective and orthographic camera, each with its own orbit controls.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { SceneData } from "../data";

const ANGLE = 32;
export type Camera = THREE.PerspectiveCamera | THREE.OrthographicCamera;

export class Cameras {
  readonly perspective = new THREE.PerspectiveCamera(ANGLE);
  readonly orthographic = new THREE.OrthographicCamera();
  readonly target: THREE.Vector3;
  private readonly direction: THREE.Vector3; // from the target to the eye
  private readonly up: THREE.Vector3;
  private readonly size: number;
  private readonly moved = new THREE.Vector3(); // displacement of the followed body
  private readonly orbits = new Map<Camera, OrbitControls>();
  private aspect = 1;
  private touched = false; // the user has changed the view
  camera: Camera;

  constructor(private readonly view: SceneData["view"], private readonly canvas: HTMLElement, private readonly changed: () => void) {
    this.target = new THREE.Vector3(...view.target);
    this.up = new THREE.Vector3(...view.up);
    this.direction = new THREE.Vector3(...view.eye).sub(this.target).normalize();
    this.size = view.size;
    this.camera = view.planar ? this.orthographic : this.perspective;
    this.use(this.camera);
  }

  get orbit(): OrbitControls { return this.orbits.get(this.camera)!; }
  get flat(): boolean { return this.camera === this.orthographic; }

  /** Selects a camera. */
  use(camera: Camera): void {
    this.camera = camera;
    camera.up.copy(this.up); // before the orbit controls, which store it
    if (!this.orbits.has(camera)) this.orbits.set(camera, this.orbitOf(camera));
    this.orbits.forEach((orbit, each) => { orbit.enabled = each === camera; });
    this.fit();
  }

  resize(width: number, height: number): void {
    this.aspect = width / Math.max(height, 1);
    this.perspective.aspect = this.aspect;
    const { orthographic: flat } = this;
    Object.assign(flat, { right: flat.top * this.aspect, left: -flat.top * this.aspect });
    this.camera.updateProjectionMatrix();
    if (!this.touched) this.fit();
  }

  /** Fits the view to the motion, as defined by the scene. */
  fit(): void {
    this.touched = false;
    const { camera, orbit } = this, narrow = Math.min(1, this.aspect);
    const radius = (0.5 * this.size) / narrow;
    const direction = this.flatEye();
    orbit.target.copy(this.target).add(this.moved);
    camera.position.copy(orbit.target).addScaledVector(direction, radius / Math.sin(THREE.MathUtils.degToRad(ANGLE / 2)));
    camera.near = 0.01 * this.size;
    camera.far = 60 * radius;
    if (camera instanceof THREE.OrthographicCamera) {
      camera.zoom = 1;
      Object.assign(camera, { top: radius, bottom: -radius, right: radius * this.aspect, left: -radius * this.aspect });
    }
    camera.updateProjectionMatrix();
    orbit.update();
    this.changed();
  }

  /** Follows a body by its displacement. */
  follow(moved: THREE.Vector3): void {
    const step = moved.clone().sub(this.moved);
    this.moved.copy(moved);
    this.camera.position.add(step);
    this.orbit.target.add(step);
    this.orbit.update();
  }

  /** Removes the event listeners. */
  end(): void { this.orbits.forEach((orbit) => orbit.dispose()); }

  /** Direction of the view: normal to the plane of a planar model, oblique in perspective. */
  private flatEye(): THREE.Vector3 {
    if (!this.view.planar || this.flat) return this.direction;
    const side = new THREE.Vector3().crossVectors(this.up, this.direction);
    return this.direction.clone().addScaledVector(side, 0.55).addScaledVector(this.up, 0.35).normalize();
  }

  private orbitOf(camera: Camera): OrbitControls {
    const orbit = new OrbitControls(camera, this.canvas);
    orbit.enableDamping = false;
    orbit.zoomToCursor = true;
    orbit.enableRotate = !(this.view.planar && camera === this.orthographic);
    if (!orbit.enableRotate) {
      orbit.mouseButtons.LEFT = THREE.MOUSE.PAN;
      orbit.touches.ONE = THREE.TOUCH.PAN;
    }
    orbit.addEventListener("change", this.changed);
    orbit.addEventListener("start", () => { this.touched = true; });
    return orbit;
  }
}
