"""Base class of joints: a constant placement of F on the parent, then a motion to the moved frame M.

A joint defines its arguments, the formulas of its motions, the rotation and displacement of M, its motion subspace, the
constraint rows of the joint when it closes a loop, and its inverse. For verification it defines, by independent formulas, the
pose of the child (`reference_pose`) and the residuals of a closed loop (`reference_residuals`): see `model/reference_model`.

In a loop, F is fixed on the first body and M on the second. A row is a function φ(R, p) of the rotation R = R_FM and the
displacement p = p_FM; the power of its wrench (on the second body at the origin of M, in axes of F) is φ̇, so the row of the
Jacobian is force · v + moment · ω with the relative velocities v and ω.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from inspect import Parameter
from operator import matmul
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from symengine import Integer

from dalembert.errors import InputError, short_repr
from dalembert.model.attitude import rotation_of
from dalembert.model.keys import Element, Urdf, Value, entries, fixed_vector, placement_entries, without_none
from dalembert.model.record import Record, argument, record
from dalembert.model.reference_model import ReferenceFrame
from dalembert.model.values import ZERO, UnitVector, Vector3, is_sequence
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, matrix, scaled, vector, zeros
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import about_axis, angle_about, cross, perpendicular
from dalembert.symbolic.surds import Component
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.model import Model


Rows = tuple[Sequence[Scalar], Sequence[Scalar]]  # residuals of lengths and of directions
HERE: Vector3 = (Integer(0), Integer(0), Integer(0))


@dataclass(frozen=True)
class JointMotion:
    """One motion of a joint, and its rate: d(value)/dt = gradient q̇ + drift."""

    body: str
    joint: int
    motion: int
    value: Scalar
    gradient: Array
    drift: Scalar


@dataclass(frozen=True)
class InverseJoint:
    """The inverse of a joint: the joints that realize it, and the (joint, motion) of each original motion."""

    joints: list[Joint]
    new_index: list[tuple[int, int]]


class MotionAxes(NamedTuple):
    """The rotation axis of one motion, rotated by the preceding motions, and its translation in axes of F.

    `along` is the displacement per unit of the motion.
    """

    about: UnitVector | None = None
    along: Sequence[Component | float] | None = None


@record
class Joint(Record):
    """Placement of the joint frame F on the parent: `position` (parent axes) and `rotation` (roll, pitch, yaw)."""

    names: ClassVar[tuple[str, ...]] = ()  # names of the motions, if they differ from their keys
    reversible: ClassVar[bool] = False  # True: negated values are the inverse motion
    quaternion: ClassVar[bool] = False  # True: the last four values are a unit quaternion (w, x, y, z)
    urdf: ClassVar[Urdf | None] = None  # its form in URDF, if it has one

    position: tuple[Formula, Formula, Formula] = argument(
        fixed_vector, ZERO, positional=True, about="three constants: the position of the joint frame, in parent axes"
    )
    rotation: tuple[Formula, Formula, Formula] = argument(
        rotation_of,
        ZERO,
        positional=True,
        about="the orientation of the joint frame on the parent: roll, pitch and yaw, or another [rotation](#rotations)",
    )

    @classmethod
    def returns(cls) -> str:
        """The class of the joint."""
        return cls.__name__

    @classmethod
    def more_parameters(cls) -> list[Parameter]:
        """`where`, the beginning of messages."""
        return [Parameter("where", Parameter.KEYWORD_ONLY, default="joint", annotation="str")]

    @classmethod
    def build(cls, model: Model, *, where: str, **arguments: object) -> Self:
        return cls.read(model, arguments, f"{where} ({cls.kind})")

    @property
    def moves(self) -> tuple[str, ...]:
        """The fields with the formulas of its motions, one formula or several each."""
        return _moves(type(self))

    @property
    def values(self) -> tuple[Formula, ...]:
        """The formulas of the joint's motions in q and t; None for a free motion, empty for a fixed joint."""
        found = [getattr(self, key) for key in self.moves]
        return tuple(x for each in found for x in (each if isinstance(each, tuple) else (each,)))

    @property
    def motions(self) -> tuple[str, ...]:
        """The names of the motions, one for each value."""
        return self.names or self.moves

    @property
    def steps(self) -> Sequence[MotionAxes]:
        """The axes of each motion that is a rotation about an axis or a translation."""
        return [MotionAxes()] * len(self.values)

    def _rotations(self, algebra: Algebra, values: Sequence[Scalar]) -> list[Array | None]:
        found = zip(self.steps, values, strict=True)
        return [None if step.about is None else about_axis(algebra, step.about, value) for step, value in found]

    def rotation_matrix(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """R_FM: the rotation of the moved frame M in F, the product of the rotations of all motions."""
        found = [R for R in self._rotations(algebra, values) if R is not None]
        return reduce(matmul, found) if found else identity(3)

    def translation(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """p_FM: the displacement of the moved frame M in axes of F."""
        slides = [(step.along, value) for step, value in zip(self.steps, values, strict=True) if step.along is not None]
        return vector([sum(axis[i] * value for axis, value in slides if axis[i]) for i in range(3)])

    def angular_motion_subspace(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The rotational motion subspace (3×k): angular velocity of M in F for unit rates, in axes of M."""
        columns, after = list[Array](), list[Array]()
        for step, R in reversed([*zip(self.steps, self._rotations(algebra, values), strict=True)]):
            if step.about is None or R is None:
                columns.append(zeros(3))
                continue
            columns.append(reduce(lambda axis, later: later.T @ axis, after, vector(list(step.about))))
            after = [R, *after]
        return _columns(columns[::-1])

    def linear_motion_subspace(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The translational motion subspace (3×k): velocity of the origin of M in F for unit rates, in axes of F."""
        return _columns([zeros(3) if step.along is None else vector(list(step.along)) for step in self.steps])

    @abstractmethod
    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        """The constraint rows of the joint for M rotated by R and displaced by p relative to F."""

    @property
    def holds_lengths(self) -> list[bool]:
        """For each closure row: True if it constrains a length, False if it constrains a direction."""
        return [any(row.force) for row in self.closure(FLOATS, identity(3), zeros(3))]

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The joint values of a pose of M: the inverse of `rotation_of` and `translation`, here with at most one rotation."""
        return tuple(
            float(np.dot(np.array(step.along, dtype=float), p)) if step.about is None else angle_about(step.about, R)
            for step in self.steps
        )

    def with_values(self, values: Sequence[Written]) -> Self:
        """Return a copy with other motion formulas."""
        rest, changes = iter(values), {}
        for key in self.moves:
            old = getattr(self, key)
            changes[key] = tuple(next(rest) for _ in old) if isinstance(old, tuple) else next(rest)
        return replace(self, **changes)

    def written(self, where: str) -> Element:
        """Its type, axes and motions in a model file."""
        own = {key: about for key, about in self.keys().items() if key not in ("position", "rotation")}
        return {"type": self.kind, **entries(self, own, where)}

    def element(self, where: str) -> dict[str, Value]:
        """All its keys in a model file, with its placement."""
        return without_none({**self.written(where), **placement_entries(self.position, self.rotation, where)})

    @abstractmethod
    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """For verification: displacement and rotation of the child, not by `translation` and `rotation_matrix`."""

    @abstractmethod
    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        """For verification: residuals of lengths and directions, which vanish if M is in an admissible pose.

        Rows may be redundant, and an axis may point in the opposite direction, as the rows of the joints allow it.
        """

    def inverse(self) -> InverseJoint | None:
        """The inverse motion without the placement; None if no joint of this package realizes it."""
        if not self.reversible:
            return None
        back = replace(self.with_values([-value for value in self.values]), position=HERE, rotation=HERE)
        return InverseJoint([back], [(0, motion) for motion in range(len(self.values))])

    def at_zero(self) -> Joint:
        """The joint with zero motions, as a loop stores it."""
        return self.with_values([Integer(0)] * len(self.values))

    def require_motions(self, where: str) -> None:
        """Raise if a motion is free: only a loop-closing joint may omit its motions."""
        free = [motion for motion, value in zip(self.motions, self.values, strict=True) if value is None]
        if free:
            raise InputError(
                f"{where} ({self.kind}): it has no value for {', '.join(free)}. Expected a formula of coordinates and time "
                "for each motion; only a loop-closing joint may omit them."
            )

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of the closure rows."""
        return tuple(row.name for row in self.closure(FLOATS, identity(3), zeros(3)))


@cache
def _moves(kind: type[Joint]) -> tuple[str, ...]:
    return tuple(key for key, about in kind.keys().items() if about.motion)


def _columns(columns: Sequence[Array]) -> Array:
    return matrix([[column[i] for column in columns] for i in range(3)]) if columns else zeros(3, 0)


def joints_of(joints: object, where: str) -> tuple[Joint, ...]:
    """One joint or a sequence of joints, as a tuple."""
    out = list[Joint]()
    for joint in joints if is_sequence(joints) else [joints]:
        if not isinstance(joint, Joint):
            raise InputError(
                f"{where}, joint: got {short_repr(joint)}. Expected a joint, such as "
                'model.revolute((0, 0, 1), "q"), or a list of joints.'
            )
        out.append(joint)
    return tuple(out)


@dataclass(frozen=True)
class ConstraintRow:
    """A constraint row φ = 0 with the wrench (force, moment) of a unit multiplier."""

    name: str
    phi: Scalar
    force: Array
    moment: Array


def along(name: str, n: Sequence[Component], p: Array) -> ConstraintRow:
    """Row that fixes the origin of M along n, a unit vector of F: n · p = 0."""
    direction = vector(list(n))
    return ConstraintRow(name, direction @ p, direction, zeros(3))


def across(name: str, a: Sequence[Component], b: Sequence[Component], R: Array) -> ConstraintRow:
    """Row that keeps vector a of F and vector b of M perpendicular: a · R b = 0."""
    first, second = vector(list(a)), R @ vector(list(b))
    return ConstraintRow(name, first @ second, zeros(3), cross(second, first))


def together(p: Array) -> list[ConstraintRow]:
    """Rows for coincident origins of F and M."""
    return [along(name, n, p) for name, n in zip("xyz", np.eye(3, dtype=int).tolist(), strict=True)]


def same_orientation(algebra: Algebra, R: Array) -> list[ConstraintRow]:
    """Rows for parallel axes of F and M: twice the vector part of the quaternion of R, 2 sin(θ/2) along the axis, is zero.

    It is zero only for R = 1, so that assembly from a rough guess cannot converge to another rotation.
    """
    w = 0.5 * algebra.sqrt(1 + R[0, 0] + R[1, 1] + R[2, 2])  # cos(θ/2)
    twice = vector([_ratio(algebra, R[k, j] - R[j, k], 2 * w) for j, k in ((1, 2), (2, 0), (0, 1))])
    rows = []
    for name in "zxy":
        e = vector([int(name == axis) for axis in "xyz"])
        # the rate of the vector part is (w ω + ω × part) / 2
        moment = scaled(w, e) + scaled(0.5, cross(twice, e))
        rows.append(ConstraintRow(f"turn {name}", twice @ e, zeros(3), moment))
    return rows


def _ratio(algebra: Algebra, a: Scalar, b: Scalar) -> Scalar:
    """a / b; a structural zero stays a structural zero."""
    return 0 if algebra.is_zero(a) else a / b


def aligned(axis: Sequence[Component], R: Array) -> list[ConstraintRow]:
    """Rows for the same direction of the axis in both frames."""
    return [across(f"tilt {i + 1}", e, axis, R) for i, e in enumerate(plane(axis))]


def on_line(axis: Sequence[Component], p: Array) -> list[ConstraintRow]:
    """Rows that keep the origin of M on the axis through the origin of F."""
    return [along(f"side {i + 1}", e, p) for i, e in enumerate(plane(axis))]


def plane(axis: Sequence[Component]) -> tuple[list[Component], list[Component]]:
    """Two unit vectors that complete the axis to a right-handed frame; for a principal axis the next two.

    >>> plane((0, 0, 1))
    ([1, 0, 0], [0, 1, 0])
    """
    n = np.array(axis, dtype=float)
    for i in range(3):
        if abs(n[i]) == 1.0 and not n[(i + 1) % 3] and not n[(i + 2) % 3]:
            first, second = np.eye(3, dtype=int)[[(i + 1) % 3, (i + 2) % 3]]
            return (first.tolist(), second.tolist()) if n[i] > 0 else (second.tolist(), first.tolist())
    u = perpendicular(axis)
    return list(u), list(cross(vector(list(axis)), vector(list(u))))
