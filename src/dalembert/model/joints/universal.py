"""The joint of two crossing axes: Hooke's or Cardan's joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector, zeros
from dalembert.model.joints.base import Joint, Numbers3
from dalembert.model.joints.rows import Row, across, together
from dalembert.spatial import about_axis


@dataclass(frozen=True)
class Universal(Joint):
    """The child turns about `axes[0]`, fixed on the parent, then about `axes[1]`, fixed on the child, at right angles."""

    kind: ClassVar[str] = "universal"

    axes: tuple[Numbers3, Numbers3]
    angles: tuple[Any, Any]

    @property
    def values(self) -> tuple[Any, ...]:
        """The two angles."""
        return self.angles

    @property
    def motions(self) -> tuple[str, ...]:
        """Two angles."""
        return ("first angle", "second angle")

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """One rotation after the other."""
        return about_axis(algebra, self.axes[0], values[0]) @ about_axis(algebra, self.axes[1], values[1])

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No displacement."""
        return zeros(3)

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The first axis as the child sees it, and the second."""
        first = about_axis(algebra, self.axes[1], values[1]).T @ vector(list(self.axes[0]))
        return matrix([[first[i], self.axes[1][i]] for i in range(3)])

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No velocity."""
        return zeros(3, 2)

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axes at right angles: four rows."""
        return [*together(p), across("twist", self.axes[0], self.axes[1], R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The two angles, from where the second axis and the normal of both point."""
        a, b = np.array(self.axes[0], dtype=float), np.array(self.axes[1], dtype=float)
        c = np.cross(a, b)
        b_now = R @ b  # the second axis turns by the first angle only
        first = np.arctan2(c @ b_now, b @ b_now)
        a_seen = R.T @ a  # and the first axis, seen from the child, by minus the second
        second = np.arctan2(a_seen @ c, a_seen @ a)
        return (float(first), float(second))
