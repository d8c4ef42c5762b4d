"""The simulation of equations of motion as a state machine.

A run is a sequence of segments. `advance` integrates one, in compiled code for every explicit method, until the run ends, an
event is located, or the present speeds, constraints or angles become ill-conditioned; `apply_event` and `repartition` then change
state or equations, and `advance` continues from there. A segment is processed by independent parts:
the integrator and its step control (`integrators`), event location (`crossings`), mode changes (`mode_changes`), the partition
with its charts (`partition`), projection (`constraint_manifold`), and recording (`api/recording`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.arguments import as_finite_array
from dalembert.errors import InputError, SimulationError
from dalembert.model.description import Description
from dalembert.model.discontinuities import MAX_FROZEN_POINTS, time_kinks
from dalembert.model.evaluation import Start, start_state
from dalembert.model.integrator_names import AUTO, require_method
from dalembert.model.python_laws import Inputs
from dalembert.simulation import constraint_manifold
from dalembert.simulation._branch_points import BranchPointError
from dalembert.simulation._control_laws import Sampling
from dalembert.simulation._zero_lengths import first_step
from dalembert.simulation.integrators.base import Method, Settings, Solution, Status
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.registry import INTEGRATORS, find
from dalembert.simulation.mode_changes import mode_manager_of
from dalembert.simulation.partition import Partition, RunSegment
from dalembert.simulation.segment_problem import SegmentProblems, has_series
from dalembert.simulation.trajectory_data import EventRecord, Impulse

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations

_EPS = float(np.finfo(float).eps)  # the tolerance of a method without one
_MIN_STIFF = 0.2  # share of the steps
_AUTOMATIC_RTOL = 2.5e-14  # close to the smallest; samples between steps are less accurate than their ends


@dataclass(frozen=True)
class RunOptions:
    """The options of a run; None selects the value of the model."""

    duration: float | None = None
    q0: Start = None
    qd0: Start = None
    t0: float = 0.0
    integrator: str | None = None
    samples: int | None = None
    times: Sequence[float] | np.ndarray | None = None
    project: bool = True
    settings: Settings = field(default_factory=Settings)
    change_charts: bool = True  # use other angles near gimbal lock
    repartition: bool = True  # repartition speeds, trial vectors and constraints that become ill-conditioned

    def grid(self, model: Description) -> np.ndarray:
        """The sample times, including the start."""
        if self.times is not None:
            grid = as_finite_array(self.times, "simulate, times")
            if grid.ndim != 1 or len(grid) < 2 or not (np.diff(grid) > 0).all():
                raise InputError("simulate: times must be at least two increasing numbers, the first one the start.")
            return grid
        duration = model.duration if self.duration is None else self.duration
        samples = model.samples if self.samples is None else self.samples
        if not duration > 0:
            raise InputError(f"simulate, duration: got {duration}. Expected a positive number of seconds.")
        if samples < 2:
            raise InputError(f"simulate, samples: got {samples}. Expected an int >= 2.")
        return np.linspace(self.t0, self.t0 + duration, int(samples))


_MIN_ERROR, _MAX_ERROR, _FIXED_STEP_ERROR = 1e-9, 5e-2, 1e-3
_MIN_STEPS = 50  # steps: errors of single steps accumulate along the motion


@dataclass(frozen=True)
class Accuracy:
    """The accuracy settings of a run: the relative tolerance of its method (None: fixed steps), and projection."""

    tolerance: float | None
    projected: bool

    def allowed(self, steps: int) -> float:
        """The relative error that a correct run with this number of steps may have.

        >>> Accuracy(1e-10, projected=True).allowed(400), Accuracy(None, projected=True).allowed(400)
        (8e-08, 0.001)
        """
        if not self.projected:
            return _MAX_ERROR
        if self.tolerance is None:
            return _FIXED_STEP_ERROR
        return min(_MAX_ERROR, max(_MIN_ERROR, 2 * self.tolerance * max(steps, _MIN_STEPS)))


@dataclass(frozen=True)
class Segments:
    """A run as it was integrated: its segments between switchings, events and repartitions."""

    parts: tuple[RunSegment, ...]
    integrator: str
    cpu_seconds: float
    notes: tuple[str, ...]
    events: tuple[EventRecord, ...] = ()
    initial_equations: BoundEquations | None = None
    impulses: tuple[Impulse, ...] = ()
    accuracy: Accuracy | None = None


class SegmentStart(NamedTuple):
    """The state at which a segment begins."""

    t: float
    q: np.ndarray
    qd: np.ndarray


class Phase(Enum):
    """The next phase of a simulation."""

    DEPART = auto()  # from a start at which dampers have zero length
    ADVANCE = auto()
    APPLY_EVENT = auto()
    REPARTITION = auto()
    END = auto()


def integrate_segments(equations: BoundEquations, task: RunOptions) -> Segments:
    """Run the equations from their initial state.

    The integrator `auto` repeats a run by `taylor` if the motion passes a singular configuration that dop853 cannot cross.
    """
    automatically = (task.integrator or equations.model.integrator or AUTO) == AUTO
    try:
        return _integrate(equations, task)
    except BranchPointError:
        # laws in Python may have a state of their own: they are not called twice
        if not automatically or not has_series(equations) or equations.model.inputs.controllers:
            raise
    return _integrate(equations, replace(task, integrator="taylor"))


def _integrate(equations: BoundEquations, task: RunOptions) -> Segments:
    simulation = Simulation(equations, task)
    phase, state = simulation.start()
    while phase is not Phase.END:
        match phase:
            case Phase.DEPART:
                phase, state = simulation.depart(state)
            case Phase.ADVANCE:
                phase, state = simulation.advance(state)
            case Phase.APPLY_EVENT:
                phase, state = simulation.apply_event(state)
            case Phase.REPARTITION:
                phase, state = simulation.repartition(state)
    return simulation.result()


class Simulation:
    """A run in progress: its options, its parts, and the functions of its phases."""

    def __init__(self, equations: BoundEquations, task: RunOptions) -> None:
        model, self._equations, self._task = equations.model, equations, task
        self._q0, self._qd0 = start_state(model, task.q0, task.qd0)
        self._grid = grid = task.grid(model)
        self._modes = mode_manager_of(equations, float(grid[0]), float(grid[-1]))
        _require_short_tables(equations, float(grid[0]), float(grid[-1]))
        self._initial = self._consistent_equations(SegmentStart(float(grid[0]), self._q0, self._qd0))
        equations.workspace.lengths.require_nonzero(self._q0[:, None], float(grid[0]), equations.values)
        self._settings, self._method = _integrator_of(equations, task)
        inputs = model.inputs
        sampling = Sampling(inputs, float(grid[0]), self._q0, self._qd0) if inputs.sampled else None
        self._problems = SegmentProblems(task.project, self._modes, inputs, sampling)
        self._cpu_seconds, self._tolerance = 0.0, None
        self._steps, self._stiff_steps = 0, 0
        self._constants = np.zeros(0)  # of the last segment
        self._end = np.zeros(0)  # its last state y

    def _consistent_equations(self, state: SegmentStart) -> BoundEquations:
        """The equations that hold at the start; raises if it violates the constraints."""
        equations, (t, q, qd) = self._equations, state
        active = equations if self._modes is None else self._modes.evaluate_modes(t, q, qd)
        if equations.kernel.phase is None:  # otherwise momenta are checked where a segment begins
            constraint_manifold.require_consistent(active.workspace.manifold, q, qd, t, active.values)
        return active

    # the phases

    def start(self) -> tuple[Phase, SegmentStart]:
        """Apply impacts at the start, and choose the initial speeds, constraints and angles."""
        t, q, qd, task, modes = float(self._grid[0]), self._q0, self._qd0, self._task, self._modes
        equations = self._initial
        if modes is not None:
            equations, qd = modes.begin(t, q, qd, equations)
        self._partition = Partition(equations, change_charts=task.change_charts, fixed=not task.repartition)
        self._add_energies(t, q, (equations, self._qd0), qd)
        q, qd = self._partition.start_run(t, q, qd)
        self._use_coordinates()
        zero_length = self._equations.workspace.lengths.any_zero(q[:, None], t, self._equations.values)[0]
        return Phase.DEPART if zero_length else Phase.ADVANCE, SegmentStart(t, q, qd)

    def depart(self, state: SegmentStart) -> tuple[Phase, SegmentStart]:
        """A first short segment from a start at which dampers have zero length."""
        mechanics, y, constants = self._problems.start(self._partition.equations, *state)
        piece = first_step(mechanics, state.t, y, float(self._grid[1]))
        end, dense = (piece.t1, piece(piece.t1)), (piece,) if self._settings.dense else ()
        self._store(Solution(np.array([state.t]), y[:, None], Status.EVENT, 1, 2, dense, end), constants)
        return Phase.ADVANCE, self._last_state()

    def advance(self, state: SegmentStart) -> tuple[Phase, SegmentStart]:
        """Integrate until the run ends, an event is located or the partition becomes ill-conditioned."""
        times = np.concatenate([[state.t], self._grid[self._grid > state.t]])
        problem, constants = self._problems.problem(self._partition, *state)
        settings = self._with_progress(state.t)
        stepper = self._method(problem, settings, float(times[-1]))  # compiles the functions it needs
        begun = time.process_time()
        with _naming_singular_coordinates(self._partition.equations, state):
            solution = integrate(problem, stepper, times, settings)
        self._cpu_seconds += time.process_time() - begun
        self._steps, self._stiff_steps = self._steps + solution.steps, self._stiff_steps + stepper.stiff_steps
        if stepper.capabilities.adaptive:
            self._tolerance = stepper.tolerance or settings.rtol or _EPS
        self._store(solution, constants)
        self._problems.review(solution)
        if self._modes is not None:
            self._modes.note(
                self._problems.crossings, lambda halt: self._partition.user_state(halt.t, halt.y, constants)
            )
        match solution.status:
            case Status.REPARTITION:
                return Phase.REPARTITION, self._last_state()
            case Status.EVENT if self._modes is not None:
                return Phase.APPLY_EVENT, self._last_state()
            case Status.EVENT:
                return Phase.ADVANCE, self._last_state()
            case _:
                return Phase.END, state

    def apply_event(self, state: SegmentStart) -> tuple[Phase, SegmentStart]:
        """Apply the event, impact or mode change that ended a segment."""
        (t, q, qd), run, modes, problems = state, self._partition, self._modes, self._problems
        assert modes is not None
        crossings, before, since = problems.crossings, (run.equations, qd), len(modes.events)
        assert crossings.terminal is not None
        modes.contacts.inputs = problems.law_values(t, q, qd, self._constants)
        run.equations, qd, ends = modes.cross(crossings.terminal, crossings.simultaneous, q, qd, run.equations)
        run.convert_events(modes.events, since)
        self._add_energies(t, q, before, qd)
        if _structure_changed(before[0], run.equations):
            run.reset_reference()
            problems.reset_reference()
        if ends:
            run.end(t, self._end)
        return Phase.END if ends else Phase.ADVANCE, SegmentStart(t, q, qd)

    def repartition(self, state: SegmentStart) -> tuple[Phase, SegmentStart]:
        """Continue with the speeds, constraints, trial vectors or angles that are best conditioned at this state."""
        q, qd = self._partition.repartition(*state)
        self._use_coordinates()
        return Phase.ADVANCE, SegmentStart(state.t, q, qd)

    def result(self) -> Segments:
        """The finished run."""
        modes, notes = self._modes, self._problems.notes + self._partition.notes + self._stiffness_notes
        parts, accuracy = tuple(self._partition.parts), Accuracy(self._tolerance, self._task.project)
        found = Segments(parts, self._method.name, self._cpu_seconds, notes, accuracy=accuracy)
        if modes is None:
            return found
        impulses = tuple(modes.contacts.impulses)
        return replace(
            found,
            notes=notes + modes.notes,
            events=tuple(modes.events),
            initial_equations=modes.equations,
            impulses=impulses,
        )

    @property
    def _stiffness_notes(self) -> tuple[str, ...]:
        """A note if stability limited the length of many steps."""
        if self._stiff_steps <= _MIN_STIFF * self._steps:
            return ()
        return (
            f"the equations are stiff: in {self._stiff_steps / self._steps:.0%} of the {self._steps} steps stability, not "
            f"accuracy, limited the step size of {self._method.name}. Use integrator='radau' or 'ida' if the run is slow",
        )

    # shared by several phases

    def _store(self, solution: Solution, constants: np.ndarray) -> None:
        """Store a finished segment."""
        self._constants = constants
        self._end = solution.y[:, -1] if solution.end is None else solution.end[1]
        self._partition.add_segment(solution, self._problems.constants_along(solution, constants))

    def _last_state(self) -> SegmentStart:
        """The state at the end of the last segment."""
        solution = self._partition.parts[-1].solution
        t = float(solution.t[-1]) if solution.end is None else solution.end[0]
        return SegmentStart(t, *self._partition.state(t, self._end, self._constants))

    def _use_coordinates(self) -> None:
        """Let the mode manager evaluate its formulas in the angles in use."""
        if self._modes is not None:
            self._modes.use(self._partition.charts.equations.workspace)

    def _add_energies(self, t: float, q: np.ndarray, before: tuple[BoundEquations, np.ndarray], qd: np.ndarray) -> None:
        """Record the energies that an event or impact adds at an instant."""
        modes, run = self._modes, self._partition
        if modes is not None and modes.changed_state:
            now, then = (_energy(of, t, q, rates) for of, rates in ((run.equations, qd), before))
            for name, energy in modes.energies(now - then, abs(now) + abs(then)).items():
                run.jump(name, energy)

    def _with_progress(self, t: float) -> Settings:
        """The settings, with progress relative to the entire run."""
        report, grid = self._settings.progress, self._grid
        if report is None:
            return self._settings
        done = (t - grid[0]) / (grid[-1] - grid[0])
        return replace(self._settings, progress=lambda fraction: report(done + fraction * (1 - done)))


@contextmanager
def _naming_singular_coordinates(equations: BoundEquations, state: SegmentStart) -> Iterator[None]:
    """Add to an error the coordinates that are singular at the start of the segment."""
    try:
        yield
    except SimulationError as error:
        if (chart := equations.singular_coordinates(state.q, state.t)) is None:
            raise
        raise SimulationError(f"at t = {state.t:.9g} {chart}. {error}") from error


def _integrator_of(equations: BoundEquations, task: RunOptions) -> tuple[Settings, type[Method]]:
    """The integrator and its settings; raises if it does not support the model."""
    model, settings = equations.model, task.settings
    name = task.integrator or model.integrator or AUTO
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    require_method(name, step=settings.step)
    name, settings = automatic(name, settings)
    method = find(name)
    _require_capabilities(model, model.inputs, method)
    return settings, method


def automatic(name: str, settings: Settings) -> tuple[str, Settings]:
    """Replace the integrator `auto` by dop853 with tolerances close to rounding.

    `taylor` has smaller energy errors, but is not faster for programs of any length: see docs/performance.md.

    >>> automatic("auto", Settings())[1].rtol, automatic("auto", Settings(rtol=1e-8))[1].rtol
    (2.5e-14, 1e-08)
    """
    if name != AUTO:
        return name, settings
    return "dop853", settings if settings.rtol is not None else replace(settings, rtol=_AUTOMATIC_RTOL)


def _require_capabilities(model: Description, inputs: Inputs, method: type[Method]) -> None:
    """Raise if the model has laws or contacts that a method does not support."""
    if inputs.continuous and not method.capabilities.continuous_laws:
        raise InputError(
            f"the integrator '{method.name}' needs formulas, but {inputs.continuous[0][0].title} is a continuous law in Python. "
            "Use integrator='dop853', rk45, rk4 or radau; or sample the law with a period, such as period=0.001."
        )
    if model.rigid and not method.capabilities.rigid_contacts:
        *others, last = (each.name for each in INTEGRATORS if each.capabilities.rigid_contacts)
        raise InputError(
            f"the integrator '{method.name}' does not support rigid contacts such as {model.rigid[0].title}. "
            f"Use {', '.join(others)} or {last}; or give the contact a stiffness instead of restitution."
        )


def _require_short_tables(equations: BoundEquations, start: float, end: float) -> None:
    """Raise if tables with too many points for event location prescribe velocities that jump."""
    model = equations.model
    if model.longest_table <= MAX_FROZEN_POINTS:
        return
    values = dict(zip(model.parameter_values, equations.values.tolist(), strict=True))
    for kink in time_kinks(model, start, end, values, long_tables=True):
        raise InputError(
            f"{kink.title}: at t = {kink.t:.9g} the prescribed velocity jumps by {kink.jump:.6g}, at a point of a table "
            f"of {model.longest_table} points. Expected a smooth motion, or at most {MAX_FROZEN_POINTS} points, each of which is "
            "an impact. Use a spline through the points, as `drive` does with (times, values)."
        )


def _structure_changed(before: BoundEquations, after: BoundEquations) -> bool:
    """True if parameters in constraints or masses have changed."""
    known = after.workspace.facts
    return any(before.changes.get(name) != after.changes.get(name) for name in known.structural | known.inertial)


def _energy(equations: BoundEquations, t: float, q: np.ndarray, qd: np.ndarray) -> float:
    """The Jacobi function, which is T + V unless bodies move explicitly with time."""
    found = equations.workspace.observables.along(np.array([t]), q[:, None], qd[:, None], equations.values)
    return float(found.jacobi[0])
