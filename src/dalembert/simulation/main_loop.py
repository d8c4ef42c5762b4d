"""Setting up and running a simulation of a user's equations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import numbers_given
from dalembert.codegen import heyoka_backend
from dalembert.errors import InputError, SimulationError
from dalembert.mechanics.singular_inertia import may_become_singular
from dalembert.model.description import Description
from dalembert.model.discontinuities import LONG
from dalembert.model.initial_state import Start, start_state
from dalembert.model.integrator_names import require_method
from dalembert.model.python_laws import Inputs
from dalembert.model.velocity_kinks import time_kinks
from dalembert.simulation import constraint_manifold
from dalembert.simulation.branch_points import BranchPoints
from dalembert.simulation.closed_contacts import Resting
from dalembert.simulation.coordinate_singularities import SingularInertia
from dalembert.simulation.crossings import Crossings
from dalembert.simulation.guides import Mechanics
from dalembert.simulation.integrators.integrate import (
    Guide,
    Halt,
    InitialValueProblem,
    Settings,
    Solution,
    Status,
    integrate,
)
from dalembert.simulation.integrators.registry import find
from dalembert.simulation.mode_changes import Switchboard, switchboard_of
from dalembert.simulation.partition import Part, Partition
from dalembert.simulation.residual_forms import DaeFunctions, UnreducedFunctions
from dalembert.simulation.right_hand_side import Kernel
from dalembert.simulation.sampled_laws import Sampling
from dalembert.simulation.sliding_mode import SlidingKernel
from dalembert.simulation.trajectory_data import EventRecord, Impulse
from dalembert.simulation.zero_lengths import ZeroLengths, depart
from dalembert.symbolic.symbols import Kind

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations

Projection = Callable[[float, np.ndarray], np.ndarray]
_DOUBLE = float(np.finfo(float).eps)  # the tolerance of a method that has none of its own
_BY_FORMULAS = ("taylor", "ida", "collocation")  # integrators that need more of the rates than their values
_FORCED = ("taylor", "dop853", "rk45", "rk4", "radau")  # integrators that take forces found from accelerations
_AWAY = 0.3  # how far from the start a second look is taken at the sizes of states, in scales of the coordinates


@dataclass(frozen=True)
class Task:
    """What a run is asked for; None leaves the choice to the model."""

    duration: float | None = None
    q0: Start = None
    qd0: Start = None
    t0: float = 0.0
    integrator: str | None = None
    samples: int | None = None
    times: Sequence[float] | None = None
    project: bool = True
    settings: Settings = field(default_factory=Settings)
    change_charts: bool = True  # go on with other angles next to gimbal lock
    rechoose: bool = True  # speeds, trial vectors and independent constraints are chosen again where they fail

    def grid(self, model: Description) -> np.ndarray:
        """The sample times, beginning at the start."""
        if self.times is not None:
            grid = numbers_given(self.times, "simulate, times")
            if grid.ndim != 1 or len(grid) < 2 or not (np.diff(grid) > 0).all():
                raise InputError("simulate: times must be at least two increasing numbers, the first being the start.")
            return grid
        duration = model.duration if self.duration is None else self.duration
        samples = model.samples if self.samples is None else self.samples
        if not duration > 0:
            raise InputError(f"simulate: the duration is {duration}. Expected a positive number of seconds.")
        if samples < 2:
            raise InputError(f"simulate: samples is {samples}. Expected a whole number of at least 2.")
        return np.linspace(self.t0, self.t0 + duration, int(samples))


_SMALLEST, _LARGEST, _FIXED_STEP = 1e-9, 5e-2, 1e-3
_FEW = 50  # steps: errors of single steps grow along the motion


@dataclass(frozen=True)
class Accuracy:
    """What a run was made with: the relative tolerance of its method (None: steps of one length), projection and feedback."""

    tolerance: float | None
    projected: bool

    def allowed(self, steps: int) -> float:
        """The relative error that a right run of so many steps may have.

        >>> Accuracy(1e-10, projected=True).allowed(400), Accuracy(None, projected=True).allowed(400)
        (8e-08, 0.001)
        """
        if not self.projected:
            return _LARGEST
        if self.tolerance is None:
            return _FIXED_STEP
        return min(_LARGEST, max(_SMALLEST, 2 * self.tolerance * max(steps, _FEW)))


@dataclass(frozen=True)
class Stretches:
    """A run as it was integrated: every stretch between two switchings, events or choices for itself."""

    parts: tuple[Part, ...]
    integrator: str
    cpu_seconds: float
    notes: tuple[str, ...]
    happened: tuple[EventRecord, ...] = ()
    held: BoundEquations | None = None
    impulses: tuple[Impulse, ...] = ()
    accuracy: Accuracy | None = None


def stretches_of(equations: BoundEquations, task: Task) -> Stretches:
    """Run the equations from their initial state."""
    model, workspace, settings, project = equations.model, equations.workspace, task.settings, task.project
    start_q, start_qd = start_state(model, task.q0, task.qd0)
    grid = task.grid(model)
    board = switchboard_of(equations, float(grid[0]), float(grid[-1]))
    _require_held_tables(equations, float(grid[0]), float(grid[-1]))
    held = _held_at(equations, board, float(grid[0]), start_q, start_qd)
    workspace.lengths.require_nonzero(start_q[:, None], float(grid[0]), equations.values)
    name = task.integrator or model.integrator or _default_integrator(equations)
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    require_method(name, step=settings.step)
    inputs = _laws_of(model, name)
    _require_impacts(model, name)
    method = find(name)
    sampling = Sampling(inputs, float(grid[0]), start_q, start_qd) if inputs.sampled else None
    way = Way(project, board, inputs, sampling)
    q, qd, rest, used = start_q, start_qd, grid, 0.0
    begun_with, qd = (held, qd) if board is None else board.begin(float(grid[0]), q, qd, held)
    run = Partition(begun_with, change_charts=task.change_charts, fixed=not task.rechoose)
    if board is not None:
        _put_in(run, board, float(grid[0]), q, (begun_with, start_qd), qd)
    q, qd = run.enter(float(grid[0]), q, qd)
    if board is not None:
        board.use(run.charts.equations.workspace)
    if workspace.lengths.meet(q[:, None], float(grid[0]), equations.values)[0]:
        q, qd, rest = _depart(run, q, qd, grid, way, dense=settings.dense)
    while True:
        problem, constants = _problem(run, q, qd, float(rest[0]), project, way)
        stepper = method(problem, _shared(settings, grid, rest), float(rest[-1]))  # compiles what it needs
        begun = time.process_time()
        with _naming_singular_coordinates(run.equations, q, float(rest[0])):
            solution = integrate(problem, stepper, rest, _shared(settings, grid, rest))
        used += time.process_time() - begun
        run.keep(solution, way.constants_along(solution, constants))
        way.review(solution)
        if board is not None:
            board.note(way.crossings, lambda passed, known=constants: run.shown_state(passed.t, passed.y, known))
        if solution.status not in (Status.TURNED, Status.MET):
            break
        t, y = solution.end or (float(rest[0]), problem.y0)
        q, qd = run.state(t, y, constants)
        rest = np.concatenate([[t], grid[grid > t]])
        if solution.status is Status.TURNED:
            q, qd = run.rechoose(t, q, qd)
            if board is not None:
                board.use(run.charts.equations.workspace)
        elif board is not None:
            qd, ends = _cross(run, board, way, (t, q, qd), constants)
            if ends:
                run.end(t, y)
                break
    happened = () if board is None else tuple(board.happened)
    with_held = None if board is None else board.equations
    notes = way.notes + run.notes + (() if board is None else board.notes)
    impulses = () if board is None else tuple(board.contacts.impulses)
    tolerance = None if stepper.fixed else stepper.tolerance or settings.rtol or _DOUBLE
    accuracy = Accuracy(tolerance, project)
    return Stretches(tuple(run.parts), name, used, notes, happened, with_held, impulses, accuracy)


@contextmanager
def _naming_singular_coordinates(equations: BoundEquations, q: np.ndarray, t: float) -> Iterator[None]:
    """Name the coordinates that are singular where a stretch begins in the error that ends it."""
    try:
        yield
    except SimulationError as error:
        if (chart := equations.singular_coordinates(q, t)) is None:
            raise
        raise SimulationError(f"at t = {t:.9g} {chart}. {error}") from error


def _cross(
    run: Partition, board: Switchboard, way: Way, here: tuple[float, np.ndarray, np.ndarray], constants: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Apply the crossing that ended a stretch; the velocities behind it, and whether the run ends there."""
    t, q, qd = here
    before, since = (run.equations, qd), len(board.happened)
    board.contacts.inputs = way.given(t, q, qd, constants)
    run.equations, after, ends = board.cross(way.halt, way.crossings.also, q, qd, run.equations)
    run.show_happened(board.happened, since)
    _put_in(run, board, t, q, before, after)
    if _other_measures(before[0], run.equations):
        run.measure_anew()
        way.measure_anew()
    return after, ends


