// Extent of the bodies along a direction during the run.

import * as THREE from "three";
import type { Mechanism } from "../mechanism";

const TIMES = 80, POINTS = 300; // samples of the run, points of a body

/** Minimum of n·x over points on the surfaces of all bodies. */
export function lowest(mechanism: Mechanism, bodies: THREE.Object3D[], n: THREE.Vector3): number {
  const { motion } = mechanism, begin = motion?.begin ?? mechanism.time, end = motion?.end ?? begin;
  const times = Float64Array.from({ length: motion ? TIMES : 1 }, (_, i) => begin + ((end - begin) * i) / (TIMES - 1));
  const points = bodies.flatMap((object, body) => surface(object).map((point) => ({ body, point })));
  let lowest = Infinity;
  for (const path of mechanism.paths(points, times)) {
    for (let i = 0; i < path.length; i += 3) lowest = Math.min(lowest, n.x * path[i] + n.y * path[i + 1] + n.z * path[i + 2]);
  }
  return Number.isFinite(lowest) ? lowest : 0;
}

/** Sample points of the shapes of a body, in its frame. */
function surface(body: THREE.Object3D): number[][] {
  const found: number[][] = [], at = new THREE.Vector3();
  body.matrix.identity();
  body.updateMatrixWorld(true);
  body.traverse((object) => {
    if (!(object instanceof THREE.Mesh)) return;
    const values = (object.userData.points ?? object.geometry.attributes.position.array) as ArrayLike<number>;
    const step = Math.ceil(values.length / 3 / POINTS);
    for (let i = 0; i < values.length; i += 3 * step) found.push(at.set(values[i], values[i + 1], values[i + 2]).applyMatrix4(object.matrixWorld).toArray());
  });
  return found;
}
