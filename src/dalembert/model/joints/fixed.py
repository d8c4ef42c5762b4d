"""The joint that does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, zeros
from dalembert.model.joints.base import Joint
from dalembert.model.joints.rows import Row, together, unturned


@dataclass(frozen=True)
class Fixed(Joint):
    """The child sits on the parent at the placement."""

    kind: ClassVar[str] = "fixed"

    @property
    def values(self) -> tuple[Any, ...]:
        """A fixed joint has no motion."""
        return ()

    @property
    def motions(self) -> tuple[str, ...]:
        """None."""
        return ()

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No rotation."""
        return identity(3)

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No displacement."""
        return zeros(3)

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No angular velocity."""
        return zeros(3, 0)

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """No velocity."""
        return zeros(3, 0)

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axes parallel: six rows."""
        return [*together(p), *unturned(algebra, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """Nothing to measure."""
        return ()
