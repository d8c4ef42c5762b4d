"""The loop of Taylor steps: many steps per call, each projected onto the constraints, with samples.

The order follows from the tolerance and the step from the last two coefficients, as Jorba and Zou, A software package for the
numerical integration of ODEs by means of high-order Taylor methods, 3.2 and 3.3, choose them.
"""

from __future__ import annotations

import numpy as np

from dalembert.codegen.compiled_loop import CompiledLoop
from dalembert.codegen.taylor_series import SeriesTable, new_rows, write_series
from dalembert.simulation.integrators.compiled_projection import PROJECT_IN_PYTHON, ProjectionData
from dalembert.simulation.integrators.explicit_steps import (
    COLLAPSED,
    CONTINUES,
    DONE,
    NOT_FINITE,
    UNPROJECTED,
    AcceptedSteps,
    Control,
    H,
    Now,
    T,
    is_finite,
    project_and_sample,
)

_SAFETY = 1.5  # the step exceeds the one that earlier orders permit by at most this factor
_EARLIER = 8  # orders


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


compiled = CompiledLoop(burst)  # the same in machine code
