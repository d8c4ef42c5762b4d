"""The joint that does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, zeros
from dalembert.arguments import checked
from dalembert.model.declared import Place, apart, twisted
from dalembert.model.joints.base import Joint, Rows, Undone
from dalembert.model.joints.rows import Row, together, unturned
from dalembert.model.keys import Keys
from dalembert.model.making import ZERO, Given, Maker


@dataclass(frozen=True)
class Fixed(Joint):
    """The child sits on the parent at the placement."""

    kind: ClassVar[str] = "fixed"
    keys: ClassVar[Keys | None] = {}

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axes parallel: six rows."""
        return [*together(p), *unturned(algebra, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """Nothing to measure."""
        return ()

    def undone(self) -> Undone:
        """Nothing to undo."""
        return Undone([], [])

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It carries nowhere."""
        return zeros(3), identity(3)

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """The frames are one."""
        return apart(F, M), twisted(F, M)


class FixedMaker(Maker):
    """Makes fixed joints."""

    @checked
    def fixed(self, position: Given = ZERO, rotation: Given = ZERO, *, where: str = "joint") -> Fixed:
        """A joint that does not move, placed at `position` with `rotation` = (roll, pitch, yaw).

        `where` begins the message of an error, here and in the other joints.
        """
        return Fixed(*self._placement(f"{where} (fixed)", position, rotation))
