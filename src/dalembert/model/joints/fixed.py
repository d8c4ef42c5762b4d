"""The joint that does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dalembert.arguments import checked
from dalembert.model.attitude import Rotation
from dalembert.model.file_form import Urdf
from dalembert.model.joints.base import Joint, JointMaker, Rows, Undone
from dalembert.model.joints.constraint_rows_of_joints import Row, together, unturned
from dalembert.model.keys import Keys
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Place, apart, twisted
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, zeros


@dataclass(frozen=True)
class Fixed(Joint):
    """The child sits on the parent at the placement."""

    kind: ClassVar[str] = "fixed"
    keys: ClassVar[Keys | None] = {}
    urdf: ClassVar[Urdf | None] = Urdf("fixed", {})

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together, axes parallel: six rows."""
        return [*together(p), *unturned(algebra, R)]

    def undone(self) -> Undone:
        """Nothing to undo."""
        return Undone([], [])

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It carries nowhere."""
        return zeros(3), identity(3)

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """The frames are one."""
        return apart(F, M), twisted(F, M)


class FixedMaker(JointMaker):
    """Makes fixed joints."""

    @checked
    def fixed(self, position: Given = ZERO, rotation: Rotation = ZERO, *, where: str = "joint") -> Fixed:
        """A joint that does not move, placed at `position` with `rotation` = (roll, pitch, yaw).

        `where` begins the message of an error, here and in the other joints.
        """
        return self._joint(Fixed, where, position, rotation)
