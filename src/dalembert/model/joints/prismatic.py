"""The joint that slides along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.algebra import Algebra, Array, Scalar, identity, vector
from dalembert.model.joints.base import Joint, Numbers3


@dataclass(frozen=True)
class Prismatic(Joint):
    """The child slides by `displacement`, any expression of coordinates and time, along the unit vector `axis`."""

    kind: ClassVar[str] = "prismatic"

    axis: Numbers3
    displacement: Any

    @property
    def value(self) -> Any:
        """The displacement."""
        return self.displacement

    def turn(self, algebra: Algebra, value: Scalar) -> Array:
        """No rotation."""
        return identity(3)

    def shift(self, value: Scalar) -> Array:
        """The axis times the displacement."""
        return vector([k * value if k else 0 for k in self.axis])

    @property
    def angular(self) -> Numbers3:
        """No angular velocity."""
        return (0, 0, 0)

    @property
    def linear(self) -> Numbers3:
        """The axis."""
        return self.axis
