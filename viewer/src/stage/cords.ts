// Springs, dampers and ropes: drawn between points of two bodies.

import * as THREE from "three";
import type { Cord } from "../data";
import type { Mechanism } from "../mechanism";
import { wire } from "./shapes";

const COILS = 9, STEPS = 22;
const AXIS = new THREE.Vector3(0, 0, 1);

interface Drawn { cord: Cord; bodies: number[]; object: THREE.Object3D }

export class Cords {
  readonly group = new THREE.Group();
  private readonly drawn: Drawn[];

  constructor(private readonly mechanism: Mechanism, private readonly width: number) {
    this.drawn = (mechanism.scene.cords ?? []).map((cord) => {
      const object = wire(cord.kind.includes("spring") ? coil() : [0, 0, 0, 0, 0, 1], cord.color, 2.5);
      this.group.add(object);
      return { cord, bodies: cord.bodies.map((name) => mechanism.bodyIndex(name)), object };
    });
  }

  refresh(): void {
    for (const { cord, bodies, object } of this.drawn) {
      const [from, to] = bodies.map((body, i) => worldPoint(this.mechanism.poseOf(body), cord.points[i]));
      const direction = to.sub(from), length = Math.max(direction.length(), 1e-9);
      object.position.copy(from);
      object.quaternion.setFromUnitVectors(AXIS, direction.divideScalar(length));
      object.scale.set(this.width, this.width, length);
    }
  }
}

/** A helix of radius 1 along z from 0 to 1, with straight ends. */
function coil(): number[] {
  const points = [0, 0, 0, 0, 0, 0.1];
  for (let i = 0; i <= COILS * STEPS; i++) {
    const angle = (2 * Math.PI * i) / STEPS, z = 0.12 + (0.76 * i) / (COILS * STEPS);
    points.push(Math.cos(angle), Math.sin(angle), z);
  }
  return [...points, 0, 0, 0.9, 0, 0, 1];
}

function worldPoint(p: ArrayLike<number>, [x, y, z]: number[]): THREE.Vector3 {
  return new THREE.Vector3(...[0, 1, 2].map((r) => p[r] + p[3 + 3 * r] * x + p[4 + 3 * r] * y + p[5 + 3 * r] * z));
}
