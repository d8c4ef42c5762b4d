"""Explicit methods: tables of coefficients for one compiled loop (`explicit_steps`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.errors import SimulationError
from dalembert.simulation.integrators import explicit_steps as loop
from dalembert.simulation.integrators.base import (
    BulkStepper,
    Burst,
    Capabilities,
    InitialValueProblem,
    Settings,
    collapse,
    not_finite,
)
from dalembert.simulation.integrators.compiled_projection import FREE, PROJECT_IN_PYTHON, ProjectionData
from dalembert.simulation.integrators.explicit_steps import AcceptedSteps, Control, Now, Scheme


class Explicit(BulkStepper):
    """A Runge–Kutta method, stepping in machine code where the right-hand side is machine code."""

    kind: ClassVar[int]

    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        self._problem, n = problem, len(problem.y0)
        self._pace = 0.0  # the longest step since the last target time
        self._scheme = self.scheme()._replace(positions=problem.system.positions)
        K = np.zeros((len(self._scheme.c), n))
        clock, counts = np.array([problem.t0, 0.0]), np.zeros(7, dtype=np.int64)
        self._now = Now(problem.y0.astype(float), K, np.zeros_like(K), clock, counts)
        if self._scheme.carried:
            K[0] = problem.system.rates(problem.t0, problem.y0)
            self._now.counts[loop.CALLS] = self._now.counts[loop.KNOWN] = 1
        with np.errstate(all="ignore"):
            h, rule = self.rule(problem, settings, end)
        self._now.clock[loop.H], self.tolerance = h, rule.rtol
        keep = settings.dense or any(monitor.needs_interpolant for monitor in problem.parts.monitors)
        self._control = rule._replace(kind=self.kind, start=problem.t0, end=end, inputs=n, keep=keep)
        self._surface = no_constraints(FREE if problem.parts.projection is None else PROJECT_IN_PYTHON)
        self._burst, self._rates = (
            loop.burst,
            CallableProgram(_as_machine(problem.system.rates), np.zeros(0), np.zeros(0)),
        )
        machine = problem.system.machine_code()
        if machine is not None:
            self._burst, self._rates = loop.compiled, machine.rates
            self._control = self._control._replace(inputs=machine.inputs)
            if problem.parts.projection is not None and machine.surface is not None:
                self._surface = machine.surface

    @classmethod
    @abstractmethod
    def scheme(cls) -> Scheme:
        """The coefficients of the method."""

    @abstractmethod
    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> tuple[float, Control]:
        """The first step, and the step control of the method."""

    def first_slope(self) -> np.ndarray:
        """ẏ at the start."""
        return self._now.K[0]

    def count(self, calls: int) -> None:
        """Count evaluations of the rates outside the loop."""
        self._now.counts[loop.CALLS] += calls

    def restart(self, y: np.ndarray) -> None:
        """Continue from a projected state."""
        if not np.array_equal(y, self._now.y):
            self._now.y[:] = y
            self._now.counts[loop.KNOWN] = 0

    def renew(self, y: np.ndarray) -> None:
        """Continue with other constants; the derivative changes too."""
        self._now.y[:], self._now.counts[loop.KNOWN] = y, 0

    def set_target(self, end: float) -> None:
        """Let a step end at `end`; a step shortened to reach the previous target does not limit the next."""
        if end != self._control.end:
            self._control = self._control._replace(end=end)
            self._now.clock[loop.H] = max(self._now.clock[loop.H], self._pace)
            self._pace = 0.0

    def burst(self, times: np.ndarray, samples: np.ndarray, done: int, stop: float, max_steps: int) -> Burst:
        """Take up to `max_steps` steps; write their samples (times, states) from index `done`."""
        n, orders, now = len(self._now.y), self._scheme.P.shape[1] + 1, self._now
        now.counts[loop.SAMPLE] = done
        taken = AcceptedSteps.empty(max_steps, n, orders)
        with np.errstate(all="ignore"):  # non-finite values are reported below
            count, why = self._burst(
                self._scheme, self._control, self._rates, self._surface, now, taken, times, samples, stop, max_steps
            )
        if self._problem.parts.clock is not None:
            self._pace = max(self._pace, *taken.h[:count].tolist(), 0.0)
        self.evaluations, self.stiff_steps = int(now.counts[loop.CALLS]), int(now.counts[loop.STIFF])
        done, failure = int(now.counts[loop.SAMPLE]), self._failure(why, taken, count)
        return Burst(taken.until(count), done, why == loop.UNPROJECTED, failure)

    def _failure(self, why: int, taken: AcceptedSteps, count: int) -> SimulationError | None:
        """The error that ends a burst, or None."""
        problem, (t, h) = self._problem, self._now.clock.tolist()
        if why in (loop.COLLAPSED, loop.NOT_FINITE):
            self._check_ahead(t, float(taken.h[count - 1]) if count else h)
        if why == loop.COLLAPSED:
            return collapse(problem, t, h, self._now.y)
        return not_finite(problem, t, self._now.y, taken.y1[count]) if why == loop.NOT_FINITE else None

    def _check_ahead(self, t: float, h: float) -> None:
        """Let the system name a law without a finite value just ahead: machine code cannot identify it."""
        system, y = self._problem.system, self._now.y
        system.check(t, y)
        slope = system.rates(t, y)
        for s in h * np.geomspace(1e-12, 1.0, 13):
            system.check(t + float(s), y + s * slope)


class FixedStepper(Explicit):
    """Equal steps of size `step` (default: a thousandth of the run) that end exactly at the end."""

    capabilities = Capabilities(adaptive=False)
    kind = loop.FIXED

    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> tuple[float, Control]:
        """The step length and the number of steps."""
        self._wanted = settings.step or min(settings.max_step or np.inf, (end - problem.t0) / 1000)
        h, count = self._equal(end - problem.t0)
        return h, Control(atol=np.zeros(len(problem.y0)), number=count)

    def _equal(self, span: float) -> tuple[float, int]:
        count = max(1, int(np.ceil(span / self._wanted - 1e-9)))
        return span / count, count

    def set_target(self, end: float) -> None:
        """Equal steps from here to `end`, at most as long as requested."""
        if end != self._control.end:
            t = float(self._now.clock[loop.T])
            self._now.clock[loop.H], count = self._equal(end - t)
            self._now.counts[loop.DONE] = 0
            self._control = self._control._replace(start=t, end=end, number=count)


def no_constraints(mode: int) -> ProjectionData:
    """No constraints in machine code."""
    none, number, rows = CallableProgram(0, np.zeros(0), np.zeros(0)), np.zeros(0), np.zeros(0, dtype=np.int64)
    numbers = (rows, rows, number, number, number, number, np.zeros(4), 0)
    return ProjectionData(mode, none, none, none, True, 0, 0, 0, 0, 0, *numbers)


def _as_machine(rates: Callable[[float, np.ndarray], np.ndarray]) -> Callable[..., None]:
    def one(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
        out[:] = rates(float(x[-1]), x[:-1])

    return one
