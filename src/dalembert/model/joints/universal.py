"""Universal (Hooke's, Cardan) joint: rotation about two perpendicular intersecting axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError
from dalembert.model.joints.base import HERE, ConstraintRow, InverseJoint, Joint, MotionAxes, Rows, across, together
from dalembert.model.keys import ValueType, array, direction, moves
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import ReferenceFrame, offset, rotation_about
from dalembert.model.values import UnitVector, is_sequence, unit_vector
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def _crossed(model: Elements, axes: object, where: str) -> tuple[UnitVector, UnitVector]:
    if not is_sequence(axes, 2):
        got = len(axes) if is_sequence(axes) else repr(axes)
        raise InputError(f"{where}: got {got}. Expected two perpendicular axes.")
    first, second = unit_vector(axes[0], f"{where}[0]"), unit_vector(axes[1], f"{where}[1]")
    cosine = sum(a * b for a, b in zip(first, second, strict=True))
    if abs(cosine) > 1e-9:
        raise InputError(f"{where}: the cosine of the angle between them is {cosine:g}. Expected perpendicular axes.")
    return first, second


_AXES = ValueType(
    array(2, direction, "directions"),
    _crossed,
    lambda axes, where: [direction.write(axis, where) for axis in axes],
    argument="ArrayInput",
)


@record
class Universal(Joint):
    """Universal joint: rotation about `axes[0]`, fixed on the parent, and about the perpendicular `axes[1]`, on the child."""

    kind = "universal"
    names = ("first angle", "second angle")

    axes: tuple[UnitVector, UnitVector] = argument(_AXES, positional=True, about="two perpendicular directions")
    angles: tuple[Formula, Formula] = motion(moves(2), about="two formulas of coordinates and time")

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [MotionAxes(about=axis) for axis in self.axes]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [*together(p), across("twist", self.axes[0], self.axes[1], R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The two angles, from the directions of the second axis and of the common normal."""
        a, b = np.array(self.axes[0], dtype=float), np.array(self.axes[1], dtype=float)
        c = np.cross(a, b)
        b_F = R @ b  # the second axis rotates by the first angle only
        first = np.arctan2(c @ b_F, b @ b_F)
        a_M = R.T @ a  # the first axis rotates by minus the second angle in axes of the child
        second = np.arctan2(a_M @ c, a_M @ a)
        return (float(first), float(second))

    def inverse(self) -> InverseJoint:
        (a, b), (first, second) = self.axes, self.angles
        return InverseJoint([Universal(HERE, HERE, (b, a), (-second, -first))], [(0, 1), (0, 0)])

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        first, second = (rotation_about(algebra, a, x) for a, x in zip(self.axes, values, strict=True))
        return zeros(3), first @ second

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return offset(F, M), [F.along(self.axes[0]) @ M.along(self.axes[1])]
