"""Simulation of equations and recording as a `Trajectory`: the options of a run, defined once, and the checks at its end.

Every run is checked for its energy balance, its constraints and its constant momenta:

| quantity | measured by |
|---|---|
| energy minus work, relative to the start | maximum kinetic energy + ranges of the potential energy and of each work |
| φ, φ̇ and ψ of every declared row except servo constraints | scale of its row + |A| |q|, or + |A| |q̇|, as for initial states |
| p = ∂L/∂q̇ of ignorable coordinates | maximum |p|, or kinetic energy / |q̇| |

The allowed error, relative to these scales:

- An adaptive integrator controls the error of each step. The errors of N steps add up to at most N rtol, and to twice that in
  energies, which are quadratic: 2 rtol max(N, `_MIN_STEPS`), but at least `_MIN_ERROR` and at most `_MAX_ERROR`.
- A fixed-step integrator has no tolerance: `_FIXED_STEP_ERROR`.
- Runs without projection drift from their constraints: `_MAX_ERROR`. The limits are in `simulation/main_loop`.

In gallery runs of 3 s the energy drifts by up to 5 rtol with dop853, 23 rtol in 267 steps with rk45, and 2600 rtol in
7597 steps with ida (43 of 71 models run). A momentum whose rate is zero is scaled by the scales of the model.
At most `MAX_SAMPLES` states are evaluated.

Notes also report dropped constraints that are violated, and doubtful rank decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from inspect import Parameter, signature
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypedDict, TypeVar, Unpack

import numpy as np

from dalembert.api.recording import Recording, columns
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import is_real
from dalembert.codegen.function import interpreting_long_programs
from dalembert.errors import InputError, NotApplicableError, short_repr
from dalembert.formalisms.shared.quantities import About
from dalembert.mechanics.newton import ACCEPTED
from dalembert.model.evaluation import Start
from dalembert.model.scales import Scales
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.main_loop import Accuracy, RunOptions, Segments, integrate_segments
from dalembert.simulation.observables import EnergySamples
from dalembert.simulation.partition import RunSegment, merge_segments, work_along
from dalembert.symbolic.symbols import TIME, Formula

if TYPE_CHECKING:
    from dalembert.api.equations import Equations
    from dalembert.api.tree_equations import TreeRecording


_ROUNDING = 1e-11  # rounding error of energies, relative to the maximum potential and kinetic energy
MAX_SAMPLES = 100
_VIOLATION_FACTOR = 10.0  # allowed violation of dropped constraints, relative to that of the others
CHECK = "check: "  # prefix of these notes


def check_run(run: Recording, accuracy: Accuracy) -> tuple[str, ...]:
    """A note for each quantity whose error is larger than the method allows."""
    checked, allowed = _Checked(run), accuracy.allowed(sum(part.solution.steps for part in run.parts))
    with np.errstate(all="ignore"):  # comparisons fail for values that are not finite
        found = [*checked.energy(allowed)]
        if run.equations.kernel.phase is None:
            found += checked.constraints(allowed)
        if not run.events and not run.impulses:
            found += checked.momenta(allowed)
    return _notes(found, allowed, accuracy)


def check_tree_run(run: TreeRecording, accuracy: Accuracy) -> tuple[str, ...]:
    """The energy check of a recursive tree run; instead a note if rheonomic joints do work that is not computed."""
    model = run.equations.plan.tree.model
    driven = [body.name for body in model.bodies for joint in body.joints if _has_time(joint.values)]
    if driven:
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(driven))
        return (
            f"the joints of {names} are rheonomic: the recursion does not compute their work, so the energy balance omits it",
        )
    observed, scales = run.observed, run.equations.plan.scales
    allowed = accuracy.allowed(sum(part.solution.steps for part in run.parts))
    works = {name: np.asarray(each) for name, each in run.work.items()}
    with np.errstate(all="ignore"):
        balance = _EnergyBalance.of(
            observed.kinetic, observed.potential, observed.jacobi, _stacked(works, observed.kinetic)
        )
        found = [*_energy_note(balance, _energy_scale(scales), allowed)]
    return _notes(found, allowed, accuracy)


def _has_time(values: Iterable[Formula]) -> bool:
    return any(TIME in value.free_symbols for value in values)


def _notes(found: Iterable[str], allowed: float, accuracy: Accuracy) -> tuple[str, ...]:
    advice = "reduce step" if accuracy.tolerance is None else "reduce rtol, or use another integrator"
    return tuple(f"{CHECK}{each}, more than the {allowed:.1g} that the method allows; {advice}" for each in found)


def runs_to_check(
    equations: Equations, energies: EnergySamples, qd: np.ndarray, works: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Which runs of a batch drift in energy or in a constant momentum: a first test, for many runs at once, of `check_run`.

    The last axes are runs and samples, and `works` has a row for each source of work.
    """
    space = equations.workspace
    with np.errstate(all="ignore"):
        found = ~_EnergyBalance.of(*energies[:3], works).is_conserved(_energy_scale(space.facts.scales), allowed)
        for i in space.facts.ignorable:
            drift, size = _momentum_drift(energies, qd[i], i, space.facts.scales)
            found |= ~(drift <= allowed * size)
    return found


