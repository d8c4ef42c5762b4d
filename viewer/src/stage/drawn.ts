// Graphics of one scene of a mechanism: bodies with their axes, cords, arrows, trails.

import * as THREE from "three";
import type { Mechanism } from "../mechanism";
import { Arrows } from "./arrows";
import { Cords } from "./cords";
import { bodyOf, frame } from "./shapes";
import { Trails } from "./trails";

export interface Drawn { group: THREE.Group; bodies: THREE.Group[]; axes: THREE.Object3D[]; arrows: Arrows; trails: Trails; cords: Cords }

export function drawnOf(mechanism: Mechanism, shown?: Set<string>): Drawn {
  const { view, bodies: bodyData } = mechanism.scene, unit = view.unit ?? view.size, group = new THREE.Group();
  const bodies = bodyData.map((body) => bodyOf(body, view)), cords = new Cords(mechanism, 0.04 * unit);
  const arrows = new Arrows(mechanism, 0.012 * Math.min(view.size, 2.5 * unit), shown), trails = new Trails(mechanism);
  const axes = bodies.map((body) => body.add(frame(0.25 * unit)).children.at(-1)!);
  for (const each of axes) each.visible = false;
  group.add(...bodies, cords.group, arrows.group, trails.group);
  return { group, bodies, axes, arrows, trails, cords };
}
