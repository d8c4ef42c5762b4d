"""Free joint: six degrees of freedom, with Euler angles or a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from dalembert.model import keys
from dalembert.model.attitude import Rotation, placement
from dalembert.model.joints.base import HERE, ConstraintRow, Joint, MotionAxes, Rows
from dalembert.model.joints.spherical import ATTITUDE, Quaternion, Spherical, attitude
from dalembert.model.keys import Element, Key, Urdf, moves
from dalembert.model.record import builder_of, record
from dalembert.model.reference_model import ReferenceFrame
from dalembert.model.values import ZERO, ArrayInput, motions
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class Free(Joint):
    """Free joint: translation by `displacement`, in axes of F, and rotation by `attitude`."""

    kind = "free"
    urdf = Urdf(  # with a quaternion only
        "floating", {"x": "m", "y": "m", "z": "m", "qw": "", "qx": "", "qy": "", "qz": ""}
    )

    displacement: tuple[Formula, Formula, Formula]
    attitude: Spherical | Quaternion

    @property
    def quaternion(self) -> bool:  # type: ignore[override]
        """True if the attitude is a quaternion."""
        return self.attitude.quaternion

    @property
    def values(self) -> tuple[Formula, ...]:
        return (*self.displacement, *self.attitude.values)

    @property
    def motions(self) -> tuple[str, ...]:
        return ("along x", "along y", "along z", *self.attitude.motions)

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [
            MotionAxes(along=(1, 0, 0)),
            MotionAxes(along=(0, 1, 0)),
            MotionAxes(along=(0, 0, 1)),
            *self.attitude.steps,
        ]

    def rotation_matrix(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        return self.attitude.rotation_matrix(algebra, values[3:])

    def translation(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        return vector(list(values[:3]))

    def angular_motion_subspace(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        return np.concatenate([zeros(3, 3), self.attitude.angular_motion_subspace(algebra, values[3:])], axis=1)

    def linear_motion_subspace(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        return np.concatenate([identity(3), zeros(3, len(self.attitude.values))], axis=1)

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return []

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        return (*(float(x) for x in p), *self.attitude.measure(R, p))

    def with_values(self, values: Sequence[Written]) -> Self:
        return replace(self, displacement=tuple(values[:3]), attitude=self.attitude.with_values(values[3:]))

    def written(self, where: str) -> Element:
        kind, moves = {"type": self.kind}, {"displacement": keys.vector(self.displacement, where)}
        return {**kind, **moves, **self.attitude.written(where), **kind}

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return vector(list(values[:3])), self.attitude.reference_pose(algebra, values[3:])[1]

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return [], []


@builder_of(Free, {"displacement": Key(moves(3), required=True, motion=True), **ATTITUDE})
def free(
    model: Model,
    displacement: ArrayInput | None = None,
    angles: ArrayInput | None = None,
    sequence: str = "xyz",
    quaternion: ArrayInput | None = None,
    position: ArrayInput = ZERO,
    rotation: Rotation = ZERO,
    *,
    where: str = "joint",
) -> Free:
    """Create a free joint with six degrees of freedom: three displacements in parent axes, and angles as in `spherical`.

    Parameters
    ----------
    model : Model
        The model whose coordinates it uses.
    displacement : sequence of formula, optional
        Three displacements in parent axes; None in a loop-closing joint.
    angles : sequence of formula, optional
        Three angles, rad, formulas of coordinates and time; None in a loop-closing joint.
    sequence : str, default 'xyz'
        Axes of the three rotations.
    quaternion : sequence of str, optional
        Names of four coordinates (w, x, y, z), instead of angles.
    position : array_like, shape (3,)
        Origin of the joint frame in parent axes; constants.
    rotation : sequence or matrix
        Orientation of the joint frame on the parent: roll, pitch and yaw, rad, or another rotation.
    """
    where = f"{where} (free)"
    frame = placement(model, where, position, rotation)
    x, y, z = motions(model, displacement, 3, f"{where}, displacement")
    return Free(*frame, (x, y, z), attitude(model, angles, sequence, quaternion, (HERE, HERE), where))
