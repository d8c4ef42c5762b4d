"""Projection onto the constraints after a step: mass-weighted, positions first, then velocities."""

from __future__ import annotations

import numpy as np

from dalembert.errors import SimulationError
from dalembert.kernels import Manifold
from dalembert.structure import newton

_ROUNDS = 10


def onto_positions(manifold: Manifold, q: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """The q nearest in the metric of M with φ(q, t) = 0; at rounding level it stays as it is."""
    if not manifold.holonomic:
        return q
    known = _Known(manifold, t, parameters)
    found = newton.onto(known.positions, q[None], known.scales.positions, known.sizes(True), known.root, _ROUNDS)
    if not found.good[0]:
        worst = int(np.argmax(found.share[0]))
        name = manifold.system.facts.levels.names[manifold.holonomic[worst]]
        raise SimulationError(
            f"at t = {t:.9g} the state could not be brought back onto the constraints: the largest violation is "
            f"{found.residual[0, worst]:.3g}, of '{name}'. The configuration is close to a singular one."
        )
    return found.x[0]


def onto_velocities(manifold: Manifold, q: np.ndarray, qd: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
    """The q̇ nearest in the metric of M with φ̇ = 0 and ψ = 0; several rounds where ψ is nonlinear."""
    if not manifold.rows:
        return qd
    known = _Known(manifold, t, parameters, q)
    found = newton.onto(known.velocities, qd[None], known.scales.velocities, known.sizes(False), known.root, _ROUNDS)
    return found.x[0]


class _Known:
    """What Newton's method looks at: the compiled constraints at one time, and the mass matrix that weighs a step."""

    def __init__(self, manifold: Manifold, t: float, parameters: np.ndarray, q: np.ndarray | None = None) -> None:
        self._manifold, self._t, self._parameters, self._q = manifold, t, parameters, q
        self.scales = manifold.system.facts.scales
        self._M = np.zeros((0, 0))

    def positions(self, x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ and its slope at positions x."""
        rows = self._manifold.holonomic
        phi, _, A, self._M = self._manifold.evaluate(x[0], np.zeros_like(x[0]), self._t, self._parameters)
        return phi[None, rows], A[None, rows]

    def velocities(self, x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ̇ and ψ and their slope at velocities x."""
        assert self._q is not None
        rows = self._manifold.rows
        _, residual, A, self._M = self._manifold.evaluate(self._q, x[0], self._t, self._parameters)
        return residual[None, rows], A[None, rows]

    def root(self, x: np.ndarray, A: np.ndarray, which: np.ndarray) -> np.ndarray:
        """The metric of the mass matrix that was looked at last."""
        return newton.mass_root(self._M[None], A)

    def sizes(self, position: bool) -> np.ndarray:
        """How large each row is by nature, on position or velocity level."""
        rows = self._manifold.holonomic if position else self._manifold.rows
        known = np.array(self._manifold.system.facts.sizes)[rows]
        return known if position else known / self.scales.time
