"""A derivation as a value: the model, the formalism, and the facts it depends on, without compiled code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dalembert.errors import InputError, NotApplicableError, SimulationError
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.phase_space import implied
from dalembert.formalisms.shared.quantities import Derived
from dalembert.mechanics.facts import Facts, PartitionChoice, facts_of, rank_at, violated_fact
from dalembert.mechanics.state_batch import States
from dalembert.mechanics.system import system_of
from dalembert.model.description import Description
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.simulation.workspace import CompiledEquations, Setup, Workspace, workspace_of

_NEARBY = 1e-3  # relative distance of neighboring parameter values


@dataclass(frozen=True)
class Derivation(FrozenValue):
    """One model with one formalism."""

    setup: Setup
    formalism: str
    known: Facts | None = field(
        default=None, compare=False, repr=False
    )  # they follow from the setup; None: not computed yet
    alpha: float = 0.0  # of ċ = −αc, for formalisms that have it
    modules: Frozen[str, tuple[str, ...]] | None = None  # the bodies of each kinematic module, if the user defines them
    trials: tuple[tuple[float, ...], ...] | None = None  # the trial vectors of phong, if the user defines them

    @property
    def about(self) -> About:
        """The metadata of the formalism."""
        return catalog.find(self.formalism).ABOUT

    @property
    def derive_options(self) -> dict[str, object]:
        """The options of its blocks and steps besides the system."""
        return {} if self.modules is None else {"modules": self.modules}

    @cached_property
    def workspace(self) -> Workspace:
        """The compiled quantities of the setup, from the cache of this process."""
        return workspace_of(self.setup, self.known)

    @property
    def facts(self) -> Facts:
        """The structural facts of the model."""
        return self.workspace.facts

    @cached_property
    def machine(self) -> CompiledEquations:
        """The equations, derived and compiled."""
        options: dict[str, object] = {"alpha": self.alpha} if self.alpha else {}
        return self.workspace.machine(
            self.formalism, Frozen(options if self.trials is None else {"trials": self.trials})
        )

    @cached_property
    def derived(self) -> Derived:
        """Its quantities and laws over the algebra of the engine, with the user's kinematic modules."""
        machine = self.machine
        return machine.derived if self.modules is None else machine.derive(self.workspace.system, **self.derive_options)

    @cached_property
    def needs(self) -> frozenset[str]:
        """The parameters on whose values the constant momenta in these equations depend."""
        constant = self.machine.form.constants.symbols.size
        return (
            frozenset(name for names in self.facts.parameter_values_used.values() for name in names)
            if constant
            else frozenset()
        )

    @cached_property
    def depends_on(self) -> frozenset[str]:
        """The parameters on which the facts of these equations depend."""
        known, model = self.facts, self.workspace.model
        if model.canonical_constraints:
            return frozenset(model.parameter_values)
        return known.structural | self.needs | (known.inertial if "maggi_order" in self._orders else frozenset())

    @property
    def _orders(self) -> tuple[str, ...]:
        """The elimination orders in use, by their names in the facts."""
        velocities, mixed, form = self.about.velocities, self.facts.reduced_mixed, self.machine.form
        found = ["order"] if self.about.uses_speeds else []
        found += ["reduced_order"] if velocities.are_reduced else []
        found += ["maggi_order"] if form.order is self.facts.maggi_order or (velocities.are_reduced and mixed) else []
        return (*found, "square_order") if velocities is Velocities.SQUARE_SPEEDS else tuple(found)

    @cached_property
    def free_parameters(self) -> dict[str, float]:
        """The parameters on which no fact depends as long as their sign is unchanged, with the model's values."""
        known = self.setup.declared.parameter_values
        return {name: value for name, value in known.items() if value and name not in self.depends_on}

    def with_choice(self, choice: PartitionChoice) -> Derivation:
        """The same model and formalism with other generalized speeds, independent constraints and dependent coordinates.

        Dependent coordinates replace the user's trial vectors.
        """
        other = replace(self.setup, choice=choice)
        trials = None if choice.dependent else self.trials
        return replace(self, setup=other, known=workspace_of(other).facts, trials=trials)

    def require_same_structure(self, changes: Mapping[str, float]) -> None:
        """Raise if other parameter values change a fact on which the equations depend."""
        free = self.free_parameters
        if all(name in free and value * free[name] > 0 for name, value in changes.items()):
            return
        changed = self.workspace.model.with_parameters(changes)
        changed.require_valid()
        reason = self._lost(changed, changes)
        if reason is not None:
            raise InputError(
                f"parameters {dict(changes)}: with these values {reason}, so the derived equations do not hold. "
                "Derive again from model.with_parameters(...)."
            )

    def _lost(self, changed: Description, changes: Mapping[str, float]) -> str | None:
        """The fact that does not hold for the changed model, as a clause; else None."""
        known, before = self.facts, self.workspace.model.parameter_values
        moved = {name for name, value in changes.items() if value != before[name]}
        if moved & self.needs:
            now = facts_of(changed, self.setup.choice)
            lost = sorted(set(known.ignorable) - set(now.ignorable))
            if lost:
                return self._ignorable_only(lost)
        reason = violated_fact(changed, known, self._orders)
        if (
            reason is None
            and self.about.canonical
            and implied(self.workspace.system) != implied(system_of(changed, "graph"))
        ):
            reason = f"{self.formalism} would find other constraints in phase space"
        return reason

    def _ignorable_only(self, lost: Sequence[int]) -> str:
        """The coordinates that are no longer ignorable, and the values for which they are, as a clause."""
        model, values = self.workspace.model, self.workspace.model.parameter_values
        names = [model.coordinate_names[i] for i in lost]
        needed = dict.fromkeys(parameter for name in names for parameter in self.facts.parameter_values_used[name])
        values_of = ", ".join(f"{name} = {values[name]:g}" for name in needed)
        return f"{', '.join(names)} would no longer be ignorable (ignorable only while {values_of})"

    def require_differentiable_by(self, names: Sequence[str], who: str) -> None:
        """Raise for parameters with special values: a fact would not hold for neighboring values."""
        values = self.workspace.model.parameter_values
        for name in names:
            if name not in self.depends_on:
                continue
            for factor in (1 - _NEARBY, 1 + _NEARBY):
                try:
                    self.require_same_structure({name: values[name] * factor or math.copysign(_NEARBY, factor - 1)})
                except InputError as error:
                    raise NotApplicableError(
                        f"{who}: the equations hold for {name} = {values[name]:g} but not for neighboring values: {error}"
                    ) from error

    def require_same_rank(
        self, before: Mapping[str, float], after: Mapping[str, float], here: States, who: str
    ) -> None:
        """Raise if parameters that change along a run change a fact of the constraints or masses at a state."""
        known, model = self.facts, self.workspace.model
        moved = sorted(name for name, value in after.items() if value != before[name])
        if model.canonical_constraints and moved:
            self.require_same_structure({name: after[name] for name in moved})
        if not (structural := [name for name in moved if name in known.structural | known.inertial]):
            return
        (rank, own, regular), (rank_after, own_after, regular_after) = (
            rank_at(model, known, here, values) for values in (before, after)
        )
        if rank_after != rank or own_after < own:
            what = f"{rank_after} of the constraints are independent instead of {rank}"
        elif known.regular_mass and regular and not regular_after:
            what = "the mass matrix is singular"
        else:
            return
        values_of = ", ".join(f"{name} = {after[name]:g}" for name in structural)
        raise SimulationError(
            f"{who} sets {values_of} at t = {here.t[0]:.9g}: with these values {what}, so the derived equations do not hold "
            "after this time. Simulate up to this time, then start a new run from model.with_parameters(...)."
        )


def derivation_of(known: Setup, formalism: str, alpha: float = 0.0) -> Derivation:
    """The derivation by a formalism; raises if it does not support the model, with the reason and the formalisms that do."""
    about, space = catalog.find(formalism).ABOUT, workspace_of(known)
    reason = catalog.unsupported_reason(about, space.model, space.facts)
    if reason is not None:
        able = ", ".join(catalog.applicable(space.model, space.facts)) or "none"
        raise NotApplicableError(
            f"formalism '{about.key}' cannot treat model '{space.model.name}': {reason}. Formalisms that can: {able}."
        )
    return Derivation(known, about.key, space.facts, alpha)
