"""Dormand and Prince's pair of orders 5 and 4 with the step control of MATLAB's ode45, for comparison with the papers.

Relative tolerance 1e-3, absolute 1e-6 unless told otherwise; output between steps by the pair's quartic interpolant. As in
MATLAB the absolute tolerance is a number in the units of the states: where those are far from 1, give `atol`.
"""

from __future__ import annotations

import numpy as np

from dalembert.integrators.base import InitialValueProblem, Settings, Step, Stepper, collapse
from dalembert.integrators.polynomial import Piece, Polynomial

# Dormand & Prince (1980): nodes, stage weights, the fifth-order solution (last stage) and the error weights
_C = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
_A = [
    np.array([1 / 5]),
    np.array([3 / 40, 9 / 40]),
    np.array([44 / 45, -56 / 15, 32 / 9]),
    np.array([19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]),
    np.array([9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]),
    np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]),
]
_E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
# the quartic interpolant: y(t + s h) = y + h K (B [s, s², s³, s⁴])
_B = np.array(
    [
        [1, -183 / 64, 37 / 12, -145 / 128],
        [0, 0, 0, 0],
        [0, 1500 / 371, -1000 / 159, 1000 / 371],
        [0, -125 / 32, 125 / 12, -375 / 64],
        [0, 9477 / 3392, -729 / 106, 25515 / 6784],
        [0, -11 / 7, 11 / 3, -55 / 28],
        [0, 3 / 2, -4, 5 / 2],
    ]
)
_POWER = 1 / 5


class RungeKutta45(Stepper):
    """ode45."""

    name = "rk45"

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._problem = problem
        self._rtol = self.tolerance = settings.rtol or 1e-3
        self._floor = (settings.atol or 1e-6) / self._rtol
        self._largest = settings.max_step or (end - problem.t0) / 10
        self._t, self._y = problem.t0, problem.y0.copy()
        self._f = problem.rates(self._t, self._y)
        self.evaluations = 1
        self._h = self._first_step(end - problem.t0)

    def _first_step(self, span: float) -> float:
        h = min(self._largest, span)
        pace = np.max(np.abs(self._f) / np.maximum(np.abs(self._y), self._floor)) / (0.8 * self._rtol**_POWER)
        return max(1 / pace if h * pace > 1 else h, 16 * np.spacing(self._t))

    def restart(self, y: np.ndarray) -> None:
        """Go on from a projected state."""
        self._y = y
        self._f = self._problem.rates(self._t, y)
        self.evaluations = (self.evaluations or 0) + 1

    def advance(self, limit: float) -> Step:
        """One accepted step."""
        t, y, smallest = self._t, self._y, 16 * np.spacing(abs(self._t))
        h = min(self._largest, max(smallest, self._h))
        if 1.1 * h >= limit - t:
            h = limit - t
        failed = False
        while True:
            K, new, error = self._try(t, y, h)
            if error <= self._rtol:
                break
            if h <= smallest or not np.isfinite(h):
                raise collapse(self._problem, t, h, y)
            shrink = 0.5 if failed or not np.isfinite(error) else max(0.1, 0.8 * (self._rtol / error) ** _POWER)
            h, failed = max(smallest, h * shrink), True
        if not failed:
            grow = 1.25 * (error / self._rtol) ** _POWER
            self._h = h / grow if grow > 0.2 else 5 * h
        else:
            self._h = h
        end = limit if h == limit - t else t + h
        self._t, self._y, self._f = end, new, K[:, 6]

        def between() -> Piece:
            return Piece(t, end, h, Polynomial(np.concatenate([y[:, None], h * (K @ _B)], axis=1)))

        return Step(t, end, new, between)

    def _try(self, t: float, y: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Stages, the fifth-order result, and the largest relative error of the fourth-order one."""
        K = np.empty((len(y), 7))
        K[:, 0] = self._f
        stage = y
        for i, (c, weights) in enumerate(zip(_C, _A, strict=True)):
            stage = y + h * (K[:, : i + 1] @ weights)
            K[:, i + 1] = self._problem.rates(t + c * h, stage)
        self.evaluations = (self.evaluations or 0) + 6
        size = np.maximum(np.maximum(np.abs(y), np.abs(stage)), self._floor)
        return K, stage, h * float(np.max(np.abs(K @ _E) / size))
