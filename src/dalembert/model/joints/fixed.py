"""The joint that does not move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dalembert.algebra import Algebra, Array, Scalar, identity, zeros
from dalembert.model.joints.base import Joint, Numbers3


@dataclass(frozen=True)
class Fixed(Joint):
    """The child sits on the parent at the placement."""

    kind: ClassVar[str] = "fixed"

    @property
    def value(self) -> None:
        """A fixed joint has no motion."""
        return

    def turn(self, algebra: Algebra, value: Scalar) -> Array:
        """No rotation."""
        return identity(3)

    def shift(self, value: Scalar) -> Array:
        """No displacement."""
        return zeros(3)

    @property
    def angular(self) -> Numbers3:
        """No angular velocity."""
        return (0, 0, 0)

    @property
    def linear(self) -> Numbers3:
        """No velocity."""
        return (0, 0, 0)
