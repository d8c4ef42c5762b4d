"""The joint that slides along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, matrix, vector
from dalembert.arguments import checked
from dalembert.expressions.formula import Formula, Written
from dalembert.model.declared import Place, apart, beside, slid, twisted
from dalembert.model.joints.base import Joint, Numbers3, Rows
from dalembert.model.joints.rows import Row, on_line, unturned
from dalembert.model.keys import AXIS, DISPLACEMENT, Keys
from dalembert.model.making import ZERO, Given, Maker, unit_vector


@dataclass(frozen=True)
class Prismatic(Joint):
    """The child slides by `displacement`, any expression of coordinates and time, along the unit vector `axis`."""

    kind: ClassVar[str] = "prismatic"
    moves: ClassVar[tuple[str, ...]] = ("displacement",)
    reversible: ClassVar[bool] = True
    keys: ClassVar[Keys | None] = {**AXIS, **DISPLACEMENT}

    axis: Numbers3
    displacement: Formula

    def shift(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis times the displacement."""
        return vector([k * values[0] if k else 0 for k in self.axis])

    def linear(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The axis."""
        return matrix([[k] for k in self.axis])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origin on the axis, axes parallel: five rows."""
        return [*on_line(self.axis, p), *unturned(algebra, R)]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The displacement along the axis."""
        return (float(np.dot(np.array(self.axis, dtype=float), p)),)

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It slides along the axis."""
        return slid(self.axis, values[0]), identity(3)

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origin on the axis, axes parallel."""
        return beside(F, self.axis, apart(F, M)), twisted(F, M)


class PrismaticMaker(Maker):
    """Makes prismatic joints."""

    @checked
    def prismatic(
        self,
        axis: Given,
        displacement: Written = None,
        position: Given = ZERO,
        rotation: Given = ZERO,
        *,
        where: str = "joint",
    ) -> Prismatic:
        """A joint that slides along `axis` by `displacement`, any expression of coordinates and time."""
        where = f"{where} (prismatic)"
        place = self._placement(where, position, rotation)
        return Prismatic(*place, unit_vector(axis, where), self._motion(displacement, f"{where}, displacement"))
