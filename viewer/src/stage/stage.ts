// The scene on its canvas: light, ground, bodies, arrows, trails; drawn when something has changed.

import * as THREE from "three";
import type { Mechanism } from "../mechanism";
import type { Arrows } from "./arrows";
import { Cameras } from "./cameras";
import { drawnOf, type Drawn } from "./drawn";
import { lowest } from "./extent";
import { Flat } from "./flat";
import { Ground } from "./ground";
import { isIn, namer } from "./naming";
import type { Trails } from "./trails";

export interface Paint { background: string; grid: string; strength: number; shadow: number }

const MARKED = "#1d4ed8";

export class Stage {
  readonly cameras: Cameras;
  readonly solid: boolean; // WebGL is available
  private readonly renderer: THREE.WebGLRenderer | Flat;
  private readonly scene = new THREE.Scene();
  private drawn: Drawn;
  private readonly ground: Ground;
  private readonly lights = new THREE.Group();
  private readonly followed: number;
  private readonly start: THREE.Vector3;
  private readonly sizes = new ResizeObserver(() => this.resize());
  private waiting = 0;
  private begun = false;

  constructor(private readonly container: HTMLElement, private readonly mechanism: Mechanism) {
    const { view } = mechanism.scene;
    this.solid = hasWebGL();
    this.renderer = this.solid ? rendererOf() : new Flat();
    container.prepend(this.renderer.domElement);
    this.renderer.domElement.setAttribute("role", "img");
    this.renderer.domElement.setAttribute("aria-label", `The mechanism ${mechanism.scene.model.name}`);
    this.cameras = new Cameras(view, this.renderer.domElement, () => this.ask());
    this.drawn = drawnOf(mechanism);
    this.ground = this.grounded();
    this.lit();
    this.scene.add(this.ground.group, this.lights, this.drawn.group);
    if (this.solid) container.append(namer(this.renderer.domElement, () => this.drawn.bodies.slice(1), this.cameras));
    this.followed = view.follow ? mechanism.bodyIndex(view.follow) : 0;
    this.start = this.poseOf(this.followed);
    mechanism.watch(() => this.refresh());
    mechanism.watchScene(() => this.renew());
    this.sizes.observe(container);
    this.resize();
    this.refresh();
  }

  get arrows(): Arrows { return this.drawn.arrows; }
  get trails(): Trails { return this.drawn.trails; }

  /** Colors of a theme. */
  paint({ background, grid, strength, shadow }: Paint): void {
    this.scene.background = new THREE.Color(background);
    this.ground.paint(grid, strength, shadow);
    this.ask();
  }

  /** Shows the axes of all bodies and of the world. */
  showAxes(on: boolean): void {
    for (const each of this.drawn.axes) each.visible = on;
    this.ask();
  }

  /** Replaces shapes, arrows and trails on the same canvas; the view is preserved. */
  private renew(): void {
    const { arrows, trails, axes, group } = this.drawn;
    this.drawn = drawnOf(this.mechanism, arrows.shown);
    this.drawn.trails.group.visible = trails.group.visible;
    this.showAxes(axes[0].visible);
    this.scene.remove(group);
    this.scene.add(this.drawn.group);
    group.traverse((each) => { if (each instanceof THREE.Mesh) each.geometry.dispose(); });
  }

  /** Highlights a body, or none. */
  mark(name: string | null): void {
    for (const body of this.drawn.bodies) {
      body.traverse((each) => {
        if (each instanceof THREE.Mesh && each.material instanceof THREE.MeshStandardMaterial) each.material.emissive.set(body.name === name ? MARKED : "#000000");
      });
    }
    this.ask();
  }

  get canvas(): HTMLCanvasElement { return this.renderer.domElement; }

  /** Adds an object to the scene; returns a function that removes it. */
  add(object: THREE.Object3D): () => void {
    this.scene.add(object);
    this.ask();
    return () => { this.scene.remove(object); this.ask(); };
  }

  /** Body and point under the pointer; null if there is none. */
  pick({ clientX, clientY }: { clientX: number; clientY: number }): { body: number; at: THREE.Vector3 } | null {
    const { left, top, width, height } = this.canvas.getBoundingClientRect(), ray = new THREE.Raycaster();
    ray.params.Line2 = { threshold: 4 };
    ray.setFromCamera(new THREE.Vector2((2 * (clientX - left)) / width - 1, 1 - (2 * (clientY - top)) / height), this.cameras.camera);
    for (const { object, point } of ray.intersectObjects(this.drawn.bodies.slice(1))) {
      const body = this.drawn.bodies.findIndex((each) => each === object || isIn(object, each));
      if (object.visible && object.parent?.visible && body > 0) return { body, at: point };
    }
    return null;
  }

