"""SciPy's implicit Radau IIA method of order 5, for stiff systems, on compiled right-hand sides."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dalembert.simulation.integrators.base import InitialValueProblem, Settings, Step, Stepper, collapse
from dalembert.simulation.integrators.interpolant import Piece, Polynomial

_SQRT_EPS = 2.0**-26  # the square root of the machine epsilon


class RadauIIA(Stepper):
    """SciPy's Radau; default tolerances are 1e-10 and 1e-12 of each state's typical magnitude."""

    name = "radau"

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._problem, self._settings, self._end = problem, settings, end
        self.tolerance = settings.rtol or 1e-10
        self._before = 0
        self._solver = self._begin(problem.t0, problem.y0, None)

    def _begin(self, t: float, y: np.ndarray, h: float | None) -> Any:
        from scipy.integrate import Radau

        solver: Any = Radau
        with np.errstate(all="ignore"):
            return solver(
                self._problem.system.rates,
                t,
                y,
                self._end,
                rtol=self._settings.rtol or 1e-10,
                atol=self._settings.atol or self._problem.errors(1e-12),
                max_step=self._settings.max_step or np.inf,
                first_step=h,
                jac=self._jacobian,
            )

    def restart(self, y: np.ndarray) -> None:
        """Continue from a projected state, with the present step size."""
        solver = self._solver
        if solver.t < self._end and not np.array_equal(y, solver.y):
            self.renew(y)

    def renew(self, y: np.ndarray) -> None:
        """Restart, with the present step size."""
        solver, self._before = self._solver, self._before + self._solver.nfev
        self._solver = self._begin(solver.t, y, min(solver.h_abs, self._end - solver.t))

    def advance(self, limit: float) -> Step:
        """One accepted step."""
        solver = self._solver
        solver.t_bound, solver.status = min(limit, self._end), "running"
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            solver.step()
        if solver.status == "failed":
            raise collapse(self._problem, float(solver.t), float(solver.h_abs), solver.y)
        self.evaluations = self._before + solver.nfev
        t0, t1 = float(solver.t_old if solver.t_old is not None else solver.t), float(solver.t)
        return Step(t0, t1, solver.y.copy(), lambda: Piece(t0, t1, t1 - t0, _polynomial(solver.dense_output())))

    def _jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        """∂(rates)/∂y of the problem; by finite differences if it has none, or if a derivative is not finite."""
        if (found := self._problem.system.jacobian(t, y)) is not None and np.isfinite(found).all():
            return found
        return self._differences(t, y)

    def _differences(self, t: float, y: np.ndarray) -> np.ndarray:
        """∂(rates)/∂y by finite differences with steps of a fixed share of each state's magnitude.

        SciPy's finite differences increase the step without bound for a state without effect, such as an ignorable coordinate.
        """
        self._before += len(y) + 1  # evaluations that SciPy does not count
        rates, steps = self._problem.system.rates, _SQRT_EPS * np.maximum(np.abs(y), self._problem.errors(1.0))
        moved = y[:, None] + np.diag(steps)
        steps = moved.diagonal() - y  # exact in floating point
        here = rates(t, y)
        return np.stack([(rates(t, column) - here) / step for column, step in zip(moved.T, steps, strict=True)], axis=1)


def _polynomial(between: Any) -> Polynomial:
    """SciPy's interpolation of a step, y + Q (x, x², x³) with x = (t − t0) / (t1 − t0)."""
    return Polynomial(np.concatenate([between.y_old[:, None], between.Q], axis=1))
