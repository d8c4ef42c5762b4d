// Scene data that Python wrote into the page: types, and decoding of arrays.

export type Vector = [number, number, number];
export interface Packed { f64?: string; f32?: string; u32?: string; shape: number[] }
export interface Shape {
  kind: "box" | "cylinder" | "capsule" | "sphere" | "cone" | "disc" | "mesh" | "line" | "frame";
  at: Vector;
  turn: [number, number, number, number];
  size: number[];
  color: string;
  role: "body" | "joint" | "center" | "ground";
  opacity?: number;
  vertices?: Packed;
  faces?: Packed;
  points?: Packed;
}
export interface Body { name: string; shapes: Shape[] }
export interface Coordinate {
  name: string; label: string; unit: string; start: number;
  low: number | null; high: number | null; turns: boolean; prescribed: boolean;
}
export type Line = [string, ...number[]];
export interface Code { inputs: number; numbers: number[]; tables?: Table[]; lines: Line[]; outputs: number[] }
export interface Table { times: number[]; values: number[]; order: number } // order 1: its slope
export interface Channel { key: string; name: string; label: string; unit: string; group: string; values: Packed }
export interface ArrowData { name: string; kind: string; body: string; point: Packed; vector: Packed; unit: string; scale: number }
export interface RunData {
  formalism: string; duration: number; t: Packed; q: Packed; qd: Packed; qdd: Packed;
  channels: Channel[]; arrows: ArrowData[];
}
export interface Cord { name: string; kind: string; bodies: [string, string]; points: [Vector, Vector]; color: string }
export interface SceneData {
  format: number;
  model: { name: string; description: string; notes?: string[] };
  view: { up: Vector; planar: boolean; eye: Vector; target: Vector; size: number; unit?: number; follow?: string | null };
  coordinates: Coordinate[];
  bodies: Body[];
  kinematics: Code;
  closure: Code | null;
  run: RunData | null;
  trails: { body: string; point: Vector; color: string }[];
  cords?: Cord[];
  tabs: { title: string }[];
}

/** The scene in the page. */
export function sceneOf(page: Document): SceneData {
  const text = page.getElementById("dalembert-data")?.textContent;
  if (!text) throw new Error("this page contains no scene. Expected a script element with the id dalembert-data");
  const scene = JSON.parse(text) as SceneData;
  if (scene.format !== 1) throw new Error(`this viewer reads scenes of format 1, the page contains format ${scene.format}`);
  return scene;
}

/** Numbers of a packed array, by rows. */
export function numbersOf(packed: Packed): Float64Array {
  if (packed.f64 !== undefined) return new Float64Array(bytesOf(packed.f64));
  if (packed.f32 !== undefined) return Float64Array.from(new Float32Array(bytesOf(packed.f32)));
  if (packed.u32 !== undefined) return Float64Array.from(new Uint32Array(bytesOf(packed.u32)));
  throw new Error("a packed array has none of the fields f64, f32, u32");
}

function bytesOf(base64: string): ArrayBuffer {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}
