"""The equations of one kernel as they stand, constraints not differentiated: n rows of (q, q̇, q̈, t), with their slopes.

Dᵀ(M q̈ − h) = 0,     φ(q, t) = 0,     ψ(q, q̇, t) = 0          (2.7) and (2.1) of papers/phong
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.algebra import stack
from dalembert.errors import InputError
from dalembert.kernels.kernel import Kernel
from dalembert.programs import Function, function_of, nodes, program_of
from dalembert.programs.derivatives import Slopes


class UnreducedFunctions:
    """Rows and slopes of one kernel, compiled at first use."""

    def __init__(self, kernel: Kernel, constants: np.ndarray) -> None:
        if kernel.form.unreduced is None:
            raise InputError(
                "the integrator 'collocation' takes equations whose constraints stand as they are, Dᵀ(M q̈ − h) = 0 with "
                "g(q, t) = 0: those of the formalism phong, without servo constraints. Derive by phong, or use radau or ida."
            )
        self._kernel, self._constants = kernel, constants
        self.rows = kernel.form.unreduced()
        # how often each row is differentiated until q̈ stands in it
        self.depths = np.repeat([0, 2, 1], [len(part) for part in self.rows])
        self.n = len(kernel.form.system.q)

    @cached_property
    def _functions(self) -> tuple[Function, Slopes]:
        system = self._kernel.form.system
        unknowns = [str(x) for x in stack(system.q, system.qd, system.qdd)]
        outputs = nodes(system.algebra, stack(*self.rows, self._kernel.power))
        program = program_of(outputs, [*unknowns, str(system.t)], [str(p) for p in self._kernel.parameters])
        return function_of(program, system.engine), Slopes(program, unknowns, system.engine)

    def residual(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows (n, K) and the powers (channels, K) at states (q, q̇, q̈, t), (3n + 1, K)."""
        out = self._functions[0](state, self._constants)
        return out[: self.n], out[self.n :]

    def slopes(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂/∂q, ∂/∂q̇ and ∂/∂q̈ of the rows at one state, n×n each."""
        n = self.n
        out = self._functions[1](state, self._constants, np.eye(3 * n))[:n]
        return out[:, :n], out[:, n : 2 * n], out[:, 2 * n :]
