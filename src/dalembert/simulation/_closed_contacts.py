"""Closed contacts as additional constraints: zero gaps, and zero slip of sticking contacts."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.simulation.constraint_manifold import Manifold
from dalembert.symbolic.algebra_base import stack, vector


class ClosedContactManifold(Manifold):
    """The constraints with the gaps of some contacts, and the slips of some of these, as additional rows."""

    def __init__(self, manifold: Manifold, closed: tuple[str, ...], sticking: tuple[str, ...]) -> None:
        super().__init__(manifold.system)
        self._manifold, self._closed, self._sticking = manifold, closed, sticking
        first = len(super().names)
        gaps = list(range(first, first + len(closed)))
        self.holonomic = [*self.holonomic, *gaps]
        self.rows = [*self.rows, *gaps, *range(first + len(closed), first + len(closed) + len(sticking))]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all rows."""
        return (*super().names, *(f"gap of {name}" for name in self._closed), *(f"slip of {x}" for x in self._sticking))

    @property
    def sizes(self) -> np.ndarray:
        """The characteristic magnitudes of all rows: gaps and slips are lengths."""
        length = self.system.facts.scales.length
        return np.concatenate([super().sizes, np.full(len(self._closed) + len(self._sticking), length)])

    @cached_property
    def _contacts(self) -> CompiledFunction:
        """Gaps, gap rates, slips, and the derivatives of gap rates and slips by q̇, as a function of (q, q̇, t)."""
        system = self.system
        loads = {load.name: load for load in system.model.loads}
        openings = {name: loads[name].gap_state(system.motion) for name in self._closed}
        rates = vector([each.rate for each in openings.values()] + [openings[name].slip for name in self._sticking])
        outputs = stack(
            vector([each.gap for each in openings.values()]),
            rates,
            system.algebra.jacobian(rates, system.qd).ravel(),
        )
        inputs = stack(system.q, system.qd, vector([system.t]))
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, outputs, parameters, system.engine)

    def evaluate(
        self, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ followed by zeros for nonholonomic rows and by the gaps, the velocity residual, A and M at one state."""
        phi, velocity, A, M = self._manifold.evaluate(q, qd, t, parameters)
        out = self._contacts(np.concatenate([q, qd, [float(t)]]), parameters)
        m, n = len(self._closed), len(q)
        more = m + len(self._sticking)
        gaps, rates, J = out[:m], out[m : m + more], out[m + more :].reshape(more, n)
        padded = np.concatenate([phi, np.zeros(len(velocity) - len(phi)), gaps])
        return padded, np.concatenate([velocity, rates]), np.concatenate([A, J]), M
