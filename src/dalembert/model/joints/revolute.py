"""The joint that turns about an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, zeros
from dalembert.arguments import checked
from dalembert.expressions.formula import Formula, Written
from dalembert.model.declared import Place, apart, parallel, turned
from dalembert.model.joints.base import Joint, Numbers3, Rows
from dalembert.model.joints.rows import Row, aligned, together
from dalembert.model.keys import ANGLE, AXIS, Keys
from dalembert.model.making import ZERO, Given, Maker, unit_vector
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Revolute(Joint):
    """The child turns by `angle`, any expression of coordinates and time, about the unit vector `axis`."""

    kind: ClassVar[str] = "revolute"
    moves: ClassVar[tuple[str, ...]] = ("angle",)
    reversible: ClassVar[bool] = True
    keys: ClassVar[Keys | None] = {**AXIS, **ANGLE}

    axis: Numbers3
    angle: Formula

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """R = 1 + sinα k× + (1 − cosα) k×k×."""
        return about_axis(algebra, self.axis, values[0])

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis."""
        return matrix([[k] for k in self.axis])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axis aligned: five rows."""
        return [*together(p), *aligned(self.axis, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The angle about the axis."""
        return (angle_about(self.axis, R),)

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It turns about the axis."""
        return zeros(3), turned(algebra, self.axis, values[0])

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origins together, axis parallel."""
        return apart(F, M), parallel(F, M, self.axis)


class RevoluteMaker(Maker):
    """Makes revolute joints."""

    @checked
    def revolute(
        self,
        axis: Given,
        angle: Written = None,
        position: Given = ZERO,
        rotation: Given = ZERO,
        *,
        where: str = "joint",
    ) -> Revolute:
        """A joint that turns about `axis` by `angle`, any expression of coordinates and time."""
        where = f"{where} (revolute)"
        place = self._placement(where, position, rotation)
        return Revolute(*place, unit_vector(axis, where), self._motion(angle, f"{where}, angle"))
