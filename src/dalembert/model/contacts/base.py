"""Base classes of contacts and couplings.

A contact refers to bodies and is converted to constraints first: `formulas` computes them from the motion of the bodies.
`constraint_actions` defines where the forces of these constraints act. `reference_conditions` defines its residuals for
verification, from positions only and by other formulas: see `model/reference_model`. Constraints on positions alone derive
from `PositionContact`: the residual is a sum of terms, with which the initial state is checked as well.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dalembert.errors import Problem
from dalembert.model.evaluation import Table
from dalembert.model.keys import name, two_bodies, two_points
from dalembert.model.loads.base import LoadKinematics, formulas_in, vector_of
from dalembert.model.record import Named, argument, record
from dalembert.model.reference_model import Condition, Derivatives, MotionProbe, ReferencePoses, position_condition
from dalembert.model.values import WORLD, ZERO, TwoPoints, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

Formulas = Mapping[str, Scalar]


@dataclass(frozen=True)
class ConstraintAction:
    """The action of a constraint on a body for a unit multiplier: a force at a point and a moment, in world axes."""

    body: str
    force: Array
    moment: Array
    point: Array


def reaction_pair(
    bodies: Sequence[str], force: Array, point: Array, moment: Array | None = None
) -> list[ConstraintAction]:
    """A force at a point of the last body and its reaction at the same point of the first of two; none on the world."""
    couple = zeros(3) if moment is None else moment
    both = zip(reversed(bodies), ((force, couple), (-force, -couple)), strict=False)
    return [ConstraintAction(name, *push, point) for name, push in both if name != WORLD]


@record
class Contact(Named):
    """Base class of contacts and couplings: constraints between bodies without a joint."""

    family = "constraint"
    model_attribute = "contacts"
    unit: ClassVar[str | None] = "m"  # unit of its position constraints; None: that of their formulas

    name: str = argument(
        name, None, about="the name, which is the prefix of the names of its constraints", absent="numbered"
    )

    @classmethod
    def used_names(cls, model: Model) -> Collection[str]:
        return {*model.constraint_names, *super().used_names(model)}

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """The constrained points, each with its body."""
        return []

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The joint motions that it refers to: body, joint and motion."""
        return []

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Iterate over its formulas with their paths."""
        for key in self.keys():
            yield from formulas_in(getattr(self, key), f"{self.title}, {key}")

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """Its problems in the model; `table` has the initial value of every symbol."""
        return []

    def residual_terms(self, poses: ReferencePoses) -> Array | None:
        """For verification: the terms, along the second axis, whose sum is zero in every row; None if there is no row."""
        return None

    @abstractmethod
    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """Its constraints on positions and on velocities, by name."""

    @abstractmethod
    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        """The actions of each constraint on the bodies; constraints that are omitted act inside joints."""

    @abstractmethod
    def reference_conditions(self, probe: MotionProbe) -> Iterator[Condition]:
        """For verification: the residuals, from positions only and by other formulas."""


@record
class PositionContact(Contact):
    """Base class of contacts with constraints on positions only."""

    @abstractmethod
    def residual_terms(self, poses: ReferencePoses) -> Array:
        """For verification: the terms, along the second axis, whose sum is zero in every row."""

    def reference_conditions(self, probe: MotionProbe) -> Iterator[Condition]:
        """The sums and their time derivatives vanish."""
        terms = probe.traced(self.residual_terms)
        levels = (terms.value, terms.rate, terms.second)
        gap = Derivatives(*(level.sum(axis=1) for level in (*levels, terms.change)))
        yield position_condition(self.name, probe, gap, sizes=[np.abs(level).sum(axis=1) for level in levels])


@record
class BetweenPoints(PositionContact):
    """Base class of constraints between a point of the second body and a point, or the axes, of the first."""

    bodies: tuple[str, str] = argument(two_bodies, positional=True, about='two names, of bodies or `"world"`')
    points: TwoPoints = argument(two_points, (ZERO, ZERO), about="two points, each in the axes of its body")

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """Both points."""
        return list(zip(self.bodies, self.points, strict=True))

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """Two points on one body have no relative motion to constrain."""
        first, second = self.bodies
        if first != second:
            return []
        return [Problem(self.title, f"both points are on '{first}'.", "Give `bodies` two different names.")]

    def _ends(self, motion: LoadKinematics) -> tuple[Array, Array]:
        """World positions of both points."""
        first, second = (motion.frame(body).point(vector_of(motion, x))[0] for body, x in self.fixed_points)
        return first, second

    def _relative_position(self, motion: LoadKinematics) -> Array:
        """The vector from the first point to the second, in axes of the first body."""
        first, second = self._ends(motion)
        return motion.frame(self.bodies[0]).R.T @ (second - first)

    def _reference_points(self, poses: ReferencePoses) -> tuple[Array, Array]:
        """For verification: world positions of both points."""
        first, second = (poses.point(body, x) for body, x in self.fixed_points)
        return first, second
