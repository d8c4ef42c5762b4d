"""Equations of motion bound to parameter values, the input of simulations and of all evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.docstrings import documented_class
from dalembert.formalisms.shared.about import About
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.mechanics.facts import Choice
from dalembert.mechanics.singular_inertia import singular_coordinates
from dalembert.model.description import Description, Elements, parameter_changes
from dalembert.model.frozen import Frozen, Value
from dalembert.simulation.derivation import Derivation
from dalembert.simulation.right_hand_side import Kernel
from dalembert.simulation.workspace import Workspace


@documented_class
@dataclass(frozen=True, repr=False)
class BoundEquations(Value):
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
    def working(self) -> tuple[str, ...]:
        """The names of elements that can do work on the system: loads, forces, rheonomic and non-ideal constraints.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.1, name="bearing")
        >>> dl.derive(model, "kane").working
        ('bearing',)
        """
        return self.kernel.working

    @property
    def kernel(self) -> Kernel:
        """The compiled equations."""
        return self.derivation.machine.kernel

    def with_choice(self, choice: Choice) -> Self:
        """The equations of the same model and formalism with other generalized speeds and independent constraints."""
        return replace(self, derivation=self.derivation.with_choice(choice))

    def singular_coordinates(self, q: np.ndarray, t: float) -> str | None:
        """A clause that names the coordinates that are singular at a state, such as polar ones at r = 0; else None."""
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

    @checked
    def with_parameters(self, values: Mapping[Any, float | str] | None = None, **more: float | str) -> Self:
        """The same equations with other parameter values, by name or SymPy symbol, without deriving or compiling again.

        Raises for values that change a structural fact of the derivation (the independent constraints, the ignorable
        coordinates): derive the equations again for those.
        """
        changes = self.changes | parameter_changes(self.model, {**(values or {}), **more})
        self.derivation.require_same_structure(changes)
        return replace(self, changes=changes)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameter values in use, without the outputs of laws in Python."""
        outputs = {name for controller in self.model.controllers for name in controller.inputs}
        both = zip(self.model.parameter_values, self.values.tolist(), strict=True)
        return {name: value for name, value in both if name not in outputs}

    def loaded_model(self, model: Elements) -> Elements:
        """The model with the loads that act on it."""
        return model
