"""SUNDIALS' IDA: implicit, of variable order, for stiff systems and for equations with multipliers."""

from __future__ import annotations

import numpy as np

from dalembert.errors import EngineError, InputError
from dalembert.simulation.integrators.base import Capabilities, InitialValueProblem, Settings, Step, Stepper, collapse
from dalembert.simulation.integrators.interpolant import hermite

_NO_LIMIT = 1e100  # an absolute tolerance without effect, in any units


class Ida(Stepper):
    """IDA on the index-reduced equations with analytic Jacobians.

    Default tolerances are 1e-9 and 1e-11 of each state's typical magnitude.
    """

    name = "ida"
    capabilities = Capabilities(continuous_laws=False, rigid_contacts=False, restarts=False)

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        try:
            from sksundae.ida import IDA
        except ImportError as error:
            raise EngineError(
                "the integrator 'ida' needs scikit-sundae, which is not installed. Install dalembert[ida], or use radau."
            ) from error
        residuals = problem.system.residuals()
        if residuals is None:
            raise InputError(
                "the integrator 'ida' does not support this formalism, which has unknowns besides velocities and multipliers. "
                "Use another integrator, or another formalism such as lagrange."
            )
        self._problem, self._dae, self._size = problem, residuals, len(problem.y0)
        y, yd = self._dae.start(problem.t0, problem.y0)
        self.evaluations, self.tolerance = 0, settings.rtol or 1e-9
        atol = np.full(self._size, settings.atol) if settings.atol else problem.errors(1e-11)
        algebraic = np.arange(self._size, self._size + self._dae.algebraic)
        self._solver = IDA(
            self._fill,
            jacfn=self._fill_jacobian,
            rtol=settings.rtol or 1e-9,
            # multipliers follow from the states and do not affect the step size
            atol=np.concatenate([atol, np.full(len(algebraic), _NO_LIMIT)]),
            max_step=settings.max_step or 0.0,
            max_num_steps=100_000,
            algebraic_idx=algebraic if len(algebraic) else None,
        )
        self._solver.init_step(problem.t0, y, yd)
        self._t, self._y, self._yd = problem.t0, y, yd

    def _fill(self, t: float, y: np.ndarray, yp: np.ndarray, res: np.ndarray) -> None:
        self.evaluations = (self.evaluations or 0) + 1
        res[:] = self._dae.residual(t, y, yp)

    def _fill_jacobian(
        self, t: float, y: np.ndarray, yp: np.ndarray, res: np.ndarray, cj: float, JJ: np.ndarray
    ) -> None:
        JJ[:, :] = self._dae.jacobian(t, y, yp, cj)

    def restart(self, y: np.ndarray) -> None:
        """Restart from another state."""
        self._y, self._yd = self._dae.start(self._t, y)
        self._solver.init_step(self._t, self._y, self._yd)

    def renew(self, y: np.ndarray) -> None:
        """Restart: the history of the method belongs to other constants."""
        self.restart(y)

    def advance(self, limit: float) -> Step:
        """One internal step."""
        t0, y0, slope0 = self._t, self._y[: self._size].copy(), self._yd[: self._size].copy()
        result = self._solver.step(limit, method="onestep", tstop=limit)
        if not result.success or result.t <= t0:
            raise collapse(self._problem, t0, float(result.t - t0), y0)
        self._t, self._y, self._yd = float(result.t), np.array(result.y).ravel(), np.array(result.yp).ravel()
        t1, y1, slope1 = self._t, self._y[: self._size].copy(), self._yd[: self._size].copy()
        return Step(t0, t1, y1, lambda: hermite(t0, t1, (y0, y1), (slope0, slope1)))
