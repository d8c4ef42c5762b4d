"""Taylor series of the equations: order and step follow from the tolerance, which is that of rounding by default."""

from __future__ import annotations

import numpy as np

from dalembert.errors import EngineError, SimulationError
from dalembert.simulation.integrators import taylor_steps as loop
from dalembert.simulation.integrators.base import (
    Burst,
    Capabilities,
    InitialValueProblem,
    Settings,
    SteerableStepper,
    Step,
    collapse,
    not_finite,
)
from dalembert.simulation.integrators.compiled_projection import FREE, PROJECT_IN_PYTHON, ProjectionData
from dalembert.simulation.integrators.explicit import no_constraints
from dalembert.simulation.integrators.explicit_steps import (
    COLLAPSED,
    NOT_FINITE,
    SAMPLE,
    UNPROJECTED,
    AcceptedSteps,
    Control,
    H,
    Now,
    T,
)
from dalembert.simulation.integrators.interpolant import Piece, Polynomial

_TOLERANCE = float(np.finfo(float).eps)
_NO_SAMPLES = np.zeros(0)


class Taylor(SteerableStepper):
    """Steps of machine code, or single steps that monitors may shorten or lengthen."""

    name = "taylor"
    capabilities = Capabilities(continuous_laws=False)
    evaluations = None

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        series = problem.system.taylor()
        if series is None:
            raise EngineError(
                "the integrator 'taylor' needs symbolically solved equations, but these are solved numerically. "
                "Use integrator='dop853', or derive with engine='native'."
            )
        self._problem, self._series, n = problem, series, len(problem.y0)
        order = max(2, int(np.ceil(1 - np.log(settings.rtol or _TOLERANCE) / 2)))
        self._control = Control(
            atol=problem.errors(1.0), largest=settings.max_step or np.inf, number=order, start=problem.t0, end=end
        )
        clock, counts = np.array([problem.t0, 0.0]), np.zeros(7, dtype=np.int64)
        self._now = Now(problem.y0.astype(float), np.zeros((n, order + 1)), np.zeros((1, n)), clock, counts)
        self._free = no_constraints(FREE)
        self._surface = self._free
        if problem.parts.projection is not None:
            self._surface = no_constraints(PROJECT_IN_PYTHON) if series.surface is None else series.surface

    def restart(self, y: np.ndarray) -> None:
        """Continue from a projected state."""
        if not np.array_equal(y, self._now.y):
            self.rewind(float(self._now.clock[T]), y)

    def renew(self, y: np.ndarray) -> None:
        """Continue with other constants, which every burst reads."""
        self.restart(y)

    def rewind(self, t: float, y: np.ndarray) -> None:
        """Continue from an earlier state."""
        self._now.clock[T], self._now.y[:], self._now.stages[:] = t, y, 0.0

    def set_target(self, end: float) -> None:
        """Let a step end at `end`."""
        self._control = self._control._replace(end=end)

    def resize_step(self, step: Step, s: float, y: np.ndarray | None = None, order: int | None = None) -> Step:
        """The same step with another length s, and optionally another end y or fewer orders; the next step begins there."""
        assert step.coefficients is not None
        full = Polynomial(step.coefficients)
        used = full if order is None else full.cut(order)
        t1, end = step.t0 + s, used.value(s) if y is None else y
        self.rewind(t1, end)
        return Step(step.t0, t1, end, lambda: Piece(step.t0, t1, 1.0, used), step.coefficients)

    def advance(self, limit: float) -> Step:
        """One step, with its Taylor coefficients as dense output."""
        t0 = float(self._now.clock[T])
        control = self._control._replace(end=limit)
        taken, _, why = self._run(control, self._free, _NO_SAMPLES, np.zeros((0, len(self._now.y))), np.inf, 1)
        if why == COLLAPSED:
            raise collapse(self._problem, t0, float(self._now.clock[H]), self._now.y)
        if why == NOT_FINITE:
            raise not_finite(self._problem, t0, self._now.y, taken.y1[0])
        t1, coefficients = float(taken.t1[0]), self._now.K.copy()
        return Step(t0, t1, taken.y1[0], lambda: Piece(t0, t1, 1.0, Polynomial(coefficients)), coefficients)

    def burst(self, times: np.ndarray, samples: np.ndarray, done: int, stop: float, max_steps: int) -> Burst:
        """Take up to `max_steps` steps; write their samples (times, states) from index `done`."""
        self._now.counts[SAMPLE] = done
        taken, count, why = self._run(self._control, self._surface, times, samples, stop, max_steps)
        failure: SimulationError | None = None
        t, h = self._now.clock.tolist()
        if why == COLLAPSED:
            failure = collapse(self._problem, t, h, self._now.y)
        elif why == NOT_FINITE:
            failure = not_finite(self._problem, t, self._now.y, taken.y1[count])
        return Burst(taken.until(count), int(self._now.counts[SAMPLE]), why == UNPROJECTED, failure)

    def _run(
        self,
        control: Control,
        surface: ProjectionData,
        times: np.ndarray,
        samples: np.ndarray,
        stop: float,
        max_steps: int,
    ) -> tuple[AcceptedSteps, int, int]:
        n, series = len(self._now.y), self._series
        taken = AcceptedSteps.empty(max_steps, n, control.number + 1)
        with np.errstate(all="ignore"):  # non-finite values are reported
            count, why = loop.compiled(
                series.table, series.constants, control, surface, self._now, taken, times, samples, stop, max_steps
            )
        return taken, count, why
