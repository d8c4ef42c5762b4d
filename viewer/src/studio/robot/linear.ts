// Small matrices as lists of rows: products, the shortest damped solution, eigenvalues.

export type Matrix = number[][];

export const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

export function times(A: Matrix, B: Matrix): Matrix {
  return A.map((row) => B[0].map((_, j) => row.reduce((sum, x, k) => sum + x * B[k][j], 0)));
}

/** x that minimizes |A x − b|² + μ |x|²: Aᵀ y with (A Aᵀ + μ) y = b. */
export function damped(A: Matrix, b: number[], mu: number): number[] {
  const S = A.map((row, i) => A.map((other, j) => dot(row, other) + (i === j ? mu : 0)));
  const y = solved(S, b);
  return A[0].map((_, j) => A.reduce((sum, row, i) => sum + row[j] * y[i], 0));
}

/** Gauss without pivots: S is positive definite. */
function solved(S: Matrix, b: number[]): number[] {
  const y = b.slice(), n = b.length;
  for (let i = 0; i < n; i++) {
    for (let r = i + 1; r < n; r++) {
      const f = S[r][i] / S[i][i];
      if (f === 0) continue;
      for (let c = i; c < n; c++) S[r][c] -= f * S[i][c];
      y[r] -= f * y[i];
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let c = i + 1; c < n; c++) y[i] -= S[i][c] * y[c];
    y[i] /= S[i][i];
  }
  return y;
}

/** Projection of the rows of A on the null space of C: A − A Cᵀ (C Cᵀ)⁻¹ C. */
export function nullSpaceProjection(A: Matrix, C: Matrix): Matrix {
  if (!C.length) return A;
  const size = C.reduce((sum, row) => sum + dot(row, row), 0);
  return A.map((row) => {
    const part = damped(C, C.map((each) => dot(each, row)), 1e-12 * size + 1e-300);
    return row.map((x, j) => x - part[j]);
  });
}

/** Eigenvalues of a symmetric matrix, the largest first, and their vectors as rows: Jacobi's rotations. */
export function eigen(matrix: Matrix): { values: number[]; vectors: Matrix } {
  const n = matrix.length, A = matrix.map((row) => row.slice()), V = A.map((_, i) => A.map((_, j) => Number(i === j)));
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += A[p][q] ** 2;
    if (off < 1e-30 * (1e-300 + A.reduce((sum, row, i) => sum + row[i] ** 2, 0))) break;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(A, V, p, q);
  }
  const order = A.map((_, i) => i).sort((a, b) => A[b][b] - A[a][a]);
  return { values: order.map((i) => A[i][i]), vectors: order.map((i) => V.map((row) => row[i])) };
}

function rotate(A: Matrix, V: Matrix, p: number, q: number): void {
  if (A[p][q] === 0) return;
  const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
  const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1)), c = 1 / Math.hypot(t, 1), s = t * c;
  for (let k = 0; k < A.length; k++) [A[k][p], A[k][q]] = [c * A[k][p] - s * A[k][q], s * A[k][p] + c * A[k][q]];
  for (let k = 0; k < A.length; k++) [A[p][k], A[q][k]] = [c * A[p][k] - s * A[q][k], s * A[p][k] + c * A[q][k]];
  for (const row of V) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
}
