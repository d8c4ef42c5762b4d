"""What rank asks of rows, in one state or in a batch of them: NumPy on the last axes, and loops that Numba compiles for one state.

Numba knows no axes but the first, and what it makes of choices between arrays takes seconds to compile. So each of these few
functions has a second text in `FOR_ONE_STATE`, and everything above them has only one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def lengths(rows: np.ndarray) -> np.ndarray:
    """The lengths (…, r) of rows (…, r, n).

    >>> lengths(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [5.0, 2.0]
    """
    return np.linalg.norm(rows, axis=-1)


def largest(values: np.ndarray) -> np.ndarray:
    """The largest (…, 1) of values (…, n) that are not negative; 0 where there are none.

    >>> largest(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [[3.0], [2.0]]
    """
    return values.max(axis=-1, keepdims=True, initial=0.0)


def chosen(which: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    """The values (…, n) that are chosen, and `other` in the place of the rest.

    >>> chosen(np.array([True, False]), np.array([3.0, 4.0]), 1.0).tolist()
    [3.0, 1.0]
    """
    return np.where(which, values, other)


def chosen_rows(which: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows (…, r, n) that are chosen, and zeros in the place of the rest.

    >>> chosen_rows(np.array([True, False]), np.array([[3.0, 4.0], [1.0, 2.0]])).tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """
    return np.where(which[..., None], rows, 0.0)


def first(count: int | np.ndarray, n: int) -> np.ndarray:
    """Which of n places (…, n) are among the first `count`, one number or one for each state.

    >>> first(2, 3).tolist()
    [True, True, False]
    """
    return np.arange(n) < np.asarray(count)[..., None]


# the same for one state, in loops


def _diagonal(M: np.ndarray) -> np.ndarray:
    out = np.empty(len(M))
    for i in range(len(M)):
        out[i] = M[i, i]
    return out


def _turned(A: np.ndarray) -> np.ndarray:
    return A.T


def _lengths(rows: np.ndarray) -> np.ndarray:
    out = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[i, j] * rows[i, j]
        out[i] = np.sqrt(square)
    return out


def _largest(values: np.ndarray) -> np.ndarray:
    out = np.zeros(1)
    for value in values:
        if value > out[0]:
            out[0] = value
    return out


def _chosen(which: np.ndarray, values: np.ndarray, other: float) -> np.ndarray:
    out = np.empty(len(values))
    for i in range(len(values)):
        out[i] = values[i] if which[i] else other
    return out


def _chosen_rows(which: np.ndarray, rows: np.ndarray) -> np.ndarray:
    out = np.zeros(rows.shape)
    for i in range(len(which)):
        if which[i]:
            for j in range(rows.shape[1]):
                out[i, j] = rows[i, j]
    return out


def _first(count: int, n: int) -> np.ndarray:
    out = np.zeros(n, dtype=np.bool_)
    for i in range(min(count, n)):
        out[i] = True
    return out


FOR_ONE_STATE: dict[Callable[..., Any], Callable[..., Any]] = {
    diagonal: _diagonal,
    turned: _turned,
    lengths: _lengths,
    largest: _largest,
    chosen: _chosen,
    chosen_rows: _chosen_rows,
    first: _first,
}
