"""The joint that slides along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, matrix, vector, zeros
from dalembert.model.joints.base import Joint, Numbers3
from dalembert.model.joints.rows import Row, on_line, unturned


@dataclass(frozen=True)
class Prismatic(Joint):
    """The child slides by `displacement`, any expression of coordinates and time, along the unit vector `axis`."""

    kind: ClassVar[str] = "prismatic"

    axis: Numbers3
    displacement: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """The displacement."""
        return (self.displacement,)

    @property
    def motions(self) -> tuple[str, ...]:
        """One displacement."""
        return ("displacement",)

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No rotation."""
        return identity(3)

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis times the displacement."""
        return vector([k * values[0] if k else 0 for k in self.axis])

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No angular velocity."""
        return zeros(3, 1)

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis."""
        return matrix([[k] for k in self.axis])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origin on the axis, axes parallel: five rows."""
        return [*on_line(self.axis, p), *unturned(algebra, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The displacement along the axis."""
        return (float(np.dot(np.array(self.axis, dtype=float), p)),)
