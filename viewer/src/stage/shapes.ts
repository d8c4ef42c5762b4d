// Bodies as three.js objects.

import * as THREE from "three";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import { numbersOf, type Body, type SceneData, type Shape } from "../data";

const SCREEN = 700; // approximate height of a scene in pixels
const CREASE = Math.PI / 6; // edges of meshes with a larger angle are sharp
const AXES = ["#e5484d", "#30a46c", "#3e7bfa"];

/** A body with all its shapes; its pose is set by the stage, which has a floor of its own in space instead of lines. */
export function bodyOf(body: Body, view: SceneData["view"]): THREE.Group {
  const group = new THREE.Group();
  group.name = body.name;
  group.matrixAutoUpdate = false;
  const shapes = body.shapes.filter(({ kind, role }) => view.planar || kind !== "line" || role !== "ground");
  for (const shape of shapes) group.add(objectOf(shape, view.size));
  return group;
}

/** A line through points, as wide as `pixels` say. */
export function wire(points: ArrayLike<number>, color: string, pixels: number, opacity = 1): Line2 {
  const line = new Line2(new LineGeometry(), new LineMaterial({ color, linewidth: pixels, transparent: opacity < 1, opacity }));
  line.geometry.setPositions(Float32Array.from(points));
  line.userData.points = points;
  return line;
}

function objectOf(shape: Shape, size: number): THREE.Object3D {
  const object = drawn(shape, size);
  const [w, x, y, z] = shape.turn;
  object.position.set(...shape.at);
  object.quaternion.set(x, y, z, w);
  object.userData.role = shape.role;
  return object;
}

function drawn(shape: Shape, size: number): THREE.Object3D {
  if (shape.kind === "line") return wire(numbersOf(shape.points!), shape.color, Math.max((SCREEN * shape.size[0]) / size || 0, 1.5));
  if (shape.kind === "frame") return frame(shape.size[0]);
  const mesh = new THREE.Mesh(geometryOf(shape), materialOf(shape));
  mesh.castShadow = shape.role !== "ground";
  mesh.receiveShadow = true;
  return mesh;
}

function materialOf(shape: Shape): THREE.Material {
  return new THREE.MeshStandardMaterial({
    color: shape.color,
    roughness: 0.5,
    metalness: 0,
    side: shape.kind === "mesh" ? THREE.DoubleSide : THREE.FrontSide,
    transparent: shape.opacity !== undefined,
    opacity: shape.opacity ?? 1,
  });
}

/** The solid of a shape about its own center; round ones along z. */
function geometryOf(shape: Shape): THREE.BufferGeometry {
  const [a, b, c] = shape.size;
  switch (shape.kind) {
    case "box": return new THREE.BoxGeometry(a, b, c);
    case "sphere": return new THREE.SphereGeometry(a, 40, 24);
    case "cylinder": return new THREE.CylinderGeometry(a, a, b, 48).rotateX(Math.PI / 2);
    case "capsule": return new THREE.CapsuleGeometry(a, b, 12, 32).rotateX(Math.PI / 2);
    case "cone": return new THREE.ConeGeometry(a, b, 48).rotateX(Math.PI / 2);
    case "disc": return new THREE.CylinderGeometry(a, a, b || 0.04 * a, 64).rotateX(Math.PI / 2);
    case "mesh": return meshed(shape);
    default: throw new Error(`the viewer cannot draw a shape of the kind '${shape.kind}'`);
  }
}

function meshed(shape: Shape): THREE.BufferGeometry {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(Float32Array.from(numbersOf(shape.vertices!)), 3));
  geometry.setIndex(Array.from(numbersOf(shape.faces!)));
  geometry.scale(shape.size[0] ?? 1, shape.size[1] ?? 1, shape.size[2] ?? 1);
  return toCreasedNormals(geometry, CREASE);
}

/** Three axes, drawn in front of everything: x red, y green, z blue. */
export function frame(length: number): THREE.Object3D {
  const group = new THREE.Group();
  AXES.forEach((color, i) => {
    const geometry = new LineSegmentsGeometry();
    const ends = [0, 0, 0, 0, 0, 0];
    ends[3 + i] = length;
    geometry.setPositions(ends);
    const line = new LineSegments2(geometry, new LineMaterial({ color, linewidth: 2.5, depthTest: false, transparent: true }));
    line.userData.points = ends;
    group.add(line);
  });
  return group;
}
