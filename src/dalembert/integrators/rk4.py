"""The classical Runge–Kutta method of order 4 with a fixed step."""

from __future__ import annotations

import numpy as np

from dalembert.integrators.base import InitialValueProblem, Settings, Step, Stepper
from dalembert.integrators.polynomial import hermite


class RungeKutta4(Stepper):
    """Fixed steps of size `step`; between them the cubic that fits both ends and both slopes."""

    name = "rk4"
    fixed = True

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._rates = problem.rates
        span = end - problem.t0
        wanted = settings.step or min(settings.max_step or np.inf, span / 1000)
        # equal steps that end exactly at the end
        self._count = max(1, int(np.ceil(span / wanted - 1e-9)))
        self._h = span / self._count
        self._start, self._done = problem.t0, 0
        self._y = problem.y0.copy()
        self._f = problem.rates(problem.t0, self._y)
        self.evaluations = 1

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        self._y = y
        self._f = self._rates(self._start + self._done * self._h, y)

    def advance(self, limit: float) -> Step:
        """One step."""
        h, y, k1 = self._h, self._y, self._f
        t = self._start + self._done * h
        self._done += 1
        end = limit if self._done == self._count else self._start + self._done * h
        k2 = self._rates(t + h / 2, y + h / 2 * k1)
        k3 = self._rates(t + h / 2, y + h / 2 * k2)
        k4 = self._rates(t + h, y + h * k3)
        new = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        after = self._rates(end, new)
        self.evaluations = (self.evaluations or 0) + 4
        self._y, self._f = new, after

        return Step(t, end, new, lambda: hermite(t, end, (y, new), (k1, after)))
