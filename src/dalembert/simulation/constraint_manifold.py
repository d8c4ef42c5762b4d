"""The constraints as compiled functions: violations, Jacobians, and the mass matrix that weighs a projection."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.codegen.function import Function, compile_function
from dalembert.mechanics.energies import kinetic, mass_matrix
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, stack, vector


class Manifold:
    """The set of states on which the constraints hold."""

    def __init__(self, system: System) -> None:
        self.system = system
        # servo constraints are driven to zero by feedback, never by projection
        held = [i for i in system.facts.rows if not system.facts.levels.servo[i]]
        self.holonomic = [i for i in held if i < system.facts.levels.held]
        self.rows = held

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all rows."""
        return self.system.facts.levels.names

    @property
    def sizes(self) -> np.ndarray:
        """The sizes that rows have by nature."""
        return np.array(self.system.facts.sizes, dtype=float)

    @cached_property
    def function(self) -> Function:
        """φ, the velocity residual, A and M of (q, q̇, t), end to end."""
        system, known = self.system, self.system.constraints
        inputs = stack(system.q, system.qd, vector([system.t]))
        outputs = stack(known.phi, known.velocity, known.A.ravel(), self._mass().ravel())
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        return compile_function(system.algebra, inputs, outputs, parameters, system.engine)

    def _mass(self) -> Array:
        system = self.system
        if system.model.energies is None:
            return mass_matrix(system.motion)
        momenta = system.algebra.gradient(kinetic(system.motion, system.qd), system.qd)
        return system.algebra.jacobian(momenta, system.qd)

    def evaluate(
        self, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ, the velocity residual, A and M at one state, or at many with the batch on the last axis."""
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])[None]
        out = self.function(np.concatenate([q, qd, time], axis=0), parameters)
        h, k, n = self.system.facts.levels.held, len(self.system.facts.levels.names), len(q)
        phi, velocity, A, M = np.split(out, [h, h + k, h + k + k * n])
        return phi, velocity, A.reshape(k, n, *q.shape[1:]), M.reshape(n, n, *q.shape[1:])
