"""Fixed joint, and inverses of joint sequences: the pose of the parent relative to the child."""

from __future__ import annotations

from collections.abc import Sequence

from symengine import Integer, sympify

from dalembert.errors import InputError
from dalembert.model.joints.base import HERE, ConstraintRow, InverseJoint, Joint, Rows, same_orientation, together
from dalembert.model.keys import Urdf
from dalembert.model.record import record
from dalembert.model.reference_model import ReferenceFrame, axes_difference, offset
from dalembert.model.values import Vector3
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, zeros


@record
class Fixed(Joint):
    """Fixed joint, placed at `position` with `rotation` = (roll, pitch, yaw).

    Error messages begin with `where`, here and in the other joints.
    """

    kind = "fixed"
    urdf = Urdf("fixed", {})

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return [*together(p), *same_orientation(algebra, R)]

    def inverse(self) -> InverseJoint:
        return InverseJoint([], [])

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return zeros(3), identity(3)

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return offset(F, M), axes_difference(F, M)


_ZERO = Integer(0)


def invert_joints(
    joints: Sequence[Joint], where: str
) -> tuple[tuple[Joint, ...], dict[tuple[int, int], tuple[int, int]]]:
    """The inverse of a joint sequence, and the new index of each (joint, motion); every motion changes its sign."""
    out: list[Joint] = []
    new_index: dict[tuple[int, int], tuple[int, int]] = {}
    for index in reversed(range(len(joints))):
        inverted = joints[index].inverse()
        if inverted is None:
            fact = f"a {joints[index].kind} joint cannot be inverted"
            raise InputError(f"{where}: {fact}. Cut the loop so that the direction of this joint does not change.")
        for motion, (joint, k) in enumerate(inverted.new_index):
            new_index[index, motion] = (len(out) + joint, k)
        out += inverted.joints
        out += placed_back(joints[index].position, joints[index].rotation)
    return tuple(out or [Fixed(HERE, HERE)]), new_index


def placed_back(position: Vector3, rotation: Vector3) -> list[Joint]:
    """Fixed joints that invert a placement: Rx(−roll) Ry(−pitch) Rz(−yaw), then the negative position."""
    (roll, pitch, yaw), (x, y, z) = ((-sympify(entry) for entry in part) for part in (rotation, position))
    rotations = [(roll, _ZERO, _ZERO), (_ZERO, pitch, _ZERO), (_ZERO, _ZERO, yaw)]
    used: list[Joint] = [Fixed(HERE, rotation) for rotation in rotations if any(angle != 0 for angle in rotation)]
    return [*used, Fixed((x, y, z), HERE)] if any(entry != 0 for entry in (x, y, z)) else used
