"""Planar joint: translation in a plane and rotation about its normal."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.joints.base import (
    HERE,
    ConstraintRow,
    InverseJoint,
    Joint,
    MotionAxes,
    Rows,
    aligned,
    along,
    plane,
)
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.model.keys import Urdf, direction, moves, position
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import ReferenceFrame, offset, parallel, rotation_about, scaled_axis
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, vector
from dalembert.symbolic.symbols import Formula


@record
class Planar(Joint):
    """Planar joint: translation in the plane with this normal (along x and y for the normal z) and rotation about it."""

    kind = "planar"
    names = ("first displacement", "second displacement", "angle")
    urdf = Urdf("planar", {"x": "m", "y": "m", "angle": "rad"})

    normal: UnitVector = argument(direction, positional=True, about="three numbers: the normal of the plane")
    displacement: tuple[Formula, Formula] = motion(moves(2), about="two formulas of coordinates and time")
    angle: Formula = motion(position, about="a formula of coordinates and time")

    @property
    def steps(self) -> Sequence[MotionAxes]:
        e1, e2 = plane(self.normal)
        return [MotionAxes(along=e1), MotionAxes(along=e2), MotionAxes(about=self.normal)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [along("height", self.normal, p), *aligned(self.normal, R)]

    def inverse(self) -> InverseJoint:
        """A revolute joint, then two prismatic joints, all with negated values."""
        (a, b, c), (d, e, f) = plane(self.normal)
        x, y = self.displacement
        turn = Revolute(HERE, HERE, self.normal, -self.angle)
        slides = Prismatic(HERE, HERE, (a, b, c), -x), Prismatic(HERE, HERE, (d, e, f), -y)
        return InverseJoint([turn, *slides], [(1, 0), (2, 0), (0, 0)])

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        e1, e2 = plane(self.normal)
        return scaled_axis(e1, values[0]) + scaled_axis(e2, values[1]), rotation_about(algebra, self.normal, values[2])

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return [F.along(self.normal) @ vector(offset(F, M))], parallel(F, M, self.normal)
