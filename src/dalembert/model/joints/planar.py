"""The joint that slides and turns in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector
from dalembert.model.joints.base import Joint, Numbers3
from dalembert.model.joints.rows import Row, aligned, along, plane
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Planar(Joint):
    """The child slides by `displacement` in the plane with the unit vector `normal` and turns by `angle` about it.

    For the normal z the two displacements are along x and y.
    """

    kind: ClassVar[str] = "planar"

    normal: Numbers3
    displacement: tuple[Any, Any]
    angle: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """Two displacements and the angle."""
        return (*self.displacement, self.angle)

    @property
    def motions(self) -> tuple[str, ...]:
        """Two displacements and an angle."""
        return ("first displacement", "second displacement", "angle")

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """A rotation about the normal."""
        return about_axis(algebra, self.normal, values[2])

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The displacements along the plane."""
        e1, e2 = plane(self.normal)
        return vector([(a * values[0] if a else 0) + (b * values[1] if b else 0) for a, b in zip(e1, e2, strict=True)])

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The normal for the angle."""
        return matrix([[0, 0, k] for k in self.normal])

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The two directions of the plane."""
        e1, e2 = plane(self.normal)
        return matrix([[e1[i], e2[i], 0] for i in range(3)])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origin in the plane, normal aligned: three rows."""
        return [along("height", self.normal, p), *aligned(self.normal, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """Displacements along the plane and the angle about its normal."""
        e1, e2 = (np.array(e, dtype=float) for e in plane(self.normal))
        return (float(np.dot(e1, p)), float(np.dot(e2, p)), angle_about(self.normal, R))
