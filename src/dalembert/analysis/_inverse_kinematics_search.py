"""Numerical inverse kinematics: the search for configurations that reach the targets with closed loops, within limits.

Plain functions on arrays of floats, which run as Python or as machine code (`compiled`). The poses of the bodies, their
Jacobians and the constraints are one program, called by its address or as a Python function.

The rows e(q) are position errors divided by the length of the model, angles, and scaled constraints. Steps follow Levenberg
and Marquardt with the damping of Sugihara (2011), which vanishes with the error, so that convergence is Newton's:

    δq = Jᵀ (J Jᵀ + λ 1)⁻¹ e = (JᵀJ + λ 1)⁻¹ Jᵀ e,    λ = μ |e|² / 2.

Coordinates at a limit that the step would violate stay there. A search that stalls is restarted: the starts are points of an
additive low-discrepancy sequence, so the result is deterministic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram, CompiledLoop, call
from dalembert.codegen.linear_algebra import cholesky_in_place, solve_lower, solve_lower_transposed

_LEAST = 1e-15  # relative damping against rounding errors of dependent rows
_ROUNDING = 1e-15
_IDLE = 0.99  # a step that leaves more than this fraction of |e|² makes no progress
_PATIENCE = 4
_TRIALS = 8  # steps with increasing damping
# near a fold, where two solutions meet, Newton's step overshoots both and then returns to one; damped steps would stagnate
_LEAPS, _NEAR, _FAR = 3, 1e-4, 1e-1


class SearchTask(NamedTuple):
    """The targets, and the coordinates that may change."""

    kinds: np.ndarray  # (targets, 2): whether its position and its orientation are targets
    length: float
    sizes: np.ndarray  # (r,) of the constraint rows
    units: np.ndarray  # (n,) of the coordinates; 0 for a fixed one
    lower: np.ndarray
    upper: np.ndarray
    low: np.ndarray  # lower ends and widths of the ranges of the starts
    wide: np.ndarray
    spread: np.ndarray  # increment between consecutive starts, as a fraction of `wide`


class Effort(NamedTuple):
    """Limits of the search."""

    tolerance: float
    steps: int  # in one search
    starts: int


class WorkArrays(NamedTuple):
    """Work arrays of one search."""

    x: np.ndarray  # (n + 1,): coordinates and time
    trial: np.ndarray
    there: np.ndarray  # outputs of the program
    e: np.ndarray
    J: np.ndarray
    new_e: np.ndarray
    new_J: np.ndarray
    step: np.ndarray
    square: np.ndarray  # J Jᵀ or JᵀJ, the smaller one
    right: np.ndarray
    free: np.ndarray


def search_configuration(
    machine: CallableProgram,
    task: SearchTask,
    effort: Effort,
    targets: np.ndarray,
    starts: np.ndarray,
    t: float,
    out: np.ndarray,
    left: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write the configuration found for each target, the largest entry of |e|, and the numbers of steps and searches.

    `targets` (K, targets · 12) are positions and rotations by rows, `starts` (K, n) the first configuration of each search.
    """
    n, m = len(task.units), len(task.sizes)
    outputs = m * (n + 1)
    for k in range(len(task.kinds)):
        m += 3 * (task.kinds[k, 0] + task.kinds[k, 1])
        outputs += task.kinds[k, 0] * (3 + 3 * n) + task.kinds[k, 1] * (9 + 3 * n)
    k = min(m, n)
    room = WorkArrays(
        np.empty(n + 1),
        np.empty(n + 1),
        np.empty(outputs),
        np.empty(m),
        np.empty((m, n)),
        np.empty(m),
        np.empty((m, n)),
        np.empty(n),
        np.empty((k, k)),
        np.empty(k),
        np.empty(n),
    )
    for i in range(len(targets)):
        left[i], counts[i, 0], counts[i, 1] = np.inf, 0, 0
        for search in range(effort.starts):
            _start_configuration(task, starts[i], search, room.x)
            room.x[n] = t
            rest, steps = _searched(machine, task, effort, targets[i], room)
            counts[i, 0] += steps
            counts[i, 1] += 1
            if rest < left[i]:
                left[i] = rest
                for j in range(n):
                    out[i, j] = room.x[j]
            if left[i] <= effort.tolerance:
                break