class _EnergyBalance(NamedTuple):
    """Energy minus work over the samples, the last axis: its drift, the exchanged energy, and the largest energies."""

    drift: np.ndarray
    exchanged: np.ndarray
    largest: np.ndarray

    @classmethod
    def of(cls, kinetic: np.ndarray, potential: np.ndarray, jacobi: np.ndarray, works: np.ndarray) -> _EnergyBalance:
        """The balance; `works` has a row for each source of work."""
        balance = jacobi - works.sum(axis=0)
        T, V = np.abs(kinetic).max(axis=-1), np.abs(potential).max(axis=-1)
        exchanged = T + np.ptp(potential, axis=-1) + np.ptp(works, axis=-1).sum(axis=0)
        return cls(np.abs(balance - balance[..., :1]).max(axis=-1), exchanged, V + T)

    def is_conserved(self, natural: float, allowed: float | np.ndarray) -> np.ndarray:
        """Is the drift at most what is allowed? `natural` is the energy scale of the model."""
        limit = allowed * self.exchanged + 1e-3 * allowed * natural + _ROUNDING * self.largest
        return np.asarray(self.drift <= limit)


def _energy_note(balance: _EnergyBalance, natural: float, allowed: float) -> Iterator[str]:
    if not balance.is_conserved(natural, allowed):
        drift = float(balance.drift)
        share = drift / max(float(balance.exchanged), np.finfo(float).tiny)
        yield f"energy minus work drifts by {drift:.3g}, which is {share:.2g} of the exchanged energy"


def _energy_scale(scales: Scales) -> float:
    return scales.mass * (scales.length / scales.time) ** 2


def _momentum_drift(energies: EnergySamples, rate: np.ndarray, i: int, scales: Scales) -> tuple[np.ndarray, np.ndarray]:
    """The drift of the momentum of coordinate i over the samples, and its scale."""
    p, pace = energies.momenta[i], np.abs(rate).max(axis=-1)
    by_energy = np.where(pace > 0, np.abs(energies.kinetic).max(axis=-1) / pace, _energy_scale(scales) / scales.qd[i])
    return np.abs(p - p[..., :1]).max(axis=-1), np.maximum(np.abs(p).max(axis=-1), by_energy)


