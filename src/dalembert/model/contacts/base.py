"""The contract of a contact or coupling: one file states all its facts.

A contact names bodies and becomes constraints before anything else happens: `formulas` reads them off the motion of the bodies.
`pushes` says where the forces of these constraints act. `declared` says for the evidence, from positions only and by other
formulas, what it forbids: see `model/reference_model`. What holds positions alone is `Held`: it says what must vanish as a sum
of parts, by which the initial state is checked, too.
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
from dalembert.model.loads.base import Motion, formulas_in, vector_of
from dalembert.model.record import Named, argument, record
from dalembert.model.reference_model import Condition, Places, Traced, Watch, held
from dalembert.model.values import WORLD, ZERO, TwoPoints, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

Formulas = Mapping[str, Scalar]


@dataclass(frozen=True)
class Push:
    """What a constraint does to a body for a multiplier of one: a force at a point and a moment, in world axes."""

    body: str
    force: Array
    moment: Array
    point: Array


def pushed(bodies: Sequence[str], force: Array, point: Array, moment: Array | None = None) -> list[Push]:
    """A force at a point on the last body, and its opposite at the same place on the first of two; none on the world."""
    turn = zeros(3) if moment is None else moment
    both = zip(reversed(bodies), ((force, turn), (-force, -turn)), strict=False)
    return [Push(name, *push, point) for name, push in both if name != WORLD]


@record
class Contact(Named):
    """What ties bodies to each other or to the ground without a joint."""

    family = "constraint"
    stored = "contacts"
    unit: ClassVar[str | None] = "m"  # of its constraints on positions; None: that of their formulas

    name: str = argument(
        name, None, about="the name, which is the prefix of the names of its constraints", absent="numbered"
    )

    @classmethod
    def taken(cls, model: Model) -> Collection[str]:
        return {*model.constraint_names, *super().taken(model)}

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """The points it holds, each with the body it is fixed on."""
        return []

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The motions of joints that it names: body, joint and motion."""
        return []

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Every formula with its path."""
        for key in self.keys():
            yield from formulas_in(getattr(self, key), f"{self.title}, {key}")

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """What is wrong with it in its model, `table` holding a value of every symbol at the start."""
        return []

    def parts(self, places: Places) -> Array | None:
        """For the evidence: the parts, along the second axis, of which every row sums up to zero; None if there is none."""
        return None

    @abstractmethod
    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The constraints on positions and on velocities that it makes, by name: each vanishes."""

    @abstractmethod
    def pushes(self, motion: Motion) -> dict[str, list[Push]]:
        """Constraint by constraint: what it does to the bodies; those that are left out act inside the joints."""

    @abstractmethod
    def declared(self, watch: Watch) -> Iterator[Condition]:
        """For the evidence: what must vanish, from positions only and by other formulas."""


@record
class Held(Contact):
    """What holds positions, and nothing else."""

    @abstractmethod
    def parts(self, places: Places) -> Array:
        """For the evidence: the parts, along the second axis, of which every row sums up to zero."""

    def declared(self, watch: Watch) -> Iterator[Condition]:
        """The sums vanish, and so do their rates."""
        parts = watch.traced(self.parts)
        levels = (parts.value, parts.rate, parts.second)
        gap = Traced(*(level.sum(axis=1) for level in (*levels, parts.change)))
        yield held(self.name, watch, gap, sizes=[np.abs(level).sum(axis=1) for level in levels])


@record
class BetweenPoints(Held):
    """It holds a point of the second body by a point, and where it needs them by the axes, of the first."""

    bodies: tuple[str, str] = argument(two_bodies, positional=True, about='two names, of bodies or `"world"`')
    points: TwoPoints = argument(two_points, (ZERO, ZERO), about="two points, each in the axes of its body")

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """Both points."""
        return list(zip(self.bodies, self.points, strict=True))

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """Two points on one body hold nothing."""
        first, second = self.bodies
        if first != second:
            return []
        return [Problem(self.title, f"both points are on '{first}'.", "Give `bodies` two different names.")]

    def _ends(self, motion: Motion) -> tuple[Array, Array]:
        """Both points in the world."""
        first, second = (motion.frame(body).point(vector_of(motion, x))[0] for body, x in self.fixed_points)
        return first, second

    def _seen(self, motion: Motion) -> Array:
        """The second point from the first, in axes of the first body."""
        first, second = self._ends(motion)
        return motion.frame(self.bodies[0]).R.T @ (second - first)

    def _found(self, places: Places) -> tuple[Array, Array]:
        """For the evidence: both points in the world."""
        first, second = (places.point(body, x) for body, x in self.fixed_points)
        return first, second
