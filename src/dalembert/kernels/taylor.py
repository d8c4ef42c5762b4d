"""heyoka's Taylor integrator for one kernel."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dalembert.algebra import Array


class TaylorMachine:
    """Makes integrators of ẏ = rates(y, t); the machine code of one tolerance is made once."""

    def __init__(self, states: Array, rates: Array, t: Any, parameters: Array) -> None:
        self._states, self._rates, self._t, self._parameters = states, rates, t, parameters
        self._made: dict[float | None, Any] = {}

    def make(self, tolerance: float | None, constants: np.ndarray) -> Any:
        """A fresh integrator with its parameters set."""
        if tolerance not in self._made:
            self._made[tolerance] = self._compile(tolerance)
        machine = copy.copy(self._made[tolerance])
        machine.pars[:] = constants[: len(machine.pars)]
        return machine

    def _compile(self, tolerance: float | None) -> Any:
        import heyoka as hy

        from dalembert.algebra.fast import expression

        table = {p: hy.par[i] for i, p in enumerate(self._parameters)} | {self._t: hy.time}
        rates = hy.subs([expression(e) for e in self._rates], table)
        options = {} if tolerance is None else {"tol": tolerance}
        return hy.taylor_adaptive(
            list(zip(self._states, rates, strict=True)), [0.0] * len(rates), compact_mode=True, opt_level=1, **options
        )
