"""The classical Runge–Kutta method of order 4, and what all methods with a fixed step share."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from dalembert.integrators.base import InitialValueProblem, Settings, Step, Stepper
from dalembert.integrators.polynomial import hermite


class FixedStepper(Stepper):
    """Equal steps of size `step` (default: a thousandth of the run) that end exactly at the end."""

    fixed = True

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._rates, self._n = problem.rates, problem.positions
        span = end - problem.t0
        wanted = settings.step or min(settings.max_step or np.inf, span / 1000)
        self._count = max(1, int(np.ceil(span / wanted - 1e-9)))
        self._h, self._start, self._done = span / self._count, problem.t0, 0
        self._y = problem.y0.copy()
        self.evaluations = 0

    @property
    def _t(self) -> float:
        """The present time."""
        return self._start + self._done * self._h

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        self._y = y

    def advance(self, limit: float) -> Step:
        """One step."""
        t = self._t
        self._done += 1
        step = self._step(t, limit if self._done == self._count else self._t)
        self._y = step.y1
        return step

    @abstractmethod
    def _step(self, t: float, end: float) -> Step:
        """The step from the present state."""


class RungeKutta4(FixedStepper):
    """Between its steps the cubic that fits both ends and both slopes."""

    name = "rk4"

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        super().__init__(problem, settings, end)
        self._f = problem.rates(problem.t0, self._y)
        self.evaluations = 1

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        self._y, self._f = y, self._rates(self._t, y)

    def _step(self, t: float, end: float) -> Step:
        h, y, k1 = self._h, self._y, self._f
        k2 = self._rates(t + h / 2, y + h / 2 * k1)
        k3 = self._rates(t + h / 2, y + h / 2 * k2)
        k4 = self._rates(t + h, y + h * k3)
        new = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        self._f = after = self._rates(end, new)
        self.evaluations = (self.evaluations or 0) + 4
        return Step(t, end, new, lambda: hermite(t, end, (y, new), (k1, after)))
