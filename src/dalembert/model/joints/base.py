"""The contract of a joint: a constant placement on the parent, then a motion that is any expression of (q, t)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.algebra import Algebra, Array, Scalar

Numbers3 = tuple[float, float, float]


@dataclass(frozen=True)
class Joint(ABC):
    """Placement of the joint frame F on the parent: `position` (parent axes) and `rotation` (roll, pitch, yaw)."""

    kind: ClassVar[str]

    position: tuple[Any, Any, Any]
    rotation: tuple[Any, Any, Any]

    @property
    @abstractmethod
    def value(self) -> Any | None:
        """The formula of the joint's motion in q and t, or None for a joint that does not move."""

    @abstractmethod
    def turn(self, algebra: Algebra, value: Scalar) -> Array:
        """R_FM: the rotation of the moved frame M in F."""

    @abstractmethod
    def shift(self, value: Scalar) -> Array:
        """p_FM: the displacement of the moved frame M in axes of F."""

    @property
    @abstractmethod
    def angular(self) -> Numbers3:
        """The angular velocity of M in F for a unit rate of the value, in axes of M."""

    @property
    @abstractmethod
    def linear(self) -> Numbers3:
        """The velocity of the origin of M in F for a unit rate of the value, in axes of F."""
