"""The joint that turns about an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dalembert.arguments import checked
from dalembert.model.attitude import Rotation
from dalembert.model.file_form import Urdf
from dalembert.model.joints.base import Joint, JointMaker, Numbers3, Rows, Step
from dalembert.model.joints.constraint_rows_of_joints import Row, aligned, together
from dalembert.model.keys import ANGLE, AXIS, Keys
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Place, apart, parallel, turned
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula, Written


@dataclass(frozen=True)
class Revolute(Joint):
    """The child turns by `angle`, any expression of coordinates and time, about the unit vector `axis`."""

    kind: ClassVar[str] = "revolute"
    reversible: ClassVar[bool] = True
    keys: ClassVar[Keys | None] = {**AXIS, **ANGLE}
    urdf: ClassVar[Urdf | None] = Urdf("revolute", {"angle": "rad"}, unlimited="continuous")

    axis: Numbers3
    angle: Formula

    @property
    def steps(self) -> Sequence[Step]:
        """A turn about the axis."""
        return [Step(about=self.axis)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axis aligned: five rows."""
        return [*together(p), *aligned(self.axis, R)]

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It turns about the axis."""
        return zeros(3), turned(algebra, self.axis, values[0])

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origins together, axis parallel."""
        return apart(F, M), parallel(F, M, self.axis)


class RevoluteMaker(JointMaker):
    """Makes revolute joints."""

    @checked
    def revolute(
        self,
        axis: Given,
        angle: Written | None = None,
        position: Given = ZERO,
        rotation: Rotation = ZERO,
        *,
        where: str = "joint",
    ) -> Revolute:
        """A joint that turns about `axis` by `angle`, any expression of coordinates and time."""
        return self._joint(Revolute, where, position, rotation, axis=axis, angle=angle)
