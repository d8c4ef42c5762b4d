"""The joint that slides and turns in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector
from dalembert.arguments import checked
from dalembert.expressions.formula import Formula, Written
from dalembert.model.declared import Place, apart, parallel, slid, turned
from dalembert.model.joints.base import HERE, Joint, Numbers3, Rows, Undone
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.model.joints.rows import Row, aligned, along, plane
from dalembert.model.keys import ANGLE, Key, Keys, array, direction, position
from dalembert.model.making import ZERO, Given, Maker, unit_vector
from dalembert.spatial import about_axis, angle_about


@dataclass(frozen=True)
class Planar(Joint):
    """The child slides by `displacement` in the plane with the unit vector `normal` and turns by `angle` about it.

    For the normal z the two displacements are along x and y.
    """

    kind: ClassVar[str] = "planar"
    moves: ClassVar[tuple[str, ...]] = ("displacement", "angle")
    names: ClassVar[tuple[str, ...]] = ("first displacement", "second displacement", "angle")
    keys: ClassVar[Keys | None] = {
        "normal": Key(direction, required=True),
        "displacement": Key(array(2, position, "formulas"), required=True, motion=True),
        **ANGLE,
    }

    normal: Numbers3
    displacement: tuple[Formula, Formula]
    angle: Formula

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

    def undone(self) -> Undone:
        """The angle first, then the displacements, all opposite: a sequence of simpler joints."""
        (a, b, c), (d, e, f) = plane(self.normal)
        x, y = self.displacement
        turn = Revolute(HERE, HERE, self.normal, -self.angle)
        slides = Prismatic(HERE, HERE, (a, b, c), -x), Prismatic(HERE, HERE, (d, e, f), -y)
        return Undone([turn, *slides], [(1, 0), (2, 0), (0, 0)])

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It slides along the plane and turns about its normal."""
        e1, e2 = plane(self.normal)
        return slid(e1, values[0]) + slid(e2, values[1]), turned(algebra, self.normal, values[2])

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origin in the plane, normal parallel."""
        return [F.along(self.normal) @ vector(apart(F, M))], parallel(F, M, self.normal)


class PlanarMaker(Maker):
    """Makes planar joints."""

    @checked
    def planar(
        self,
        normal: Given,
        displacement: Given | None = None,
        angle: Written = None,
        position: Given = ZERO,
        rotation: Given = ZERO,
        *,
        where: str = "joint",
    ) -> Planar:
        """A joint that slides in the plane with the given normal (along x and y for the normal z) and turns in it."""
        where = f"{where} (planar)"
        place = self._placement(where, position, rotation)
        x, y = self._motions(displacement, 2, f"{where}, displacement")
        return Planar(*place, unit_vector(normal, where), (x, y), self._motion(angle, f"{where}, angle"))
