"""Checks at the end of every run: energy balance, constraints and constant momenta, against the error of the method.

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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.api.recording import Recording, columns
from dalembert.mechanics.newton import ACCEPTED
from dalembert.model.scales import Scales
from dalembert.simulation.main_loop import Accuracy
from dalembert.simulation.observables import EnergySamples
from dalembert.simulation.partition import RunSegment, work_along
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
        found = ~_EnergyBalance.of(*energies[:3], works).is_kept(_energy_scale(space.facts.scales), allowed)
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

    def is_kept(self, natural: float, allowed: float | np.ndarray) -> np.ndarray:
        """Is the drift at most what is allowed? `natural` is the energy scale of the model."""
        limit = allowed * self.exchanged + 1e-3 * allowed * natural + _ROUNDING * self.largest
        return np.asarray(self.drift <= limit)


def _energy_note(balance: _EnergyBalance, natural: float, allowed: float) -> Iterator[str]:
    if not balance.is_kept(natural, allowed):
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
