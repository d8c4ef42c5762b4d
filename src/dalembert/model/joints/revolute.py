"""Revolute joint: rotation about a fixed axis."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.joints.base import ConstraintRow, Joint, MotionAxes, Rows, aligned, together
from dalembert.model.keys import Urdf, direction, position
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import ReferenceFrame, offset, parallel, rotation_about
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula


@record
class Revolute(Joint):
    """Revolute joint: rotation about `axis` by `angle`, a formula of coordinates and time."""

    kind = "revolute"
    reversible = True
    urdf = Urdf("revolute", {"angle": "rad"}, unlimited="continuous")

    axis: UnitVector = argument(direction, positional=True, about="three numbers: a nonzero direction vector")
    angle: Formula = motion(position, about="a formula of coordinates and time")

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [MotionAxes(about=self.axis)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [*together(p), *aligned(self.axis, R)]

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return zeros(3), rotation_about(algebra, self.axis, values[0])

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return offset(F, M), parallel(F, M, self.axis)
