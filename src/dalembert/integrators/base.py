"""The contract of an integrator and the loop that drives every one of them: sampling, projection, progress, errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import InputError, SimulationError
from dalembert.integrators.polynomial import Piece
from dalembert.kernels.dae import DaeFunctions

_WINDOW = 20_000  # steps after which the pace is looked at


class Status(Enum):
    """How a simulation ended; the value is the sentence people read."""

    FINISHED = "The simulation reached its end."
    TURNED = "The simulation waits for other speeds."
    STOPPED = "The simulation was stopped by its progress callback before its end."


class Guide(ABC):
    """Looks ahead along every step for places where the equations fail or bend, and leads the run across or ends it."""

    def limit(self, t: float) -> float:
        """The time that a step from `t` may not go beyond."""
        return np.inf

    @abstractmethod
    def mend(self, stepper: Stepper, step: Step, end: float) -> Step:
        """The step to take in place of this one, often the same; raises when there is no way on."""


@dataclass(frozen=True)
class InitialValueProblem:
    """ẏ = rates(t, y) with y(t0) = y0."""

    names: tuple[str, ...]
    t0: float
    y0: np.ndarray
    rates: Callable[[float, np.ndarray], np.ndarray]
    taylor: Callable[[float | None, np.ndarray], Any] | None = None  # heyoka's integrator of y / sizes, for a tolerance
    project: Callable[[float, np.ndarray], np.ndarray] | None = None
    smooth: bool = True  # False when formulas switch branches
    positions: int = 0  # how many of the states are coordinates; the velocity variables follow them
    dae: Callable[[], DaeFunctions] | None = None  # the same problem as residuals with multipliers
    turn: Callable[[float, np.ndarray], bool] | None = None  # True: these variables have served, go on with others
    sizes: np.ndarray | None = None  # how large each state usually is; None: about 1
    guides: tuple[Guide, ...] = ()
    slope: Callable[[float, np.ndarray], np.ndarray] | None = None  # ∂(rates)/∂y at (t, y); None: by differences

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
class Solution:
    """Samples of a solution, and how it was reached."""

    t: np.ndarray
    y: np.ndarray  # (states, samples)
    status: Status
    steps: int
    evaluations: int | None
    dense: tuple[Piece, ...] = field(default=(), repr=False)
    end: tuple[float, np.ndarray] | None = field(default=None, repr=False)  # where the last step led


class Stepper(ABC):
    """A method, advancing one problem step by step."""

    name: str
    evaluations: int | None = 0
    multistep: bool = False  # True: a restart would cost the method its history, so only samples are projected
    fixed: bool = False  # True: steps have one length, whatever happens
    tolerance: float = 0.0  # the relative error that a step may have

    @abstractmethod
    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        """Prepare to advance from the start of the problem to `end`."""

    @abstractmethod
    def advance(self, limit: float) -> Step:
        """One accepted step that does not go beyond `limit`."""

    @abstractmethod
    def restart(self, y: np.ndarray) -> None:
        """Go on from `y` at the present time (after a projection)."""


def integrate(problem: InitialValueProblem, stepper: Stepper, times: np.ndarray, settings: Settings) -> Solution:
    """The solution at `times` (increasing, the first is the start)."""
    y = np.empty((len(problem.y0), len(times)))
    y[:, 0] = problem.y0
    t, end, done, steps = float(times[0]), float(times[-1]), 1, 0
    status, kept, last, mark = Status.FINISHED, [], problem.y0, t
    while done < len(times):
        with np.errstate(all="ignore"):  # what is not finite is told below
            step = stepper.advance(min([end, *(guide.limit(t) for guide in problem.guides)]))
        steps += 1
        _require_sound(problem, step, t, last, steps, settings)
        for guide in problem.guides:
            step = guide.mend(stepper, step, end)
        if steps % _WINDOW == 0:
            _require_pace(problem, step, mark, (end - float(times[0])) / settings.max_steps)
            mark = step.t1
        while done < len(times) and times[done] < step.t1:
            y[:, done] = step.at(float(times[done]))
            if problem.project is not None and step.sure(float(times[done])):  # what is interpolated is off too
                y[:, done] = problem.project(float(times[done]), y[:, done])
            done += 1
        if settings.dense:
            kept.append(step.piece)
        last = step.y1
        if problem.project is not None and step.sure(step.t1):
            last = problem.project(step.t1, step.y1)
            if not stepper.multistep:
                stepper.restart(last)
        while done < len(times) and times[done] <= step.t1:
            y[:, done] = last
            done += 1
        t = step.t1
        if settings.progress is not None and settings.progress((t - times[0]) / (end - times[0])):
            status = Status.STOPPED
            break
        if done < len(times) and problem.turn is not None and problem.turn(t, last):
            status = Status.TURNED
            break
    return Solution(times[:done], y[:, :done], status, steps, stepper.evaluations, tuple(kept), (t, last))


def _require_sound(
    problem: InitialValueProblem, step: Step, t: float, y: np.ndarray, steps: int, settings: Settings
) -> None:
    if not np.isfinite(step.y1).all():
        bad = [name for name, value in zip(problem.names, step.y1, strict=True) if not np.isfinite(value)]
        raise SimulationError(
            f"at t = {t:.9g} the next step gives values that are not finite for {', '.join(bad[:6])}. "
            f"{describe(problem.names, y)} "
            "The motion ends here: look for a singular configuration, a division by zero or a force that grows without bound."
        )
    if steps >= settings.max_steps:
        raise SimulationError(
            f"the simulation took {steps} steps and is only at t = {step.t1:.9g}. "
            f"{describe(problem.names, step.y1)} Shorten it, or loosen its tolerances."
        )


def _require_pace(problem: InitialValueProblem, step: Step, mark: float, shortest: float) -> None:
    """Raise when steps have become so short that the run would not end within its number of steps."""
    if step.t1 - mark < _WINDOW * shortest:
        raise SimulationError(
            f"at t = {step.t1:.9g} the simulation creeps: its last {_WINDOW} steps advanced by {step.t1 - mark:.3g} in all. "
            f"{describe(problem.names, step.y1)} The motion is close to a singular configuration, or the tolerances are too "
            "tight for it. Fixed steps may carry it across: integrator rk4 with a `step`."
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
