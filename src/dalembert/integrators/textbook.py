"""The schemes printed in papers/desapio, so that the textbook's figures can be reproduced."""

from __future__ import annotations

import numpy as np

from dalembert.errors import InputError
from dalembert.expressions import Kind, kind_of
from dalembert.integrators.base import InitialValueProblem, Settings, Step, Stepper
from dalembert.integrators.polynomial import Piece, Polynomial


class _FixedStep(Stepper):
    """Fixed steps of size `step` (default: a thousandth of the run); straight lines between them."""

    fixed = True

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._rates, self._n = problem.rates, problem.positions
        span = end - problem.t0
        wanted = settings.step or min(settings.max_step or np.inf, span / 1000)
        self._count = max(1, int(np.ceil(span / wanted - 1e-9)))
        self._h, self._start, self._done = span / self._count, problem.t0, 0
        self._y = problem.y0.copy()
        self.evaluations = 0

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        self._y = y

    def advance(self, limit: float) -> Step:
        """One step as printed."""
        y, h = self._y, self._h
        t = self._start + self._done * h
        self._done += 1
        end = limit if self._done == self._count else self._start + self._done * h
        new = self.move(y, self._rates(t, y), h)
        self.evaluations = (self.evaluations or 0) + 1
        self._y = new

        line = Polynomial(np.stack([y, new - y], axis=1))
        return Step(t, end, new, lambda: Piece(t, end, h, line))

    def move(self, y: np.ndarray, rates: np.ndarray, h: float) -> np.ndarray:
        """The state one step later."""
        return y + h * rates


class Algorithm3(_FixedStep):
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


class Algorithm5(_FixedStep):
    """p + ṗΔt and q + q̇Δt: Algorithm 5, for Hamilton's equations."""

    name = "algorithm5"

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        if not all(kind_of(name) is Kind.MOMENTUM for name in problem.names[problem.positions : 2 * problem.positions]):
            raise InputError(
                "the integrator 'algorithm5' steps momenta, and this formalism has other velocity variables. "
                "Use the formalism hamilton or dirac."
            )
        super().__init__(problem, settings, end)
