"""The contract of a joint: a constant placement F on the parent, then a motion to the moved frame M.

A joint states all its facts in its own file: the formulas of its motions, the rotation and displacement they make, the
velocities they give, and the rows that hold two bodies together when it closes a loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import FLOATS, Algebra, Array, Scalar, identity, zeros
from dalembert.algebra.surds import Component
from dalembert.model.joints.rows import Row

Numbers3 = tuple[Component, Component, Component]


@dataclass(frozen=True)
class Joint(ABC):
    """Placement of the joint frame F on the parent: `position` (parent axes) and `rotation` (roll, pitch, yaw)."""

    kind: ClassVar[str]
    quaternion: ClassVar[bool] = False  # True: the last four values are a unit quaternion (w, x, y, z)

    position: tuple[Any, Any, Any]
    rotation: tuple[Any, Any, Any]

    @property
    @abstractmethod
    def values(self) -> tuple[Any, ...]:
        """The formulas of the joint's motions in q and t; none for a joint that does not move."""

    @property
    @abstractmethod
    def motions(self) -> tuple[str, ...]:
        """What the motions are called, one name for each value."""

    @abstractmethod
    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """R_FM: the rotation of the moved frame M in F."""

    @abstractmethod
    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """p_FM: the displacement of the moved frame M in axes of F."""

    @abstractmethod
    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The angular velocity of M in F for unit rates of the values, in axes of M: 3×k."""

    @abstractmethod
    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The velocity of the origin of M in F for unit rates of the values, in axes of F: 3×k."""

    @abstractmethod
    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """The rows that keep M, turned by R and displaced by p from F, within what the joint admits."""

    @abstractmethod
    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The values that bring M to where it is: the inverse of `turn` and `shift`, in numbers."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of the closure rows."""
        return tuple(row.name for row in self.closure(FLOATS, identity(3), zeros(3)))
