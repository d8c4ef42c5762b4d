"""What a run keeps and what it spends: energies, momenta, work, violations, and the principle of least action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import InputError
from dalembert.formalisms.shared.power import MOVING, carried_along
from dalembert.mechanics.action import Variation
from dalembert.mechanics.system import System
from dalembert.simulation import observables
from dalembert.simulation.observables import Observed
from dalembert.simulation.partition import Part, work_along
from dalembert.simulation.run_states import States, columns, columns_apart
from dalembert.simulation.work import Work
from dalembert.symbolic.algebra_base import Array, vector


def _carried(system: System) -> Array:
    return vector([carried_along(system)])


def _carrying_rate(system: System) -> Array:
    return system.derivative(_carried(system))


@dataclass(frozen=True, repr=False)
class Balance(States):
    """Energies, momenta and violations along a run, and the work of everything that has no potential."""

    @cached_property
    def work(self) -> Work:
        """The work of everything that has no potential, from the start: arrays by name, and `total`; T + V grows by it.

        Loads and forces stand by their names, constraints that move with time or are servo constraints by theirs, C as
        "non-ideal constraints", and what moves bodies by a formula of time as "prescribed motion".

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> run = dl.simulate(model, 1.0, samples=11)
        >>> list(run.work), bool(abs(run.energy - run.energy[0] - run.work["bearing"]).max() < 1e-12)
        (['bearing'], True)
        """
        found, moved = self._put_in, self._carried_along
        if moved is not None:
            found = found | {MOVING: found.get(MOVING, 0.0) + moved - moved[0]}
        return Work(found, len(self.t))

    @checked
    def power(self, name: str) -> np.ndarray:
        """The power of one of `work` along the run: its rate, by the formulas that are integrated.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> run = dl.simulate(model, 1.0, samples=11)
        >>> bool(abs(run.power("bearing") + 0.1 * run.qd[0] ** 2).max() < 1e-12)
        True
        """
        if name not in self.work:
            raise InputError(f"power: {self.work.missing(name)}")
        return self._rates_of_work[name]

    @cached_property
    def _rates_of_work(self) -> dict[str, np.ndarray]:
        """The powers along the run; none where something does no work, or works at once."""
        along = [dict(zip(part.equations.working, self._powers(part), strict=True)) for part in self.parts]
        nothing = [np.zeros(len(part.solution.t)) for part in self.parts]
        found = {
            name: self._end_to_end([each.get(name, none) for each, none in zip(along, nothing, strict=True)])
            for name in self.work
        }
        if self._carried_along is not None:
            state, space = (self.q, self._natural, self.qdd), self.used.workspace
            found[MOVING] += space.evaluated(_carrying_rate, state, self.t, self.values)[0]
        return found

    def _powers(self, part: Part) -> np.ndarray:
        """The powers along a stretch."""
        q, v, t, constants = columns_apart(part)
        return part.equations.kernel.state_rates(np.concatenate([q, v]), t, constants)[part.equations.n_states :]

    @cached_property
    def _put_in(self) -> dict[str, np.ndarray]:
        """What the Jacobi function grew by, by what put it in."""
        along = work_along(self.parts)
        return {name: self._end_to_end([found[name] for found in along]) for name in along[0]}

    @cached_property
    def _carried_along(self) -> np.ndarray | None:
        """What T + V exceeds the Jacobi function by along the run; None where bodies do not move explicitly with time."""
        space = self.used.workspace
        if not space.carries:
            return None
        return space.evaluated(_carried, (self.q, self._natural), self.t, self.values)[0]

    @cached_property
    def observed(self) -> Observed:
        """Energies, momenta, speeds and violations along the run."""
        if self.changed_charts:
            found = [self._observed_along(part) for part in self.parts]
            rows = {key.name: [getattr(each, key.name) for each in found] for key in fields(Observed)}
            return Observed(**{name: self._end_to_end(values) for name, values in rows.items()})
        return self.used.workspace.observables.along(self.t, self.q, self._natural, self.values)

    def _observed_along(self, part: Part) -> Observed:
        """The same along a stretch, in the coordinates it was integrated in: they are regular there."""
        (q, _, t, constants), values = columns(part), self._values_along(part)
        qd = part.equations.kernel.velocities(part.solution.y, t, constants)
        found = self.integrated(part).workspace.observables.along(t, q, qd, values)
        if part.chart is None:
            return found
        own = self.used.workspace.observables.along(t, part.positions, part.chart.rates(q, qd), values)
        return replace(found, momenta=part.shown_forces(found.momenta), speeds=own.speeds)

    @property
    def speeds(self) -> np.ndarray:
        """The quasi-velocities u along the run, (d, samples)."""
        return self.observed.speeds

    @property
    def speed_names(self) -> tuple[str, ...]:
        """What the rows of `speeds` are."""
        return self.equations.workspace.facts.speed_names

    @property
    def speed_formulas(self) -> tuple[str, ...]:
        """The speeds as formulas of the velocities."""
        return tuple(map(str, self.equations.workspace.facts.speeds))

    @property
    def kinetic(self) -> np.ndarray:
        """T along the run."""
        return self.observed.kinetic

    @property
    def potential(self) -> np.ndarray:
        """V along the run."""
        return self.observed.potential

    @property
    def energy(self) -> np.ndarray:
        """T + V along the run."""
        return self.observed.total

    @property
    def balance(self) -> np.ndarray:
        """Energy less the work that was put in, constant in an exact motion: (80) of papers/volterra.

        Where bodies or constraints move explicitly with time, the Jacobi function stands for the energy.
        """
        return self.observed.jacobi - sum(self._put_in.values())

    @property
    def momenta(self) -> np.ndarray:
        """The generalized momenta ∂L/∂q̇ along the run, (n, samples)."""
        return self.observed.momenta

    @property
    def linear_momentum(self) -> np.ndarray:
        """Σ m V_G in world axes, (3, samples)."""
        return self.observed.linear_momentum

    @property
    def angular_momentum(self) -> np.ndarray:
        """The angular momentum about the world origin in world axes, (3, samples)."""
        return self.observed.angular_momentum

    @property
    def violation(self) -> np.ndarray:
        """The violation of every constraint: positions φ first, then velocities φ̇ and ψ; see `violation_names`.

        With constraints on momenta it is that of all constraints in phase space.
        """
        if self._canonical_violation is not None:
            return self._canonical_violation
        return np.concatenate([self.observed.position_violation, self.observed.velocity_violation], axis=0)

    @cached_property
    def _canonical_violation(self) -> np.ndarray | None:
        """With constraints on momenta: the violation of all constraints in phase space, those that are implied included."""
        phase = self.equations.kernel.phase
        if phase is None:
            return None
        return phase.violations(np.concatenate([self.q, self.v]), self.t, self.values)

    @property
    def violation_names(self) -> tuple[str, ...]:
        """What the rows of `violation` are."""
        phase = self.equations.kernel.phase
        if phase is not None:
            return phase.names
        names = self.constraint_names
        held = len(self.observed.position_violation)
        return (*(f"{name}, position" for name in names[:held]), *(f"{name}, velocity" for name in names))

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the rows of `multipliers`; see `Equations.constraint_names`."""
        return self.equations.constraint_names

    # the papers' norms

    @property
    def energy_error(self) -> float:
        """The 2-norm over the samples of the relative drift of the energy balance."""
        size = float(np.abs(self.kinetic).max() + np.abs(self.potential).max())
        return observables.relative_drift(self.balance, size)

    @property
    def constraint_error(self) -> float | None:
        """The 2-norm over the samples of all violations of velocities and momenta; None without constraints."""
        violated = self.observed.velocity_violation if self._canonical_violation is None else self._canonical_violation
        return observables.violation(violated) if len(violated) else None

    @property
    def momentum_error(self) -> float | None:
        """The 2-norm over the samples of the relative drift of the first ignorable momentum; None without one."""
        ignorable = self.equations.workspace.facts.ignorable
        return observables.relative_drift(self.momenta[ignorable[0]]) if ignorable else None

    # the principle of least action

    def action(self) -> float:
        """∫ L dt along the run, (5.158) of papers/desapio.

        Between the samples the motion is the polynomial of degree 5 through q, q̇ and q̈ at both. Since the action is
        stationary along a motion, the error falls with the tenth power of their distance.

        >>> import dalembert as dl
        >>> free = dl.Model.from_energies("free", coordinates=["x"], kinetic="dot(x)**2/2").start([0], [3])
        >>> round(dl.simulate(free, 2.0, samples=5).action(), 12)
        9.0
        """
        return self.equations.action(self.t, self.q, self.qd, self.qdd)

    def variation(self, *, count: int = 4, seed: int = 0, steps: Sequence[float] = (0.1, 0.01, 0.001)) -> Variation:
        """The first variation of the action under `count` random variations, and its change at steps ε along each of them.

        Variations are smooth, fulfil Φ δq = 0 and vanish at both ends: (5.258) of papers/desapio. Along a motion the first
        variation vanishes, and the change falls with ε²; forces without potential enter by their virtual work (5.161),
        constraints on velocities as d'Alembert has it. ε is counted in the scales of the coordinates: about a radian, or the
        length of the model.

        >>> import dalembert as dl
        >>> found = dl.simulate("simple-pendulum", 1.0, samples=101).variation()
        >>> found.vanishes, found.orders.round(2).tolist()
        (True, [2.0, 2.0, 2.0, 2.0])
        """
        state = (self.t, self.q, self.qd, self.qdd)
        return self.equations.variation(*state, count=count, seed=seed, steps=steps)
