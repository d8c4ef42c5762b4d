"""Equations of motion bound to parameter values, the input of simulations and of all evaluations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array, documented_class, validate_arguments
from dalembert.errors import InputError, NotApplicableError, SimulationError, SingularError
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.phase_space import implied
from dalembert.formalisms.shared.quantities import About, Derived, Velocities
from dalembert.mechanics.facts import Facts, PartitionChoice, facts_of, rank_at, singular_coordinates, violated_fact
from dalembert.mechanics.state_batch import States
from dalembert.mechanics.system import system_of
from dalembert.model.description import Description, Elements, validated_parameters
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.simulation.right_hand_side import RightHandSide
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


@documented_class
@dataclass(frozen=True, repr=False)
class BoundEquations(FrozenValue):
    """A derivation with the values of its parameters; `Equations` adds display and evaluation."""

    derivation: Derivation
    changes: Frozen[str, float] = Frozen()  # noqa: RUF009 (immutable) parameter values that differ from the model's

    # the derivation

    @property
    def about(self) -> About:
        """The metadata of the formalism."""
        return self.derivation.about

    @property
    def workspace(self) -> Workspace:
        """The derived and compiled quantities of the model."""
        return self.derivation.workspace

    @property
    def form(self) -> LinearForm:
        """The equations over the algebra of the engine, unsolved."""
        return self.derivation.machine.form

    @cached_property
    def values(self) -> np.ndarray:
        """The parameter values in use, in the order of declaration."""
        known = self.model.parameter_values
        return np.array([self.changes.get(name, value) for name, value in known.items()], dtype=float)

    @property
    def formalism(self) -> str:
        """The key of the formalism."""
        return self.about.key

    @property
    def model(self) -> Description:
        """The model from which the equations were derived."""
        return self.workspace.model

    @property
    def engine(self) -> str:
        """`native` or `python`."""
        return self.workspace.engine

    @property
    def n_states(self) -> int:
        """The number of state variables."""
        return self.form.n_states

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """The names of the velocity variables: rates of coordinates, speeds, momenta or twists."""
        return self.kernel.velocity_names

    @property
    def work_sources(self) -> tuple[str, ...]:
        """The names of elements that can do work on the system: loads, forces, rheonomic and non-ideal constraints.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> dl.derive(model, "kane").work_sources
        ('bearing',)
        """
        return self.kernel.working

    @property
    def kernel(self) -> RightHandSide:
        """The compiled equations."""
        return self.derivation.machine.kernel

    def with_choice(self, choice: PartitionChoice) -> Self:
        """The equations of the same model and formalism with other generalized speeds and independent constraints.

        Parameters
        ----------
        choice : Choice
            Speeds and independent constraints.

        Returns
        -------
        Equations
            The new equations.
        """
        return replace(self, derivation=self.derivation.with_choice(choice))

    def singular_coordinates(self, q: np.ndarray, t: float) -> str | None:
        """A clause that names the coordinates that are singular at a state, such as polar ones at r = 0.

        Parameters
        ----------
        q : ndarray, shape (n,)
            Coordinates.
        t : float
            Time.

        Returns
        -------
        str or None
            The clause; None if all are regular.
        """
        known, values = self.workspace.facts, zip(self.model.parameter_values, self.values.tolist(), strict=True)
        return singular_coordinates(self.model, known.levels, known.scales, q, t, dict(values))

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the rows of `multipliers`: all constraints, including those of contacts and quaternion norms.

        With constraints on momenta they are those of c(q, p, t) in (5.287) of papers/desapio, including implied ones.

        >>> import dalembert as dl
        >>> dl.derive(dl.load("rolling-disk"), "lagrange").constraint_names
        ('floor, contact', 'floor, slip 1', 'floor, slip 2')
        """
        own = self.form.own_multipliers if self.model.canonical_constraints else None
        if own is not None:
            return own.surface.names
        return self.workspace.facts.levels.names

    @validate_arguments
    def with_parameters(self, values: Mapping[Any, float | str] | None = None, **more: float | str) -> Self:
        """The same equations with other parameter values, without deriving or compiling again.

        Parameters
        ----------
        values : mapping, optional
            Values by name or SymPy symbol.
        **more : float or str
            Values by name.

        Returns
        -------
        Equations
            The equations with the new values.

        Raises
        ------
        InputError
            If a name is unknown, or a value changes a structural fact of the derivation, such as the independent constraints or
            the ignorable coordinates: derive the equations again for those.

        Examples
        --------
        >>> import dalembert as dl
        >>> eom = dl.derive("simple-pendulum").with_parameters(l=2.0)
        >>> eom.parameters["l"], eom.accelerations([0.5], [0.0]).shape
        (2.0, (1,))
        """
        changes = self.changes | validated_parameters(self.model, {**(values or {}), **more})
        self.derivation.require_same_structure(changes)
        return replace(self, changes=changes)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameter values in use, without the outputs of laws in Python."""
        outputs = {name for controller in self.model.controllers for name in controller.inputs}
        both = zip(self.model.parameter_values, self.values.tolist(), strict=True)
        return {name: value for name, value in both if name not in outputs}

    def loaded_model(self, model: Elements) -> Elements:
        """The model with the loads that act on it.

        Parameters
        ----------
        model : Elements
            The declared model.

        Returns
        -------
        Elements
            The model with its loads.
        """
        return model

    # evaluation at states

    def _checked_state(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Convert q, q̇ and t to arrays and check their shapes."""
        n = len(self.model.coordinate_names)
        positions, velocities = as_finite_array(q, "q"), as_finite_array(qd, "qd")
        for name, value in (("q", positions), ("qd", velocities)):
            if value.ndim not in (1, 2) or value.shape[0] != n or value.shape != positions.shape:
                raise InputError(
                    f"{name} has shape {value.shape}. Expected ({n},) for one state or ({n}, batch), the same for q and qd; "
                    f"coordinates are {', '.join(self.model.coordinate_names)}."
                )
        clock = as_finite_array(t, "t")
        if clock.shape not in ((), positions.shape[1:]):
            raise InputError(f"t has shape {clock.shape}. Expected one time, or one for each state of the batch.")
        return positions, velocities, np.broadcast_to(clock, positions.shape[1:])

    def _state(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike) -> tuple[np.ndarray, ...]:
        """q, v, t, parameters with constants of the motion, and q̇."""
        positions, velocities, time = self._checked_state(q, qd, t)
        values = self._values_at(positions, velocities, time)
        v, constants = self.kernel.start(positions, velocities, time, values)
        if not len(constants):  # one column of parameters for all states
            return positions, v, time, values, velocities
        known = values if positions.ndim == values.ndim else np.repeat(values[:, None], positions.shape[1], axis=1)
        return positions, v, time, np.concatenate([known, constants], axis=0), velocities

    def _values_at(self, q: np.ndarray, qd: np.ndarray, t: npt.ArrayLike) -> np.ndarray:
        """The parameter values; with laws in Python, one column for each state of a batch."""
        if not self.model.controllers:
            return self.values
        self.model.inputs.refuse_sampled(f"equations of '{self.model.name}' at a state")
        return self.model.inputs.filled(t, q, qd, self.values)

    def _free(self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """M and h of the motion without constraints, batch on the first axis."""
        positions, velocities = np.asarray(q, float), np.asarray(qd, float)
        return self.workspace.free_motion(positions, velocities, t, self._values_at(positions, velocities, t))

    def _require_regular_coordinates(self, q: np.ndarray, t: np.ndarray, values: np.ndarray) -> None:
        """Raise if values are not finite because the coordinates are singular at a state."""
        k = int(np.argmin(np.isfinite(values.reshape(len(values), -1)).all(axis=0)))
        chart = self.singular_coordinates(
            q.reshape(len(q), -1)[:, k], float(np.broadcast_to(t, q.shape[1:]).ravel()[k])
        )
        if chart is not None:
            raise SingularError(f"model '{self.model.name}': {chart}.")
