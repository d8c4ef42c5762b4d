// Straight-line programs, as compiled by Python: indices count inputs, constants, tables and lines.

import type { Code, Table } from "./data";

type Operation = (v: Float64Array, a: number, b: number, c: number) => number;

const OPERATIONS: Record<string, Operation> = {
  add: (v, a, b) => v[a] + v[b],
  subtract: (v, a, b) => v[a] - v[b],
  negative: (v, a) => -v[a],
  multiply: (v, a, b) => v[a] * v[b],
  divide: (v, a, b) => v[a] / v[b],
  sin: (v, a) => Math.sin(v[a]),
  cos: (v, a) => Math.cos(v[a]),
  tan: (v, a) => Math.tan(v[a]),
  asin: (v, a) => Math.asin(v[a]),
  acos: (v, a) => Math.acos(v[a]),
  atan: (v, a) => Math.atan(v[a]),
  atan2: (v, a, b) => Math.atan2(v[a], v[b]),
  sqrt: (v, a) => Math.sqrt(v[a]),
  exp: (v, a) => Math.exp(v[a]),
  log: (v, a) => Math.log(v[a]),
  pow: (v, a, b) => Math.pow(v[a], v[b]),
  less: (v, a, b) => Number(v[a] < v[b]),
  less_equal: (v, a, b) => Number(v[a] <= v[b]),
  and: (v, a, b) => Number(v[a] !== 0 && v[b] !== 0),
  or: (v, a, b) => Number(v[a] !== 0 || v[b] !== 0),
  select: (v, a, b, c) => (v[a] !== 0 ? v[b] : v[c]),
};

/** Linear interpolation of a table, constant outside; order 1: its derivative, higher orders: zero. */
function interpolated({ times, values, order }: Table, x: number): number {
  const last = times.length - 1;
  if (x < times[0]) return order ? 0 : values[0];
  if (x >= times[last]) return order ? 0 : values[last];
  let i = 0;
  while (x >= times[i + 1]) i++;
  const slope = (values[i + 1] - values[i]) / (times[i + 1] - times[i]);
  return order === 0 ? values[i] + slope * (x - times[i]) : order === 1 ? slope : 0;
}

export class Program {
  private readonly values: Float64Array;
  private readonly first: number;
  private readonly operations: Operation[] = [];
  private readonly operands: Int32Array;
  private readonly results: Float64Array;

  constructor(private readonly code: Code) {
    const tables = code.tables ?? [];
    const count = code.inputs + code.numbers.length;
    this.first = count + tables.length;
    this.values = new Float64Array(this.first + code.lines.length);
    this.values.set(code.numbers, code.inputs);
    this.operands = new Int32Array(3 * code.lines.length);
    this.results = new Float64Array(code.outputs.length);
    code.lines.forEach(([name, ...operands], i) => {
      const table = name === "interpolate" ? tables[operands[0] - count] : undefined;
      const operation = table ? (v: Float64Array, _: number, x: number) => interpolated(table, v[x]) : OPERATIONS[name];
      if (!operation) throw new Error(`line ${i + 1} of a program: unknown operation '${name}'`);
      this.operations.push(operation);
      this.operands.set(operands, 3 * i);
    });
  }

  /** Returns the outputs; the array is reused by the next call. */
  run(inputs: ArrayLike<number>): Float64Array {
    const { values, operands, operations, first, results, code } = this;
    for (let i = 0; i < code.inputs; i++) values[i] = inputs[i];
    for (let i = 0, k = 0; i < operations.length; i++, k += 3) {
      values[first + i] = operations[i](values, operands[k], operands[k + 1], operands[k + 2]);
    }
    for (let i = 0; i < results.length; i++) results[i] = values[code.outputs[i]];
    return results;
  }
}
