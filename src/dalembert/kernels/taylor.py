"""heyoka's Taylor integrator for one kernel."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dalembert.algebra import Array


class TaylorMachine:
    """Makes integrators of ẏ = rates(y, t); the machine code of one tolerance and one set of sizes is made once."""

    def __init__(self, states: Array, rates: Array, t: Any, parameters: Array) -> None:
        self._states, self._rates, self._t, self._parameters = states, rates, t, parameters
        self._made: dict[tuple[float | None, tuple[float, ...]], Any] = {}

    def make(self, tolerance: float | None, constants: np.ndarray, sizes: np.ndarray | None = None) -> Any:
        """A fresh integrator of y / sizes with its parameters set."""
        key = (tolerance, tuple(np.ones(len(self._states)) if sizes is None else sizes))
        if key not in self._made:
            self._made[key] = self._compile(*key)
        machine = copy.copy(self._made[key])
        machine.pars[:] = constants[: len(machine.pars)]
        return machine

    def _compile(self, tolerance: float | None, sizes: tuple[float, ...]) -> Any:
        import heyoka as hy

        from dalembert.algebra.fast import expression

        table = {p: hy.par[i] for i, p in enumerate(self._parameters)} | {self._t: hy.time}
        # heyoka keeps names to itself, such as __x, that a user may choose
        states = [hy.expression(f"y{i}") for i in range(len(sizes))]
        table |= {y: x if s == 1.0 else s * x for y, x, s in zip(self._states, states, sizes, strict=True)}
        rates = hy.subs([expression(e) for e in self._rates], table)
        rates = [rate if size == 1.0 else rate * (1 / size) for rate, size in zip(rates, sizes, strict=True)]
        options = {} if tolerance is None else {"tol": tolerance}
        return hy.taylor_adaptive(
            list(zip(states, rates, strict=True)), [0.0] * len(rates), compact_mode=True, opt_level=1, **options
        )
