"""Dense linear algebra of small matrices: with NumPy, and as loops for one state in machine code.

Measured on square matrices of 3, 6, 12 and 30 rows (µs, one core), loops against LAPACK through the addresses that SciPy exports:

| | 3 | 6 | 12 | 30 |
|---|---|---|---|---|
| singular values, loops | 0.6 | 2.9 | 18 | 325 |
| singular values, dgesdd | 2.9 | 6.6 | 21 | 135 |
| linear system, loops | 0.1 | 0.3 | 0.8 | 6.5 |
| linear system, dgesv | 0.9 | 1.0 | 1.7 | 5.2 |

Constraints of one mechanism have at most a dozen independent rows, so machine code uses the loops. They need no library, and
the order of summation does not depend on the number of states or the processor.
"""

from __future__ import annotations

import numpy as np

from dalembert.codegen.compiled_loop import in_machine_code

_MAX_SWEEPS = 60
_ORTHOGONAL = 2e-15  # largest cosine of rows that count as orthogonal
_ROUNDING = 1e-32  # relative to the square of the longest row: shorter rows are rounding errors without a direction


def inverse(mask: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    """The reciprocals of the selected values (…, n), and `other` for the rest."""
    return np.where(mask, 1 / np.where(mask, values, 1.0), other)


def bordered(M: np.ndarray, J: np.ndarray, A: np.ndarray) -> np.ndarray:
    """[M −Jᵀ; A 0] at one state."""
    n, size = len(M), len(M) + len(A)
    out = np.zeros((size, size))
    out[:n, :n] = M
    out[:n, n:] = -J.T
    out[n:, :n] = A
    return out


# singular values


def svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U (…, r, k), σ (…, k) and Vᵀ (…, k, n) with A = U σ Vᵀ and k = min(r, n), the largest σ first."""
    return np.linalg.svd(A, full_matrices=False)


@in_machine_code(svd)
def svd_by_rotations(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """SVD at one state: pairs of rows are rotated until all are orthogonal (Hestenes 1958), of A or of Aᵀ.

    A singular value of 0 has a row of zeros in Vᵀ, or a column of zeros in U if A has more rows than columns.
    """
    wide = A.shape[0] <= A.shape[1]
    B = A.copy() if wide else A.T.copy()
    k, n = B.shape
    rotations, floor = np.eye(k), 0.0
    sizes = np.linalg.norm(B, axis=-1)
    for i in range(k):
        floor = max(floor, _ROUNDING * sizes[i] * sizes[i])
    for _ in range(_MAX_SWEEPS):
        if not _sweep(B, rotations, floor):
            break
    sizes = np.linalg.norm(B, axis=-1)
    left, sigma, right, free = np.zeros((k, k)), np.empty(k), np.zeros((k, n)), np.ones(k)
    for index in range(k):
        best = -1
        for i in range(k):
            if free[i] > 0 and (best < 0 or sizes[i] > sizes[best]):
                best = i
        free[best], sigma[index] = 0.0, sizes[best]
        left[:, index] = rotations[best]
        if sizes[best] > 0:
            right[index] = B[best] / sizes[best]
    if wide:
        return left, sigma, right
    return right.T, sigma, left.T


def _sweep(B: np.ndarray, rotations: np.ndarray, floor: float) -> bool:
    """Rotate each pair of rows of B until they are orthogonal, and the rows of `rotations` with them; False if they were."""
    rotated, n = False, B.shape[1]
    for i in range(B.shape[0]):
        for j in range(i + 1, B.shape[0]):
            a, b, c = 0.0, 0.0, 0.0
            for k in range(n):
                a += B[i, k] * B[i, k]
                b += B[j, k] * B[j, k]
                c += B[i, k] * B[j, k]
            if not (abs(c) > _ORTHOGONAL * np.sqrt(a * b) and min(a, b) > floor):
                continue
            rotated = True
            slope = (b - a) / (2 * c)
            tangent = (1.0 if slope >= 0 else -1.0) / (abs(slope) + np.sqrt(1 + slope * slope))
            cosine = 1 / np.sqrt(1 + tangent * tangent)
            _rotate(B, i, j, cosine, cosine * tangent)
            _rotate(rotations, i, j, cosine, cosine * tangent)
    return rotated


def _rotate(B: np.ndarray, i: int, j: int, cosine: float, sine: float) -> None:
    for k in range(B.shape[1]):
        x, y = B[i, k], B[j, k]
        B[i, k], B[j, k] = cosine * x - sine * y, sine * x + cosine * y


def leading(values: np.ndarray, count: int | np.ndarray) -> np.ndarray:
    """Mask of the first `count` of the values (…, n), one count or one per state, that are also larger than zero."""
    return (np.arange(values.shape[-1]) < np.asarray(count)[..., None]) & (values > 0)


@in_machine_code(leading)
def leading_at_one_state(values: np.ndarray, count: int) -> np.ndarray:
    """`leading` at one state."""
    out = np.empty(len(values), dtype=np.bool_)
    for i in range(len(values)):
        out[i] = i < count and values[i] > 0
    return out


# orthogonal factors


def qr(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (n, n), orthogonal, and R (n, k) with zeros below its diagonal, for A = Q R (n, k)."""
    return np.linalg.qr(A, mode="complete")


@in_machine_code(qr)
def qr_by_reflections(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """QR by reflections (Householder 1958)."""
    n, k = A.shape
    R, P, u = A.copy(), np.eye(n), np.zeros(n)
    for j in range(min(n, k)):
        size = 0.0
        for i in range(j, n):
            u[i] = R[i, j]
            size += u[i] * u[i]
        size = np.sqrt(size)
        if size > 0:
            u[j] += size if u[j] >= 0 else -size
            _reflect(R, u, j)
            _reflect(P, u, j)
    return P.T, R


def _reflect(B: np.ndarray, u: np.ndarray, begin: int) -> None:
    """B − 2 u (uᵀ B) / uᵀu, with the elements of u from index `begin`."""
    n, square = B.shape[0], 0.0
    for i in range(begin, n):
        square += u[i] * u[i]
    for k in range(B.shape[1]):
        along = 0.0
        for i in range(begin, n):
            along += u[i] * B[i, k]
        for i in range(begin, n):
            B[i, k] -= 2 * along / square * u[i]


# triangular factors and linear systems


def cholesky(M: np.ndarray) -> np.ndarray:
    """R with M = R Rᵀ and zeros above its diagonal, at one state; NaN if M is not positive definite.

    >>> cholesky(np.array([[4.0]])).tolist(), cholesky(np.array([[-4.0]])).tolist()
    ([[2.0]], [[nan]])
    """
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return np.full(M.shape, np.nan)


@in_machine_code(cholesky)
def cholesky_by_rows(M: np.ndarray) -> np.ndarray:
    """`cholesky`, row by row."""
    n = len(M)
    R = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            R[i, j] = M[i, j]
    cholesky_in_place(R, 0.0, np.nan)
    return R


def cholesky_in_place(R: np.ndarray, min_pivot: float, other: float) -> bool:
    """Replace the lower half of M by R with M = R Rᵀ; the upper half is not read. False if R contains NaN.

    A pivot that is not larger than `min_pivot` becomes `other`: NaN, or infinity, which removes its row and column.
    """
    n = len(R)
    for i in range(n):
        for j in range(i + 1):
            remainder = R[i, j]
            for k in range(j):
                remainder -= R[i, k] * R[j, k]
            if j < i:
                R[i, j] = remainder / R[j, j]
            elif remainder > min_pivot:
                R[i, i] = np.sqrt(remainder)
            else:
                R[i, i] = other if remainder <= min_pivot else np.nan
    return n == 0 or R[n - 1, n - 1] > 0


def solve_lower(R: np.ndarray, x: np.ndarray) -> None:
    """Replace b by x of R x = b; R has zeros above its diagonal, which are not read."""
    for i in range(len(x)):
        remainder = x[i]
        for k in range(i):
            remainder -= R[i, k] * x[k]
        x[i] = remainder / R[i, i]


def solve_lower_transposed(R: np.ndarray, x: np.ndarray) -> None:
    """Replace b by x of Rᵀ x = b."""
    n = len(x)
    for i in range(n - 1, -1, -1):
        remainder = x[i]
        for k in range(i + 1, n):
            remainder -= R[k, i] * x[k]
        x[i] = remainder / R[i, i]


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (…, n) of A x = b; NaN if A is singular, for the complete batch if one matrix is.

    >>> solve(np.array([[2.0]]), np.array([6.0])).tolist(), solve(np.zeros((1, 1)), np.ones(1)).tolist()
    ([3.0], [nan])
    """
    try:
        return np.linalg.solve(A, b[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.full(b.shape, np.nan)


@in_machine_code(solve)
def solve_by_elimination(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`solve` by elimination with partial pivoting."""
    n, L, x = len(b), A.copy(), b.copy()
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(L[i, k]) > abs(L[best, k]):
                best = i
        if not abs(L[best, k]) > 0:
            return np.full(n, np.nan)
        for j in range(k, n):
            L[k, j], L[best, j] = L[best, j], L[k, j]
        x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            share = L[i, k] / L[k, k]
            if share != 0:
                for j in range(k + 1, n):
                    L[i, j] -= share * L[k, j]
                x[i] -= share * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= L[k, j] * x[j]
        x[k] /= L[k, k]
    return x
