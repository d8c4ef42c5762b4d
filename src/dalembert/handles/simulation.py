"""Setting up and running a simulation of a user's equations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dalembert.analysis import consistency
from dalembert.errors import InputError, nearest
from dalembert.handles.mechanics import Mechanics
from dalembert.handles.partition import Partition
from dalembert.handles.sizes import usual_sizes
from dalembert.handles.trajectory import Trajectory
from dalembert.integrators import InitialValueProblem, Settings, Status, find, integrate
from dalembert.integrators.base import Guide
from dalembert.integrators.branch_points import BranchPoints, Spectator
from dalembert.integrators.zero_lengths import ZeroLengths
from dalembert.kernels.dae import DaeFunctions
from dalembert.model import Elements
from dalembert.model.methods import require_method

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

Rates = Callable[[float, np.ndarray], np.ndarray]


def simulate(
    equations: Equations,
    duration: float | None,
    *,
    q0: npt.ArrayLike | Mapping[str, float] | None,
    qd0: npt.ArrayLike | Mapping[str, float] | None,
    t0: float,
    integrator: str | None,
    samples: int | None,
    times: Sequence[float] | None,
    project: bool,
    settings: Settings,
) -> Trajectory:
    """Run the equations from their initial state; see `Equations.simulate`."""
    model, workspace = equations.model, equations.workspace
    start_q, start_qd = start_state(model, q0, qd0)
    grid = _grid(
        t0, model.duration if duration is None else duration, model.samples if samples is None else samples, times
    )
    if equations.kernel.phase is None:  # else momenta are asked, not velocities
        consistency.require_consistent(workspace.manifold, start_q, start_qd, grid[0], equations._values)
    workspace.lengths.require_nonzero(start_q[:, None], float(grid[0]), equations._values)
    name = integrator or model.integrator or _default_integrator(equations)
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    require_method(name, step=settings.step)
    method = find(name)
    way, run = Way(equations, project), Partition(equations)
    if project:
        run.begin(float(grid[0]), start_q, start_qd)
    q, qd, work, rest, used = start_q, start_qd, 0.0, grid, 0.0
    while True:
        problem, constants = _problem(run, q, qd, work, float(rest[0]), project, way)
        stepper = method(problem, _shared(settings, grid, rest), float(rest[-1]))  # compiles what it needs
        begun = time.process_time()
        solution = integrate(problem, stepper, rest, _shared(settings, grid, rest))
        used += time.process_time() - begun
        run.keep(solution, constants)
        if solution.status is not Status.TURNED:
            return Trajectory(equations, run.parts, name, used, way.notes + run.notes)
        t, y = solution.end or (float(rest[0]), problem.y0)
        q, qd, work = run.state(t, y, constants)
        rest = np.concatenate([[t], grid[grid > t]])
        run.rechoose(t, q, qd)


def _shared(settings: Settings, grid: np.ndarray, rest: np.ndarray) -> Settings:
    """The settings with a progress that counts from the beginning of the whole run."""
    told = settings.progress
    if told is None or rest is grid:
        return settings
    done = (rest[0] - grid[0]) / (grid[-1] - grid[0])
    return replace(settings, progress=lambda fraction: told(done + fraction * (1 - done)))


def _default_integrator(equations: Equations) -> str:
    """`taylor` where it can run, `dop853` elsewhere."""
    return "taylor" if equations.kernel.fused and equations.model.smooth else "dop853"


def _problem(
    run: Partition, q: np.ndarray, qd: np.ndarray, done: float, t: float, project: bool, way: Way
) -> tuple[InitialValueProblem, np.ndarray]:
    equations = run.equations
    kernel, model = equations.kernel, equations.model
    v, constants_of_motion = kernel.start(q, qd, t, equations._values)
    if kernel.phase is not None:
        kernel.phase.require_on(np.concatenate([q, v]), t, equations._values)
    constants = np.concatenate([equations._values, constants_of_motion])
    work = [done] if kernel.has_work else []
    names = (*model.coordinate_names, *equations.velocity_names, *(["work"] if work else []))
    taylor = None
    if kernel.fused:
        taylor = lambda tolerance, sizes: kernel.taylor.make(tolerance, constants, sizes)  # noqa: E731
    mechanics = Mechanics(equations, constants)
    run.use(mechanics)

    def rates(time: float, y: np.ndarray) -> np.ndarray:
        return kernel.state_rates(y, time, constants)

    problem = InitialValueProblem(
        names,
        t,
        np.concatenate([q, v, work]),
        rates,
        taylor,
        _projection(equations, mechanics) if project else None,
        model.smooth,
        len(q),
        (lambda: DaeFunctions(kernel, constants)) if not equations.form.extra else None,
        run.worn if project and run.choosable else None,
        usual_sizes(equations),
        ((run,) if project and run.choosable else ()) + way.guides(mechanics, rates),
    )
    return problem, constants


class Way:
    """What a run keeps an eye on from its start to its end, whatever choices are made again on the way."""

    def __init__(self, equations: Equations, project: bool) -> None:
        manifold = equations.workspace.manifold
        self._lengths = equations.workspace.lengths
        self._branches = BranchPoints(len(manifold.rows)) if manifold.rows else None
        self._meetings = ZeroLengths(tuple(f"{span.kind} '{span.name}'" for span in self._lengths.spans))
        self._project = project

    def guides(self, mechanics: Mechanics, rates: Rates) -> tuple[Guide, ...]:
        """The guides, on the equations that are in use now; without projection branches are only looked at."""
        out: list[Guide] = []
        if self._lengths.spans:
            self._meetings.use(mechanics.between, rates)
            out.append(self._meetings)
        if self._branches is not None:
            self._branches.use(mechanics)
            out.append(self._branches if self._project else Spectator(self._branches))
        return tuple(out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth telling."""
        return (self._branches.notes if self._branches else ()) + self._meetings.notes


