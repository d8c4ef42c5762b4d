// Paths of points along a run: all of it faint, what has passed strong.

import * as THREE from "three";
import type { Line2 } from "three/examples/jsm/lines/Line2.js";
import type { Mechanism } from "../mechanism";
import { wire } from "./shapes";

const SAMPLES = 1200;

export class Trails {
  readonly group = new THREE.Group();
  private readonly passed: Line2[] = [];
  private readonly times: Float64Array;

  constructor(private readonly mechanism: Mechanism) {
    const { scene, motion } = mechanism;
    const begin = motion?.begin ?? 0, end = motion?.end ?? 0;
    this.times = Float64Array.from({ length: SAMPLES + 1 }, (_, i) => begin + ((end - begin) * i) / SAMPLES);
    if (!motion || !scene.trails.length) return;
    const points = scene.trails.map(({ body, point }) => ({ body: mechanism.bodyIndex(body), point }));
    mechanism.paths(points, this.times).forEach((path, k) => {
      const { color } = scene.trails[k], strong = wire(path, color, 2.2);
      this.passed.push(strong);
      this.group.add(wire(path, color, 1.4, 0.22), strong);
    });
  }

  refresh(): void {
    const { byHand, time } = this.mechanism, [begin, end] = [this.times[0], this.times[SAMPLES]];
    const count = end > begin ? Math.round((SAMPLES * (time - begin)) / (end - begin)) : 0;
    for (const line of this.passed) {
      line.visible = !byHand && count > 0;
      line.geometry.instanceCount = count;
    }
  }
}
