// Forces, torques and velocities of a run as arrows.

import * as THREE from "three";
import { numbersOf, type ArrowData } from "../data";
import type { Mechanism } from "../mechanism";
import { interpolateAt } from "../motion";

export const KINDS: Record<string, { title: string; color: string }> = {
  reaction: { title: "Reactions", color: "#d9525e" },
  force: { title: "Forces", color: "#e0a03c" },
  torque: { title: "Torques", color: "#8a6fd1" },
  gravity: { title: "Gravity", color: "#5a9bd5" },
  velocity: { title: "Velocities", color: "#3fae7c" },
};

interface Drawn { data: ArrowData; point: Float64Array; vector: Float64Array; object: THREE.Group }

export class Arrows {
  readonly group = new THREE.Group();
  private readonly drawn: Drawn[];
  private readonly direction = new THREE.Vector3();

  constructor(private readonly mechanism: Mechanism, private readonly thickness: number, readonly shown = new Set<string>()) {
    this.drawn = (mechanism.scene.run?.arrows ?? []).map((data) => {
      const object = arrow(KINDS[data.kind]?.color ?? "#888888", data.kind === "torque");
      object.traverse((part) => { part.renderOrder = 1; }); // in front of the bodies, as in a free-body diagram
      this.group.add(object);
      return { data, point: numbersOf(data.point), vector: numbersOf(data.vector), object };
    });
  }

  get kinds(): string[] { return [...new Set(this.drawn.map((each) => each.data.kind))]; }

  /** Shows the arrows at the current time; none while the user moves the mechanism. */
  refresh(): void {
    const { motion, time, isManual } = this.mechanism;
    this.group.visible = motion !== null && !isManual;
    if (!motion || isManual) return;
    for (const { data, point, vector, object } of this.drawn) {
      const at = (values: Float64Array): number[] => [0, 1, 2].map((row) => interpolateAt(values, motion, row, time));
      this.direction.fromArray(at(vector));
      const length = this.direction.length() * data.scale;
      object.visible = this.shown.has(data.kind) && length > 1e-3 * this.thickness;
      if (!object.visible) continue;
      object.position.fromArray(at(point));
      object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.direction.normalize());
      stretch(object, length, this.thickness);
    }
  }
}

/** Shaft and head along z; torques have two heads. */
function arrow(color: string, torque: boolean): THREE.Group {
  const group = new THREE.Group();
  const material = new THREE.MeshStandardMaterial({ color, roughness: 0.5, emissive: color, emissiveIntensity: 0.3, depthTest: false, transparent: true });
  const shaft = new THREE.CylinderGeometry(0.5, 0.5, 1, 20).rotateX(Math.PI / 2).translate(0, 0, 0.5);
  const head = new THREE.ConeGeometry(1.35, 1, 28).rotateX(Math.PI / 2).translate(0, 0, -0.5);
  group.add(new THREE.Mesh(shaft, material), new THREE.Mesh(head, material));
  if (torque) group.add(new THREE.Mesh(head, material));
  return group;
}

function stretch(object: THREE.Group, length: number, thickness: number): void {
  const [shaft, ...heads] = object.children;
  const width = Math.min(thickness, 0.25 * length), tip = Math.min(3.6 * width, 0.7 * length);
  shaft.scale.set(width, width, Math.max(length - tip, 1e-9));
  heads.forEach((head, i) => {
    head.scale.set(width, width, heads.length > 1 ? 0.7 * tip : tip);
    head.position.z = length - 0.5 * tip * i;
  });
}
