"""The joint that turns about an axis and slides along it, each on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector
from dalembert.arguments import checked
from dalembert.expressions.formula import Formula, Written
from dalembert.model.declared import Place, apart, beside, parallel, slid, turned
from dalembert.model.joints.base import Joint, Numbers3, Rows
from dalembert.model.joints.rows import Row, aligned, on_line
from dalembert.model.keys import ANGLE, AXIS, DISPLACEMENT, Keys
from dalembert.model.making import ZERO, Given, Maker, unit_vector
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Cylindrical(Joint):
    """The child turns by `angle` about the unit vector `axis` and slides by `displacement` along it."""

    kind: ClassVar[str] = "cylindrical"
    moves: ClassVar[tuple[str, ...]] = ("angle", "displacement")
    reversible: ClassVar[bool] = True
    keys: ClassVar[Keys | None] = {**AXIS, **ANGLE, **DISPLACEMENT}

    axis: Numbers3
    angle: Formula
    displacement: Formula

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

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It slides along the axis and turns about it."""
        return slid(self.axis, values[1]), turned(algebra, self.axis, values[0])

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origin on the axis, axis parallel."""
        return beside(F, self.axis, apart(F, M)), parallel(F, M, self.axis)


class CylindricalMaker(Maker):
    """Makes cylindrical joints."""

    @checked
    def cylindrical(
        self,
        axis: Given,
        angle: Written = None,
        displacement: Written = None,
        position: Given = ZERO,
        rotation: Given = ZERO,
        *,
        where: str = "joint",
    ) -> Cylindrical:
        """A joint that turns about `axis` by `angle` and slides along it by `displacement`."""
        where = f"{where} (cylindrical)"
        place = self._placement(where, position, rotation)
        turn, slide = self._motion(angle, f"{where}, angle"), self._motion(displacement, f"{where}, displacement")
        return Cylindrical(*place, unit_vector(axis, where), turn, slide)
