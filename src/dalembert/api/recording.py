"""Recording of a run: conversion of integrated segments to the arrays of a `Trajectory`.

All quantities are evaluated once, at the end of `simulate`, with the compiled functions of the equations; long programs are
evaluated in NumPy, because compiling them costs more than it saves. In a segment that was integrated in other angles than the
user's, quantities are evaluated in these angles, which are regular there, and converted to the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.api._run_forces import RunSamples, body_motion, drive_efforts, joint_reactions, smallest_multipliers
from dalembert.api.trajectory import Fields, Trajectory
from dalembert.codegen.function import interpreting_long_programs
from dalembert.formalisms.shared.common_quantities import PRESCRIBED_MOTION, rheonomic_energy
from dalembert.mechanics.joint_reactions import JointForces
from dalembert.mechanics.system import System
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.model.loads.damper import Damper
from dalembert.simulation.integrators.interpolant import Interpolant, Piece
from dalembert.simulation.observables import Observed, load_forces
from dalembert.simulation.partition import RunSegment, work_along
from dalembert.simulation.trajectory_data import (
    MAX_BODIES,
    EventRecord,
    Impulse,
    Segment,
    Work,
    joined_arrays,
)
from dalembert.symbolic.algebra_base import Array, vector

if TYPE_CHECKING:
    from dalembert.simulation.bound_equations import BoundEquations

_NODES = 49  # interpolation nodes of a step in other variables than the initial ones


def columns(part: RunSegment) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, v, t and the constants along a segment, (constants,) or (constants, samples) if they change."""
    n, size, y = len(part.equations.model.coordinate_names), part.equations.n_states, part.solution.y
    return y[:n], y[n:size], part.solution.t, part.constants


