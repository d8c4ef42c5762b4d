"""Setting up and running a simulation of a user's equations."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dalembert.analysis import consistency
from dalembert.errors import InputError, nearest
from dalembert.handles.partition import Partition
from dalembert.handles.sizes import usual_sizes
from dalembert.handles.trajectory import Trajectory
from dalembert.integrators import InitialValueProblem, Settings, Status, find, integrate, projection
from dalembert.kernels.dae import DaeFunctions
from dalembert.model import Model

if TYPE_CHECKING:
    from dalembert.handles.equations import Equations

_SINGULAR = 1e-3  # constraints that are less independent than this, compared with the start, are told


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
    name = integrator or model.integrator or _default_integrator(equations)
    if settings.step is None and name == model.integrator:
        settings = replace(settings, step=model.step)
    method = find(name)
    watch, run = Watch(equations), Partition(equations)
    if project:
        run.begin(float(grid[0]), start_q)
    q, qd, work, rest, used = start_q, start_qd, 0.0, grid, 0.0
    while True:
        problem, constants = _problem(run, q, qd, work, float(rest[0]), project, watch)
        stepper = method(problem, _shared(settings, grid, rest), float(rest[-1]))  # compiles what it needs
        begun = time.process_time()
        solution = integrate(problem, stepper, rest, _shared(settings, grid, rest))
        used += time.process_time() - begun
        run.keep(solution, constants)
        if solution.status is not Status.TURNED:
            return Trajectory(equations, run.parts, name, used, watch.notes + run.notes)
        t, y = solution.end or (float(rest[0]), problem.y0)
        q, qd, work = run.state(t, y, constants)
        rest = np.concatenate([[t], grid[grid > t]])
        run.rechoose(t, q)


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
    run: Partition, q: np.ndarray, qd: np.ndarray, done: float, t: float, project: bool, watch: Watch
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
    problem = InitialValueProblem(
        names,
        t,
        np.concatenate([q, v, work]),
        lambda time, y: kernel.state_rates(y, time, constants),
        taylor,
        _projection(equations, constants, watch) if project else None,
        model.smooth,
        len(q),
        (lambda: DaeFunctions(kernel, constants)) if not equations.form.extra else None,
        run.worn if project and run.choosable else None,
        usual_sizes(equations),
    )
    return problem, constants


class Watch:
    """Looks, step by step, how independent the constraints are, and remembers where they were least so."""

    def __init__(self, equations: Equations) -> None:
        self._manifold, self._values = equations.workspace.manifold, equations._values
        self._usual: float | None = None
        self._least, self._when = 1.0, 0.0

    def look(self, t: float, q: np.ndarray) -> None:
        """Measure the smallest singular value of the constraint matrix, by its value at the first look."""
        _, _, A, _ = self._manifold.evaluate(q, np.zeros_like(q), t, self._values)
        smallest = float(np.linalg.svd(A[self._manifold.rows], compute_uv=False)[-1])
        if self._usual is None:
            self._usual = smallest
        elif self._usual > 0 and smallest / self._usual < self._least:
            self._least, self._when = smallest / self._usual, t

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth telling."""
        if self._least > _SINGULAR:
            return ()
        return (
            f"the motion passes close to a singular configuration at t = {self._when:.6g}: the constraints are "
            f"{self._least:.1e} times as independent as at the start. Look at the result beyond with care",
        )


def _projection(equations: Equations, constants: np.ndarray, watch: Watch) -> Any:
    """The function that brings a state back onto the constraints, or None when there is nothing to bring back."""
    manifold, kernel, n = equations.workspace.manifold, equations.kernel, len(equations.model.coordinate_names)
    size, known = equations.n_states, equations._values
    if (phase := kernel.phase) is not None:
        return lambda t, y: np.concatenate([phase.project(y[:size], t, known), y[size:]])
    # quasi-velocities keep the velocity constraints by construction
    free = equations.about.velocities in ("u", "u_NI")
    loose = equations.about.velocities == "twists"
    if not (manifold.holonomic or loose or (manifold.rows and not free)):
        return None

    def project(t: float, y: np.ndarray) -> np.ndarray:
        out = y.copy()
        out[:n] = projection.onto_positions(manifold, y[:n], t, known)
        if manifold.rows:
            watch.look(t, out[:n])
        if not free:
            qd = projection.onto_velocities(manifold, out[:n], kernel.velocities(out[:size], t, constants), t, known)
            out[n:size], _ = kernel.start(out[:n], qd, t, known)
        return out

    return project


def start_state(model: Model, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
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
