"""Prismatic joint: translation along a fixed axis."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.joints.base import ConstraintRow, Joint, MotionAxes, Rows, on_line, same_orientation
from dalembert.model.keys import Urdf, direction, position
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import ReferenceFrame, axes_difference, cross_with_axis, offset, scaled_axis
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity
from dalembert.symbolic.symbols import Formula


@record
class Prismatic(Joint):
    """Prismatic joint: translation along `axis` by `displacement`, a formula of coordinates and time."""

    kind = "prismatic"
    reversible = True
    urdf = Urdf("prismatic", {"displacement": "m"})

    axis: UnitVector = argument(direction, positional=True, about="three numbers: a nonzero direction vector")
    displacement: Formula = motion(position, about="a formula of coordinates and time")

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [MotionAxes(along=self.axis)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [*on_line(self.axis, p), *same_orientation(algebra, R)]

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return scaled_axis(self.axis, values[0]), identity(3)

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return cross_with_axis(F, self.axis, offset(F, M)), axes_difference(F, M)
