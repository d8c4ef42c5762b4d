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

_MIN_DAMPING = 1e-15  # relative damping against rounding errors of dependent rows
_ROUNDING = 1e-15
_NO_PROGRESS = 0.99  # a step that leaves more than this fraction of |e|² makes no progress
_MAX_STALLED = 4
_MAX_TRIALS = 8  # steps with increasing damping
# near a fold, where two solutions meet, Newton's step overshoots both and then returns to one; damped steps would stagnate
_MAX_OVERSHOOTS, _NEAR, _FAR = 3, 1e-4, 1e-1


class SearchTask(NamedTuple):
    """The targets, and the coordinates that may change."""

    kinds: np.ndarray  # (targets, 2): whether its position and its orientation are targets
    length: float
    sizes: np.ndarray  # (r,) of the constraint rows
    units: np.ndarray  # (n,) of the coordinates; 0 for a fixed one
    lower: np.ndarray
    upper: np.ndarray
    low: np.ndarray  # lower ends and widths of the ranges of the starts
    width: np.ndarray
    spread: np.ndarray  # increment between consecutive starts, as a fraction of `width`


class Effort(NamedTuple):
    """Limits of the search."""

    tolerance: float
    steps: int  # in one search
    starts: int


class WorkArrays(NamedTuple):
    """Work arrays of one search."""

    x: np.ndarray  # (n + 1,): coordinates and time
    trial: np.ndarray
    outputs: np.ndarray  # outputs of the program
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
    residuals: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Write the configuration found for each target, the largest entry of |e|, and the numbers of steps and searches.

    `targets` (K, targets · 12) are positions and rotations by rows, `starts` (K, n) the first configuration of each search.
    """
    n, m = len(task.units), len(task.sizes)
    n_outputs = m * (n + 1)
    for k in range(len(task.kinds)):
        m += 3 * (task.kinds[k, 0] + task.kinds[k, 1])
        n_outputs += task.kinds[k, 0] * (3 + 3 * n) + task.kinds[k, 1] * (9 + 3 * n)
    k = min(m, n)
    work = WorkArrays(
        np.empty(n + 1),
        np.empty(n + 1),
        np.empty(n_outputs),
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
        residuals[i], counts[i, 0], counts[i, 1] = np.inf, 0, 0
        for search in range(effort.starts):
            _start_configuration(task, starts[i], search, work.x)
            work.x[n] = t
            residual, steps = _search(machine, task, effort, targets[i], work)
            counts[i, 0] += steps
            counts[i, 1] += 1
            if residual < residuals[i]:
                residuals[i] = residual
                for j in range(n):
                    out[i, j] = work.x[j]
            if residuals[i] <= effort.tolerance:
                break


def _start_configuration(task: SearchTask, start: np.ndarray, search: int, x: np.ndarray) -> None:
    """Write the first configuration of a search: the start, then points of the additive sequence."""
    for j in range(len(start)):
        x[j] = start[j]
        if search and task.units[j] > 0.0:
            share = 0.5 + search * task.spread[j]
            x[j] = task.low[j] + task.width[j] * (share - np.floor(share))
        x[j] = min(max(x[j], task.lower[j]), task.upper[j]) if task.units[j] > 0.0 else x[j]


def _search(
    machine: CallableProgram, task: SearchTask, effort: Effort, target: np.ndarray, work: WorkArrays
) -> tuple[float, int]:
    """The largest entry of |e| after one search and the number of its steps; x, e and J are those at its end."""
    n, e = len(task.units), work.e
    residual = _evaluate(machine, task, target, work.x, work.outputs, e, work.J)
    size, mu, stalled, step, overshoots = _squared(e), 0.1, 0, 0, 0
    while step < effort.steps and residual > _ROUNDING and stalled < _MAX_STALLED:
        accepted, done, new, new_residual = False, residual <= effort.tolerance, size, residual
        for _ in range(_MAX_TRIALS):
            step += 1
            if not _write_step(task, work, mu * 0.5 * size):
                return np.inf, step
            work.trial[n] = work.x[n]
            new_residual = _evaluate(machine, task, target, work.trial, work.outputs, work.new_e, work.new_J)
            new = _squared(work.new_e)
            if new < size:
                accepted = True
                break
            if not done and overshoots < _MAX_OVERSHOOTS and size < _NEAR and new < _FAR:
                overshoots, accepted, mu = overshoots + 1, True, 1e-3
                break
            if done:  # one more step, to machine precision
                return residual, step
            mu *= 8.0
        if not accepted:
            return residual, step
        stalled = stalled + 1 if new > _NO_PROGRESS * size else 0
        mu = max(mu * (0.25 if new < 0.5 * size else 0.7), 1e-3)
        size, residual = new, new_residual
        for j in range(n):
            work.x[j] = work.trial[j]
        for i in range(len(e)):
            e[i] = work.new_e[i]
            for j in range(n):
                work.J[i, j] = work.new_J[i, j]
        if done:
            return residual, step
    return residual, step


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
    outputs: np.ndarray,
    e: np.ndarray,
    J: np.ndarray,
) -> float:
    """Write e and J = −∂e/∂q in the units of the coordinates; return the largest entry of |e|, infinite for NaN."""
    n, at, row, length = len(task.units), 0, 0, task.length
    call(machine.one, x, machine.p, machine.tables, outputs)
    for k in range(len(task.kinds)):
        if task.kinds[k, 0]:
            for i in range(3):
                e[row + i] = (target[12 * k + i] - outputs[at + i]) / length
                for j in range(n):
                    J[row + i, j] = outputs[at + 3 + i * n + j] * task.units[j] / length
            at, row = at + 3 + 3 * n, row + 3
        if task.kinds[k, 1]:
            _rotation_error(outputs[at : at + 9], target[12 * k + 3 : 12 * k + 12], e[row : row + 3])
            for i in range(3):
                for j in range(n):
                    J[row + i, j] = outputs[at + 9 + i * n + j] * task.units[j]
            at, row = at + 9 + 3 * n, row + 3
    for i in range(len(task.sizes)):
        e[row + i] = -outputs[at + i] / task.sizes[i]
        for j in range(n):
            J[row + i, j] = outputs[at + len(task.sizes) + i * n + j] * task.units[j] / task.sizes[i]
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
        largest = 0
        for i in range(1, 3):
            largest = i if E[i, i] > E[largest, largest] else largest
        length = 0.0
        axis = np.empty(3)
        for i in range(3):
            axis[i] = E[i, largest] + E[largest, i] + (1.0 - 2.0 * cosine - 1.0 if i == largest else 0.0)
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


def _write_step(task: SearchTask, work: WorkArrays, damping: float) -> bool:
    """Write the trial after one step; coordinates at a limit do not pass it. False if the step cannot be computed."""
    n, free, x = len(task.units), work.free, work.x
    for j in range(n):
        free[j] = 1.0 if task.units[j] > 0.0 else 0.0
    for _ in range(n):
        if not _solve_step(work, damping):
            return False
        changed = False
        for j in range(n):
            move = work.step[j]
            if free[j] > 0.0 and ((x[j] <= task.lower[j] and move < 0.0) or (x[j] >= task.upper[j] and move > 0.0)):
                free[j], changed = 0.0, True
        if not changed:
            break
    for j in range(n):
        work.trial[j] = x[j]
        if free[j] > 0.0:
            work.trial[j] = min(max(x[j] + work.step[j] * task.units[j], task.lower[j]), task.upper[j])
    return True


def _solve_step(work: WorkArrays, damping: float) -> bool:
    """Write the damped step of the free coordinates, using the smaller of J Jᵀ and JᵀJ."""
    J, e, S, b, free, step = work.J, work.e, work.square, work.right, work.free, work.step
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
        S[i, i] += damping + _MIN_DAMPING * trace + 1e-300
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
