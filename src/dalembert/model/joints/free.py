"""The joint that holds nothing: six freedoms, the attitude by Euler angles or by a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.model.joints.base import Joint
from dalembert.model.joints.quaternion import Quaternion
from dalembert.model.joints.rows import Row
from dalembert.model.joints.spherical import Spherical


@dataclass(frozen=True)
class Free(Joint):
    """The child is displaced by `displacement`, in axes of F, and turned as the `attitude` tells."""

    kind: ClassVar[str] = "free"

    displacement: tuple[Any, Any, Any]
    attitude: Spherical | Quaternion

    @property
    def quaternion(self) -> bool:  # type: ignore[override]
        """True when the attitude is a quaternion."""
        return self.attitude.quaternion

    @property
    def values(self) -> tuple[Any, ...]:
        """Three displacements, then the attitude."""
        return (*self.displacement, *self.attitude.values)

    @property
    def motions(self) -> tuple[str, ...]:
        """Three displacements, then the attitude."""
        return ("along x", "along y", "along z", *self.attitude.motions)

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The rotation of the attitude."""
        return self.attitude.turn(algebra, values[3:])

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The displacement."""
        return vector(list(values[:3]))

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """Nothing for the displacement, then the attitude's."""
        return np.concatenate([zeros(3, 3), self.attitude.angular(algebra, values[3:])], axis=1)

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axes of F for the displacement, nothing for the attitude."""
        return np.concatenate([identity(3), zeros(3, len(self.attitude.values))], axis=1)

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """No rows."""
        return []

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """Displacement and attitude."""
        return (*(float(x) for x in p), *self.attitude.measure(R, p))