def _depart(
    run: Partition, q: np.ndarray, qd: np.ndarray, grid: np.ndarray, way: Way, *, dense: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A first short stretch from a start at which the ends of dampers meet; the state behind it, and the times that are left."""
    equations, kernel, t = run.equations, way.kernel(run.equations), float(grid[0])
    v, more = kernel.start(q, qd, t, equations.values)
    constants = np.concatenate([equations.values, more])
    y = np.concatenate([q, v, np.zeros(len(kernel.working))])
    mechanics = mechanics_of(equations, kernel, constants, way.inputs, way.resting)
    piece = depart(mechanics, t, y, float(grid[1]))
    end = piece.t1, piece(piece.t1)
    found = Solution(np.array([t]), y[:, None], Status.MET, 1, 2, (piece,) if dense else (), end)
    run.keep(found, way.constants_along(found, constants))
    return *run.state(*end, constants), np.concatenate([[piece.t1], grid[1:]])


def _require_held_tables(equations: BoundEquations, start: float, end: float) -> None:
    """Raise where tables that are too long to be held line by line prescribe velocities that jump."""
    model = equations.model
    if model.longest_table <= LONG:
        return
    values = dict(zip(model.parameter_values, equations.values.tolist(), strict=True))
    for kink in time_kinks(model, start, end, values, long_tables=True):
        raise InputError(
            f"{kink.title}: at t = {kink.t:.9g} the velocity that it prescribes jumps by {kink.jump:.6g}, at a point of a table "
            f"of {model.longest_table} points. Expected a smooth motion, or at most {LONG} points, each of which is an impact. "
            "Use a spline through the points, as `drive` does with (times, values)."
        )


def _held_at(
    equations: BoundEquations, board: Switchboard | None, t: float, q: np.ndarray, qd: np.ndarray
) -> BoundEquations:
    """The equations that hold at a start; raises where it does not fulfil the constraints."""
    held = equations if board is None else board.settle(t, q, qd)
    if equations.kernel.phase is None:  # else momenta are asked, not velocities
        constraint_manifold.require_consistent(held.workspace.manifold, q, qd, t, held.values)
    return held


def _other_measures(before: BoundEquations, after: BoundEquations) -> bool:
    """True where parameters in constraints or masses have other values than before."""
    known = after.workspace.facts
    return any(before.changes.get(name) != after.changes.get(name) for name in known.structural | known.inertial)


def _put_in(
    run: Partition,
    board: Switchboard,
    t: float,
    q: np.ndarray,
    before: tuple[BoundEquations, np.ndarray],
    qd: np.ndarray,
) -> None:
    """Write down the energies that came in at once."""
    if board.acted:
        now, then = (_energy(of, t, q, rates) for of, rates in ((run.equations, qd), before))
        for name, energy in board.energies(now - then, abs(now) + abs(then)).items():
            run.jump(name, energy)


def _energy(equations: BoundEquations, t: float, q: np.ndarray, qd: np.ndarray) -> float:
    """The Jacobi function, which is T + V unless bodies move explicitly with time."""
    seen = equations.workspace.observables.along(np.array([t]), q[:, None], qd[:, None], equations.values)
    return float(seen.jacobi[0])


def _shared(settings: Settings, grid: np.ndarray, rest: np.ndarray) -> Settings:
    """The settings with a progress that counts from the beginning of the whole run."""
    told = settings.progress
    if told is None or rest is grid:
        return settings
    done = (rest[0] - grid[0]) / (grid[-1] - grid[0])
    return replace(settings, progress=lambda fraction: told(done + fraction * (1 - done)))


def _default_integrator(equations: BoundEquations) -> str:
    """`taylor` where it can run, `dop853` elsewhere."""
    return "taylor" if has_series(equations) and equations.model.longest_table <= LONG else "dop853"


def has_series(equations: BoundEquations) -> bool:
    """True where heyoka can step the equations: laws in Python have no series."""
    return equations.kernel.fused and heyoka_backend.is_installed() and not equations.model.inputs.continuous


def _laws_of(model: Description, integrator: str) -> Inputs:
    """What laws in Python give; raises where a method cannot ask them."""
    inputs = model.inputs
    if inputs.continuous and integrator in _BY_FORMULAS:
        raise InputError(
            f"the integrator '{integrator}' needs formulas, and {inputs.continuous[0][0].title} is a continuous one in Python. "
            "Use integrator='dop853', rk45, rk4 or radau; or sample the law with a period, such as period=0.001."
        )
    return inputs


def _require_impacts(model: Description, integrator: str) -> None:
    """Raise where a method cannot take rigid contacts."""
    if model.rigid and integrator not in _FORCED:
        raise InputError(
            f"the integrator '{integrator}' does not find the forces of rigid contacts, and {model.rigid[0].title} is one. "
            f"Use {', '.join(_FORCED[:-1])} or {_FORCED[-1]}; or give the contact a stiffness in place of restitution."
        )


def _problem(
    run: Partition, q: np.ndarray, qd: np.ndarray, t: float, project: bool, way: Way
) -> tuple[InitialValueProblem, np.ndarray]:
    equations = run.equations
    kernel, model = way.kernel(equations), equations.model
    v, constants_of_motion = kernel.start(q, qd, t, equations.values)
    if kernel.phase is not None:
        kernel.phase.require_on(np.concatenate([q, v]), t, equations.values)
    constants = np.concatenate([equations.values, constants_of_motion])
    names = (*model.coordinate_names, *equations.velocity_names, *map(Kind.WORK.of, kernel.working))
    taylor = None
    if has_series(equations):
        taylor = partial(way.machine, kernel, constants)
    mechanics = mechanics_of(equations, kernel, constants, way.inputs, way.resting)
    run.use(mechanics)
    continuous = mechanics.inputs is not None
    if way.sampling is not None:
        way.sampling.use(constants, lambda t, y: (y[: len(q)], mechanics.velocities(t, y)))

    problem = InitialValueProblem(
        names,
        t,
        np.concatenate([q, v, np.zeros(len(kernel.working))]),
        mechanics.rates,
        taylor,
        _projection(equations, mechanics) if project else None,
        len(q),
        (lambda: DaeFunctions(kernel, constants))
        if equations.form.behind is None and not (way.slides or continuous)
        else None,
        lambda: UnreducedFunctions(kernel, constants),
        run.turn if run.watched else None,
        way.sizes(equations),
        ((run,) if run.watched else ()) + way.guides(mechanics),
        mechanics.machine,
        (lambda t, y: kernel.state_slopes(y, t, constants)) if kernel.fused and not continuous else None,
        way.sampling,
        constants,
    )
    return problem, constants


class Way:
    """What a run keeps an eye on from its start to its end, whatever choices are made again on the way."""

    def __init__(self, project: bool, board: Switchboard | None, inputs: Inputs, sampling: Sampling | None) -> None:
        self._project, self._board = project, board
        self.inputs, self.sampling = inputs, sampling
        self._watched: tuple[ZeroLengths | BranchPoints | SingularInertia, ...] = ()
        self._inertia: tuple[SingularInertia, ...] = ()
        self._crossings: Crossings | None = None
        self._kernel: Kernel | None = None
        self._machines: dict[tuple[int, float | None, tuple[float, ...]], tuple[Kernel, Any]] = {}
        self._sizes: dict[int, tuple[Kernel, np.ndarray]] = {}

    def guides(self, mechanics: Mechanics) -> tuple[Guide, ...]:
        """The guides, on the equations that are in use now; without projection branches are only looked at."""
        if not self._watched:
            meetings = (ZeroLengths(mechanics),) if mechanics.lengths.spans else ()
            branches = (BranchPoints(mechanics, lead=self._project),) if mechanics.manifold.rows else ()
            model = mechanics.manifold.system.model.description
            if may_become_singular(model) and not model.canonical_constraints:
                self._inertia = (SingularInertia(mechanics, model.coordinate_names),)
            self._watched = meetings + branches + self._inertia
        for guide in self._watched:
            guide.mechanics = mechanics
        if self._board is None:
            return self._watched
        self._crossings = self._board.guide(mechanics)
        return (*self._watched, self._crossings)

    def review(self, solution: Solution) -> None:
        """Look back along the samples of a stretch."""
        for guide in self._inertia:
            guide.review(solution.t, solution.y)

    def measure_anew(self) -> None:
        """Let guides forget what they measured with other values of parameters."""
        for guide in self._watched:
            if isinstance(guide, BranchPoints):
                guide.measure_anew()

    def kernel(self, equations: BoundEquations) -> Kernel:
        """The compiled equations of the next stretch."""
        self._kernel = equations.kernel if self._board is None else self._board.kernel(equations.kernel)
        return self._kernel

    def machine(self, kernel: Kernel, constants: np.ndarray, tolerance: float | None, sizes: np.ndarray) -> Any:
        """heyoka's integrator of the equations, the same for every stretch with these."""
        key = id(kernel), tolerance, tuple(sizes)
        if key not in self._machines:
            self._machines[key] = kernel, kernel.taylor.make(tolerance, constants, sizes)
        machine = self._machines[key][1]
        machine.pars[:] = constants[: len(machine.pars)]
        return machine

    def sizes(self, equations: BoundEquations) -> np.ndarray:
        """The sizes of the states, the same for every stretch with the same variables."""
        key = id(equations.kernel)
        if key not in self._sizes:
            self._sizes[key] = equations.kernel, usual_sizes(equations)
        return self._sizes[key][1]

    @property
    def resting(self) -> Resting | None:
        """The constraints with closed rigid contacts; None where there are none."""
        return None if self._board is None else self._board.contacts.resting

    @property
    def slides(self) -> bool:
        """True where the present stretch slides along switching surfaces."""
        return isinstance(self._kernel, SlidingKernel)

    def constants_along(self, solution: Solution, constants: np.ndarray) -> np.ndarray:
        """The constants of a stretch, at each sample where laws change them, or what holds it changes along it."""
        kernel, t, y = self._kernel, solution.t, solution.y
        assert kernel is not None
        if not isinstance(kernel, SlidingKernel) and not self.inputs.controllers:
            return constants
        along = np.repeat(constants[:, None], len(t), axis=1)
        if self.sampling is not None:
            rows, given = self.sampling.along(t)
            along[rows] = given
        if self.inputs.continuous:
            n = len(self.inputs.coordinates)
            along = self.inputs.filled(t, y[:n], kernel.velocities(y, t, along), along)
        if isinstance(kernel, SlidingKernel):
            along[kernel.rows] = kernel.held(y, t, along)
        return along

    def given(self, t: float, q: np.ndarray, qd: np.ndarray, constants: np.ndarray) -> dict[str, float]:
        """What laws in Python give at a state, by the names of the parameters."""
        asked = self.inputs
        values = asked.filled(t, q, qd, constants) if asked.continuous else constants
        names = [name for controller in asked.controllers for name in controller.inputs]
        return dict(zip(names, values[asked.rows(names)].tolist(), strict=True)) if names else {}

    @property
    def crossings(self) -> Crossings:
        """The crossings of the present stretch."""
        assert self._crossings is not None
        return self._crossings

    @property
    def halt(self) -> Halt:
        """Where the last stretch ended."""
        assert self.crossings.met is not None
        return self.crossings.met

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth telling."""
        return tuple(note for guide in reversed(self._watched) for note in guide.notes)


def mechanics_of(
    equations: BoundEquations, kernel: Kernel, constants: np.ndarray, inputs: Inputs, resting: Resting | None = None
) -> Mechanics:
    """The equations as the guides ask for them."""
    space, values = equations.workspace, equations.values

    def energy(t: float, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        seen = space.observables.along(np.array([t]), q[:, None], qd[:, None], values)
        return float(seen.jacobi[0]), float(np.abs(seen.kinetic[0]) + np.abs(seen.potential[0]))

    asked = inputs if inputs.continuous else None
    return Mechanics(kernel, space.manifold, space.lengths, energy, values, constants, asked, resting)


def _projection(equations: BoundEquations, mechanics: Mechanics) -> Projection | None:
    """The function that brings a state back onto the constraints, or None when there is nothing to bring back."""
    size, known = equations.n_states, equations.values
    if (phase := equations.kernel.phase) is not None:
        return lambda t, y: np.concatenate([phase.project(y[:size], t, known), y[size:]])
    return mechanics.project if mechanics.drifts else None


def usual_sizes(equations: BoundEquations) -> np.ndarray:
    """The sizes of the states (q, v, work), rounded to powers of two so that dividing by them is exact."""
    return sizes_by_values(equations, equations.values[:, None])[:, 0]


def sizes_by_values(equations: BoundEquations, values: np.ndarray) -> np.ndarray:
    """The same (states, K) for K columns of parameters.

    Coordinates have the scales of the model. Each velocity variable, be it q̇, a quasi-velocity or a momentum, is as large as
    the velocities of the model's scale make it, at the start and next to it; the work is measured by mass × length² / time².
    """
    kernel, model, scales = equations.kernel, equations.model, equations.workspace.facts.scales
    n, K = len(scales.q), values.shape[1]
    q0, qd0 = model.initial
    away = q0 + _AWAY * scales.positions * np.cos(np.arange(n))
    speeds = np.zeros((kernel.form.n_states - n, K))
    moves = np.concatenate([np.zeros((n, 1)), np.diag(scales.velocities)], axis=1)
    columns = np.repeat(values, n + 1, axis=1)
    for q in (q0, away):
        places, rates = np.repeat(q[:, None], K * (n + 1), axis=1), np.tile(qd0[:, None] + moves, (1, K))
        with np.errstate(all="ignore"):
            found = kernel.start(places, rates, 0.0, columns)[0].reshape(len(speeds), K, n + 1)
            v = np.nan_to_num(np.abs(found[..., 1:] - found[..., :1]), nan=0.0, posinf=0.0)
        speeds = np.maximum(speeds, v.max(axis=2, initial=0.0))
    work = np.full((len(kernel.working), K), scales.mass * (scales.length / scales.time) ** 2)
    sizes = np.concatenate([np.repeat(scales.positions[:, None], K, axis=1), np.where(speeds > 0, speeds, 1.0), work])
    return np.exp2(np.round(np.log2(sizes)))
