"""Dormand and Prince's explicit method of order 8, with error estimates of orders 5 and 3 and output of order 7 between steps.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.5, II.6 and II.10; steps are chosen as SciPy's solver
of the same name chooses them. Default tolerances are 1e-10 and 1e-12 of each state's typical magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from dalembert.simulation.integrators.base import InitialValueProblem, Settings
from dalembert.simulation.integrators.explicit import Explicit
from dalembert.simulation.integrators.explicit_steps import HAIRER, Control, Scheme

_STAGES, _ALL_STAGES = 12, 16
_MIN_RTOL = 100 * np.finfo(float).eps  # relative tolerance


class DormandPrince853(Explicit):
    """DOP853."""

    name = "dop853"
    kind = HAIRER

    @classmethod
    def scheme(cls) -> Scheme:
        """The coefficients of Dormand and Prince, and of Hairer for the dense output."""
        return _coefficients()

    @staticmethod
    def relative(settings: Settings) -> float:
        """The relative tolerance."""
        return max(settings.rtol or 1e-10, _MIN_RTOL)

    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> tuple[float, Control]:
        """The first step (II.4 of the book) is one with which Euler's method would meet the tolerance."""
        rtol = self.relative(settings)
        atol = problem.errors(1e-12) if settings.atol is None else np.full(len(problem.y0), settings.atol)
        largest, y, f = settings.max_step or np.inf, problem.y0[:, None], self.first_slope()[:, None]

        def rates(t: np.ndarray, y: np.ndarray) -> np.ndarray:
            return problem.system.rates(float(t[0]), y[:, 0])[:, None]

        h = first_steps(problem.t0, y, f, rates, end - problem.t0, (atol[:, None], rtol, largest))
        self.count(1)
        return float(h[0]), Control(atol, rtol, largest)


def first_steps(
    t: float,
    y: np.ndarray,
    f: np.ndarray,
    rates: Callable[[np.ndarray, np.ndarray], np.ndarray],
    span: float,
    limits: tuple[np.ndarray, float, float],
) -> np.ndarray:
    """The first steps from states (n, K) with slopes f; `limits` are tolerances, atol (n, K) and rtol, and the longest step."""
    atol, rtol, largest = limits
    scale = atol + np.abs(y) * rtol
    size, pace = _rms(y / scale), _rms(f / scale)
    with np.errstate(all="ignore"):
        h = np.minimum(np.where((size < 1e-5) | (pace < 1e-5), 1e-6, 0.01 * size / pace), span)
        bend = _rms((rates(t + h, y + h * f) - f) / scale) / h
    flat = (pace <= 1e-15) & (bend <= 1e-15)
    steepest = np.where(flat, 1.0, np.maximum(pace, bend))
    other = [(0.01 / steepness) ** (1 / 8) for steepness in steepest.tolist()]
    return np.minimum(np.minimum(100 * h, np.where(flat, np.maximum(1e-6, h * 1e-3), other)), min(span, largest))


def _rms(x: np.ndarray) -> np.ndarray:
    """√(Σ x² / n) of every column, summed row by row so that a column does not depend on those beside it."""
    total = np.zeros(x.shape[1])
    for row in x:
        total = total + row * row
    return np.sqrt(total / max(len(x), 1))


@cache
def _coefficients() -> Scheme:
    """The published coefficients, from SciPy.

    The dense output is y + x (F₁ + (1 − x) (F₂ + x (F₃ + ...))), each F a sum of stages; here it is expanded in powers of x.
    """
    from scipy.integrate import DOP853 as printed

    c, A = np.zeros(_ALL_STAGES), np.zeros((_ALL_STAGES, _ALL_STAGES))
    c[:_STAGES], c[_STAGES], c[_STAGES + 1 :] = printed.C, 1.0, printed.C_EXTRA
    A[:_STAGES, :_STAGES], A[_STAGES, :_STAGES], A[_STAGES + 1 :] = printed.A, printed.B, printed.A_EXTRA
    first, last, mean = np.eye(_ALL_STAGES)[0], np.eye(_ALL_STAGES)[_STAGES], A[_STAGES]
    F = np.stack([mean, first - mean, 2 * mean - last - first, *printed.D])
    powers = np.zeros((_ALL_STAGES, len(F) + 1))
    for i, row in enumerate(F[::-1]):
        powers[:, 0] += row
        shifted = np.roll(powers, 1, axis=1)  # the last column is still zero
        powers = shifted if i % 2 == 0 else powers - shifted
    E = np.zeros((2, _ALL_STAGES))
    E[0, : _STAGES + 1], E[1, : _STAGES + 1] = printed.E5, printed.E3
    return Scheme(c, A, np.ascontiguousarray(powers[:, 1:]), E, _STAGES)
