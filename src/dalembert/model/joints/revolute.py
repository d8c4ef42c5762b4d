"""The joint that turns about an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.algebra import Algebra, Array, Scalar, zeros
from dalembert.model.joints.base import Joint, Numbers3
from dalembert.spatial import about_axis


@dataclass(frozen=True)
class Revolute(Joint):
    """The child turns by `angle`, any expression of coordinates and time, about the unit vector `axis`."""

    kind: ClassVar[str] = "revolute"

    axis: Numbers3
    angle: Any

    @property
    def value(self) -> Any:
        """The angle."""
        return self.angle

    def turn(self, algebra: Algebra, value: Scalar) -> Array:
        """R = 1 + sinα k× + (1 − cosα) k×k×."""
        return about_axis(algebra, self.axis, value)

    def shift(self, value: Scalar) -> Array:
        """No displacement."""
        return zeros(3)

    @property
    def angular(self) -> Numbers3:
        """The axis."""
        return self.axis

    @property
    def linear(self) -> Numbers3:
        """No velocity."""
        return (0, 0, 0)
