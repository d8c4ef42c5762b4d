"""The text that gives accelerations of a model with constraints at one state, from M, h, A and β in numbers.

Plain functions on arrays of floats: Numba compiles them (`recursive/constrained_forward`), and where it is missing they run as
they stand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.codegen.compiled_loop import call
from dalembert.codegen.numba_code import array_at
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_rows import dimensionless
from dalembert.mechanics.matrices import above, diagonal, root, singular
from dalembert.recursive import null_space_solve
from dalembert.recursive.tree_state import TOLERANCE

DOUBTFUL = 1e-3  # rows less independent than this may be redundant ones at a state a little off the constraints
WEAK = 1e-10  # a free motion whose inertia is below this share of its terms is looked at closely
AMISS = 2.0  # the alarm
HEAD = np.dtype(
    [(name, np.int64) for name in ("one", "parts", "inputs", "n", "rows", "usual")] + [("time", np.float64)]
)
LENGTH = len(HEAD.names or ())
Head = Any  # a record of HEAD


def read(numbers: np.ndarray) -> Head:
    """What stands in front of numbers."""
    return numbers[:LENGTH].view(np.dtype((np.record, HEAD)))[0]


def accelerations(head: Head, numbers: np.ndarray, parts: np.ndarray, out: np.ndarray) -> None:
    """Write ṡ and the alarm, from the parts at one state."""
    n, r = head.n, head.rows
    unit, sizes = numbers[LENGTH : LENGTH + n], numbers[LENGTH + n : LENGTH + n + r]
    for i in range(len(parts)):
        if not np.isfinite(parts[i]):
            out[n] = AMISS
            return
    h = n * n
    begin = h + n
    beta = begin + r * n
    M = parts[:h].reshape((n, n))
    A = dimensionless(parts[begin:beta].reshape((r, n)), unit, sizes)
    b = np.empty(r)
    for i in range(r):
        b[i] = parts[beta + i] / (sizes[i] if sizes[i] > 0 else 1.0)
    sd, free = null_space_solve.solution(M, parts[h:begin], A, b, counted(A, unit, head.usual))
    out[n] = abs(parts[beta + r])  # that of the parts
    for i in range(n):
        out[i] = sd[i]
        if not np.isfinite(sd[i]):
            out[n] = AMISS
    for i in range(r):
        left, terms = -b[i], abs(b[i]) + 1 / head.time**2
        for j in range(n):
            left += A[i, j] * sd[j]
            terms += abs(A[i, j] * sd[j])
        out[n] = max(out[n], abs(left) / (TOLERANCE * terms))
    if not has_inertia(free):
        out[n] = AMISS


def counted(A: np.ndarray, unit: np.ndarray, usual: int) -> int:
    """The rank of the rows; where it is in doubt, no more than it is at most states of the model."""
    sigma = singular(rank.leveled(A, unit)[0])[1]
    found = int(above(sigma, rank.TOLERANCE).sum())
    if found > usual >= 0 and sigma[found - 1] < DOUBTFUL * sigma[0]:
        return usual
    return found


def has_inertia(free: np.ndarray) -> bool:
    """True when the inertia of free motions is well definite, whatever their units."""
    size, R, weak = diagonal(free), root(free), 0
    for i in range(len(size)):
        if not R[i, i] * R[i, i] > WEAK * size[i]:
            weak += 1
    return weak == 0


def one(x: Any, p: Any, tables: Any, out: Any) -> None:
    """The function with the signature of programs."""
    head = array_at(tables, 1, HEAD)[0]
    n, r = head.n, head.rows
    begin = LENGTH + n + r
    numbers = array_at(tables, begin + 1, np.float64)
    parts = np.empty(n * n + n + r * n + r + 1)
    call(head.parts, array_at(x, head.inputs, np.float64), array_at(p, 1, np.float64), numbers[begin:], parts)
    accelerations(head, numbers, parts, array_at(out, n + 1, np.float64))


def many(x: Any, p: Any, tables: Any, out: Any, begin: int, end: int, stride: int) -> None:
    """The same at many states."""
    head = array_at(tables, 1, HEAD)[0]
    states = array_at(x, (head.inputs, stride), np.float64)
    results = array_at(out, (head.n + 1, stride), np.float64)
    numbers, constants = array_at(tables, LENGTH + head.n + head.rows + 1, np.float64), array_at(p, 1, np.float64)
    state, result = np.empty(head.inputs), np.empty(head.n + 1)
    for k in range(begin, end):
        for i in range(head.inputs):
            state[i] = states[i, k]
        call(head.one, state, constants, numbers, result)
        for i in range(head.n + 1):
            results[i, k] = result[i]
