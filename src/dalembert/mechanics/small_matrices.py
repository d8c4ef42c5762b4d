"""The operations of `mechanics/matrices` for one state, in loops: what machine code has in their place.

They are told from each other by their names only. No sum here is in another order for another number of states.
"""

from __future__ import annotations

import numpy as np

_SWEEPS = 60
_ORTHOGONAL = 2e-15  # the cosine of rows that count as orthogonal
_NOTHING = 1e-32  # of the square of the longest row: what is shorter is rounding, and has no direction


def diagonal(M: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(len(M))
    for i in range(len(M)):
        out[i] = M[i, i]
    return out


def turned(A: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty((A.shape[1], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j, i] = A[i, j]
    return out


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                out[i, j] += A[i, k] * B[k, j]
    return out


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i] += A[i, j] * x[j]
    return out


def scaled(A: np.ndarray, rows: np.ndarray | None, columns: np.ndarray | None) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(A.shape)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i, j] = A[i, j]
            if rows is not None:
                out[i, j] *= rows[i]
            if columns is not None:
                out[i, j] *= columns[j]
    return out


def lengths(rows: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[i, j] * rows[i, j]
        out[i] = np.sqrt(square)
    return out


def above(values: np.ndarray, share: float) -> np.ndarray:
    """As in `matrices`."""
    out, most = np.empty(len(values), dtype=np.bool_), 0.0
    for i in range(len(values)):
        most = max(most, values[i])
    for i in range(len(values)):
        out[i] = values[i] > share * most
    return out


def positive(values: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    return first(values, len(values))


def first(values: np.ndarray, count: int) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(len(values), dtype=np.bool_)
    for i in range(len(values)):
        out[i] = i < count and values[i] > 0
    return out


def chosen(which: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(len(values))
    for i in range(len(values)):
        out[i] = values[i] if which[i] else other
    return out


def inverse(which: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(len(values))
    for i in range(len(values)):
        out[i] = 1 / values[i] if which[i] else other
    return out


def filled(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty(len(values))
    for i in range(len(values)):
        out[i] = values[i] if values[i] > 0 else other[i]
    return out


def numbers(values: np.ndarray) -> np.ndarray:
    """As in `matrices`: numbers as they are."""
    return values


def chosen_rows(which: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    out = np.zeros(rows.shape)
    for i in range(len(which)):
        if which[i]:
            for j in range(rows.shape[1]):
                out[i, j] = rows[i, j]
    return out


def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    return np.concatenate((a, b))


def bordered(M: np.ndarray, J: np.ndarray, A: np.ndarray) -> np.ndarray:
    """As in `matrices`."""
    n, r = M.shape[0], A.shape[0]
    out = np.zeros((n + r, n + r))
    for i in range(n):
        for j in range(n):
            out[i, j] = M[i, j]
        for j in range(r):
            out[i, n + j], out[n + j, i] = -J[j, i], A[j, i]
    return out


def columns(A: np.ndarray, begin: int, end: int) -> np.ndarray:
    """As in `matrices`."""
    out = np.empty((A.shape[0], end - begin))
    for i in range(A.shape[0]):
        for j in range(begin, end):
            out[i, j - begin] = A[i, j]
    return out


def singular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As in `matrices`: rows are turned against each other until all are orthogonal (Hestenes 1958), of A or of Aᵀ."""
    wide = A.shape[0] <= A.shape[1]
    B = turned(turned(A)) if wide else turned(A)
    k, n = B.shape
    turns, sigma, floor = np.eye(k), np.empty(k), 0.0
    for size in lengths(B):
        floor = max(floor, _NOTHING * size * size)
    for _ in range(_SWEEPS):
        if not _sweep(B, turns, floor):
            break
    sizes = lengths(B)
    left, right, free = np.zeros((k, k)), np.zeros((k, n)), np.ones(k, dtype=np.bool_)
    for place in range(k):
        best = -1
        for i in range(k):
            if free[i] and (best < 0 or sizes[i] > sizes[best]):
                best = i
        free[best], sigma[place] = False, sizes[best]
        for j in range(k):
            left[j, place] = turns[best, j]
        if sizes[best] > 0:
            for j in range(n):
                right[place, j] = B[best, j] / sizes[best]
    if wide:
        return left, sigma, right
    return turned(right), sigma, turned(left)


def _sweep(B: np.ndarray, turns: np.ndarray, floor: float) -> bool:
    """Turn each two rows of B until they are orthogonal, and the rows of `turns` with them; False: they were."""
    turned_any, n = False, B.shape[1]
    for i in range(B.shape[0]):
        for j in range(i + 1, B.shape[0]):
            a, b, c = 0.0, 0.0, 0.0
            for k in range(n):
                a += B[i, k] * B[i, k]
                b += B[j, k] * B[j, k]
                c += B[i, k] * B[j, k]
            if not (abs(c) > _ORTHOGONAL * np.sqrt(a * b) and min(a, b) > floor):
                continue
            turned_any = True
            slope = (b - a) / (2 * c)
            tangent = (1.0 if slope >= 0 else -1.0) / (abs(slope) + np.sqrt(1 + slope * slope))
            cosine = 1 / np.sqrt(1 + tangent * tangent)
            _turn(B, i, j, cosine, cosine * tangent)
            _turn(turns, i, j, cosine, cosine * tangent)
    return turned_any


def _turn(B: np.ndarray, i: int, j: int, cosine: float, sine: float) -> None:
    for k in range(B.shape[1]):
        x, y = B[i, k], B[j, k]
        B[i, k], B[j, k] = cosine * x - sine * y, sine * x + cosine * y


def factors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As in `matrices`, by reflections (Householder 1958)."""
    n, k = A.shape
    R, P, u = turned(turned(A)), np.eye(n), np.zeros(n)
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
    return turned(P), R


def _reflect(B: np.ndarray, u: np.ndarray, begin: int) -> None:
    """B − 2 u (uᵀ B) / uᵀu, with u from a place on."""
    n, square = B.shape[0], 0.0
    for i in range(begin, n):
        square += u[i] * u[i]
    for k in range(B.shape[1]):
        along = 0.0
        for i in range(begin, n):
            along += u[i] * B[i, k]
        for i in range(begin, n):
            B[i, k] -= 2 * along / square * u[i]


def root(M: np.ndarray) -> np.ndarray:
    """As in `matrices`; not a number where M is not positive definite."""
    n = len(M)
    R = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = M[i, j]
            for k in range(j):
                rest -= R[i, k] * R[j, k]
            if j < i:
                R[i, j] = rest / R[j, j]
            else:
                R[i, i] = np.sqrt(rest) if rest > 0 else np.nan
    return R


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As in `matrices`, by elimination with the largest pivot of each column."""
    n = len(b)
    L, x = turned(turned(A)), np.empty(n)
    for i in range(n):
        x[i] = b[i]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(L[i, k]) > abs(L[best, k]):
                best = i
        if not abs(L[best, k]) > 0:
            for i in range(n):
                x[i] = np.nan
            return x
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
