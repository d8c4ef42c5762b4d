"""The joint that turns about an axis and slides along it, each on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dalembert.arguments import checked
from dalembert.model.attitude import Rotation
from dalembert.model.joints.base import Joint, JointMaker, Numbers3, Rows, Step
from dalembert.model.joints.constraint_rows_of_joints import Row, aligned, on_line
from dalembert.model.keys import ANGLE, AXIS, DISPLACEMENT, Keys
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Place, apart, beside, parallel, slid, turned
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
class Cylindrical(Joint):
    """The child turns by `angle` about the unit vector `axis` and slides by `displacement` along it."""

    kind: ClassVar[str] = "cylindrical"
    reversible: ClassVar[bool] = True
    keys: ClassVar[Keys | None] = {**AXIS, **ANGLE, **DISPLACEMENT}

    axis: Numbers3
    angle: Formula
    displacement: Formula

    @property
    def steps(self) -> Sequence[Step]:
        """A turn about the axis and a slide along it."""
        return [Step(about=self.axis), Step(along=self.axis)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origin on the axis, axis aligned: four rows."""
        return [*on_line(self.axis, p), *aligned(self.axis, R)]

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It slides along the axis and turns about it."""
        return slid(self.axis, values[1]), turned(algebra, self.axis, values[0])

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origin on the axis, axis parallel."""
        return beside(F, self.axis, apart(F, M)), parallel(F, M, self.axis)


class CylindricalMaker(JointMaker):
    """Makes cylindrical joints."""

    @checked
    def cylindrical(
        self,
        axis: Given,
        angle: Written | None = None,
        displacement: Written | None = None,
        position: Given = ZERO,
        rotation: Rotation = ZERO,
        *,
        where: str = "joint",
    ) -> Cylindrical:
        """A joint that turns about `axis` by `angle` and slides along it by `displacement`."""
        return self._joint(Cylindrical, where, position, rotation, axis=axis, angle=angle, displacement=displacement)
