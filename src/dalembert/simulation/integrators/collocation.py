"""Radau IIA collocation on equations with undifferentiated constraints: (2.7) with (2.1) of papers/phong.

At each of the five points of a step the accelerations satisfy Dᵀ(M q̈ − h) = 0 together with g(q, t) = 0 itself, which is never
differentiated. The last point is the end of the step, so the position constraints hold there to rounding, without projection.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import InputError
from dalembert.simulation.integrators.base import Capabilities, InitialValueProblem, Settings, Step, Stepper, collapse
from dalembert.simulation.integrators.interpolant import Piece, Polynomial

_STAGES = 5
_MAX_ITERATIONS = 12  # of Newton's method
_CLOSE = 1e-12  # of the accelerations: the tolerance of Newton's method
_STALLED = 1e-6  # of the accelerations: the tolerance if rounding stops convergence earlier


def _points() -> np.ndarray:
    """The points c of Radau IIA: roots of the derivative of x^(s−1) (x − 1)^s, of order s − 1."""
    x = np.polynomial.Polynomial([0.0, 1.0])
    found = (x ** (_STAGES - 1) * (x - 1) ** _STAGES).deriv(_STAGES - 1)
    return np.append(np.sort(found.roots().real)[:-1], 1.0)


C = _points()
POWERS = np.linalg.inv(C[:, None] ** np.arange(_STAGES))  # coefficients of the polynomial through values at C
_ORDERS = np.arange(1, _STAGES + 1)
INTEGRALS = POWERS / _ORDERS[:, None]  # coefficients of its integral, from the first power on
A = (C[:, None] ** _ORDERS) @ INTEGRALS
_LOWER = np.linalg.inv(C[1:, None] ** np.arange(_STAGES - 1))  # without the first point
ERROR = A[-1] - np.append(0.0, (1 / np.arange(1, _STAGES)) @ _LOWER)


class Collocation(Stepper):
    """Radau IIA with five points, order 9 in positions; velocities have the same order if projected, otherwise order 5.

    `rtol` (default 1e-9) and `atol` (default 1e-9 of each coordinate's typical magnitude) bound the difference of positions to a
    formula of order 5, so that the motion itself is much more accurate. Velocities do not enter the error estimate: without
    projection they deviate slightly from the constraints, so the steps would become shorter and shorter.
    """

    name = "collocation"
    capabilities = Capabilities(continuous_laws=False, rigid_contacts=False)

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        functions = problem.system.unreduced()
        if functions is None:
            raise InputError("the integrator 'collocation' requires the formalism phong. Use radau or ida.")
        self._problem, self._functions = problem, functions
        self._n = self._functions.n
        self.tolerance, self.evaluations = settings.rtol or 1e-9, 0
        self._errors = settings.atol or problem.errors(1e-9)[: self._n]
        self._max_step = settings.max_step or np.inf
        self._t, self._y = problem.t0, problem.y0
        self._qdd = problem.system.rates(problem.t0, problem.y0)[self._n : 2 * self._n]
        self._h = min(self._max_step, (end - problem.t0) / 100)

    def restart(self, y: np.ndarray) -> None:
        """Continue from another state."""
        self._y = y

    def renew(self, y: np.ndarray) -> None:
        """Continue with other accelerations."""
        self._y, self._qdd = y, self._problem.system.rates(self._t, y)[self._n : 2 * self._n]

    def advance(self, limit: float) -> Step:
        """One accepted step."""
        rest = limit - self._t
        while True:
            h = min(self._h, rest / 2 if self._h < rest < 2 * self._h else rest)
            if not h > 1e-14 * max(abs(self._t), abs(limit)):
                raise collapse(self._problem, self._t, h, self._y)
            found = self._solved(h)
            if found is None:
                self._h = h / 4
                continue
            a, power = found
            size = self._errors + self.tolerance * np.abs(self._y[: self._n])
            worst = float(np.max(np.abs(h**2 * a @ ERROR) / size, initial=1e-30))
            self._h = min(self._max_step, h * min(4.0, max(0.2, 0.9 * worst ** (-1 / (_STAGES + 1)))))
            if worst <= 1:
                return self._accepted(h, a, power)

    def _stages(self, h: float, a: np.ndarray) -> np.ndarray:
        """(q, q̇, q̈, t) at all points, for accelerations (n, stages)."""
        n, y = self._n, self._y
        v = y[n : 2 * n, None] + h * a @ A.T
        q = y[:n, None] + h * v @ A.T
        return np.concatenate([q, v, a, (self._t + h * C)[None]])

    def _solved(self, h: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Accelerations and power at all points, by Newton's method; None if it does not converge."""
        n, s, weights = self._n, _STAGES, h ** -self._functions.depths.astype(float)
        a, before = np.repeat(self._qdd[:, None], s, axis=1), np.inf
        for _ in range(_MAX_ITERATIONS):
            state = self._stages(h, a)
            rows, power = self._functions.residual(state)
            self.evaluations = (self.evaluations or 0) + s
            if not np.isfinite(rows).all():
                return None
            step = self._newton(h, state, (weights[:, None] * rows).T.ravel(), weights)
            if step is None:
                return None
            a = a - step.reshape(s, n).T
            change = float(np.abs(step).max()) / max(float(np.abs(a).max()), 1e-300)
            if change <= _CLOSE or (change > before / 2 and change <= _STALLED):
                return a, power
            before = change
        return None

    def _newton(self, h: float, state: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """The change of the accelerations, stage by stage; rows are scaled so that h cancels."""
        n, s = self._n, _STAGES
        matrix = np.zeros((s, n, s, n))
        square = A @ A
        for i in range(s):
            by_q, by_v, by_a = (weights[:, None] * part for part in self._functions.slopes(state[:, i]))
            for j in range(s):
                matrix[i, :, j] = h * A[i, j] * by_v + h**2 * square[i, j] * by_q
            matrix[i, :, i] += by_a
        flat = matrix.reshape(s * n, s * n)
        unit = np.abs(flat).max(axis=1)
        try:
            return np.linalg.solve(flat / unit[:, None], rows / unit)
        except np.linalg.LinAlgError:
            return None

    def _accepted(self, h: float, a: np.ndarray, power: np.ndarray) -> Step:
        t0, y0, n = self._t, self._y, self._n
        state = self._stages(h, a)
        moving = np.concatenate([state[n : 3 * n], power])
        powers = np.concatenate([y0[:, None], h * moving @ INTEGRALS.T], axis=1)
        y1 = powers.sum(axis=1)
        y1[:n] = state[:n, -1]
        self._t, self._y, self._qdd = t0 + h, y1, a[:, -1]
        return Step(t0, t0 + h, y1.copy(), lambda: Piece(t0, t0 + h, h, Polynomial(powers)))
