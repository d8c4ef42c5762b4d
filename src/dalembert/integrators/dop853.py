"""Dormand and Prince's explicit method of order 8, with error estimates of orders 5 and 3 and output of order 7 between steps.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.5, II.6 and II.10; steps are chosen as SciPy's solver
of the same name chooses them. Tolerances are 1e-10 and, of each state's usual size, 1e-12 unless told otherwise.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dalembert.integrators.base import InitialValueProblem, Settings
from dalembert.integrators.explicit import Explicit
from dalembert.integrators.native_steps import HAIRER, Control, Scheme

_STAGES, _ALL = 12, 16
_SMALLEST = 100 * np.finfo(float).eps  # relative tolerance


class DormandPrince853(Explicit):
    """DOP853."""

    name = "dop853"
    kind = HAIRER

    @classmethod
    def scheme(cls) -> Scheme:
        """Dormand and Prince's numbers, and Hairer's for the output between steps."""
        return _numbers()

    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> tuple[float, Control]:
        """The first step (II.4 of the book) is the one at which a step of Euler's method would be about right."""
        rtol = max(settings.rtol or 1e-10, _SMALLEST)
        atol = problem.errors(1e-12) if settings.atol is None else np.full(len(problem.y0), settings.atol)
        y, f, span = problem.y0, self.first_slope(), end - problem.t0
        largest, scale = settings.max_step or np.inf, atol + np.abs(problem.y0) * rtol
        size, pace = _mean(y / scale), _mean(f / scale)
        h = min(1e-6 if size < 1e-5 or pace < 1e-5 else 0.01 * size / pace, span)
        bend = _mean((problem.rates(problem.t0 + h, y + h * f) - f) / scale) / h
        self.count(1)
        flat = pace <= 1e-15 and bend <= 1e-15
        other = max(1e-6, h * 1e-3) if flat else (0.01 / max(pace, bend)) ** (1 / 8)
        return min(100 * h, other, span, largest), Control(atol, rtol, largest)


def _mean(x: np.ndarray) -> float:
    return float(np.linalg.norm(x) / np.sqrt(max(len(x), 1)))


@cache
def _numbers() -> Scheme:
    """The printed numbers, as SciPy keeps them.

    The motion between is y + x (F₁ + (1 − x) (F₂ + x (F₃ + ...))), each F a sum of stages; here it is written as powers of x.
    """
    from scipy.integrate import DOP853 as printed

    c, A = np.zeros(_ALL), np.zeros((_ALL, _ALL))
    c[:_STAGES], c[_STAGES], c[_STAGES + 1 :] = printed.C, 1.0, printed.C_EXTRA
    A[:_STAGES, :_STAGES], A[_STAGES, :_STAGES], A[_STAGES + 1 :] = printed.A, printed.B, printed.A_EXTRA
    first, last, mean = np.eye(_ALL)[0], np.eye(_ALL)[_STAGES], A[_STAGES]
    F = np.stack([mean, first - mean, 2 * mean - last - first, *printed.D])
    powers = np.zeros((_ALL, len(F) + 1))
    for i, row in enumerate(F[::-1]):
        powers[:, 0] += row
        shifted = np.roll(powers, 1, axis=1)  # the last column is still zero
        powers = shifted if i % 2 == 0 else powers - shifted
    E = np.zeros((2, _ALL))
    E[0, : _STAGES + 1], E[1, : _STAGES + 1] = printed.E5, printed.E3
    return Scheme(c, A, np.ascontiguousarray(powers[:, 1:]), E, _STAGES)
