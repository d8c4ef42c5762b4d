"""The joint that turns about an axis and slides along it, each on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector
from dalembert.model.joints.base import Joint, Numbers3
from dalembert.model.joints.rows import Row, aligned, on_line
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Cylindrical(Joint):
    """The child turns by `angle` about the unit vector `axis` and slides by `displacement` along it."""

    kind: ClassVar[str] = "cylindrical"

    axis: Numbers3
    angle: Any
    displacement: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """Angle and displacement."""
        return (self.angle, self.displacement)

    @property
    def motions(self) -> tuple[str, ...]:
        """An angle and a displacement."""
        return ("angle", "displacement")

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """A rotation about the axis."""
        return about_axis(algebra, self.axis, values[0])

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis times the displacement."""
        return vector([k * values[1] if k else 0 for k in self.axis])

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis for the angle."""
        return matrix([[k, 0] for k in self.axis])

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis for the displacement."""
        return matrix([[0, k] for k in self.axis])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origin on the axis, axis aligned: four rows."""
        return [*on_line(self.axis, p), *aligned(self.axis, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """Angle about the axis and displacement along it."""
        return (angle_about(self.axis, R), float(np.dot(np.array(self.axis, dtype=float), p)))
