"""The joint that turns about an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dalembert.model.file_form import Urdf
from dalembert.model.joints.base import Joint, Numbers3, Row, Rows, Step, aligned, together
from dalembert.model.keys import direction, position
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import Place, apart, parallel, turned
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula


@record
class Revolute(Joint):
    """A joint that turns about `axis` by `angle`, any expression of coordinates and time."""

    kind: ClassVar[str] = "revolute"
    reversible: ClassVar[bool] = True
    urdf: ClassVar[Urdf | None] = Urdf("revolute", {"angle": "rad"}, unlimited="continuous")

    axis: Numbers3 = argument(direction, positional=True, about="three numbers: the direction, of any length but 0")
    angle: Formula = motion(position, about="a formula of coordinates and time")

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
