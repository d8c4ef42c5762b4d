"""The contract of an integrator and the loop that drives every one of them: sampling, projection, progress, errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import Machine
from dalembert.errors import InputError, SimulationError
from dalembert.simulation.integrators.explicit_steps import Surface, Taken
from dalembert.simulation.integrators.interpolant import Piece, Polynomial, powers
from dalembert.simulation.residual_forms import DaeFunctions, UnreducedFunctions

_WINDOW = 20_000  # steps after which the pace is looked at
_BURST = 256  # steps between two looks of Python at a compiled loop
_FEW = 16  # the same at first, where a crossing may end the run
_TOLD = 128  # how often progress is told along a compiled loop


class Status(Enum):
    """How a simulation ended; the value is the sentence people read."""

    FINISHED = "The simulation reached its end."
    TURNED = "The simulation waits for other speeds."
    MET = "The simulation was ended by an event."
    STOPPED = "The simulation was stopped by its progress callback before its end."


class Halt(NamedTuple):
    """Where a run ends before its time, and which of the things that are watched ends it."""

    t: float
    y: np.ndarray
    which: int
    up: bool = True  # from below to above


class Guide(ABC):
    """Looks ahead along every step for places where the equations fail or bend, and leads the run across or ends it."""

    looks_inside: bool = True  # it asks for the motion within steps

    def limit(self, t: float) -> float:
        """The time that a step from `t` may not go beyond."""
        return np.inf

    @abstractmethod
    def mend(self, stepper: Method, step: Step, end: float) -> Step:
        """The step to take in place of this one, often the same; raises when there is no way on."""

    @property
    def halted(self) -> bool:
        """True when the last step was cut where the run must end, whatever comes then."""
        return False

    def cut(self, burst: Burst) -> tuple[int, Halt] | None:
        """Among steps that are taken already: the first in which the run must end, and where."""
        return None

    def watch(self, stepper: Method, burst: Burst, end: float) -> None:
        """Look at steps that are taken already; raises when there was no way on."""
        for k in range(len(burst)):
            self.mend(stepper, burst.step(k), end)


class Clock(ABC):
    """Instants at which constants of the equations change, whatever the motion does: a step ends at each of them."""

    @property
    @abstractmethod
    def next(self) -> float:
        """The next instant."""

    @abstractmethod
    def tick(self, t: float, y: np.ndarray) -> None:
        """Change the constants, in their place, at an instant and the state there; asked once."""


class MachineCode(NamedTuple):
    """The rates of a problem in machine code, and its constraints where those are machine code too."""

    rates: Machine
    inputs: int  # how many of the states enter the rates
    surface: Surface | None


@dataclass(frozen=True)
class InitialValueProblem:
    """ẏ = rates(t, y) with y(t0) = y0."""

    names: tuple[str, ...]
    t0: float
    y0: np.ndarray
    rates: Callable[[float, np.ndarray], np.ndarray]
    taylor: Callable[[float | None, np.ndarray], Any] | None = None  # heyoka's integrator of y / sizes, for a tolerance
    project: Callable[[float, np.ndarray], np.ndarray] | None = None
    positions: int = 0  # how many of the states are coordinates; the velocity variables follow them
    dae: Callable[[], DaeFunctions] | None = None  # the same problem as residuals with multipliers
    unreduced: Callable[[], UnreducedFunctions] | None = None  # the same with constraints as they stand
    turn: Callable[[np.ndarray, np.ndarray], int | None] | None = None  # at which of many states variables have served
    sizes: np.ndarray | None = None  # how large each state usually is; None: about 1
    guides: tuple[Guide, ...] = ()
    machine: MachineCode | None = None  # None: the rates are known to Python only
    slope: Callable[[float, np.ndarray], np.ndarray] | None = None  # ∂(rates)/∂y at (t, y); None: by differences
    clock: Clock | None = None
    constants: np.ndarray | None = None  # what a clock changes; rates and machine code read them in their place

    def errors(self, tolerance: float) -> np.ndarray:
        """The absolute error allowed in each state by a tolerance that has no unit."""
        return tolerance * (np.ones(len(self.y0)) if self.sizes is None else self.sizes)


@dataclass(frozen=True)
class Settings:
    """What the user may choose; None leaves the choice to the method."""

    rtol: float | None = None
    atol: float | None = None
    max_step: float | None = None
    step: float | None = None
    dense: bool = False
    progress: Callable[[float], bool | None] | None = None  # gets the fraction done; True stops the run
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        for name in ("rtol", "atol", "max_step", "step"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"simulate: {name} is {value}. Expected a positive number.")


@dataclass(frozen=True)
class Step:
    """One accepted step: its ends, and the solution in between."""

    t0: float
    t1: float
    y1: np.ndarray
    between: Callable[[], Piece]  # asked before the next step is taken, if at all
    coefficients: np.ndarray | None = None  # (states, orders) of the powers of t − t0, where the method has them
    sure: Callable[[float], bool] = lambda _: True  # False where the constraints are too dependent to project onto

    @cached_property
    def piece(self) -> Piece:
        """The motion along the step."""
        return self.between()

    def at(self, t: float) -> np.ndarray:
        """The state at a time of the step."""
        return self.piece(t)


@dataclass(frozen=True)
class Burst:
    """Accepted steps in a row."""

    steps: Taken
    done: int  # samples there are
    left: bool = False  # the last step has not been brought back onto the constraints
    failure: SimulationError | None = None  # with which the run ends

    def __len__(self) -> int:
        return len(self.steps.t0)

    def piece(self, k: int) -> Piece:
        """The motion along step k."""
        t0, t1, h, powers = (part[k] for part in (self.steps.t0, self.steps.t1, self.steps.h, self.steps.powers))
        return Piece(float(t0), float(t1), float(h), Polynomial(powers.copy()))

    def step(self, k: int) -> Step:
        """Step k by itself."""
        return Step(float(self.steps.t0[k]), float(self.steps.t1[k]), self.steps.y1[k].copy(), lambda: self.piece(k))

    def inside(self, x: np.ndarray, which: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Times (steps × x) and states (states, steps × x) at shares x of the steps, of all or of some."""
        chosen = np.arange(len(self)) if which is None else which
        powers = x[None, :] ** np.arange(self.steps.powers.shape[2])[:, None]
        if len(chosen) == 1:
            k = chosen[0]
            return self.steps.t0[k] + x * self.steps.h[k], self.steps.powers[k] @ powers
        values = self.steps.powers[chosen] @ powers
        times = self.steps.t0[chosen, None] + x * self.steps.h[chosen, None]
        return times.ravel(), np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)

    def at(self, which: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times (I × P) and states (states, I × P) at shares x (I, P) of the steps `which` (I,)."""
        values = self.steps.powers[which] @ powers(x, self.steps.powers.shape[2])
        times = self.steps.t0[which, None] + x * self.steps.h[which, None]
        return times.ravel(), np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)


@dataclass(frozen=True)
class Solution:
    """Samples of a solution, and how it was reached."""

    t: np.ndarray
    y: np.ndarray  # (states, samples)
    status: Status
    steps: int
    evaluations: int | None
    dense: tuple[Piece, ...] = field(default=(), repr=False)
    end: tuple[float, np.ndarray] | None = field(default=None, repr=False)  # where the last step led
    before: tuple[float, np.ndarray] | None = field(default=None, repr=False)  # where it began


class Method(ABC):
    """A method, prepared to advance one problem."""

    name: str
    evaluations: int | None = 0
    multistep: bool = False  # True: a restart would cost the method its history, so only samples are projected
    fixed: bool = False  # True: steps have one length, whatever happens
    tolerance: float = 0.0  # the relative error that a step may have

    @abstractmethod
    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        """Prepare to advance from the start of the problem to `end`."""

    @abstractmethod
    def restart(self, y: np.ndarray) -> None:
        """Go on from `y` at the present time (after a projection)."""

    @abstractmethod
    def renew(self, y: np.ndarray) -> None:
        """Go on from `y` at the present time with other constants, in memory of the pace."""


class Stepper(Method):
    """A method that is led step by step."""

    @abstractmethod
    def advance(self, limit: float) -> Step:
        """One accepted step that does not go beyond `limit`."""


class Runner(Method):
    """A method that takes many steps in one go, with samples and projections."""

    @abstractmethod
    def head_for(self, end: float) -> None:
        """Let a step end at `end`, and none go beyond."""

    @abstractmethod
    def burst(self, times: np.ndarray, samples: np.ndarray, done: int, stop: float, most: int) -> Burst:
        """Up to `most` steps, none that begins behind `stop`; writes samples (times, states), of which `done` are there."""


def integrate(problem: InitialValueProblem, method: Method, times: np.ndarray, settings: Settings) -> Solution:
    """The solution at `times` (increasing, the first is the start)."""
    run = _Run(problem, method, np.array(times, dtype=float), settings)
    while run.done < len(times) and run.status is Status.FINISHED:
        run.go_on()
    return run.solution


class _Run:
    """A run so far."""

    def __init__(self, problem: InitialValueProblem, method: Method, times: np.ndarray, settings: Settings) -> None:
        self._problem, self._method, self._times, self._settings = problem, method, times, settings
        self._samples = np.empty((len(times), len(problem.y0)))
        self._samples[0] = self._last = problem.y0
        self.done, self._steps, self.status = 1, 0, Status.FINISHED
        self._start, self._end = float(times[0]), float(times[-1])
        self._t = self._mark = self._start
        self._before = (self._start, problem.y0)  # where the last step began
        self._kept: list[Piece] = []
        # behind a crossing the next may be near: steps beyond it would be taken in vain
        self._most = _FEW if any(guide.looks_inside for guide in problem.guides) else _BURST

    @property
    def solution(self) -> Solution:
        """What has been found."""
        y, end = self._samples[: self.done].T.copy(), (self._t, self._last)
        calls = self._method.evaluations
        return Solution(
            self._times[: self.done], y, self.status, self._steps, calls, tuple(self._kept), end, self._before
        )

    def go_on(self) -> None:
        """One step, or a burst of them, from where constants have changed if they do."""
        clock = self._problem.clock
        if clock is not None and clock.next <= self._t:
            clock.tick(self._t, self._last)
            self._method.renew(self._last)
        if isinstance(self._method, Runner):
            self._run(self._method)
        else:
            assert isinstance(self._method, Stepper)
            self._lead(self._method)
        told = self._settings.progress
        if told is not None and told((self._t - self._start) / (self._end - self._start)):
            self.status = Status.STOPPED

    @property
    def _goal(self) -> float:
        """Where the present constants end."""
        clock = self._problem.clock
        return self._end if clock is None else min(self._end, clock.next)

    def _lead(self, stepper: Stepper) -> None:
        problem = self._problem
        with np.errstate(all="ignore"):  # what is not finite is told below
            limits = [guide.limit(self._t) for guide in problem.guides]
            step = stepper.advance(min([self._goal, *limits]) if limits else self._goal)
        self._steps += 1
        if not np.isfinite(step.y1).all():
            raise not_finite(problem, self._t, self._last, step.y1)
        self._require_few(step.t1, step.y1)
        for guide in problem.guides:
            step = guide.mend(stepper, step, self._end)
        self._require_pace(step.t1, step.y1)
        self._sample(step)
        if self._settings.dense:
            self._kept.append(step.piece)
        self._before = (self._t, self._last)
        self._settle(step)
        if any(guide.halted for guide in problem.guides):
            self.status = Status.MET
        elif problem.turn is not None and self._turn(np.array([self._t]), self._last[None]) is not None:
            self.status = Status.TURNED

    def _run(self, runner: Runner) -> None:
        problem, settings, times = self._problem, self._settings, self._times
        most = min(self._most, _WINDOW - self._steps % _WINDOW, settings.max_steps - self._steps)
        self._most = min(2 * self._most, _BURST)
        stop = goal = self._goal
        if settings.progress is not None:
            stop = min(goal, self._t + (self._end - self._start) / _TOLD)
        if problem.clock is not None:
            runner.head_for(goal)
        burst = runner.burst(times, self._samples, self.done, stop, most)
        self.done, sure = burst.done, len(burst) - burst.left
        turned = self._turn(burst.steps.t1[:sure], burst.steps.last[:sure])
        if turned is not None:
            steps, self.status = burst.steps.until(turned + 1), Status.TURNED
            burst = Burst(steps, int(np.searchsorted(times, steps.t1[-1], side="right")))
            self.done, runner.evaluations = burst.done, int(steps.calls[-1])
        halt = self._halt(burst)
        if halt is not None:
            turned, k = None, halt[0]
            if burst.left and k == len(burst) - 1:  # it has no samples yet
                self._sample(replace(burst.step(k), t1=float(np.nextafter(halt[1].t, np.inf))))
            burst = Burst(burst.steps.until(k + 1), int(np.searchsorted(times, halt[1].t, side="right")))
            self.done, self.status, runner.evaluations = burst.done, Status.MET, int(burst.steps.calls[-1])
        for guide in problem.guides:
            guide.watch(runner, burst, self._end)
        self._steps += len(burst)
        if settings.dense:
            self._kept += [burst.piece(k) for k in range(len(burst))]
        if halt is not None:
            self._stop(burst, halt[1])
            return
        if len(burst):
            self._t, self._last = float(burst.steps.t1[-1]), burst.steps.last[-1].copy()
        if burst.left:
            step = burst.step(len(burst) - 1)
            self._sample(step)
            self._settle(step)
            if self._turn(np.array([self._t]), self._last[None]) is not None:
                self.status = Status.TURNED
        if burst.failure is not None:
            raise burst.failure
        self._require_few(self._t, self._last)
        self._require_pace(self._t, self._last)

    def _halt(self, burst: Burst) -> tuple[int, Halt] | None:
        """The first step of a burst in which a guide ends the run."""
        found = [halt for guide in self._problem.guides if (halt := guide.cut(burst)) is not None]
        return min(found, key=lambda halt: halt[1].t, default=None)

    def _stop(self, burst: Burst, halt: Halt) -> None:
        """End within the last step of a burst."""
        k, project = len(burst) - 1, self._problem.project
        if k > 0:
            self._t, self._last = float(burst.steps.t1[k - 1]), burst.steps.last[k - 1].copy()
        self._before = (self._t, self._last)
        if self._settings.dense:
            self._kept[-1] = replace(self._kept[-1], t1=halt.t)
        self._t, self._last = halt.t, halt.y if project is None else project(halt.t, halt.y)

    def _turn(self, t: np.ndarray, y: np.ndarray) -> int | None:
        """The first of the ends of steps (steps, states) at which other variables should go on."""
        count = int(np.searchsorted(t, self._end, side="left"))  # at the end nothing goes on
        return None if self._problem.turn is None or not count else self._problem.turn(t[:count], y[:count].T)

    def _sample(self, step: Step) -> None:
        """The samples within a step."""
        times, project = self._times, self._problem.project
        while self.done < len(times) and times[self.done] < step.t1:
            t = float(times[self.done])
            y = step.at(t)
            if project is not None and step.sure(t):  # what is interpolated is off too
                y = project(t, y)
            self._samples[self.done] = y
            self.done += 1

    def _settle(self, step: Step) -> None:
        """The end of a step, on the constraints."""
        last = step.y1
        if self._problem.project is not None and step.sure(step.t1):
            last = self._problem.project(step.t1, step.y1)
            if not self._method.multistep:
                self._method.restart(last)
        while self.done < len(self._times) and self._times[self.done] <= step.t1:
            self._samples[self.done] = last
            self.done += 1
        self._t, self._last = step.t1, last

    def _require_few(self, t: float, y: np.ndarray) -> None:
        if self._steps >= self._settings.max_steps:
            raise SimulationError(
                f"the simulation took {self._steps} steps and is only at t = {t:.9g}. "
                f"{describe(self._problem.names, y)} Shorten it, or loosen its tolerances."
            )

    def _require_pace(self, t: float, y: np.ndarray) -> None:
        """Raise when steps have become so short that the run would not end within its number of steps."""
        if self._steps % _WINDOW or not self._steps:
            return
        if t - self._mark < _WINDOW * (self._end - self._start) / self._settings.max_steps:
            raise SimulationError(
                f"at t = {t:.9g} the simulation creeps: its last {_WINDOW} steps advanced by {t - self._mark:.3g} in all. "
                f"{describe(self._problem.names, y)} The motion is close to a singular configuration, or the tolerances are "
                "too tight for it. Fixed steps may carry it across: integrator rk4 with a `step`."
            )
        self._mark = t


def not_finite(problem: InitialValueProblem, t: float, y: np.ndarray, new: np.ndarray) -> SimulationError:
    """The error for a step from y that leads to what has no value."""
    bad = [name for name, value in zip(problem.names, new, strict=True) if not np.isfinite(value)]
    return SimulationError(
        f"at t = {t:.9g} the next step gives values that are not finite for {', '.join(bad[:6])}. "
        f"{describe(problem.names, y)} "
        "The motion ends here: look for a singular configuration, a division by zero or a force that grows without bound."
    )


def collapse(problem: InitialValueProblem, t: float, h: float, y: np.ndarray) -> SimulationError:
    """The error for a step size that has become too small to move on."""
    return SimulationError(
        f"at t = {t:.9g} the step size fell to {h:.3g}, too small to go on. {describe(problem.names, y)} "
        "The motion has a singularity here, or the tolerances are too tight for it."
    )


def listed(times: Sequence[float]) -> str:
    """Times in words, shortened when they are many."""
    more = f" and {len(times) - 8} more" if len(times) > 8 else ""
    return ", ".join(f"{t:.6g}" for t in times[:8]) + more


def describe(names: Sequence[str], y: np.ndarray) -> str:
    """A state in words, shortened when it is long."""
    shown = ", ".join(f"{name} = {value:.6g}" for name, value in list(zip(names, y, strict=True))[:12])
    more = f", and {len(names) - 12} more" if len(names) > 12 else ""
    return f"State: {shown}{more}."
