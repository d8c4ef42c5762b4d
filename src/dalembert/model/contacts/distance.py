"""Constant distance between two points: a massless rod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.model.contacts.base import BetweenPoints, ConstraintAction, Formulas, reaction_pair
from dalembert.model.evaluation import Table, value
from dalembert.model.keys import constant_length
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.symbolic.algebra_base import Array, matrix, scaled
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements


@record
class Distance(BetweenPoints):
    """Constrain the distance of two points, each on a body or the world: a massless rod with spherical joints.

    The formula is (|r₂ − r₁|² − length²) / (2 length): it has no square root, and its multiplier is the compressive force.

    A pendulum at rest, whose rod carries its weight:

    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum", gravity=(0, 0, -10)).coordinates("x", "z").start({"z": -2}, {})
    >>> _ = model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=3)
    >>> _ = model.distance(("world", "bob"), 2, name="rod")
    >>> import dalembert as dl
    >>> dl.derive(model).multipliers([0, -2], [0, 0])
    array([-30.])
    """

    kind = "distance"

    length: Formula = argument(constant_length, positional=True, about="a positive constant")

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        size = value(self.length, table)
        if size > 0:
            return super().problems(model, table)
        advice = "Expected a positive length; for coincident points close a loop with a spherical joint."
        return [Problem(f"{self.title}, length", f"the length is {size:g}.", advice)]

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """The residual of the squared distance."""
        (first, second), size = self._ends(motion), motion.lower(self.length)
        span = second - first
        return {self.name: motion.algebra.half * (span @ span - size * size) / size}, {}

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        """Along the rod, repulsive."""
        first, second = self._ends(motion)
        along = scaled(1 / motion.lower(self.length), second - first)
        return {self.name: reaction_pair(self.bodies, along, second)}

    def residual_terms(self, poses: ReferencePoses) -> Array:
        """The distance and minus the length."""
        first, second = self._reference_points(poses)
        span = second - first
        return matrix([[poses.algebra.sqrt(span @ span), -poses.lower(self.length)]])
