"""The schemes printed in papers/desapio, so that the textbook's figures can be reproduced."""

from __future__ import annotations

import numpy as np

from dalembert.errors import InputError
from dalembert.expressions import Kind, kind_of
from dalembert.integrators.base import InitialValueProblem, Settings, Step
from dalembert.integrators.polynomial import Piece, Polynomial
from dalembert.integrators.rk4 import FixedStepper


class _Printed(FixedStepper):
    """One look at the rates in a step; straight lines between the steps."""

    def _step(self, t: float, end: float) -> Step:
        y, h = self._y, self._h
        new = self.move(y, self._rates(t, y), h)
        self.evaluations = (self.evaluations or 0) + 1
        line = Polynomial(np.stack([y, new - y], axis=1))
        return Step(t, end, new, lambda: Piece(t, end, h, line))

    def move(self, y: np.ndarray, rates: np.ndarray, h: float) -> np.ndarray:
        """The state one step later."""
        return y + h * rates


class Algorithm3(_Printed):
    """q̇ + q̈Δt and q + q̇Δt + ½q̈Δt²: Algorithm 3, for formalisms whose velocity variables are q̇."""

    name = "algorithm3"

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        if not all(kind_of(name) is Kind.RATE for name in problem.names[problem.positions : 2 * problem.positions]):
            raise InputError(
                f"the integrator '{self.name}' steps q with q̇ and q̈, and this formalism has other velocity variables. "
                "Use a formalism in q̇, such as dalembert or lagrange."
            )
        super().__init__(problem, settings, end)

    def move(self, y: np.ndarray, rates: np.ndarray, h: float) -> np.ndarray:
        """Lines 5 and 6 of the algorithm."""
        new = y + h * rates
        n = self._n
        new[:n] += 0.5 * h * h * rates[n : 2 * n]
        return new


class Algorithm4(Algorithm3):
    """Algorithm 4: the same steps on equations with Baumgarte's stabilisation, given as `stabilization=(α, β)`."""

    name = "algorithm4"


class Algorithm5(_Printed):
    """p + ṗΔt and q + q̇Δt: Algorithm 5, for Hamilton's equations."""

    name = "algorithm5"

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        if not all(kind_of(name) is Kind.MOMENTUM for name in problem.names[problem.positions : 2 * problem.positions]):
            raise InputError(
                "the integrator 'algorithm5' steps momenta, and this formalism has other velocity variables. "
                "Use the formalism hamilton or dirac."
            )
        super().__init__(problem, settings, end)
