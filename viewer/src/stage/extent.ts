// How far the bodies reach along a direction during the run.

import * as THREE from "three";
import type { Mechanism } from "../mechanism";

const TIMES = 80;

/** The least of n·x over all corners of the bodies' boxes; of bodies alone where `n` is the depth of a plane model. */
export function lowest(mechanism: Mechanism, bodies: THREE.Object3D[], n: THREE.Vector3): number {
  const { motion } = mechanism;
  const begin = motion?.begin ?? 0, end = motion?.end ?? 0;
  const times = motion ? Float64Array.from({ length: TIMES }, (_, i) => begin + ((end - begin) * i) / (TIMES - 1)) : Float64Array.of(mechanism.time);
  const corners = bodies.flatMap((object, body) => cornersOf(object).map((point) => ({ body, point })));
  let least = Infinity;
  for (const path of mechanism.paths(corners, times)) {
    for (let i = 0; i < path.length; i += 3) least = Math.min(least, n.x * path[i] + n.y * path[i + 1] + n.z * path[i + 2]);
  }
  return Number.isFinite(least) ? least : 0;
}

/** The corners of an object's box in its own axes. */
function cornersOf(object: THREE.Object3D): number[][] {
  object.matrix.identity();
  object.updateMatrixWorld(true);
  const { min, max } = new THREE.Box3().setFromObject(object);
  if (!(min.x <= max.x)) return [];
  return [min.x, max.x].flatMap((x) => [min.y, max.y].flatMap((y) => [min.z, max.z].map((z) => [x, y, z])));
}
