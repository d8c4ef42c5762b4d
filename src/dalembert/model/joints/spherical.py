"""Spherical joint: rotation about a point by three Euler angles (Euler-angle-joints of papers/denoc) or a unit quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError, suggest_name
from dalembert.model import keys
from dalembert.model.attitude import PLACEMENT, Rotation, placement
from dalembert.model.joints.base import HERE, ConstraintRow, InverseJoint, Joint, MotionAxes, Rows, together
from dalembert.model.keys import Element, Key, Keys, moves, name
from dalembert.model.record import argument, builder_of, record
from dalembert.model.reference_model import ReferenceFrame, offset, rotation, rotation_about
from dalembert.model.values import ZERO, ArrayInput, Vector3, motions
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, matrix, vector, zeros
from dalembert.symbolic.symbols import Formula, coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

UNITS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
SEQUENCES = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c)
ATTITUDE: Keys = {
    "sequence": Key(name),
    "angles": Key(moves(3), motion=True),
    "quaternion": Key(moves(4, "coordinates (w, x, y, z)"), loop=False),
    **PLACEMENT,
}


@record
class AboutPoint(Joint):
    """Base class of joints with coincident origins of both frames."""

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        return together(p)

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        return offset(F, M), []


@record
class Spherical(AboutPoint):
    """Spherical joint with three intrinsic rotations about the axes of `sequence`."""

    kind = "spherical"
    names = ("first angle", "second angle", "third angle")

    sequence: str = argument(
        name, "xyz", saved=None, positional=True, about='the axes of the three angles, such as `"zxz"` or `"zyx"`'
    )
    angles: tuple[Formula, Formula, Formula] = argument(
        moves(3), None, motion=True, positional=True, about="three formulas of coordinates and time"
    )

    @property
    def steps(self) -> Sequence[MotionAxes]:
        return [MotionAxes(about=UNITS[axis]) for axis in self.sequence]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        from scipy.spatial.transform import Rotation

        a, b, c = Rotation.from_matrix(R).as_euler(self.sequence.upper())
        return (float(a), float(b), float(c))

    def inverse(self) -> InverseJoint:
        """The reversed sequence with negated angles."""
        a, b, c = self.angles
        return InverseJoint([Spherical(HERE, HERE, self.sequence[::-1], (-c, -b, -a))], [(0, 2), (0, 1), (0, 0)])

    def require_motions(self, where: str) -> None:
        if None in self.angles:
            raise InputError(
                f"{where} ({self.kind}): got neither angles nor quaternion. Give three angles or a quaternion (w, x, y, z); "
                "only a loop-closing joint may omit them."
            )

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        first, second, third = (
            rotation_about(algebra, UNITS[e], x) for e, x in zip(self.sequence, values, strict=True)
        )
        return zeros(3), first @ second @ third


@record
class Quaternion(AboutPoint):
    """Spherical joint with the unit quaternion `parts` = (w, x, y, z), four coordinates without singularities.

    The unit norm is a separate constraint of the model. The generalized speeds are the components of ω in axes of the child:
    ω = 2 G(q) q̇ and q̇ = H(q) ω with H = Gᵀ / 2.
    """

    kind = "quaternion"
    quaternion = True
    names = ("w", "x", "y", "z")

    generated = False  # built by `spherical`

    parts: tuple[Formula, Formula, Formula, Formula]

    @property
    def moves(self) -> tuple[str, ...]:
        return ("parts",)

    def rotation_matrix(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The rotation of q / |q|; it does not depend on the norm, so the norm constraint exerts no force."""
        w, x, y, z = values
        two = 2 / (w * w + x * x + y * y + z * z)
        return matrix(
            [
                [1 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
                [two * (x * y + w * z), 1 - two * (x * x + z * z), two * (y * z - w * x)],
                [two * (x * z - w * y), two * (y * z + w * x), 1 - two * (x * x + y * y)],
            ]
        )

    def angular_motion_subspace(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """2 G(q) / |q|²."""
        w, x, y, z = values
        two = 2 / (w * w + x * x + y * y + z * z)
        return matrix([[two * part for part in row] for row in ([-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w])])

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        from scipy.spatial.transform import Rotation

        x, y, z, w = Rotation.from_matrix(R).as_quat(canonical=True)
        return (float(w), float(x), float(y), float(z))

    def at_zero(self) -> Spherical:
        """A spherical joint with angles, which has the same closure rows in a loop."""
        return Spherical(self.position, self.rotation, "xyz", HERE)

    def written(self, where: str) -> Element:
        return {"type": "spherical", "quaternion": keys.vector(self.parts, where)}

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        return zeros(3), rotation(values[0], vector(list(values[1:])))


@builder_of(Spherical, ATTITUDE)
def spherical(
    model: Model,
    angles: ArrayInput | None = None,
    sequence: str = "xyz",
    quaternion: ArrayInput | None = None,
    position: ArrayInput = ZERO,
    rotation: Rotation = ZERO,
    *,
    where: str = "joint",
) -> Spherical | Quaternion:
    """Create a spherical joint with three `angles` about the axes of `sequence`, or with a `quaternion` (w, x, y, z).

    The rotations are intrinsic: "zyx" rotates about z, then about the new y, then about the new x.

    Parameters
    ----------
    model : Model
        The model whose coordinates it uses.
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
    where = f"{where} (spherical)"
    return attitude(model, angles, sequence, quaternion, placement(model, where, position, rotation), where)


def attitude(
    model: Elements,
    angles: ArrayInput | None,
    sequence: str,
    quaternion: ArrayInput | None,
    frame: tuple[Vector3, Vector3],
    where: str,
) -> Spherical | Quaternion:
    """The rotation of a joint by three angles or by a quaternion."""
    if quaternion is not None:
        if angles is not None:
            got = "got both angles and quaternion"
            raise InputError(f"{where}: {got}. Give three angles or a quaternion (w, x, y, z).")
        w, x, y, z = parts = motions(model, quaternion, 4, f"{where}, quaternion")
        known = {coordinate(name) for name in model.coordinate_names}
        if len({*parts}) != 4 or not {*parts} <= known:
            raise InputError(
                f"{where}, quaternion: got {', '.join(map(str, parts))}. Expected four different coordinates (w, x, y, z)."
            )
        return Quaternion(*frame, (w, x, y, z))
    if sequence not in SEQUENCES:
        raise InputError(
            f"{where}, sequence: there is no '{sequence}'. {suggest_name(str(sequence), SEQUENCES)} "
            "Expected three letters of x, y, z, with adjacent ones different."
        )
    a, b, c = motions(model, angles, 3, f"{where}, angles")
    return Spherical(*frame, sequence, (a, b, c))
