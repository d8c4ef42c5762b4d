"""Projection onto the constraints after a step: mass-weighted, positions first, then velocities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.errors import SimulationError
from dalembert.mechanics import newton
from dalembert.simulation.constraint_manifold import Manifold

ROUNDS = 10
Look = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]  # what is to vanish at x, its slope, and M


def onto_positions(manifold: Manifold, q: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """The q nearest in the metric of M with φ(q, t) = 0; at rounding level it stays as it is."""
    facts, rows = manifold.system.facts, manifold.holonomic
    if not rows:
        return q

    def look(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        phi, _, A, M = manifold.evaluate(x, np.zeros_like(x), t, parameters)
        return phi[rows], A[rows], M

    found = _nearest(look, q, facts.scales.positions, manifold.sizes[rows])
    if not found.good[0]:
        worst = int(np.argmax(found.share[0]))
        raise SimulationError(
            f"at t = {t:.9g} the state could not be brought back onto the constraints: the largest violation is "
            f"{found.residual[0, worst]:.3g}, of '{manifold.names[rows[worst]]}'. "
            "The configuration is close to a singular one."
        )
    return found.x[0]


def onto_velocities(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """The q̇ nearest in the metric of M with φ̇ = 0 and ψ = 0; several rounds where ψ is nonlinear."""
    facts, rows = manifold.system.facts, manifold.rows
    if not rows:
        return qd

    def look(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        _, residual, A, M = manifold.evaluate(q, x, t, parameters)
        return residual[rows], A[rows], M

    return _nearest(look, qd, facts.scales.velocities, manifold.sizes[rows] / facts.scales.time).x[0]


def _nearest(look: Look, x: np.ndarray, scales: np.ndarray, sizes: np.ndarray) -> newton.Projected:
    """Newton's method from x, its steps weighed by the mass matrix that was looked at last."""
    M = np.zeros((0, 0))

    def residual(x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal M
        value, A, M = look(x[0])
        return value[None], A[None]

    return newton.onto(residual, x[None], scales, sizes, lambda x, A, which: newton.mass_root(M[None], A), ROUNDS)