def regular_columns(part: RunSegment) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same; where the ends of a damper coincide, shifted slightly, because its force is 0/0 there."""
    q, v, t, known = columns(part)
    if not any(isinstance(load, Damper) for load in part.equations.model.loads):
        return q, v, t, known
    kernel, values = part.equations.kernel, known[: len(part.equations.values)]
    q, t = part.equations.workspace.lengths.separated(q, kernel.velocities(np.concatenate([q, v]), t, known), t, values)
    return q, v, t, known


def _repeated(values: np.ndarray, count: int) -> np.ndarray:
    """Values (m,) or (m, count) as (m, count)."""
    return values if values.ndim == 2 else np.repeat(values[:, None], count, axis=1)


def _velocities(part: RunSegment) -> np.ndarray:
    """The velocities that belong to the velocity variables along a segment."""
    return part.equations.kernel.velocities(part.solution.y, *columns(part)[2:])


def _rheonomic_energy(system: System) -> Array:
    return vector([rheonomic_energy(system)])


def _rheonomic_power(system: System) -> Array:
    return system.derivative(_rheonomic_energy(system))


@dataclass(frozen=True, repr=False)
class Recording(FrozenValue):
    """The integrated parts of a run, and the quantities evaluated from them; each is cached."""

    equations: BoundEquations
    parts: tuple[RunSegment, ...]  # each begins with the final state of its predecessor
    integrator: str
    cpu_seconds: float
    notes: tuple[str, ...] = ()
    events: tuple[EventRecord, ...] = ()  # events and switchings
    conditional_equations: BoundEquations | None = (
        None  # the equations with fixed switching conditions, if there are conditions
    )
    impulses: tuple[Impulse, ...] = ()

    def trajectory(self, notes: tuple[str, ...] = ()) -> Trajectory:
        """The run as a `Trajectory`, with additional notes."""
        with interpreting_long_programs(), np.errstate(all="ignore"):  # singular states have values that are not finite
            return Trajectory(**self._identity, **self._states_and_names, **self._quantities, **self._ending(notes))

    @property
    def _identity(self) -> Fields:
        known = self.equations
        return {
            "description": known.derivation.setup.declared,
            "model": known.model,
            "formalism": known.formalism,
            "engine": known.engine,
            "integrator": self.integrator,
            "parameters": Frozen(known.parameters),
            "values": self.values,
            "force_scale": self.force_scale,
            "by_recursion": self.by_recursion,
        }

    @property
    def _states_and_names(self) -> Fields:
        """The integrated states, and names."""
        known = self.equations
        return {
            **{name: getattr(self, name) for name in ("t", "q", "v")},
            "velocities_are_rates": known.about.velocities.are_rates,
            "speed_names": self.speed_names,
            "speed_formulas": self.speed_formulas,
            "inputs": self.inputs,
            "ignorable": self.ignorable,
            "constraint_names": known.constraint_names,
            "servo": self.servo,
        }

    @property
    def _quantities(self) -> Fields:
        """The fields that are evaluated from the states."""
        observed, (violation, names, positions) = self.observed, self.violation
        named = ("qd", "qdd", "work", "multipliers", "reactions", "ideal_reactions")
        energies = ("kinetic", "potential", "jacobi", "momenta", "linear_momentum", "angular_momentum", "speeds")
        records_bodies = len(self.equations.model.bodies) <= MAX_BODIES
        with_bodies = records_bodies and bool(self.equations.model.bodies)
        record = records_bodies or not self.equations.loaded_model(self.initial_equations.model).loads
        return {
            **{name: getattr(self, name) for name in named},
            **{name: getattr(observed, name) for name in energies},
            "balance": observed.jacobi - sum(self._work_of_elements.values()),
            "powers": Frozen(self.powers),
            "violation": violation,
            "violation_names": names,
            "position_rows": positions,
            "bodies": body_motion(self._samples) if with_bodies else None,
            "joints": self.joints if with_bodies else None,
            "loads": Frozen(self.load_forces) if record else None,
            "efforts": Frozen(self.drives) if record else None,
        }

    def _ending(self, notes: tuple[str, ...]) -> Fields:
        solutions = [part.solution for part in self.parts]
        calls = [each.evaluations for each in solutions]
        return {
            "status": solutions[-1].status.value,
            "steps": sum(each.steps for each in solutions),
            "evaluations": None if None in calls else sum(c for c in calls if c is not None),
            "cpu_seconds": self.cpu_seconds,
            "notes": (*self.notes, *notes),
            "records": self.events,
            "impulses": self.impulses,
            "segments": tuple(map(self._segment, self.parts)),
            "dense": tuple(piece for part in self.parts for piece in self._pieces(part)),
        }

    @property
    def initial_equations(self) -> BoundEquations:
        """The integrated equations in their initial form, with fixed switching conditions."""
        return self.conditional_equations or self.equations

    @property
    def by_recursion(self) -> bool:
        """True for trees that are evaluated recursively."""
        return False

    @cached_property
    def values(self) -> np.ndarray:
        """Parameter values of `initial_equations`: (parameters,), or (parameters, samples) if they change along the run."""
        if self.conditional_equations is None and not self.equations.model.controllers:
            return self.equations.values
        count = len(self.initial_equations.values)
        return self._joined_along(lambda part: _repeated(part.constants[:count], len(part.solution.t)))

    @property
    def changed_charts(self) -> bool:
        """True if the run switched to other angles near gimbal lock."""
        return any(part.chart is not None for part in self.parts)

    def integrated(self, part: RunSegment) -> BoundEquations:
        """The equations in the coordinates of a segment."""
        return self.initial_equations if part.chart is None else part.equations

    def _values_along(self, part: RunSegment) -> np.ndarray:
        """The values of the parameters along a segment, (parameters,) or (parameters, samples)."""
        return part.constants[: len(self.initial_equations.values)]

    def _joined_along(self, values: Callable[[RunSegment], np.ndarray]) -> np.ndarray:
        return joined_arrays([values(part) for part in self.parts])

    @cached_property
    def t(self) -> np.ndarray:
        """The times of the samples."""
        return self._joined_along(lambda part: part.solution.t)

    @cached_property
    def q(self) -> np.ndarray:
        """The coordinates."""
        return self._joined_along(lambda part: part.positions)

    @cached_property
    def _regular_positions(self) -> np.ndarray:
        """The coordinates at which forces are evaluated."""
        return self._joined_along(lambda part: regular_columns(part)[0] if part.chart is None else part.positions)

    def _has_own_variables(self, part: RunSegment) -> bool:
        """True if a segment was integrated in the initial variables."""
        choice = self.equations.derivation.setup.choice
        return part.chart is None and part.equations.derivation.setup.choice == choice

    @cached_property
    def v(self) -> np.ndarray:
        """The velocity variables of the formalism; the initial speeds if the run was repartitioned."""
        if self.equations.about.velocities.are_rates:
            return self._joined_along(lambda part: part.user_motion(columns(part)[1][None])[0])
        if all(map(self._has_own_variables, self.parts)):
            return self._joined_along(lambda part: columns(part)[1])
        start, values = self.equations.kernel.start, self.equations.values
        samples = zip(self.q.T, self._canonical_velocities.T, self.t, strict=True)
        return np.stack([start(q, qd, t, values)[0] for q, qd, t in samples], axis=1)

    @cached_property
    def _solved(self) -> list[tuple[tuple[np.ndarray, ...], tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """The states of each part at which forces are regular, and q̇, q̈ and λ there."""
        states = [regular_columns(part) for part in self.parts]
        return [(at, part.equations.kernel.accelerations(*at)) for part, at in zip(self.parts, states, strict=True)]

    @cached_property
    def _rates(self) -> np.ndarray:
        """q̇ and q̈ of the user's coordinates, (2, n, samples)."""
        solved = zip(self.parts, self._solved, strict=True)
        return joined_arrays([part.user_motion(np.stack(found[:2])) for part, (_, found) in solved])

    @property
    def qd(self) -> np.ndarray:
        """q̇ as integrated, including the multiplier terms of dirac."""
        return self.v if self.equations.about.velocities.are_rates else self._rates[0]

    @property
    def qdd(self) -> np.ndarray:
        """q̈."""
        return self._rates[1]

    @cached_property
    def _canonical_velocities(self) -> np.ndarray:
        """The velocities H_p of the momenta; energies, momenta and violations belong to the state (q, p)."""
        if self.equations.form.own_multipliers is None:
            return self.qd
        return self._joined_along(lambda part: part.user_motion(_velocities(part)[None])[0])

    def _segment(self, part: RunSegment) -> Segment:
        """The speeds and charts of a part."""
        known, begin = part.equations.workspace.facts, float(part.solution.t[0])
        sequences = None if part.chart is None else part.chart.sequences
        return Segment(begin, part.jumps, tuple(map(str, known.speeds)), known.dependent, sequences)

    def _pieces(self, part: RunSegment) -> Sequence[Piece | Interpolant]:
        """Interpolants of the states (q, v, ...) in the initial variables."""
        if self._has_own_variables(part):
            return part.solution.dense
        return [self._interpolated(part, piece) for piece in part.solution.dense]

    def _interpolated(self, part: RunSegment, piece: Piece) -> Interpolant:
        t, known = Interpolant.nodes(piece.t0, piece.t1, _NODES), part.constants
        y = np.stack([piece(each) for each in t], axis=1)[: part.equations.n_states]
        constants = known if known.ndim == 1 else known[:, 0]
        part = replace(part, solution=replace(part.solution, t=t, y=y), constants=constants)
        q, qd, start = part.positions, part.user_motion(_velocities(part)[None])[0], self.equations.kernel.start
        v = np.stack([start(*each, self.equations.values)[0] for each in zip(q.T, qd.T, t, strict=True)], axis=1)
        return Interpolant(piece.t0, piece.t1, np.concatenate([q, v]))

    @cached_property
    def observed(self) -> Observed:
        """Energies, momenta, speeds and violations."""
        if self.changed_charts:
            found = [self._observed_along(part) for part in self.parts]
            rows = {key.name: [getattr(each, key.name) for each in found] for key in fields(Observed)}
            return Observed(**{name: joined_arrays(values) for name, values in rows.items()})
        return self.initial_equations.workspace.observables.along(
            self.t, self.q, self._canonical_velocities, self.values
        )

    def _observed_along(self, part: RunSegment) -> Observed:
        """The same along a segment, in the coordinates of its integration, which are regular there."""
        (q, _, t, _), qd, values = columns(part), _velocities(part), self._values_along(part)
        found = self.integrated(part).workspace.observables.along(t, q, qd, values)
        if part.chart is None:
            return found
        own = self.initial_equations.workspace.observables.along(t, part.positions, part.chart.rates(q, qd), values)
        return replace(found, momenta=part.user_forces(found.momenta), speeds=own.speeds)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """The names of the rows of `speeds`."""
        return self.equations.workspace.facts.speed_names

    @property
    def speed_formulas(self) -> tuple[str, ...]:
        """The speeds as formulas of the velocities."""
        return self.equations.workspace.facts.speed_formulas

    @property
    def ignorable(self) -> tuple[int, ...]:
        """The ignorable coordinates."""
        return self.equations.workspace.facts.ignorable

    @property
    def force_scale(self) -> float:
        """Mass × length / time² of the model."""
        scales = self.equations.workspace.facts.scales
        return scales.mass * scales.length / scales.time**2

    @cached_property
    def work(self) -> Work:
        """The work of all non-potential elements since the start."""
        found, moved = self._work_of_elements, self._rheonomic_energy_along
        if moved is not None:
            found = found | {PRESCRIBED_MOTION: found.get(PRESCRIBED_MOTION, 0.0) + moved - moved[0]}
        return Work(found, len(self.t))

    @cached_property
    def powers(self) -> dict[str, np.ndarray]:
        """The powers of the elements in `work`; empty without any work."""
        if not self.work:
            return {}
        along = [dict(zip(part.equations.work_sources, self._powers(part), strict=True)) for part in self.parts]
        nothing = [np.zeros(len(part.solution.t)) for part in self.parts]
        found = {
            name: joined_arrays([each.get(name, none) for each, none in zip(along, nothing, strict=True)])
            for name in self.work
        }
        if self._rheonomic_energy_along is not None:
            state, space = (self.q, self._canonical_velocities, self.qdd), self.initial_equations.workspace
            found[PRESCRIBED_MOTION] += space.evaluated(_rheonomic_power, state, self.t, self.values)[0]
        return found

    def _powers(self, part: RunSegment) -> np.ndarray:
        """The powers along a segment."""
        if not part.equations.work_sources:
            return np.zeros((0, len(part.solution.t)))
        q, v, t, constants = regular_columns(part)
        return part.equations.kernel.state_rates(np.concatenate([q, v]), t, constants)[part.equations.n_states :]

    @cached_property
    def _work_of_elements(self) -> dict[str, np.ndarray]:
        """The increase of the Jacobi function by element."""
        along = work_along(self.parts)
        return {name: joined_arrays([found[name] for found in along]) for name in along[0]}

    @cached_property
    def _rheonomic_energy_along(self) -> np.ndarray | None:
        """T + V minus the Jacobi function; None without explicit time dependence of bodies."""
        space = self.initial_equations.workspace
        if not space.moves_with_time:
            return None
        return space.evaluated(_rheonomic_energy, (self.q, self._canonical_velocities), self.t, self.values)[0]

    @property
    def servo(self) -> tuple[str, ...]:
        """The constraints with feedback."""
        levels = self.equations.workspace.facts.levels
        return tuple(name for name, servo in zip(levels.names, levels.servo, strict=True) if servo)

    @property
    def violation(self) -> tuple[np.ndarray, tuple[str, ...], int]:
        """The violations of all constraints, the names of the rows, and the number of position rows."""
        phase = self.equations.kernel.phase
        if phase is not None:
            return phase.violations(np.concatenate([self.q, self.v]), self.t, self.values), phase.names, 0
        observed, names = self.observed, self.equations.constraint_names
        n_position = len(observed.position_violation)
        rows = np.concatenate([observed.position_violation, observed.velocity_violation])
        both = (*(f"{name}, position" for name in names[:n_position]), *(f"{name}, velocity" for name in names))
        return rows, both, n_position

    @cached_property
    def _reactions(self) -> list[np.ndarray]:
        """Aᵀλ + C along each part, in its own coordinates."""
        solved = zip(self.parts, self._solved, strict=True)
        return [part.equations.kernel.reactions(*at, solution=found) for part, (at, found) in solved]

    @cached_property
    def reactions(self) -> np.ndarray:
        """The generalized reaction forces Aᵀλ + C."""
        return self._user_forces(self._reactions)

    @property
    def ideal_reactions(self) -> np.ndarray:
        """The reactions if C were zero."""
        if all(part.equations.form.linear.C is None for part in self.parts):
            return self.reactions
        solved = zip(self.parts, self._solved, strict=True)
        return self._user_forces([part.equations.kernel.ideal_reactions(*at) for part, (at, _) in solved])

    def _user_forces(self, forces: Sequence[np.ndarray]) -> np.ndarray:
        """Generalized forces along the parts, of the user's coordinates."""
        return joined_arrays([part.user_forces(found) for part, found in zip(self.parts, forces, strict=True)])

    @property
    def _ideal_parts(self) -> list[np.ndarray]:
        """Aᵀλ along each part, in its own coordinates."""
        along = zip(self.parts, self._reactions, self._solved, strict=True)
        return [part.equations.kernel.ideal_part(found, *at) for part, found, (at, _) in along]

    @cached_property
    def _multipliers(self) -> list[np.ndarray]:
        """λ along each part, for the constraint rows in its coordinates."""
        out = []
        for part, (at, found), force in zip(self.parts, self._solved, self._ideal_parts, strict=True):
            space = self.integrated(part).workspace
            _, _, A, _ = space.manifold.evaluate(at[0], found[0], at[2], self._values_along(part))
            out.append(smallest_multipliers(space.facts, A, force))
        return out

    @cached_property
    def multipliers(self) -> np.ndarray:
        """λ of M q̈ = h + C + Aᵀλ, one row for each constraint; the minimum-norm solution if not unique.

        With constraints on momenta it is Λ of (5.291) and (5.292) in papers/desapio: see `Equations.multipliers`.
        """
        if self.equations.form.constrains_momenta:
            return self._user_forces([found[2] for _, found in self._solved])
        if not self.equations.constraint_names:
            return np.zeros((0, len(self.t)))
        if self.changed_charts:
            return joined_arrays(self._multipliers)
        _, _, A, _ = self.initial_equations.workspace.manifold.evaluate(self.q, self.qd, self.t, self.values)
        return smallest_multipliers(self.equations.workspace.facts, A, self._user_forces(self._ideal_parts))

    @property
    def _samples(self) -> list[RunSamples]:
        """The samples part by part, in coordinates that are regular there."""
        if not self.changed_charts:
            return [RunSamples(self.equations, self.t, self.q, self.qd, self.qdd)]
        return [
            RunSamples(part.equations, at[2][i > 0 :], *(x[:, i > 0 :] for x in (at[0], *found[:2])))
            for i, (part, (at, found)) in enumerate(zip(self.parts, self._solved, strict=True))
        ]

    @property
    def joints(self) -> JointForces | None:
        """Joint reactions in world axes; None with constraints on momenta."""
        if self.equations.model.canonical_constraints:
            return None
        if not self.changed_charts:
            state = (self._regular_positions, self.qd, self.qdd, self.t, self.multipliers)
            return joint_reactions(self.initial_equations, self.values, "world", state)
        found = []
        for part, (at, (qd, qdd, _)), lam in zip(self.parts, self._solved, self._multipliers, strict=True):
            state = (at[0], qd, qdd, at[2], lam)
            found.append(joint_reactions(self.integrated(part), self._values_along(part), "world", state))
        together = {
            name: replace(
                each,
                force=joined_arrays([along[name].force for along in found]),
                moment=joined_arrays([along[name].moment for along in found]),
            )
            for name, each in found[0].items()
        }
        return JointForces(together, found[0].undetermined)

    @property
    def _named(self) -> dict[str, Any]:
        return dict(zip(self.initial_equations.model.parameter_values, self.values, strict=True))

    @property
    def drives(self) -> dict[str, np.ndarray]:
        """Drive efforts by name: joint torques and forces, and the λ of prescribed motions."""
        rows = dict(zip(self.equations.constraint_names, self.multipliers, strict=True))
        return drive_efforts(self.initial_equations.model, self._named, (self.t, self.q, self.qd), rows)

    @property
    def load_forces(self) -> dict[str, np.ndarray]:
        """Load forces by name."""
        loaded = self.equations.loaded_model(self.initial_equations.model)
        return load_forces(loaded, self._named, self.t, self._regular_positions, self.qd)

    @property
    def inputs(self) -> Frozen[str, np.ndarray]:
        """Values of laws in Python by the name of their load: (samples,), or (3, samples) for a force."""
        known, out = self.equations.model.inputs, dict[str, np.ndarray]()
        for controller in known.controllers:
            for load in controller.loads:
                rows = self.values[known.rows(controller.of_load(load))]
                out[load] = rows if len(rows) > 1 else rows[0]
        return Frozen(out)
