"""Matrices of numbers, at one state or in a batch: what rank and the solvers of one state are written in.

Here each operation is NumPy's on the last axes. For one state `mechanics/small_matrices` has it as loops, which Numba compiles in
a fraction of the time that it takes for NumPy's functions, and which are quicker on small matrices. All above is one text.
"""

from __future__ import annotations

import numpy as np


def diagonal(M: np.ndarray) -> np.ndarray:
    """The diagonals (…, n) of matrices (…, n, n).

    >>> diagonal(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return np.diagonal(M, axis1=-2, axis2=-1)


def turned(A: np.ndarray) -> np.ndarray:
    """The transposed matrices.

    >>> turned(np.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    return np.swapaxes(A, -1, -2)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B for matrices.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    return A @ B


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x for matrices and vectors.

    >>> times(np.array([[1.0, 2.0]]), np.array([3.0, 4.0])).tolist()
    [11.0]
    """
    return (A @ x[..., None])[..., 0]


def scaled(A: np.ndarray, rows: np.ndarray | None, columns: np.ndarray | None) -> np.ndarray:
    """A with its rows and its columns multiplied by numbers.

    >>> scaled(np.ones((1, 2)), np.array([3.0]), np.array([1.0, 2.0])).tolist()
    [[3.0, 6.0]]
    """
    out = A if rows is None else A * rows[..., :, None]
    return out if columns is None else out * columns[..., None, :]


def lengths(rows: np.ndarray) -> np.ndarray:
    """The lengths (…, r) of rows (…, r, n).

    >>> lengths(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [5.0, 2.0]
    """
    return np.linalg.norm(rows, axis=-1)


def above(values: np.ndarray, share: float) -> np.ndarray:
    """Which of values (…, n) that are not negative are larger than a share of the largest.

    >>> above(np.array([1.0, 0.0, 3.0]), 0.5).tolist()
    [False, False, True]
    """
    return values > share * values.max(axis=-1, keepdims=True, initial=0.0)


def positive(values: np.ndarray) -> np.ndarray:
    """Which of the values are larger than zero.

    >>> positive(np.array([1.0, 0.0])).tolist()
    [True, False]
    """
    return values > 0


def first(values: np.ndarray, count: int | np.ndarray) -> np.ndarray:
    """Which of values (…, n) are among the first `count`, one number or one for each state, and larger than zero.

    >>> first(np.array([3.0, 2.0, 1.0]), 2).tolist()
    [True, True, False]
    """
    return (np.arange(values.shape[-1]) < np.asarray(count)[..., None]) & (values > 0)


def chosen(which: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    """The values (…, n) that are chosen, and `other` in the place of the rest.

    >>> chosen(np.array([True, False]), np.array([3.0, 4.0]), 1.0).tolist()
    [3.0, 1.0]
    """
    return np.where(which, values, other)


def inverse(which: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    """One over the values (…, n) that are chosen, and `other` in the place of the rest.

    >>> inverse(np.array([True, False]), np.array([4.0, 0.0]), 1.0).tolist()
    [0.25, 1.0]
    """
    return np.where(which, 1 / np.where(which, values, 1.0), other)


def filled(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The values (…, n) that are larger than zero, and others in the place of the rest.

    >>> filled(np.array([2.0, 0.0]), np.array([5.0, 6.0])).tolist()
    [2.0, 6.0]
    """
    return np.where(values > 0, values, other)


def numbers(values: np.ndarray) -> np.ndarray:
    """The values, zero where they are not a number; machine code asks for numbers only.

    >>> numbers(np.array([np.nan, 2.0])).tolist()
    [0.0, 2.0]
    """
    return np.nan_to_num(values)


def chosen_rows(which: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows (…, r, n) that are chosen, and zeros in the place of the rest.

    >>> chosen_rows(np.array([True, False]), np.array([[3.0, 4.0], [1.0, 2.0]])).tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """
    return np.where(which[..., None], rows, 0.0)


def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Vectors, or rows of matrices, one after the other, at one state.

    >>> joined(np.ones(1), np.zeros(2)).tolist()
    [1.0, 0.0, 0.0]
    """
    return np.concatenate((a, b))


def bordered(M: np.ndarray, J: np.ndarray, A: np.ndarray) -> np.ndarray:
    """[M −Jᵀ; A 0] at one state.

    >>> bordered(np.array([[1.0]]), np.array([[2.0]]), np.array([[3.0]])).tolist()
    [[1.0, -2.0], [3.0, 0.0]]
    """
    return np.block([[M, -J.T], [A, np.zeros((len(A), len(J)))]])


def columns(A: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Some of the columns of matrices.

    >>> columns(np.array([[1.0, 2.0, 3.0]]), 1, 3).tolist()
    [[2.0, 3.0]]
    """
    return A[..., begin:end]


def singular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U (…, r, k), σ (…, k) and Vᵀ (…, k, n) with A = U σ Vᵀ and k = min(r, n), the largest σ first.

    >>> singular(np.diag([1.0, 2.0]))[1].tolist()
    [2.0, 1.0]
    """
    return np.linalg.svd(A, full_matrices=False)


def factors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (n, n), orthogonal, and R (n, k) with zeros below its diagonal, for A = Q R (n, k).

    >>> Q, R = factors(np.array([[3.0], [4.0]]))
    >>> np.abs(Q @ R).round(12).tolist(), Q.shape
    ([[3.0], [4.0]], (2, 2))
    """
    return np.linalg.qr(A, mode="complete")


def root(M: np.ndarray) -> np.ndarray:
    """R with M = R Rᵀ and zeros above its diagonal, at one state; not a number where M is not positive definite.

    >>> root(np.array([[4.0]])).tolist(), root(np.array([[-4.0]])).tolist()
    ([[2.0]], [[nan]])
    """
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return np.full(M.shape, np.nan)


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x of A x = b at one state; not a number where A is singular.

    >>> solved(np.array([[2.0]]), np.array([6.0])).tolist(), solved(np.zeros((1, 1)), np.ones(1)).tolist()
    ([3.0], [nan])
    """
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        return np.full(len(b), np.nan)
