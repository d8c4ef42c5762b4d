"""The joint that turns about an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, zeros
from dalembert.model.joints.base import Joint, Numbers3
from dalembert.model.joints.rows import Row, aligned, together
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Revolute(Joint):
    """The child turns by `angle`, any expression of coordinates and time, about the unit vector `axis`."""

    kind: ClassVar[str] = "revolute"

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
