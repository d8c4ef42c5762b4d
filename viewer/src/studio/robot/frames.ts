// Denavit–Hartenberg frames on the stage: axes with their names, and the lengths a and d between them as dashed lines.

import * as THREE from "three";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { formatNumber } from "../../dom";
import { frame } from "../../stage/shapes";
import { times, type Matrix } from "./linear";

export interface Row { coordinate: string; kind: string; theta: number; d: number; a: number; alpha: number }
export interface FrameTable { convention: "dh" | "mdh"; base: Matrix; tool: Matrix; body: string; rows: Row[] }
interface Step { before: Matrix; middle: Matrix; after: Matrix } // around the first of the two moves of a row

const COLORS = { x: "#e5484d", z: "#3e7bfa", a: "#c2187a", d: "#7c3aed" };

/** The frames of a table at coordinates, from the base on, and the step to each. */
export function framesOf(table: FrameTable, at: (name: string) => number): { frames: Matrix[]; steps: Step[] } {
  const frames = [table.base], steps: Step[] = [];
  for (const row of table.rows) {
    const q = row.coordinate ? at(row.coordinate) : 0;
    const along = screw("z", row.theta + (row.kind === "revolute" ? q : 0), row.d + (row.kind === "prismatic" ? q : 0));
    const across = screw("x", row.alpha, row.a), before = frames[frames.length - 1];
    const [first, second] = table.convention === "dh" ? [along, across] : [across, along];
    const middle = times(before, first), after = times(middle, second);
    steps.push({ before, middle, after });
    frames.push(after);
  }
  return { frames, steps };
}

const MOTIONS = { dh: ["θ", "d", "a", "α"], mdh: ["α", "a", "θ", "d"] } as const; // the four motions of a row

/** Frame after `done` elementary motions, four for each row, with a description of the current motion. */
export function partialFrame(table: FrameTable, at: (name: string) => number, done: number): { frame: Matrix; label: string } {
  const row = Math.min(Math.floor(done / 4), table.rows.length - 1), { coordinate, kind, theta, d, a, alpha } = table.rows[row];
  const q = coordinate ? at(coordinate) : 0, values = { θ: theta + (kind === "revolute" ? q : 0), d: d + (kind === "prismatic" ? q : 0), a, α: alpha };
  let frame = framesOf(table, at).frames[row], label = "";
  MOTIONS[table.convention].forEach((name, k) => {
    const part = Math.min(Math.max(done - 4 * row - k, 0), 1), value = values[name], isRotation = name === "θ" || name === "α", axis = name === "θ" || name === "d" ? "z" : "x";
    if (part > 0 || k === 0) label = `Row ${row + 1}: ${isRotation ? "rotation about" : "translation along"} ${axis} by ${name} = ${formatNumber(isRotation ? (value * 180) / Math.PI : value)}${isRotation ? "°" : ""}`;
    frame = times(frame, screw(axis, isRotation ? part * value : 0, isRotation ? 0 : part * value));
  });
  return { frame, label };
}

/** Screw: rotation about an axis and translation along it. */
function screw(axis: "x" | "z", angle: number, length: number): Matrix {
  const c = Math.cos(angle), s = Math.sin(angle);
  return axis === "z"
    ? [[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, length], [0, 0, 0, 1]]
    : [[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]];
}

/** Graphics of a table. */
export class Frames {
  readonly group = new THREE.Group();
  private readonly axes: THREE.Object3D[] = [];
  private readonly partial: THREE.Object3D; // frame of the current motion
  private readonly lines: { line: Line2; label: THREE.Sprite }[] = []; // two for each row

  constructor(private readonly table: FrameTable, private readonly size: number) {
    const own = 0.17 * size;
    for (let i = 0; i <= table.rows.length; i++) {
      const axes = frame(own);
      axes.matrixAutoUpdate = false;
      for (const [name, direction] of [["x", [1, 0, 0]], ["z", [0, 0, 1]]] as const) {
        const label = textSprite(`${name}${subscript(i)}`, COLORS[name], 0.06 * size);
        label.position.fromArray(direction).multiplyScalar(1.2 * own);
        axes.add(label);
      }
      this.axes.push(axes);
    }
    table.rows.forEach((_, i) => {
      const names = table.convention === "dh" ? (["d", "a"] as const) : (["a", "d"] as const);
      for (const name of names) this.lines.push({ line: dashed(COLORS[name], 0.025 * size), label: textSprite(`${name}${subscript(i + 1)}`, COLORS[name], 0.06 * size) });
    });
    this.partial = frame(1.5 * own);
    this.partial.matrixAutoUpdate = this.partial.visible = false;
    this.group.add(this.partial, ...this.axes, ...this.lines.flatMap(({ line, label }) => [line, label]));
    this.group.traverse((each) => { each.renderOrder = 2; });
  }

  /** Puts everything where it is at coordinates. */
  refresh(at: (name: string) => number): void {
    const { frames, steps } = framesOf(this.table, at);
    frames.forEach((T, i) => {
      this.axes[i].matrix.set(...(T.flat() as Parameters<THREE.Matrix4["set"]>));
      this.axes[i].matrixWorldNeedsUpdate = true;
    });
    steps.forEach(({ before, middle, after }, i) => {
      this.draw(2 * i, before, middle);
      this.draw(2 * i + 1, middle, after);
    });
  }

  /** Shows the frame of the current motion, or none. */
  showPartial(T: Matrix | null): void {
    this.partial.visible = T !== null;
    if (!T) return;
    this.partial.matrix.set(...(T.flat() as Parameters<THREE.Matrix4["set"]>));
    this.partial.matrixWorldNeedsUpdate = true;
  }

  private draw(index: number, from: Matrix, to: Matrix): void {
    const { line, label } = this.lines[index], ends = [from, to].flatMap((T) => [0, 1, 2].map((r) => T[r][3]));
    const far = Math.hypot(ends[3] - ends[0], ends[4] - ends[1], ends[5] - ends[2]);
    line.visible = label.visible = far > 0.01 * this.size;
    if (!line.visible) return;
    line.geometry.setPositions(ends);
    line.computeLineDistances();
    line.userData.points = ends;
    label.position.set((ends[0] + ends[3]) / 2, (ends[1] + ends[4]) / 2, (ends[2] + ends[5]) / 2);
  }
}

function dashed(color: string, dash: number): Line2 {
  return new Line2(new LineGeometry(), new LineMaterial({ color, linewidth: 2.5, dashed: true, dashSize: dash, gapSize: 0.7 * dash, depthTest: false, transparent: true }));
}

const subscript = (n: number): string => Array.from(String(n), (c) => "₀₁₂₃₄₅₆₇₈₉"[Number(c)]).join("");

/** Short label that faces the camera, drawn in front of everything. */
function textSprite(text: string, color: string, height: number): THREE.Sprite {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d")!;
  Object.assign(canvas, { width: 128, height: 64 });
  pen.font = "600 44px ui-sans-serif, system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = 7;
  pen.lineJoin = "round";
  pen.strokeStyle = "rgb(255 255 255 / 85%)";
  pen.strokeText(text, 64, 32);
  pen.fillStyle = color;
  pen.fillText(text, 64, 32);
  const map = new THREE.CanvasTexture(canvas);
  map.colorSpace = THREE.SRGBColorSpace;
  const made = new THREE.Sprite(new THREE.SpriteMaterial({ map, depthTest: false, transparent: true, toneMapped: false }));
  made.scale.set(2 * height, height, 1);
  return made;
}
