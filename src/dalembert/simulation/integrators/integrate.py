"""The step loop of every integrator: sampling, projection, monitors, progress, and the errors that end a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.errors import SimulationError
from dalembert.simulation.integrators.base import (
    BulkStepper,
    Burst,
    InitialValueProblem,
    Method,
    Settings,
    Solution,
    Status,
    SteerableStepper,
    Step,
    Stepper,
    Termination,
    describe,
    not_finite,
)
from dalembert.simulation.integrators.interpolant import Piece

_WINDOW = 20_000  # number of steps between checks of the progress in time
_BURST = 256  # steps of a compiled loop between two checks in Python
_FIRST_BURST = 16  # the first burst, if a crossing may end the run
_PROGRESS_REPORTS = 128  # per run of a compiled loop


def integrate(problem: InitialValueProblem, method: Method, times: np.ndarray, settings: Settings) -> Solution:
    """The solution at `times` (increasing; the first is the start)."""
    run = _Run(problem, method, np.array(times, dtype=float), settings)
    while run.done < len(times) and run.status is Status.FINISHED:
        run.advance()
    return run.solution


class _Run:
    """A run in progress."""

    def __init__(self, problem: InitialValueProblem, method: Method, times: np.ndarray, settings: Settings) -> None:
        self._problem, self._method, self._times, self._settings = problem, method, times, settings
        self._samples = np.empty((len(times), len(problem.y0)))
        self._samples[0] = self._last = problem.y0
        self.done, self._steps, self.status = 1, 0, Status.FINISHED
        self._start, self._end = float(times[0]), float(times[-1])
        self._t = self._window_start = self._start
        self._before = (self._start, problem.y0)  # the start of the last step
        self._pieces: list[Piece] = []
        self._adjusts = False  # the next step is taken by itself
        # another crossing may follow soon, and steps beyond it would be discarded
        self._burst_size = _FIRST_BURST if any(each.locates_events for each in problem.parts.monitors) else _BURST

    @property
    def solution(self) -> Solution:
        """The solution up to the present time."""
        y, end = self._samples[: self.done].T.copy(), (self._t, self._last)
        calls = self._method.evaluations
        return Solution(
            self._times[: self.done], y, self.status, self._steps, calls, tuple(self._pieces), end, self._before
        )

    def advance(self) -> None:
        """Take one step, or a burst of steps, after updating constants that change now."""
        clock = self._problem.parts.clock
        if clock is not None and clock.next <= self._t:
            clock.tick(self._t, self._last)
            self._method.renew(self._last)
        method = self._method
        if isinstance(method, Stepper) and not (isinstance(method, SteerableStepper) and self._takes_bursts()):
            self._step(method)
        else:
            assert isinstance(method, BulkStepper)
            self._run(method)
        report = self._settings.progress
        if report is not None and report((self._t - self._start) / (self._end - self._start)):
            self.status = Status.STOPPED

    def _takes_bursts(self) -> bool:
        """False where a monitor limits or adjusts the next step."""
        adjusts, self._adjusts = self._adjusts, False
        return not adjusts and all(monitor.limit(self._t) == np.inf for monitor in self._problem.parts.monitors)

    @property
    def _next_stop(self) -> float:
        """The time up to which the present constants are valid."""
        clock = self._problem.parts.clock
        return self._end if clock is None else min(self._end, clock.next)

    def _step(self, stepper: Stepper) -> None:
        problem = self._problem
        with np.errstate(all="ignore"):  # non-finite values are reported below
            limits = [monitor.limit(self._t) for monitor in problem.parts.monitors]
            step = stepper.advance(min([self._next_stop, *limits]) if limits else self._next_stop)
        self._steps += 1
        if not np.isfinite(step.y1).all():
            raise not_finite(problem, self._t, self._last, step.y1)
        self._require_max_steps(step.t1, step.y1)
        for monitor in problem.parts.monitors:
            step = monitor.adjust_step(stepper, step, self._end)
        self._require_pace(step.t1, step.y1)
        self._sample(step)
        if self._settings.dense:
            self._pieces.append(step.piece)
        self._before = (self._t, self._last)
        self._project_end(step)
        if any(monitor.halted for monitor in problem.parts.monitors):
            self.status = Status.EVENT
        elif (
            problem.parts.repartition is not None
            and self._first_repartition(np.array([self._t]), self._last[None]) is not None
        ):
            self.status = Status.REPARTITION

    def _run(self, runner: BulkStepper) -> None:
        problem, settings, times = self._problem, self._settings, self._times
        max_steps = min(self._burst_size, _WINDOW - self._steps % _WINDOW, settings.max_steps - self._steps)
        self._burst_size = min(2 * self._burst_size, _BURST)
        stop = goal = self._next_stop
        if settings.progress is not None:
            stop = min(goal, self._t + (self._end - self._start) / _PROGRESS_REPORTS)
        if problem.parts.clock is not None:
            runner.set_target(goal)
        burst = runner.burst(times, self._samples, self.done, stop, max_steps)
        if isinstance(runner, SteerableStepper):
            burst = self._before_adjusted(runner, burst)
        self.done, n_projected = burst.done, len(burst) - burst.unprojected
        index = self._first_repartition(burst.steps.t1[:n_projected], burst.steps.last[:n_projected])
        if index is not None:
            steps, self.status = burst.steps.until(index + 1), Status.REPARTITION
            burst = Burst(steps, int(np.searchsorted(times, steps.t1[-1], side="right")))
            self.done = burst.done
            runner.reset_evaluations(burst)
        halt = self._halt(burst)
        if halt is not None:
            index, k = None, halt[0]
            if burst.unprojected and k == len(burst) - 1:  # its samples are not written yet
                self._sample(replace(burst.step(k), t1=float(np.nextafter(halt[1].t, np.inf))))
            burst = Burst(burst.steps.until(k + 1), int(np.searchsorted(times, halt[1].t, side="right")))
            self.done, self.status = burst.done, Status.EVENT
            runner.reset_evaluations(burst)
        for monitor in problem.parts.monitors:
            monitor.check_steps(runner, burst, self._end)
        self._steps += len(burst)
        if settings.dense:
            self._pieces += [burst.piece(k) for k in range(len(burst))]
        if halt is not None:
            self._stop(burst, halt[1])
            return
        if len(burst):
            self._t, self._last = float(burst.steps.t1[-1]), burst.steps.last[-1].copy()
        if burst.unprojected:
            step = burst.step(len(burst) - 1)
            self._sample(step)
            self._project_end(step)
            if self._first_repartition(np.array([self._t]), self._last[None]) is not None:
                self.status = Status.REPARTITION
        if burst.failure is not None:
            raise burst.failure
        self._require_max_steps(self._t, self._last)
        self._require_pace(self._t, self._last)

    def _before_adjusted(self, runner: SteerableStepper, burst: Burst) -> Burst:
        """The steps before the first one that a monitor adjusts; that one is repeated by itself."""
        monitors = self._problem.parts.monitors
        count = min((monitor.first_adjusted(burst, self._end) for monitor in monitors), default=len(burst))
        if count == len(burst):
            return burst
        self._adjusts, self._burst_size = True, _FIRST_BURST
        steps = burst.steps.until(count)
        t, y = (float(steps.t1[-1]), steps.last[-1]) if count else (self._t, self._last)
        runner.rewind(t, y)
        return Burst(steps, int(np.searchsorted(self._times, t, side="right")))

    def _halt(self, burst: Burst) -> tuple[int, Termination] | None:
        """The first step of a burst in which a monitor ends the run."""
        found = [
            halt for monitor in self._problem.parts.monitors if (halt := monitor.first_termination(burst)) is not None
        ]
        return min(found, key=lambda halt: halt[1].t, default=None)

    def _stop(self, burst: Burst, halt: Termination) -> None:
        """End the run within the last step of a burst."""
        k, project = len(burst) - 1, self._problem.parts.projection
        if k > 0:
            self._t, self._last = float(burst.steps.t1[k - 1]), burst.steps.last[k - 1].copy()
        self._before = (self._t, self._last)
        if self._settings.dense:
            self._pieces[-1] = replace(self._pieces[-1], t1=halt.t)
        self._t, self._last = halt.t, halt.y if project is None else project(halt.t, halt.y)

    def _first_repartition(self, t: np.ndarray, y: np.ndarray) -> int | None:
        """The first of the ends of steps (steps, states) at which a repartition is required."""
        count = int(np.searchsorted(t, self._end, side="left"))  # no repartition at the end
        repartition = self._problem.parts.repartition
        return None if repartition is None or not count else repartition(t[:count], y[:count].T)

    def _sample(self, step: Step) -> None:
        """Write the samples within a step."""
        parts, first = self._problem.parts, self.done
        self.done = max(first, int(np.searchsorted(self._times, step.t1, side="left")))
        t, project = self._times[first : self.done], parts.projection
        if not len(t):
            return
        y = step.at(t)
        if project is not None:  # interpolated states drift too
            which = [k for k, time in enumerate(t.tolist()) if step.may_project(time)]
            if len(which) > 1 and parts.project_samples is not None:
                y[:, which] = parts.project_samples(t[which], y[:, which])
            else:
                for k in which:
                    y[:, k] = project(float(t[k]), y[:, k])
        self._samples[first : self.done] = y.T

    def _project_end(self, step: Step) -> None:
        """Project the end of a step onto the constraints, and write the samples there."""
        last = step.y1
        if self._problem.parts.projection is not None and step.may_project(step.t1):
            last = self._problem.parts.projection(step.t1, step.y1)
            if self._method.capabilities.restarts:
                self._method.restart(last)
        while self.done < len(self._times) and self._times[self.done] <= step.t1:
            self._samples[self.done] = last
            self.done += 1
        self._t, self._last = step.t1, last

    def _require_max_steps(self, t: float, y: np.ndarray) -> None:
        if self._steps >= self._settings.max_steps:
            raise SimulationError(
                f"the simulation reached the maximum of {self._steps} steps at t = {t:.9g}. "
                f"{describe(self._problem.names, y)} Shorten the run, or loosen the tolerances."
            )

    def _require_pace(self, t: float, y: np.ndarray) -> None:
        """Raise if steps have become so short that the run would exceed its maximum number of steps."""
        if self._steps % _WINDOW or not self._steps:
            return
        if t - self._window_start < _WINDOW * (self._end - self._start) / self._settings.max_steps:
            raise SimulationError(
                f"at t = {t:.9g} the step size collapsed: the last {_WINDOW} steps advanced by {t - self._window_start:.3g} in "
                f"total. {describe(self._problem.names, y)} The motion is close to a singular configuration, or the tolerances "
                "are too tight for it. Fixed steps may cross it: use rk4 with a `step`."
            )
        self._window_start = t
