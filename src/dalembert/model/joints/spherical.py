"""The joint that turns about a point, by three Euler angles: the Euler-angle-joints of papers/denoc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector, zeros
from dalembert.model.joints.base import Joint
from dalembert.model.joints.rows import Row, together
from dalembert.spatial import about_axis

UNITS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
SEQUENCES = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c)


@dataclass(frozen=True)
class Spherical(Joint):
    """The child turns by three angles about the axes named in `sequence`, each carried along by the turns before it."""

    kind: ClassVar[str] = "spherical"

    sequence: str
    angles: tuple[Any, Any, Any]

    @property
    def values(self) -> tuple[Any, ...]:
        """The three angles."""
        return self.angles

    @property
    def motions(self) -> tuple[str, ...]:
        """Three angles."""
        return ("first angle", "second angle", "third angle")

    def _turns(self, algebra: Algebra, values: Sequence[Scalar]) -> list[Array]:
        return [about_axis(algebra, UNITS[axis], value) for axis, value in zip(self.sequence, values, strict=True)]

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """One rotation after the other."""
        first, second, third = self._turns(algebra, values)
        return first @ second @ third

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No displacement."""
        return zeros(3)

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The three axes as the child sees them."""
        _, second, third = self._turns(algebra, values)
        e1, e2, e3 = (vector(list(UNITS[axis])) for axis in self.sequence)
        columns = (third.T @ (second.T @ e1), third.T @ e2, e3)
        return matrix([[column[i] for column in columns] for i in range(3)])

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No velocity."""
        return zeros(3, 3)

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together: three rows."""
        return together(p)

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The three angles."""
        from scipy.spatial.transform import Rotation

        a, b, c = Rotation.from_matrix(R).as_euler(self.sequence.upper())
        return (float(a), float(b), float(c))
