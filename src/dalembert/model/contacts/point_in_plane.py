"""Point constrained to a plane."""

from __future__ import annotations

from dalembert.model.contacts.base import BetweenPoints, ConstraintAction, Formulas, reaction_pair
from dalembert.model.immutable import Frozen
from dalembert.model.keys import direction
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Array, matrix, vector


@record
class PointInPlane(BetweenPoints):
    """Constrain a point of the second body to a plane of the first: through its point with `normal`, in its axes.

    A block on a 45-degree wedge that slides on the ground:

    >>> from dalembert.model.model import Model
    >>> model = Model("wedge", gravity=(0, 0, -9)).coordinates("x", "y", "z")
    >>> _ = model.body("wedge", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> _ = model.body("block", joint=[model.prismatic((1, 0, 0), "y"), model.prismatic((0, 0, 1), "z")], mass=1)
    >>> _ = model.point_in_plane(("wedge", "block"), (1, 0, 1))
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([0, 0, 0], [0, 0, 0]).round(12)
    array([-3.,  3., -6.])
    """

    kind = "point_in_plane"
    descriptions = Frozen(
        bodies='two names, of bodies or `"world"`: the body with the plane, then the body with the point',
        points="two points, each in the axes of its body: a point of the plane, then the constrained point",
    )

    normal: UnitVector = argument(
        direction, positional=True, about="three numbers: the normal of the plane, in axes of the first body"
    )

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        """The height above the plane."""
        return {self.name: vector(list(self.normal)) @ self._relative_position(motion)}, {}

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        """Along the normal, at the point."""
        R, (_, point) = motion.frame(self.bodies[0]).R, self._ends(motion)
        return {self.name: reaction_pair(self.bodies, R @ vector(list(self.normal)), point)}

    def residual_terms(self, poses: ReferencePoses) -> Array:
        """The heights of both points."""
        normal, (first, second) = poses.frames[self.bodies[0]].along(self.normal), self._reference_points(poses)
        return matrix([[normal @ second, -(normal @ first)]])