def _projection(equations: Equations, mechanics: Mechanics) -> Any:
    """The function that brings a state back onto the constraints, or None when there is nothing to bring back."""
    size, known = equations.n_states, equations._values
    if (phase := equations.kernel.phase) is not None:
        return lambda t, y: np.concatenate([phase.project(y[:size], t, known), y[size:]])
    manifold, velocities = equations.workspace.manifold, equations.about.velocities
    # quasi-velocities keep the velocity constraints by construction
    free, loose = velocities in ("u", "u_NI"), velocities == "twists"
    return mechanics.project if manifold.holonomic or loose or (manifold.rows and not free) else None


def start_state(model: Elements, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    """Initial positions and velocities from arrays or mappings by name; None takes the model's."""
    names, (q, qd) = model.coordinate_names, model.initial
    return _start(names, q0, q, "q0"), _start(names, qd0, qd, "qd0")


def _start(names: tuple[str, ...], given: Any, default: np.ndarray, what: str) -> np.ndarray:
    """Initial values from an array, a mapping by name, or the model's default."""
    if given is None:
        return default
    if isinstance(given, Mapping):
        out = default.copy()
        for name, value in given.items():
            if name not in names:
                raise InputError(f"simulate, {what}: there is no coordinate '{name}'. {nearest(name, names)}")
            out[names.index(name)] = float(value)
    else:
        out = np.array(given, dtype=float)
    if out.shape != (len(names),):
        raise InputError(
            f"simulate, {what}: got shape {out.shape}. Expected {len(names)} values, for {', '.join(names)}."
        )
    if not np.isfinite(out).all():
        raise InputError(f"simulate, {what}: not all values are finite. Got {out.tolist()}.")
    return out


def _grid(t0: float, duration: float, samples: int, times: Sequence[float] | None) -> np.ndarray:
    """The sample times, beginning at the start."""
    if times is not None:
        grid = np.array(times, dtype=float)
        if grid.ndim != 1 or len(grid) < 2 or not np.isfinite(grid).all() or not (np.diff(grid) > 0).all():
            raise InputError("simulate: times must be at least two increasing numbers, the first being the start.")
        return grid
    if not (np.isfinite(duration) and duration > 0):
        raise InputError(f"simulate: the duration is {duration}. Expected a positive number of seconds.")
    if int(samples) != samples or samples < 2:
        raise InputError(f"simulate: samples is {samples}. Expected a whole number of at least 2.")
    if not np.isfinite(t0):
        raise InputError(f"simulate: t0 is {t0}. Expected a number.")
    return np.linspace(t0, t0 + duration, int(samples))