def _start_configuration(task: SearchTask, start: np.ndarray, search: int, x: np.ndarray) -> None:
    """Write the first configuration of a search: the start, then points of the additive sequence."""
    for j in range(len(start)):
        x[j] = start[j]
        if search and task.units[j] > 0.0:
            share = 0.5 + search * task.spread[j]
            x[j] = task.low[j] + task.wide[j] * (share - np.floor(share))
        x[j] = min(max(x[j], task.lower[j]), task.upper[j]) if task.units[j] > 0.0 else x[j]


def _searched(
    machine: CallableProgram, task: SearchTask, effort: Effort, target: np.ndarray, room: WorkArrays
) -> tuple[float, int]:
    """The largest entry of |e| after one search and the number of its steps; x, e and J are those at its end."""
    n, e = len(task.units), room.e
    rest = _evaluate(machine, task, target, room.x, room.there, e, room.J)
    size, mu, idle, step, leaps = _squared(e), 0.1, 0, 0, 0
    while step < effort.steps and rest > _ROUNDING and idle < _PATIENCE:
        taken, done, new, new_rest = False, rest <= effort.tolerance, size, rest
        for _ in range(_TRIALS):
            step += 1
            if not _stepped(task, room, mu * 0.5 * size):
                return np.inf, step
            room.trial[n] = room.x[n]
            new_rest = _evaluate(machine, task, target, room.trial, room.there, room.new_e, room.new_J)
            new = _squared(room.new_e)
            if new < size:
                taken = True
                break
            if not done and leaps < _LEAPS and size < _NEAR and new < _FAR:
                leaps, taken, mu = leaps + 1, True, 1e-3
                break
            if done:  # one more step, to machine precision
                return rest, step
            mu *= 8.0
        if not taken:
            return rest, step
        idle = idle + 1 if new > _IDLE * size else 0
        mu = max(mu * (0.25 if new < 0.5 * size else 0.7), 1e-3)
        size, rest = new, new_rest
        for j in range(n):
            room.x[j] = room.trial[j]
        for i in range(len(e)):
            e[i] = room.new_e[i]
            for j in range(n):
                room.J[i, j] = room.new_J[i, j]
        if done:
            return rest, step
    return rest, step


def _squared(e: np.ndarray) -> float:
    total = 0.0
    for i in range(len(e)):
        total += e[i] * e[i]
    return total


def _evaluate(
    machine: CallableProgram,
    task: SearchTask,
    target: np.ndarray,
    x: np.ndarray,
    there: np.ndarray,
    e: np.ndarray,
    J: np.ndarray,
) -> float:
    """Write e and J = −∂e/∂q in the units of the coordinates; return the largest entry of |e|, infinite for NaN."""
    n, at, row, length = len(task.units), 0, 0, task.length
    call(machine.one, x, machine.p, machine.tables, there)
    for k in range(len(task.kinds)):
        if task.kinds[k, 0]:
            for i in range(3):
                e[row + i] = (target[12 * k + i] - there[at + i]) / length
                for j in range(n):
                    J[row + i, j] = there[at + 3 + i * n + j] * task.units[j] / length
            at, row = at + 3 + 3 * n, row + 3
        if task.kinds[k, 1]:
            _rotation_error(there[at : at + 9], target[12 * k + 3 : 12 * k + 12], e[row : row + 3])
            for i in range(3):
                for j in range(n):
                    J[row + i, j] = there[at + 9 + i * n + j] * task.units[j]
            at, row = at + 9 + 3 * n, row + 3
    for i in range(len(task.sizes)):
        e[row + i] = -there[at + i] / task.sizes[i]
        for j in range(n):
            J[row + i, j] = there[at + len(task.sizes) + i * n + j] * task.units[j] / task.sizes[i]
    largest = 0.0
    for i in range(len(e)):
        largest = max(largest, abs(e[i])) if e[i] == e[i] else np.inf
    return largest


