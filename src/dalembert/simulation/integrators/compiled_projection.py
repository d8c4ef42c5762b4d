"""Projection of a state onto the constraints, by Newton's method in the metric of the mass matrix, as part of the compiled loops.

Functions on arrays of floats, which run in Python or as machine code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram, call
from dalembert.codegen.linear_algebra import cholesky_in_place, solve_lower, solve_lower_transposed

FREE, PROJECT, PROJECT_IN_PYTHON = 0, 1, 2  # projection after a step: none, here, in Python
_FLOOR = 1e-12  # of the size of its terms: a residual that no longer decreases is rounding
_DEPENDENT = 1e-5  # rows closer to dependence than this are handled in Python


class ProjectionData(NamedTuple):
    """The constraints, and the data to project a state (q, v) onto them."""

    mode: int
    constraints: CallableProgram  # (q, q̇, t) → φ, the velocity residual, A, M
    velocities: CallableProgram  # (q, v, t) → q̇
    start: CallableProgram  # (q, q̇, t) → v and more
    keeps: bool  # velocities satisfy the constraints by construction
    n: int
    inputs: int
    started: int  # outputs of `start`
    n_phi: int
    n_rows: int
    rows_q: np.ndarray
    rows_v: np.ndarray
    scale_q: np.ndarray
    scale_v: np.ndarray
    size_q: np.ndarray
    size_v: np.ndarray
    limits: np.ndarray  # rounding, a good step, the tolerance of rank, massless
    rounds: int


def project_state(surface: ProjectionData, t: float, y: np.ndarray) -> bool:
    """Project y = (q, v, ...) onto the constraints, positions first; False, and y unchanged, if this does not converge."""
    n, m = surface.n, surface.inputs
    here = np.empty(max(2 * n, m) + 1)
    q, qd, v = here[:n], np.zeros(n), np.empty(surface.started)
    for k in range(n):
        q[k] = y[k]
    if len(surface.rows_q) and not _newton_converges(surface, t, q, qd, False):
        return False
    if not surface.keeps:
        for k in range(n, m):
            here[k] = y[k]
        here[m] = t
        call(surface.velocities.one, here, surface.velocities.p, surface.velocities.tables, qd)
        if len(surface.rows_v) and not _newton_converges(surface, t, q, qd, True):
            return False
        for k in range(n):
            here[n + k] = qd[k]
        here[2 * n] = t
        call(surface.start.one, here, surface.start.p, surface.start.tables, v)
        for k in range(n, m):
            y[k] = v[k - n]
    for k in range(n):
        y[k] = q[k]
    return True


def _newton_converges(surface: ProjectionData, t: float, q: np.ndarray, qd: np.ndarray, moving: bool) -> bool:
    """Newton's method on q, or on q̇ if `moving`, as `mechanics.newton.onto` with good steps; False if it does not converge."""
    n, rounding, good = surface.n, surface.limits[0], surface.limits[1]
    rows, scale, sizes, first = surface.rows_q, surface.scale_q, surface.size_q, 0
    if moving:
        rows, scale, sizes, first = surface.rows_v, surface.scale_v, surface.size_v, surface.n_phi
    slopes, mass = surface.n_phi + surface.n_rows, surface.n_phi + surface.n_rows * (n + 1)
    point, there, step = np.empty(2 * n + 1), np.empty(mass + n * n), np.zeros(n)
    term, fresh, x, at = np.empty(len(rows)), np.empty(len(rows)), qd if moving else q, n if moving else 0
    worst, before = np.inf, np.inf
    for round in range(surface.rounds + 1):
        for k in range(n):
            point[k], point[n + k] = q[k], qd[k]
        for k in range(n):
            point[at + k] = x[k] - step[k]
        point[2 * n] = t
        call(surface.constraints.one, point, surface.constraints.p, surface.constraints.tables, there)
        after, max_steps, new = 0.0, 0.0, 0.0
        for i in range(len(rows)):
            size, left = sizes[i], abs(there[first + rows[i]])
            for k in range(n):
                size += abs(there[slopes + rows[i] * n + k]) * (abs(point[at + k]) + scale[k])
            if not (left < np.inf and size < np.inf) or (size <= 0.0 and left > 0.0):
                return False
            share = left / size if left > 0.0 else 0.0
            max_steps = max(max_steps, share)
            new += share * share
            if round and left > 0.0:
                after += (left / term[i]) ** 2
            fresh[i] = size
        if round and max_steps > rounding and not np.sqrt(after) < (good if worst > _FLOOR else 1.0) * before:
            return worst <= _FLOOR
        for k in range(n):
            x[k] = point[at + k]
        if max_steps <= rounding:
            return True
        for i in range(len(rows)):
            term[i] = fresh[i]
        worst, before = max_steps, np.sqrt(new)
        if round < surface.rounds and not _newton(rows, first, slopes, mass, surface.limits, there, step):
            return False
    return worst <= _FLOOR


def _newton(
    rows: np.ndarray, first: int, slopes: int, mass: int, limits: np.ndarray, here: np.ndarray, step: np.ndarray
) -> bool:
    """The smallest step in the metric of M that removes the residual to first order; False if rows are dependent.

    M = U⁻¹ L Lᵀ U⁻¹ with a diagonal U. Rows are L⁻¹ U a, made orthonormal one by one.
    """
    n, r = len(step), len(rows)
    L, unit, Q, w = np.empty((n, n)), np.empty(n), np.empty((r, n)), np.zeros(r)
    if not _factored(here, mass, limits, L, unit):
        return False
    for i in range(r):
        size, rest = 0.0, 0.0
        for k in range(n):
            Q[i, k] = unit[k] * here[slopes + rows[i] * n + k]
        solve_lower(L, Q[i])
        for k in range(n):
            size += Q[i, k] * Q[i, k]
        size = np.sqrt(size)
        if not (0.0 < size < np.inf):
            return False
        for k in range(n):
            Q[i, k] /= size
        w[i] = here[first + rows[i]] / size
        for _ in range(2):  # Gram–Schmidt, twice because of rounding
            for j in range(i):
                along = 0.0
                for k in range(n):
                    along += Q[j, k] * Q[i, k]
                w[i] -= along * w[j]
                for k in range(n):
                    Q[i, k] -= along * Q[j, k]
        for k in range(n):
            rest += Q[i, k] * Q[i, k]
        rest = np.sqrt(rest)
        if not rest > _DEPENDENT:
            return False
        w[i] /= rest
        for k in range(n):
            Q[i, k] /= rest
    for k in range(n):
        step[k] = 0.0
        for i in range(r):
            step[k] += w[i] * Q[i, k]
    solve_lower_transposed(L, step)
    for k in range(n):
        step[k] *= unit[k]
    return True


def _factored(here: np.ndarray, mass: int, limits: np.ndarray, L: np.ndarray, unit: np.ndarray) -> bool:
    """L of U M U = L Lᵀ with a unit diagonal; False if M is singular."""
    n, heaviest = len(unit), 0.0
    for i in range(n):
        heaviest = max(heaviest, here[mass + i * n + i])
    for i in range(n):
        own = here[mass + i * n + i]
        if not own > limits[3] * heaviest:
            return False
        unit[i] = 1 / np.sqrt(own)
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = here[mass + i * n + j] * unit[i] * unit[j]
    return cholesky_in_place(L, limits[2], np.nan)