@dataclass(frozen=True)
class _Checked:
    """A subset of the samples of a run, and their energies, violations and momenta."""

    run: Recording

    @cached_property
    def _segments(self) -> list[tuple[RunSegment, dict[str, np.ndarray]]]:
        """Parts with a subset of their samples, and the work at these."""
        parts = list(zip(self.run.parts, work_along(self.run.parts), strict=True))
        parts = [parts[i] for i in spread(len(parts), MAX_SAMPLES // 2)]
        limit = max(2, MAX_SAMPLES // len(parts))
        return [_subsampled(part, done, spread(len(part.solution.t), limit)) for part, done in parts]

    @cached_property
    def _observed(self) -> EnergySamples:
        found = [self._observed_along(part) for part, _ in self._segments]
        return EnergySamples(*(np.concatenate(values, axis=-1) for values in zip(*found, strict=True)))

    def _observed_along(self, part: RunSegment) -> EnergySamples:
        """The energies and momenta along a part, in the coordinates of its integration."""
        space, (q, _, t, constants) = self.run.integrated(part).workspace, columns(part)
        qd = part.equations.kernel.velocities(part.solution.y, t, constants)
        found = space.observables.energies(t, q, qd, constants[: len(self.run.initial_equations.values)])
        return found._replace(momenta=part.user_forces(found.momenta))

    @cached_property
    def _works(self) -> dict[str, np.ndarray]:
        names = self._segments[0][1]
        return {name: np.concatenate([done[name] for _, done in self._segments]) for name in names}

    def energy(self, allowed: float) -> Iterator[str]:
        """The drift of energy minus work."""
        observed = self._observed
        balance = _EnergyBalance.of(*observed[:3], _stacked(self._works, observed.kinetic))
        yield from _energy_note(balance, _energy_scale(self.run.equations.workspace.facts.scales), allowed)

    def constraints(self, allowed: float) -> Iterator[str]:
        """The maximum violation of each declared row, including velocities."""
        known = self.run.initial_equations.workspace.facts
        if not known.levels.names:
            return
        found = np.max([self._violations(part) for part, _ in self._segments], axis=0)
        for level, errors in zip(("position", "velocity"), found, strict=True):
            for name, servo, error in zip(known.levels.names, known.levels.servo, errors.tolist(), strict=True):
                if not servo and not error <= allowed:
                    yield f"the constraint '{name}' is violated ({level}) by {error:.2g} of its scale"

    def _violations(self, part: RunSegment) -> np.ndarray:
        """The maximum relative violations (2, rows) of positions and velocities along a part."""
        space, (q, _, t, constants) = self.run.integrated(part).workspace, columns(part)
        known, qd = space.facts, part.equations.kernel.velocities(part.solution.y, t, constants)
        phi, velocity, A, _ = space.manifold.evaluate(q, qd, t, constants[: len(self.run.initial_equations.values)])
        sizes = np.array(known.sizes)[:, None]
        scales = (
            sizes + np.einsum("kns,ns->ks", np.abs(A), np.abs(q)),
            sizes / known.scales.time + np.einsum("kns,ns->ks", np.abs(A), np.abs(qd)),
        )
        out = np.zeros((2, len(sizes)))  # the velocity constraints at the end have no position level
        for errors, rows, size in zip(out, (phi, velocity), scales, strict=True):
            largest = size[: len(rows)].max(axis=1)
            errors[: len(rows)] = np.abs(rows).max(axis=1) / np.where(largest > 0, largest, 1.0)
        return out

    def momenta(self, allowed: float) -> Iterator[str]:
        """The drift of the momenta of ignorable coordinates."""
        observed, qd = self._observed, np.concatenate([_rates(part) for part, _ in self._segments], axis=-1)
        known = self.run.equations.workspace.facts
        for i in known.ignorable:
            drift, size = map(float, _momentum_drift(observed, qd[i], i, known.scales))
            if not drift <= allowed * size:
                name = self.run.equations.model.coordinate_names[i]
                yield f"the constant momentum of '{name}' drifts by {drift:.3g}, which is {drift / size:.2g} of its scale"


def _stacked(works: Mapping[str, np.ndarray], like: np.ndarray) -> np.ndarray:
    """The work of all sources, a row each."""
    return np.stack([*works.values()]) if works else np.zeros((0, *like.shape))


def _subsampled(
    part: RunSegment, done: dict[str, np.ndarray], which: list[int]
) -> tuple[RunSegment, dict[str, np.ndarray]]:
    """A part and its work with a subset of the samples."""
    found = replace(part.solution, t=part.solution.t[which], y=part.solution.y[:, which])
    constants = part.constants if part.constants.ndim == 1 else part.constants[:, which]
    return replace(part, solution=found, constants=constants), {name: each[which] for name, each in done.items()}


def _rates(part: RunSegment) -> np.ndarray:
    """q̇ of the user's coordinates along a part."""
    q, _, t, constants = columns(part)
    qd = part.equations.kernel.velocities(part.solution.y, t, constants)
    return qd if part.chart is None else part.chart.rates(q, qd)


def spread(count: int, limit: int) -> list[int]:
    """At most `limit` indices below `count`, evenly spaced and including the first and the last."""
    return sorted({*np.linspace(0, count - 1, min(count, limit)).round().astype(int).tolist()})


def notes_on_rank(run: Recording) -> tuple[str, ...]:
    """Notes about doubtful rank decisions, and about dropped constraints that the run violates."""
    known = run.initial_equations.workspace.facts
    doubtful = () if known.rank_note is None else (known.rank_note,)
    return (*doubtful, *_violated(run)) if known.dropped and not run.equations.model.canonical_constraints else doubtful


def _violated(run: Recording) -> Iterator[str]:
    """Notes on dropped constraints whose violation is larger than that of projected constraints, relative to their scales."""
    known, observed = run.initial_equations.workspace.facts, run.observed
    sizes = np.where(np.array(known.sizes) > 0, known.sizes, 1.0)
    with np.errstate(invalid="ignore"):
        position = np.abs(observed.position_violation) / sizes[: len(observed.position_violation), None]
        velocity = np.abs(observed.velocity_violation) / (sizes[:, None] / known.scales.time)
    for level, share in (("position", position), ("velocity", velocity)):
        enforced = [i for i in known.rows if i < len(share) and not known.levels.servo[i]]
        allowed = max(ACCEPTED, _VIOLATION_FACTOR * float(np.nanmax(share[enforced], initial=0.0)))
        for i in sorted(set(range(len(share))) - set(known.rows)):
            k, name = int(np.argmax(share[i])), known.levels.names[i]
            if share[i, k] > allowed:
                yield (
                    f"the constraint '{name}' was dropped as redundant, but is violated: at t = {run.t[k]:.6g} its {level} error "
                    f"is {share[i, k]:.2g} of its scale"
                )
                return


P = ParamSpec("P")
R = TypeVar("R")


class SimulationOptions(TypedDict, total=False):
    """The options of a run except its duration. Defaults are those of `RunOptions` and `Settings`, else None."""

    q0: Start
    qd0: Start
    t0: float
    integrator: str | None
    samples: int | None
    times: Sequence[float] | np.ndarray | None
    project: bool
    repartition: bool
    stabilization: float | tuple[float, float] | None
    rtol: float | None
    atol: float | None
    max_step: float | None
    step: float | None
    dense: bool
    progress: Callable[[float], bool | None] | None
    parameters: Mapping[str, float] | None


_SETTINGS = {each.name: each.default for each in fields(Settings)}
_DEFAULTS = {each.name: each.default for each in fields(RunOptions)} | _SETTINGS


def takes_options(names: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function with `**options` with an explicit signature: all options, or those in `names`.

    `names` also contains the keyword arguments of the function itself, at their position among the options.
    """

    def listed(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        positional = [x for x in own.parameters.values() if x.kind is x.POSITIONAL_OR_KEYWORD]
        keywords = [
            own.parameters.get(name) or _parameter(name) for name in names.split() or SimulationOptions.__annotations__
        ]
        vars(function)["__signature__"] = own.replace(parameters=[*positional, *keywords])
        return function

    return listed


def _parameter(name: str) -> Parameter:
    annotation = SimulationOptions.__annotations__[name].__forward_arg__
    return Parameter(name, Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=annotation)


def task_of(duration: float | None, *, change_charts: bool = True, **options: Unpack[SimulationOptions]) -> RunOptions:
    """The task with these options, except `parameters` and `stabilization`, which change the equations."""
    of_task: dict[str, Any] = {**options}
    settings = Settings(**{name: of_task.pop(name) for name in _SETTINGS if name in of_task})
    return RunOptions(duration, settings=settings, change_charts=change_charts, **of_task)


def simulate(equations: BoundEquations, task: RunOptions) -> Trajectory:
    """Integrate from the initial state, record the samples, and check the run against the integrator's tolerance."""
    found = integrate_segments(equations, task)
    assert found.accuracy is not None
    recording = recording_of(equations, found)
    with interpreting_long_programs():
        notes = (*notes_on_rank(recording), *check_run(recording, found.accuracy))
    return recording.trajectory(notes)


def recording_of(equations: BoundEquations, found: Segments) -> Recording:
    """The recording of an integrated run."""
    known = (found.integrator, found.cpu_seconds, found.notes, found.events, found.initial_equations, found.impulses)
    return Recording(equations, merge_segments(found.parts), *known)


_GAINS = "one number α for dirac and hamilton, or a pair (α, β)"


def read_gains(gains: object) -> tuple[float, float | None]:
    """Read α and β of a stabilization, or α and None.

    >>> read_gains(5.0), read_gains((25, 10))
    ((5.0, None), (25.0, 10.0))
    """
    if isinstance(gains, Real) and not isinstance(gains, bool):
        return _gain(gains, gains), None
    if isinstance(gains, Sequence) and not isinstance(gains, str) and len(gains) == 2:
        alpha, beta = gains
        return _gain(alpha, gains), _gain(beta, gains)
    raise InputError(f"simulate, stabilization: got {short_repr(gains)}. Expected {_GAINS}.")


def _gain(value: object, gains: object) -> float:
    if isinstance(value, Real) and is_real(value) and float(value) >= 0:
        return float(value)
    raise InputError(f"simulate, stabilization: got {short_repr(gains)}. Expected finite numbers >= 0, {_GAINS}.")


def require_gains(about: About, alpha: float, beta: float | None) -> None:
    """Raise if the formalism does not support this kind of stabilization."""
    key = about.key
    if not (about.servo or about.first_order):
        raise NotApplicableError(
            f"formalism '{key}' does not support stabilization: its velocity variables satisfy the constraints. "
            "Omit it to project after every step, or use another formalism."
        )
    if beta is None and not about.first_order:
        raise InputError(
            f"formalism '{key}', stabilization: got one number, {alpha:g}. Expected a pair (α, β) of φ̈ + β φ̇ + α φ = 0; "
            "one number is only for dirac and hamilton."
        )
    if beta is not None and not about.servo:
        raise InputError(
            f"formalism '{key}', stabilization: got the pair ({alpha:g}, {beta:g}). Expected one number α of ċ + α c = 0; "
            "its constraints in phase space are differentiated only once."
        )
