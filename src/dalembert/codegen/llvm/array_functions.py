"""Functions of NumPy on arrays of one state as loops, which machine code calls in their place.

No sum here is in another order for another number of states.
"""

from __future__ import annotations

import numpy as np

from dalembert.codegen.compiled_loop import in_machine_code


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B."""
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                out[i, j] += A[i, k] * B[k, j]
    return out


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i] += A[i, j] * x[j]
    return out


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x · y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def taken(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """values[places]."""
    out = np.empty(len(places))
    for i in range(len(places)):
        out[i] = values[places[i]]
    return out


def taken_rows(A: np.ndarray, places: np.ndarray) -> np.ndarray:
    """A[places]."""
    out = np.empty((len(places), A.shape[1]))
    for i in range(len(places)):
        for j in range(A.shape[1]):
            out[i, j] = A[places[i], j]
    return out


@in_machine_code(np.eye)
def identity(n: int) -> np.ndarray:
    """The identity matrix."""
    out = np.zeros((n, n))
    for i in range(n):
        out[i, i] = 1.0
    return out


@in_machine_code(np.linalg.norm, axis=-1)
def row_norms(A: np.ndarray) -> np.ndarray:
    """The lengths of rows."""
    out = np.empty(A.shape[0])
    for i in range(A.shape[0]):
        square = 0.0
        for j in range(A.shape[1]):
            square += A[i, j] * A[i, j]
        out[i] = np.sqrt(square)
    return out


@in_machine_code(np.max, axis=-1, keepdims=True, initial=0.0)
def largest(values: np.ndarray) -> float:
    """The largest value, or 0."""
    most = 0.0
    for i in range(len(values)):
        most = max(most, values[i])
    return most


@in_machine_code(np.sum)
def total(values: np.ndarray) -> float:
    """The sum of values."""
    found = 0.0
    for i in range(len(values)):
        found += values[i]
    return found


@in_machine_code(np.count_nonzero)
def count(which: np.ndarray) -> int:
    """How many are true."""
    found = 0
    for i in range(len(which)):
        if which[i]:
            found += 1
    return found


@in_machine_code(np.all)
def all_of(which: np.ndarray) -> bool:
    """True where all are."""
    return count(which) == len(which)


@in_machine_code(np.argmax)
def place_of_largest(values: np.ndarray) -> int:
    """The place of the largest value, the first of equals."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


@in_machine_code(np.nan_to_num)
def numbers(values: np.ndarray) -> np.ndarray:
    """The values, zero where they are not a number."""
    return np.where(values == values, values, 0.0)