  /** Current picture as a data URL. */
  snapshot(): string {
    this.draw();
    return this.renderer.domElement.toDataURL("image/png");
  }

  /** Releases the graphics resources. */
  end(): void {
    cancelAnimationFrame(this.waiting);
    this.sizes.disconnect();
    this.cameras.end();
    this.renderer.domElement.remove();
    if (this.renderer instanceof Flat) return;
    this.renderer.dispose();
    this.renderer.forceContextLoss(); // the number of contexts per page is limited
  }

  /** Draws before the next frame. */
  ask(): void {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.draw());
  }

  refresh(): void {
    const { bodies, arrows, trails, cords } = this.drawn;
    bodies.forEach((body, i) => {
      const [x, y, z, ...r] = Array.from(this.mechanism.poseOf(i));
      body.matrix.set(r[0], r[1], r[2], x, r[3], r[4], r[5], y, r[6], r[7], r[8], z, 0, 0, 0, 1);
      body.matrixWorldNeedsUpdate = true;
    });
    if (this.followed) {
      const moved = this.poseOf(this.followed).sub(this.start);
      this.cameras.follow(moved);
      this.ground.follow(moved);
      this.lights.position.copy(moved);
    }
    arrows.refresh();
    trails.refresh();
    cords.refresh();
    this.ask();
  }

  private draw(): void {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    this.begun = true;
    this.renderer.render(this.scene, this.cameras.camera);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.container, ratio = Math.min(window.devicePixelRatio, 2);
    const { width: columns, height: rows } = this.renderer.domElement;
    if (!width || !height || (columns === Math.floor(width * ratio) && rows === Math.floor(height * ratio))) return;
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height);
    this.cameras.resize(width, height);
    if (this.begun) this.draw(); // at once: the canvas is empty now
  }

  private poseOf(body: number): THREE.Vector3 {
    const p = this.mechanism.poseOf(body);
    return new THREE.Vector3(p[0], p[1], p[2]);
  }

  /** Floor below the mechanism, or a wall behind it in the orthographic view. */
  private grounded(): Ground {
    const { view } = this.mechanism.scene;
    const normal = view.planar ? new THREE.Vector3(...view.eye).sub(this.cameras.target).normalize() : new THREE.Vector3(...view.up).normalize();
    const depth = lowest(this.mechanism, this.drawn.bodies, normal) - (view.planar ? 0.012 : 0.002) * view.size;
    const at = this.cameras.target.clone();
    return new Ground(at.addScaledVector(normal, depth - at.dot(normal)), normal, view.size);
  }

  /** Key light from the upper left with shadows, fill light, and ambient light. */
  private lit(): void {
    const { up, eye, size, planar } = this.mechanism.scene.view, { target } = this.cameras;
    const high = new THREE.Vector3(...up).normalize(), front = new THREE.Vector3(...eye).sub(target).normalize();
    const right = new THREE.Vector3().crossVectors(high, front).normalize();
    const from = (a: number, b: number, c: number) =>
      new THREE.Vector3().addScaledVector(right, a * size).addScaledVector(high, b * size).addScaledVector(front, c * size).add(target);
    const key = new THREE.DirectionalLight("#fff8ee", 1.7), rim = new THREE.DirectionalLight("#e4ecff", 0.7);
    key.position.copy(planar ? from(-0.8, 1.5, 2.6) : from(-1.1, 2.4, 1.6));
    rim.position.copy(from(1.6, 0.6, -1.2));
    for (const light of [key, rim]) {
      light.target.position.copy(target);
      this.lights.add(light, light.target);
    }
    key.castShadow = true;
    key.shadow.mapSize.set(2048, 2048);
    key.shadow.radius = 5;
    key.shadow.normalBias = 0.004 * size;
    Object.assign(key.shadow.camera, { left: -size, right: size, top: size, bottom: -size, near: 0.1 * size, far: 7 * size });
    const sky = new THREE.HemisphereLight("#ffffff", "#b9b4ac", 1.9);
    sky.position.copy(high);
    this.scene.add(sky);
  }
}

function hasWebGL(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

function rendererOf(): THREE.WebGLRenderer {
  const renderer = new THREE.WebGLRenderer({ antialias: true });
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFShadowMap;
  return renderer;
}
