"""The equations in use, as a guide along a run asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SimulationError
from dalembert.integrators import projection

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations


class Mechanics:
    """Constraints, velocities and energies at states y = (q, v[, work]) of one form of the equations."""

    def __init__(self, equations: Equations, constants: np.ndarray) -> None:
        self._equations, self._constants = equations, constants
        self._manifold, self._values = equations.workspace.manifold, equations.values
        levels = equations.workspace.facts.levels
        self._rows = [i for i, servo in enumerate(levels.servo) if not servo]
        self.names: tuple[str, ...] = tuple(levels.names[i] for i in self._rows)
        self.positions = len(equations.model.coordinate_names)
        # quasi-velocities keep the velocity constraints by construction
        self._free = equations.about.velocities.keep_constraints

    @property
    def rank(self) -> int:
        """The number of independent constraints."""
        return len(self._manifold.rows)

    def velocities(self, t: float | np.ndarray, y: np.ndarray) -> np.ndarray:
        """q̇ at one state or many."""
        return self._equations.kernel.velocities(y[: self._equations.n_states], t, self._constants)

    def rows(self, t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constraint rows (r, n, K) and mass matrices (n, n, K) at K states."""
        _, _, A, M = self._manifold.evaluate(y[: self.positions], self.velocities(t, y), t, self._values)
        return A[self._rows], M

    def violation(self, t: float, y: np.ndarray) -> np.ndarray:
        """φ of the same rows at one state; zero for those without."""
        n = self.positions
        phi, *_ = self._manifold.evaluate(y[:n], np.zeros(n), t, self._values)
        return np.array([phi[i] if i < len(phi) else 0.0 for i in self._rows])

    def between(self, t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Vectors between the ends of springs and dampers at K states, sizes and natural lengths; see `Lengths`."""
        return self._equations.workspace.lengths.evaluate(y[: self.positions], t, self._values)

    def project(self, t: float, y: np.ndarray) -> np.ndarray:
        """The state on the constraints that is nearest."""
        n, out = self.positions, y.copy()
        out[:n] = projection.onto_positions(self._manifold, y[:n], t, self._values)
        return out if self._free else self._with_velocities(t, out, self.velocities(t, out))

    def settled(self, t: float, y: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
        """The state on the constraints nearest to y with velocities q̇, and how much of the motion had to be corrected."""
        n, out = self.positions, y.copy()
        try:
            out[:n] = projection.onto_positions(self._manifold, y[:n], t, self._values)
            out = self._with_velocities(t, out, qd)
        except SimulationError:
            return y, np.inf
        _, _, _, M = self._manifold.evaluate(out[:n], qd, t, self._values)
        found = self.velocities(t, out)
        size = max(float(qd @ M @ qd), float(found @ M @ found), 1e-300)
        gap = found - qd
        return out, float(np.sqrt(max(float(gap @ M @ gap), 0.0) / size))

    def _with_velocities(self, t: float, y: np.ndarray, qd: np.ndarray) -> np.ndarray:
        n, size, out = self.positions, self._equations.n_states, y.copy()
        allowed = projection.onto_velocities(self._manifold, y[:n], qd, t, self._values)
        out[n:size], _ = self._equations.kernel.start(y[:n], allowed, t, self._values)
        return out

    def balance(self, t: float, y: np.ndarray) -> tuple[float, float]:
        """Energy less the work put in, and the size of the energies."""
        q, qd = y[: self.positions, None], self.velocities(t, y)[:, None]
        seen = self._equations.workspace.observables.along(np.array([t]), q, qd, self._values)
        work = float(y[-1]) if self._equations.kernel.has_work else 0.0
        return float(seen.jacobi[0]) - work, float(np.abs(seen.kinetic[0]) + np.abs(seen.potential[0]))
