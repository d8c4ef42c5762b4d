"""Taylor series of the equations: order and step follow from the tolerance, which is that of rounding by default.

Order and step are those of Jorba and Zou, A software package for the numerical integration of ODEs by means of high-order
Taylor methods, 3.2 and 3.3. The loop of steps is a function on arrays of floats, compiled once for all models.
"""

from __future__ import annotations

import numpy as np

from dalembert.codegen.compiled_loop import CompiledLoop
from dalembert.codegen.taylor_series import SeriesTable, new_rows, write_series
from dalembert.errors import EngineError, SimulationError
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
    CONTINUES,
    DONE,
    NOT_FINITE,
    SAMPLE,
    UNPROJECTED,
    AcceptedSteps,
    Control,
    H,
    Now,
    T,
    is_finite,
    project_and_sample,
)
from dalembert.simulation.integrators.interpolant import Piece, Polynomial

_TOLERANCE = float(np.finfo(float).eps)
_NO_SAMPLES = np.zeros(0)
_SAFETY = 1.5  # the step exceeds the one that earlier orders permit by at most this factor
_EARLIER = 8  # orders


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
            count, why = _compiled_burst(
                series.table, series.constants, control, surface, self._now, taken, times, samples, stop, max_steps
            )
        return taken, count, why


def burst(
    table: SeriesTable,
    p: np.ndarray,
    control: Control,
    surface: ProjectionData,
    now: Now,
    taken: AcceptedSteps,
    times: np.ndarray,
    samples: np.ndarray,
    stop: float,
    max_steps: int,
) -> tuple[int, int]:
    """Take up to `max_steps` steps, until `stop` is reached; the number of accepted steps, and how the burst ended.

    The sums of states and increments are compensated: `now.stages` has what they leave, by Kahan.
    """
    y, x, rest, clock, count = now.y, now.K, now.stages[0], now.clock, 0
    order = control.number
    C = new_rows(table, order, p)
    while count < max_steps and clock[T] < stop:
        new, t0 = taken.y1[count], clock[T]
        for i in range(len(y)):
            x[i, 0] = y[i]
        write_series(table, order, t0, C, x)
        h = min(step_length(x, control.atol, order), control.largest)
        t1 = t0 + h
        if t1 >= control.end - 4 * np.spacing(abs(control.end)):
            t1 = control.end
        h = t1 - t0  # without rounding, so that time is not lost
        clock[H] = h
        taken.t0[count], taken.t1[count], taken.h[count] = t0, t1, h
        powers = taken.powers[count]
        for i in range(len(y)):
            total, power = x[i, order], 1.0
            for k in range(order - 1, 0, -1):
                total = total * h + x[i, k]
            total = total * h + rest[i]
            new[i] = y[i] + total
            rest[i] = total - (new[i] - y[i])
            for k in range(order + 1):
                powers[i, k] = x[i, k] * power
                power = power * h
        if not is_finite(new):
            return count, NOT_FINITE
        if not (t1 > t0 and (h >= 16 * np.spacing(abs(t0)) or t1 == control.end)):
            return count, COLLAPSED
        for i in range(len(y)):
            y[i] = new[i]
            taken.last[count, i] = new[i]
        clock[T] = t1
        now.counts[DONE] += 1
        count += 1
        if surface.mode == PROJECT_IN_PYTHON or not project_and_sample(
            surface, control, now, taken, count - 1, times, samples
        ):
            return count, UNPROJECTED
    return count, CONTINUES


def step_length(x: np.ndarray, sizes: np.ndarray, order: int) -> float:
    """The step by the last two coefficients, relative to the states or to their magnitudes if these are larger.

    In a symmetric state, such as a horizontal pendulum at rest, both coefficients can vanish: earlier ones limit the step, too.
    """
    scale, radius, earlier = 1.0, np.inf, np.inf
    for i in range(len(sizes)):
        scale = max(scale, abs(x[i, 0]) / sizes[i])
    for k in range(max(1, order - _EARLIER + 1), order + 1):
        largest = 0.0
        for i in range(len(sizes)):
            size = abs(x[i, k]) / sizes[i]
            largest = size if size > largest or size != size else largest
        if largest != 0.0:
            reach = (scale / largest) ** (1.0 / k)
            if k >= order - 1:
                radius = reach if reach < radius or reach != reach else radius
            earlier = min(earlier, reach)
    return min(radius, _SAFETY * earlier) * np.exp(-2 - 0.7 / (order - 1))


_compiled_burst = CompiledLoop(burst)
