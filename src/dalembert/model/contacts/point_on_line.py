"""Point constrained to a line: a pin in a slot, a bead on a rod."""

from __future__ import annotations

from dalembert.model.contacts.base import BetweenPoints, ConstraintAction, Formulas, reaction_pair
from dalembert.model.immutable import Frozen
from dalembert.model.keys import direction
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Array, matrix, vector
from dalembert.symbolic.rotations import cross, perpendicular


@record
class PointOnLine(BetweenPoints):
    """Constrain a point of the second body to a line of the first: through its point along `axis`, in its axes.

    >>> from dalembert.model.model import Model
    >>> model = Model("ladder", gravity=(0, 0, -10)).coordinates("x", "z", "tilt").start({"z": 4, "x": 3}, {})
    >>> joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "tilt")]
    >>> _ = model.body("ladder", joint=joints, mass=1, inertia=(0, 1, 0))
    >>> _ = model.point_on_line(("world", "ladder"), (0, 0, 1), points=((0, 0, 0), (-3, 0, 4)), name="wall")
    >>> _ = model.point_on_line(("world", "ladder"), (1, 0, 0), points=((0, 0, 0), (3, 0, -4)), name="floor")
    >>> import dalembert as dl
    >>> dl.mobility(model).degrees_of_freedom
    1
    """

    kind = "point_on_line"
    descriptions = Frozen(
        bodies='two names, of bodies or `"world"`: the body with the line, then the body with the point',
        points="two points, each in the axes of its body: a point of the line, then the constrained point",
    )

    axis: UnitVector = argument(
        direction, positional=True, about="three numbers: the direction of the line, in axes of the first body"
    )

    @property
    def _across(self) -> dict[str, Array]:
        """Two unit vectors perpendicular to the line, in axes of the first body."""
        first = vector(list(perpendicular(self.axis)))
        both = (first, cross(vector(list(self.axis)), first))
        return {f"{self.name}, across {i + 1}": e for i, e in enumerate(both)}

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """The distance from the line in two directions."""
        offset = self._relative_position(motion)
        return {name: e @ offset for name, e in self._across.items()}, {}

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        """Perpendicular to the line, at the point."""
        R, (_, point) = motion.frame(self.bodies[0]).R, self._ends(motion)
        return {name: reaction_pair(self.bodies, R @ e, point) for name, e in self._across.items()}

    def residual_terms(self, poses: ReferencePoses) -> Array:
        """The cross product of the line and the vector to the point, which has three rows."""
        (a, b, c), (p, r) = poses.frames[self.bodies[0]].along(self.axis), self._reference_points(poses)
        rows = [[r[i] * v, -p[i] * v, -r[j] * u, p[j] * u] for i, j, u, v in ((1, 2, b, c), (2, 0, c, a), (0, 1, a, b))]
        return matrix(rows)
