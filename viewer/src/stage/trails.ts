// Paths of points during a run: the whole path faint, the part up to the current time strong.

import * as THREE from "three";
import type { Line2 } from "three/examples/jsm/lines/Line2.js";
import type { Mechanism } from "../mechanism";
import { wire } from "./shapes";

const MIN_POINTS = 1200, MAX_POINTS = 6000; // points of a path

export class Trails {
  readonly group = new THREE.Group();
  private readonly passed: Line2[] = [];
  private readonly times: Float64Array;

  constructor(private readonly mechanism: Mechanism) {
    const { scene, motion } = mechanism;
    const begin = motion?.begin ?? 0, end = motion?.end ?? 0;
    const steps = Math.min(Math.max(3 * (motion?.t.length ?? 0), MIN_POINTS), MAX_POINTS);
    this.times = Float64Array.from({ length: steps + 1 }, (_, i) => begin + ((end - begin) * i) / steps);
    if (!motion || !scene.trails.length) return;
    const points = scene.trails.map(({ body, point }) => ({ body: mechanism.bodyIndex(body), point }));
    mechanism.paths(points, this.times).forEach((path, k) => {
      const { color } = scene.trails[k], strong = wire(path, color, 1.8);
      this.passed.push(strong);
      this.group.add(wire(path, color, 1.2, 0.2), strong);
    });
  }

  refresh(): void {
    const { isManual, time } = this.mechanism, steps = this.times.length - 1, begin = this.times[0], end = this.times[steps];
    const count = end > begin ? Math.round((steps * (time - begin)) / (end - begin)) : 0;
    for (const line of this.passed) {
      line.visible = !isManual && count > 0;
      line.geometry.instanceCount = count;
    }
  }
}