def _rotation_error(R: np.ndarray, wanted: np.ndarray, out: np.ndarray) -> None:
    """Write the rotation vector of Rᵀ R*, in body axes."""
    E = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            E[i, j] = R[i] * wanted[j] + R[3 + i] * wanted[3 + j] + R[6 + i] * wanted[6 + j]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        out[i] = 0.5 * (E[b, a] - E[a, b])
    sine = np.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    cosine = 0.5 * (E[0, 0] + E[1, 1] + E[2, 2] - 1.0)
    if cosine < -0.9999:  # nearly half a turn: the axis is the longest column of E + Eᵀ + (1 − tr E) 1
        most = 0
        for i in range(1, 3):
            most = i if E[i, i] > E[most, most] else most
        length = 0.0
        axis = np.empty(3)
        for i in range(3):
            axis[i] = E[i, most] + E[most, i] + (1.0 - 2.0 * cosine - 1.0 if i == most else 0.0)
            length += axis[i] * axis[i]
        side = 0.0
        for i in range(3):
            side += axis[i] * out[i]
        factor = (np.arctan2(sine, cosine) if side >= 0.0 else -np.arctan2(sine, cosine)) / np.sqrt(length)
        for i in range(3):
            out[i] = factor * axis[i]
    elif sine > 1e-8:
        factor = np.arctan2(sine, cosine) / sine
        for i in range(3):
            out[i] *= factor


def _stepped(task: SearchTask, room: WorkArrays, damping: float) -> bool:
    """Write the trial after one step; coordinates at a limit do not pass it. False if the step cannot be computed."""
    n, free, x = len(task.units), room.free, room.x
    for j in range(n):
        free[j] = 1.0 if task.units[j] > 0.0 else 0.0
    for _ in range(n):
        if not _solved(room, damping):
            return False
        changed = False
        for j in range(n):
            move = room.step[j]
            if free[j] > 0.0 and ((x[j] <= task.lower[j] and move < 0.0) or (x[j] >= task.upper[j] and move > 0.0)):
                free[j], changed = 0.0, True
        if not changed:
            break
    for j in range(n):
        room.trial[j] = x[j]
        if free[j] > 0.0:
            room.trial[j] = min(max(x[j] + room.step[j] * task.units[j], task.lower[j]), task.upper[j])
    return True


def _solved(room: WorkArrays, damping: float) -> bool:
    """Write the damped step of the free coordinates, using the smaller of J Jᵀ and JᵀJ."""
    J, e, S, b, free, step = room.J, room.e, room.square, room.right, room.free, room.step
    m, n = J.shape
    trace = 0.0
    if m <= n:
        for i in range(m):
            b[i] = e[i]
            for k in range(i + 1):
                total = 0.0
                for j in range(n):
                    total += J[i, j] * J[k, j] * free[j]
                S[i, k] = total
            trace += S[i, i]
    else:
        for i in range(n):
            total = 0.0
            for r in range(m):
                total += J[r, i] * e[r]
            b[i] = total * free[i]
            for k in range(i + 1):
                total = 0.0
                for r in range(m):
                    total += J[r, i] * J[r, k]
                S[i, k] = total * free[i] * free[k]
            trace += S[i, i]
    for i in range(len(b)):
        S[i, i] += damping + _LEAST * trace + 1e-300
    if not cholesky_in_place(S, 0.0, np.inf):  # not positive definite because of rounding errors: no step
        return False
    solve_lower(S, b)
    solve_lower_transposed(S, b)
    for j in range(n):
        total = 0.0
        if m <= n:
            for i in range(m):
                total += J[i, j] * b[i]
        else:
            total = b[j]
        step[j] = total * free[j]
    return True


compiled = CompiledLoop(search_configuration)  # the search as machine code
