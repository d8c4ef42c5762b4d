"""Cylindrical joint: independent rotation about and translation along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.joints.base import ConstraintRow, Joint, MotionAxes, Rows, aligned, on_line
from dalembert.model.keys import direction, position
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import (
    ReferenceFrame,
    cross_with_axis,
    offset,
    parallel,
    rotation_about,
    scaled_axis,
)
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar
from dalembert.symbolic.symbols import Formula


@record
class Cylindrical(Joint):
    """Cylindrical joint: rotation about `axis` by `angle` and translation along it by `displacement`."""

    kind = "cylindrical"
    reversible = True

    axis: UnitVector = argument(direction, positional=True, about="three numbers: a nonzero direction vector")
    angle: Formula = motion(position, about="a formula of coordinates and time")
    displacement: Formula = motion(position, about="a formula of coordinates and time")

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [MotionAxes(about=self.axis), MotionAxes(along=self.axis)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [*on_line(self.axis, p), *aligned(self.axis, R)]

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return scaled_axis(self.axis, values[1]), rotation_about(algebra, self.axis, values[0])

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return cross_with_axis(F, self.axis, offset(F, M)), parallel(F, M, self.axis)
