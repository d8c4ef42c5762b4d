"""Equations of motion bound to parameter values, the input of simulations and of all evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array, documented_class, validate_arguments
from dalembert.errors import InputError, SingularError
from dalembert.formalisms.shared.about import About
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.mechanics.facts import PartitionChoice, singular_coordinates
from dalembert.model.description import Description, Elements, validated_parameters
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.simulation.derivation import Derivation
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.simulation.workspace import Workspace


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
        return tuple(str(v) for v in self.form.velocity.v)

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
