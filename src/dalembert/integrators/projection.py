"""Projection onto the constraints after a step: mass-weighted, positions first, then velocities."""

from __future__ import annotations

import numpy as np

from dalembert.errors import SimulationError
from dalembert.kernels import Manifold

_ROUNDS = 10
_TOLERANCE = 1e-13
_ROUNDING = 1e-14


def onto_positions(manifold: Manifold, q: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """The q nearest in the metric of M with φ(q, t) = 0."""
    rows, still = manifold.holonomic, np.zeros_like(q)
    for _ in range(_ROUNDS if rows else 0):
        phi, _, A, M = manifold.evaluate(q, still, t, parameters)
        # at rounding level there is nothing to mend, and next to a singular position mending would do harm
        if np.max(np.abs(phi[rows])) <= _ROUNDING * (1 + np.max(np.abs(q))):
            return q
        step = _correction(M, A[rows], phi[rows])
        q = q - step
        if np.max(np.abs(step)) <= _TOLERANCE * (1 + np.max(np.abs(q))):
            return q
    if rows:
        phi, *_ = manifold.evaluate(q, still, t, parameters)
        if not np.max(np.abs(phi)) < 1e-9:
            raise SimulationError(
                f"at t = {t:.9g} the state could not be brought back onto the constraints: the largest violation is "
                f"{np.max(np.abs(phi)):.3g}. The configuration is close to a singular one."
            )
    return q


def onto_velocities(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """The q̇ nearest in the metric of M with φ̇ = 0 and ψ = 0; several rounds where ψ is nonlinear."""
    rows = manifold.rows
    for _ in range(_ROUNDS if rows else 0):
        _, residual, A, M = manifold.evaluate(q, qd, t, parameters)
        if (np.abs(residual[rows]) <= _ROUNDING * (np.abs(A[rows]) @ np.abs(qd))).all():
            return qd
        step = _correction(M, A[rows], residual[rows])
        qd = qd - step
        if np.max(np.abs(step)) <= _TOLERANCE * (1 + np.max(np.abs(qd))):
            break
    return qd


def _correction(M: np.ndarray, A: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """The smallest x in the metric of M with A x = residual; M may be singular where the constraints make up for it."""
    n, r = M.shape[0], len(A)
    left, right = np.zeros((n + r, n + r)), np.zeros(n + r)
    left[:n, :n], left[:n, n:], left[n:, :n], right[n:] = M, A.T, A, residual
    try:
        return np.linalg.solve(left, right)[:n]
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(left, right, rcond=None)[0][:n]
