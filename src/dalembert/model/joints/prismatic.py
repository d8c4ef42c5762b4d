"""Prismatic joint: translation along a fixed axis."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.file_form import Urdf
from dalembert.model.joints.base import Joint, Row, Rows, Step, on_line, unturned
from dalembert.model.keys import direction, position
from dalembert.model.record import argument, motion, record
from dalembert.model.reference_model import Place, apart, beside, slid, twisted
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity
from dalembert.symbolic.symbols import Formula


@record
class Prismatic(Joint):
    """Prismatic joint: translation along `axis` by `displacement`, a formula of coordinates and time."""

    kind = "prismatic"
    reversible = True
    urdf = Urdf("prismatic", {"displacement": "m"})

    axis: UnitVector = argument(direction, positional=True, about="three numbers: a nonzero direction vector")
    displacement: Formula = motion(position, about="a formula of coordinates and time")

    @property
    def steps(self) -> Sequence[Step]:
        return [Step(along=self.axis)]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        return [*on_line(self.axis, p), *unturned(algebra, R)]

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return slid(self.axis, values[0]), identity(3)

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        return beside(F, self.axis, apart(F, M)), twisted(F, M)
