"""What holds a point of one body by a point of another, or of the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.model.checks.check_values import Table
from dalembert.model.contacts.base import Held
from dalembert.model.keys import BODIES, NAMED, POINTS, Keys
from dalembert.model.loads.base import Motion, vector_of
from dalembert.model.reference_model import Places
from dalembert.model.vectors import Vector3
from dalembert.symbolic.algebra_base import Array

if TYPE_CHECKING:
    from dalembert.model.description import Elements

ENDS: Keys = {**NAMED, **BODIES, **POINTS}


@dataclass(frozen=True)
class BetweenPoints(Held):
    """It holds a point of the second body by a point, and where it needs them by the axes, of the first."""

    bodies: tuple[str, str]
    points: tuple[Vector3, Vector3]

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
