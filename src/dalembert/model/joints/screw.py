"""Screw joint: rotation about an axis with proportional advance along it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from dalembert.errors import InputError
from dalembert.model.joints.base import ConstraintRow, Joint, MotionAxes, Rows, aligned, on_line, plane
from dalembert.model.keys import direction, position, size
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
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import angle_about, cross
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class Screw(Joint):
    """Screw joint: rotation about `axis` by `angle`, with an advance of `pitch` per revolution."""

    kind = "screw"
    reversible = True

    axis: UnitVector = argument(direction, positional=True, about="three numbers: a nonzero direction vector")
    angle: Formula = motion(position, about="a formula of coordinates and time")
    pitch: float = argument(
        size, 0, required=True, saved=None, positional=True, about="a nonzero constant: the advance per revolution"
    )

    @property
    def lead(self) -> float:
        """The advance for an angle of one radian."""
        return self.pitch / (2 * math.pi)

    @classmethod
    def read(cls, model: Model, arguments: Mapping[str, object], where: str) -> Self:
        made = super().read(model, arguments, where)
        if not made.pitch:
            raise InputError(f"{where}, pitch: the value is 0. Expected a nonzero advance per revolution, or revolute.")
        return made

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [MotionAxes(self.axis, [k * self.lead for k in self.axis])]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [*on_line(self.axis, p), *aligned(self.axis, R), self._thread(algebra, R, p)]

    def _thread(self, algebra: Algebra, R: Array, p: Array) -> ConstraintRow:
        """2 lead × sin(δ/2) = 0, δ = angle − advance / lead: smooth across full revolutions, nonzero at δ = π."""
        n, (e1, e2) = vector(list(self.axis)), (vector(list(e)) for e in plane(self.axis))
        rotated = R @ e1
        advance = (n @ p) * (1 / self.lead)
        c, s = e1 @ rotated, e2 @ rotated
        C, S = algebra.cos(advance), algebra.sin(advance)
        sin, cos = s * C - c * S, c * C + s * S  # of δ
        across, along = cross(rotated, e2), cross(rotated, e1)
        g = 1 / algebra.sqrt(0.5 + 0.5 * cos)  # 1 / cos(δ/2)
        # weights of the rates of sin and cos in d(sin g) = g d(sin) − sin g³/4 d(cos)
        a, b = g, -0.25 * sin * g * g * g
        moment = scaled(self.lead * (a * C + b * S), across) + scaled(self.lead * (b * C - a * S), along)
        return ConstraintRow("thread", self.lead * sin * g, scaled(b * sin - a * cos, n), moment)

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The angle, with the number of revolutions from the advance."""
        angle = angle_about(self.axis, R)
        revolutions = round((float(np.dot(np.array(self.axis, dtype=float), p)) / self.lead - angle) / (2 * math.pi))
        return (angle + 2 * math.pi * revolutions,)

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        displacement = scaled_axis(self.axis, values[0] * (self.pitch / (2 * math.pi)))
        return displacement, rotation_about(algebra, self.axis, values[0])

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        """Origin on the axis, parallel axes, and the sine of the angle minus the advance over the lead."""
        span = offset(F, M)
        e1, e2 = plane(self.axis)
        now = M.along(e1)
        angle = algebra.function("atan2", F.along(e2) @ now, F.along(e1) @ now)
        lead = self.pitch / (2 * math.pi)
        ahead = lead * algebra.sin(angle - (F.along(self.axis) @ vector(span)) / lead)
        return [*cross_with_axis(F, self.axis, span), ahead], parallel(F, M, self.axis)
