"""The interface of an integrator: the initial value problem, steps, and the capabilities of a method.

Integrator, step control (`Settings`) and the parts that act on accepted steps (`StepParts`: projection, monitors, repartition,
sampled laws) are independent of each other. A system may offer more than its rates; a method declares its capabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.codegen.taylor_series import SeriesTable
from dalembert.errors import InputError, SimulationError
from dalembert.simulation.integrators.compiled_projection import ProjectionData
from dalembert.simulation.integrators.explicit_steps import AcceptedSteps
from dalembert.simulation.integrators.interpolant import Piece, Polynomial, powers
from dalembert.simulation.right_hand_side import DaeFunctions, UnreducedFunctions

Rates = Callable[[float, np.ndarray], np.ndarray]


class Status(Enum):
    """How a simulation ended; the value is the message for users."""

    FINISHED = "The simulation reached its end."
    REPARTITION = "Repartitioning of the generalized speeds is required."
    EVENT = "The simulation was ended by an event."
    STOPPED = "The simulation was stopped by its progress callback before its end."


class Termination(NamedTuple):
    """Where a run ends early, and which of the monitored functions ends it."""

    t: float
    y: np.ndarray
    which: int
    up: bool = True  # from below to above


class StepMonitor(ABC):
    """Monitors every step for states where the equations are singular or switch, and changes the step or ends the run."""

    needs_interpolant: bool = True  # it requires the motion within steps
    locates_events: bool = False  # it may end the run within any step

    def limit(self, t: float) -> float:
        """The time that a step from `t` must not exceed."""
        return np.inf

    @abstractmethod
    def adjust_step(self, stepper: Method, step: Step, end: float) -> Step:
        """The step to take instead of this one, often the same; raises if the run cannot continue."""

    @property
    def halted(self) -> bool:
        """True if the last step was cut where the run must end."""
        return False

    def first_termination(self, burst: Burst) -> tuple[int, Termination] | None:
        """Among accepted steps, the first in which the run must end, and where."""
        return None

    def first_adjusted(self, burst: Burst, end: float) -> int:
        """Among accepted steps of a method that can repeat them one by one, the first to be taken with `adjust_step`."""
        return len(burst)

    def check_steps(self, stepper: Method, burst: Burst, end: float) -> None:
        """Check accepted steps; raises if the run cannot continue."""
        for k in range(len(burst)):
            self.adjust_step(stepper, burst.step(k), end)


class Clock(ABC):
    """Instants at which constants of the equations change, independent of the motion: a step ends at each of them."""

    @property
    @abstractmethod
    def next(self) -> float:
        """The next instant."""

    @abstractmethod
    def tick(self, t: float, y: np.ndarray) -> None:
        """Change the constants in place, at an instant and its state; called once."""


class CompiledRates(NamedTuple):
    """The rates of a problem in machine code, and its constraints if they are machine code too."""

    rates: CallableProgram
    inputs: int  # the number of states that enter the rates
    surface: ProjectionData | None


class CompiledSeries(NamedTuple):
    """The Taylor series of the rates of a problem, and its constraints if they are machine code."""

    table: SeriesTable
    constants: np.ndarray  # read in place
    surface: ProjectionData | None = None


class FirstOrderSystem(ABC):
    """ẏ = f(t, y), with optional quantities that an integrator may use: None if the system does not have them."""

    positions: int = 0  # the number of coordinates among the states; the velocity variables follow them
    constants: np.ndarray | None = None  # changed by a clock; rates and machine code read them in place

    @abstractmethod
    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """ẏ at one state."""

    def check(self, t: float, y: np.ndarray) -> None:
        """Raise if something outside the equations, such as a user's law, has no finite value at a state."""
        return

    def jacobian(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """∂ẏ/∂y at one state."""
        return None

    def machine_code(self) -> CompiledRates | None:
        """The rates as machine code, with the constraints if these are machine code too."""
        return None

    def taylor(self) -> CompiledSeries | None:
        """The Taylor series of the rates."""
        return None

    def residuals(self) -> DaeFunctions | None:
        """The same equations as residuals with multipliers."""
        return None

    def unreduced(self) -> UnreducedFunctions | None:
        """The same equations with undifferentiated constraints on positions and velocities."""
        return None


@dataclass(frozen=True)
class SimpleSystem(FirstOrderSystem):
    """A system defined by its rates as a function, and optionally by their Jacobian or machine code."""

    function: Rates
    positions: int = 0
    slope: Rates | None = None
    machine: CompiledRates | None = None

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """ẏ at one state."""
        return self.function(t, y)

    def jacobian(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """∂ẏ/∂y if it was given."""
        return None if self.slope is None else self.slope(t, y)

    def machine_code(self) -> CompiledRates | None:
        """The machine code, if it was given."""
        return self.machine


@dataclass(frozen=True)
class StepParts:
    """The parts that act on accepted steps, independent of each other and of the method."""

    projection: Rates | None = None  # maps (t, y) to the nearest state on the constraints
    monitors: tuple[StepMonitor, ...] = ()
    repartition: Callable[[np.ndarray, np.ndarray], int | None] | None = None  # the first of K states to stop at
    clock: Clock | None = None
    project_samples: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None  # projection of (states, samples)


@dataclass(frozen=True)
class InitialValueProblem:
    """ẏ = f(t, y) with y(t0) = y0; `sizes` are the typical magnitudes of the states, None for 1."""

    names: tuple[str, ...]
    t0: float
    y0: np.ndarray
    system: FirstOrderSystem
    sizes: np.ndarray | None = None
    parts: StepParts = StepParts()

    def errors(self, tolerance: float) -> np.ndarray:
        """The absolute error allowed in each state by a dimensionless tolerance."""
        return tolerance * (np.ones(len(self.y0)) if self.sizes is None else self.sizes)


@dataclass(frozen=True)
class Settings:
    """The integrator settings of the user; None selects the default of the method."""

    rtol: float | None = None
    atol: float | None = None
    max_step: float | None = None
    step: float | None = None
    dense: bool = False
    progress: Callable[[float], bool | None] | None = None  # called with the completed fraction; True stops the run
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        for name in ("rtol", "atol", "max_step", "step"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"simulate, {name}: got {value}. Expected a positive number.")


@dataclass(frozen=True)
class Step:
    """One accepted step: its ends, and the solution in between."""

    t0: float
    t1: float
    y1: np.ndarray
    between: Callable[[], Piece]  # called before the next step is taken, if at all
    coefficients: np.ndarray | None = None  # (states, orders) of the powers of t − t0, if the method has them
    may_project: Callable[[float], bool] = lambda _: (
        True
    )  # False where the constraints are too dependent to project onto

    @cached_property
    def piece(self) -> Piece:
        """The motion along the step."""
        return self.between()

    def at(self, t: float | np.ndarray) -> np.ndarray:
        """The state at a time of the step, or the states (states, times) at many."""
        return self.piece(t)


@dataclass(frozen=True)
class Burst:
    """Consecutive accepted steps."""

    steps: AcceptedSteps
    done: int  # number of written samples
    unprojected: bool = False  # the last step has not been projected onto the constraints
    failure: SimulationError | None = None  # the error that ends the run

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

    def reach(self, error: float) -> np.ndarray:
        """The range of each step in which its last three orders stay below an error relative to the state."""
        sizes = np.abs(self.steps.powers).max(axis=1)
        scale = np.maximum(np.maximum(sizes[:, 0], sizes[:, 1] / self.steps.h), 1e-300)
        orders = np.arange(sizes.shape[1])[-3:]
        with np.errstate(divide="ignore"):
            shares = np.min((error * scale[:, None] / sizes[:, -3:]) ** (1 / orders), axis=1)
        return self.steps.h * shares

    def at(self, which: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times (I × P) and states (states, I × P) at shares x (I, P) of the steps `which` (I,)."""
        values = self.steps.powers[which] @ powers(x, self.steps.powers.shape[2])
        times = self.steps.t0[which, None] + x * self.steps.h[which, None]
        return times.ravel(), np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)


@dataclass(frozen=True)
class Solution:
    """Samples of a solution, with its status and statistics."""

    t: np.ndarray
    y: np.ndarray  # (states, samples)
    status: Status
    steps: int
    evaluations: int | None
    dense: tuple[Piece, ...] = field(default=(), repr=False)
    end: tuple[float, np.ndarray] | None = field(default=None, repr=False)  # the end of the last step
    before: tuple[float, np.ndarray] | None = field(default=None, repr=False)  # the start of the last step


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a method, declared on its class."""

    continuous_laws: bool = True  # laws in Python: it needs only values of the rates
    rigid_contacts: bool = True  # forces that are computed from the accelerations
    adaptive: bool = True  # the step size follows the tolerances
    restarts: bool = True  # it can restart from a projected state; otherwise only samples are projected


class Method(ABC):
    """A method, prepared to advance one problem."""

    name: str
    capabilities: ClassVar[Capabilities] = Capabilities()
    evaluations: int | None = 0
    tolerance: float = 0.0  # the relative error that a step may have
    stiff_steps: int = 0  # number of steps whose length was limited by stability

    @abstractmethod
    def __init__(self, problem: InitialValueProblem, settings: Settings, end: float) -> None:
        """Prepare to advance from the start of the problem to `end`."""

    @abstractmethod
    def restart(self, y: np.ndarray) -> None:
        """Continue from `y` at the present time (after a projection)."""

    @abstractmethod
    def renew(self, y: np.ndarray) -> None:
        """Continue from `y` at the present time with other constants, with the present step size."""


class Stepper(Method):
    """A method that takes one step at a time."""

    @abstractmethod
    def advance(self, limit: float) -> Step:
        """One accepted step that does not go beyond `limit`."""


class BulkStepper(Method):
    """A method that takes many steps in one call, with samples and projections."""

    def reset_evaluations(self, burst: Burst) -> None:
        """Count the evaluations up to the last of these steps, if they are counted."""
        if self.evaluations is not None:
            self.evaluations = int(burst.steps.calls[-1])

    @abstractmethod
    def set_target(self, end: float) -> None:
        """Let a step end at `end`, and none beyond it."""

    @abstractmethod
    def burst(self, times: np.ndarray, samples: np.ndarray, done: int, stop: float, max_steps: int) -> Burst:
        """Take up to `max_steps` steps, none that begins after `stop`; writes samples (times, states) from index `done`."""


class SteerableStepper(BulkStepper, Stepper):
    """A method that takes many steps in one call where no monitor changes them, and single steps elsewhere."""

    @abstractmethod
    def rewind(self, t: float, y: np.ndarray) -> None:
        """Continue from an earlier state."""


def not_finite(problem: InitialValueProblem, t: float, y: np.ndarray, new: np.ndarray) -> SimulationError:
    """The error for a step from y to values that are not finite."""
    bad = [name for name, value in zip(problem.names, new, strict=True) if not np.isfinite(value)]
    return SimulationError(
        f"at t = {t:.9g} the next step gives values that are not finite for {', '.join(bad[:6])}. "
        f"{describe(problem.names, y)} "
        "Check for a singular configuration, a division by zero or a force that grows without bound."
    )


def collapse(problem: InitialValueProblem, t: float, h: float, y: np.ndarray) -> SimulationError:
    """The error for a step size that has become too small."""
    return SimulationError(
        f"at t = {t:.9g} the step size fell to {h:.3g}, too small to continue. {describe(problem.names, y)} "
        "The motion has a singularity here, or the tolerances are too tight for it."
    )


def listed(times: Sequence[float]) -> str:
    """A list of times for messages, abbreviated if it is long."""
    more = f" and {len(times) - 8} more" if len(times) > 8 else ""
    return ", ".join(f"{t:.6g}" for t in times[:8]) + more


def describe(names: Sequence[str], y: np.ndarray) -> str:
    """A state for messages, abbreviated if it is long."""
    values = ", ".join(f"{name} = {value:.6g}" for name, value in list(zip(names, y, strict=True))[:12])
    more = f", and {len(names) - 12} more" if len(names) > 12 else ""
    return f"State: {values}{more}."
