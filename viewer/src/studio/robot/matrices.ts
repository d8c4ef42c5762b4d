// Homogeneous transforms as tables of numbers.

import { element } from "../../dom";
import type { Matrix } from "./linear";

/** Table of a 4 × 4 matrix; `show` updates its numbers. */
export function matrixOf(label: string): { root: HTMLElement; show(T: Matrix): void } {
  const cells = Array.from({ length: 4 }, () => Array.from({ length: 4 }, () => element("td", {})));
  const table = element("table", { class: "matrix", "aria-label": label }, ...cells.map((row) => element("tr", {}, ...row)));
  return { root: table, show: (T) => T.forEach((row, i) => row.forEach((x, j) => { cells[i][j].textContent = fixed(x); })) };
}

function fixed(x: number): string {
  const text = Math.abs(x) < 5e-5 ? "0" : Math.abs(x) < 1000 ? String(Number(x.toFixed(4))) : x.toExponential(3);
  return text.replaceAll("-", "−");
}

/** T⁻¹ of a rigid transform. */
export function inverse(T: Matrix): Matrix {
  const R = [0, 1, 2].map((i) => [0, 1, 2].map((j) => T[j][i]));
  return [...R.map((row) => [...row, -(row[0] * T[0][3] + row[1] * T[1][3] + row[2] * T[2][3])]), [0, 0, 0, 1]];
}
