"""The joint that turns about an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, zeros
from dalembert.expressions.writing import written
from dalembert.model.declared import Place, apart, parallel, turned
from dalembert.model.file_form import Element, direction
from dalembert.model.joints.base import Joint, Numbers3, Rows, Undone
from dalembert.model.joints.rows import Row, aligned, together
from dalembert.model.keys import ANGLE, AXIS, Keys
from dalembert.model.making import Maker, maker, unit_vector
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Revolute(Joint):
    """The child turns by `angle`, any expression of coordinates and time, about the unit vector `axis`."""

    kind: ClassVar[str] = "revolute"
    keys: ClassVar[Keys | None] = {**AXIS, **ANGLE}

    axis: Numbers3
    angle: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """The angle."""
        return (self.angle,)

    @property
    def motions(self) -> tuple[str, ...]:
        """One angle."""
        return ("angle",)

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """R = 1 + sinα k× + (1 − cosα) k×k×."""
        return about_axis(algebra, self.axis, values[0])

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No displacement."""
        return zeros(3)

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis."""
        return matrix([[k] for k in self.axis])

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No velocity."""
        return zeros(3, 1)

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axis aligned: five rows."""
        return [*together(p), *aligned(self.axis, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The angle about the axis."""
        return (angle_about(self.axis, R),)

    def with_values(self, values: Sequence[Any]) -> Self:
        """By another angle."""
        return replace(self, angle=values[0])

    def undone(self) -> Undone:
        """The opposite angle about the same axis."""
        return self._negated()

    def written(self, where: str) -> Element:
        """Axis and angle."""
        return {"type": self.kind, "axis": direction(self.axis), "angle": written(self.angle, where)}

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It turns about the axis."""
        return zeros(3), turned(algebra, self.axis, values[0])

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origins together, axis parallel."""
        return apart(F, M), parallel(F, M, self.axis)


class RevoluteMaker(Maker):
    """Makes revolute joints."""

    @maker
    def revolute(
        self,
        axis: Sequence[float],
        angle: Any = None,
        position: Sequence[Any] = (0, 0, 0),
        rotation: Sequence[Any] = (0, 0, 0),
        *,
        where: str = "joint",
    ) -> Revolute:
        """A joint that turns about `axis` by `angle`, any expression of coordinates and time."""
        where = f"{where} (revolute)"
        place = self._placement(where, position, rotation)
        return Revolute(*place, unit_vector(axis, where), self._motion(angle, f"{where}, angle"))
