"""Rotation matrices and moving frames over any algebra; numerical rotations, quaternions and poses.

Relative motion is the motion observed from a moving body B, in axes of B. With r from the origin of B to a point, all in
world axes:

| relative to B | is R_Bᵀ times |
|---|---|
| position | r |
| velocity | v − v_B − ω_B × r, and ω − ω_B |
| acceleration | a − a_B − α_B × r − ω_B × (ω_B × r) − 2 ω_B × (v − v_B − ω_B × r), and α − α_B − ω_B × (ω − ω_B) |
| Jacobian | J_v − J_vB + r × J_ωB, and J_ω − J_ωB |

Each row is the time derivative of the row above, as measured by an observer fixed to B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, Scalars, identity, matrix, vector
from dalembert.symbolic.surds import Component, Surd, root

_SINGULARITY_TOLERANCE = 1e-12  # |sin B| below which the first and third angles cannot be distinguished
_MAX_ANGLE_STEP = 1.0  # angle in radians between adjacent path points above which points are inserted
_ORTHOGONALITY_TOLERANCE = 1e-12  # largest cosine between orthogonal axes


def skew(v: Array) -> Array:
    """The skew-symmetric matrix of v × (·)."""
    x, y, z = v
    return matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]]).astype(v.dtype, copy=False)


def cross(a: Array, b: Array) -> Array:
    """a × b."""
    return vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def about_axis(algebra: Algebra, axis: Sequence[Component], angle: Scalar) -> Array:
    """The rotation by `angle` about a numeric unit `axis`: R = 1 + sinα k× + (1 − cosα) k×k×."""
    s, c = sine_and_cosine(algebra, angle)
    K = skew(vector(list(axis)))
    R = identity(3)
    for i in range(3):
        for j in range(3):
            # k kᵀ + c (1 − k kᵀ) + s k×, arranged so that principal axes give single sines and cosines
            parallel = _as_integer(axis[i] * axis[j])
            orthogonal = _as_integer(int(i == j) - parallel)
            R[i, j] = parallel
            if orthogonal:
                R[i, j] = R[i, j] + orthogonal * c if parallel else orthogonal * c
            if K[i, j]:
                R[i, j] = R[i, j] + K[i, j] * s
    return R


def sine_and_cosine(algebra: Algebra, angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine; integers for numeric multiples of a quarter turn, so that zeros remain structural."""
    if isinstance(angle, int | float):
        quarters = round(angle / (np.pi / 2))
        if abs(angle - quarters * np.pi / 2) <= 1e-15 * max(1, abs(quarters)):
            return ((0, 1), (1, 0), (0, -1), (-1, 0))[quarters % 4]
    return algebra.sin(angle), algebra.cos(angle)


def roll_pitch_yaw(algebra: Algebra, angles: Scalars) -> Array:
    """Rz(yaw) Ry(pitch) Rx(roll) for angles = (roll, pitch, yaw); zero angles add no operations."""
    R = identity(3)
    for axis, angle in zip(((0, 0, 1), (0, 1, 0), (1, 0, 0)), reversed(list(angles)), strict=True):
        if not algebra.is_zero(angle):
            R = R @ about_axis(algebra, axis, angle)
    return R


def perpendicular(axis: Sequence[Component]) -> tuple[Component, Component, Component]:
    """A unit vector orthogonal to a unit `axis`: its cross product with the most distant coordinate axis.

    >>> perpendicular((0, 0, 1))
    (0, -1, 0)
    """
    i = int(np.argmin(np.abs(np.array(axis, dtype=float))))
    j, k = (i + 1) % 3, (i + 2) % 3
    square = _fraction(axis[j] * axis[j] + axis[k] * axis[k])
    inverse = root(1 / square)
    out: list[Component] = [0, 0, 0]
    out[j], out[k] = _as_integer(-inverse * axis[k]), _as_integer(inverse * axis[j])
    return out[0], out[1], out[2]


def _fraction(x: Component) -> Fraction:
    """A rational number: the square of a component of a unit vector."""
    return x.terms.get(1, Fraction(0)) if isinstance(x, Surd) else Fraction(repr(float(x)))


def angle_about(axis: Sequence[Component], R: np.ndarray) -> float:
    """The angle of a rotation matrix about a unit axis; for any other rotation, the component about the axis."""
    k = np.array([float(a) for a in axis])
    spin = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(k @ spin, np.trace(R) - k @ R @ k))


def _as_integer(x: Component) -> Component:
    """Convert integer values to int, so that 0 and 1 remain structural."""
    return round(float(x)) if float(x).is_integer() else x


@dataclass(frozen=True)
class EulerAngles:
    """Three angles about successive orthogonal axes."""

    axes: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]  # n₁, n₂, n₃, in axes of the fixed frame
    last: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # C, row by row

    @property
    def complete(self) -> bool:
        """True if every rotation has such angles: each axis is orthogonal to the next."""
        first, second, third = np.array(self.axes)
        return (
            abs(float(first @ second)) < _ORTHOGONALITY_TOLERANCE
            and abs(float(second @ third)) < _ORTHOGONALITY_TOLERANCE
        )

    @cached_property
    def offset(self) -> float:
        """λ of n₃ = exp(n₂ λ) n₁."""
        first, second, third = np.array(self.axes)
        return float(np.arctan2(np.cross(first, third) @ second, first @ third))

    @cached_property
    def _frame(self) -> np.ndarray:
        """The frame Q = [n₁, n₂, n₁ × n₂]."""
        first, second, _ = np.array(self.axes)
        return np.stack([first, second, np.cross(first, second)], axis=1)

    @cached_property
    def _right_factor(self) -> np.ndarray:
        """Cᵀ exp(n₂ λ) Q."""
        return np.array(self.last).T @ rotation_about(self.axes[1], np.array(self.offset)) @ self._frame

    def distance(self, angles: np.ndarray) -> np.ndarray:
        """|sin B| of angles (3, ...): 0 where the angles are singular, 1 where they are best."""
        return np.abs(np.sin(angles[1] + self.offset))

    def sheet(self, angles: np.ndarray) -> np.ndarray:
        """The integer number of half turns in B: it changes when a motion passes through the singularity."""
        return np.floor((angles[1] + self.offset) / np.pi)

    def side(self, angles: np.ndarray) -> float:
        """The sign of sin B, which is constant along every motion that avoids the singularity."""
        return -1.0 if np.sin(angles[1] + self.offset) < 0 else 1.0

    def distance_of(self, rotation: np.ndarray) -> np.ndarray:
        """`distance` of rotations (3, 3, ...)."""
        first, second = self._in_frame(rotation)[0, 1:]
        return np.hypot(first, second)

    def _in_frame(self, rotation: np.ndarray) -> np.ndarray:
        """The rotation N in the frame Q."""
        return np.einsum("ji,jk...,kl->il...", self._frame, rotation, self._right_factor)

    def rotation(self, angles: np.ndarray) -> np.ndarray:
        """R (3, 3, ...) of angles (3, ...)."""
        first, second, third = (rotation_about(axis, angle) for axis, angle in zip(self.axes, angles, strict=True))
        return np.einsum("ij...,jk...,kl...,lm->im...", first, second, third, np.array(self.last))

    def angles(self, rotation: np.ndarray, side: float) -> np.ndarray:
        """The angles (3, ...) of rotations (3, 3, ...) with this sign of sin B; the first and third lie within ±π."""
        N = self._in_frame(rotation)
        size = np.hypot(N[0, 1], N[0, 2])
        first, third = np.arctan2(side * N[1, 0], -side * N[2, 0]), np.arctan2(side * N[0, 1], side * N[0, 2])
        locked = size < _SINGULARITY_TOLERANCE  # only a ± c is determined: a is set to zero
        third = np.where(locked, np.arctan2(-N[1, 2], N[1, 1]), third)
        second = np.arctan2(side * size, N[0, 0]) - self.offset
        return np.stack([np.where(locked, 0.0, first), second, third])

    def common(self, angles: np.ndarray) -> np.ndarray:
        """σ = ±1 such that a + σ c is regular near the singularity."""
        return np.where(np.cos(angles[1] + self.offset) < 0, -1.0, 1.0)

    def pointer(self, angles: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sin B (cos a, sin a) of angles (3,), which is regular everywhere, and its rate."""
        a, B = angles[0], angles[1] + self.offset
        along, across = np.array([np.cos(a), np.sin(a)]), np.array([-np.sin(a), np.cos(a)])
        return np.sin(B) * along, np.cos(B) * rates[1] * along + np.sin(B) * rates[0] * across

    def columns(self, angles: np.ndarray) -> np.ndarray:
        """E (3, 3, ...) of ω = E (ȧ, ḃ, ċ), in axes of the fixed frame."""
        first, second = rotation_about(self.axes[0], angles[0]), rotation_about(self.axes[1], angles[1])
        n2 = np.einsum("ij...,j->i...", first, np.array(self.axes[1]))
        n3 = np.einsum("ij...,jk...,k->i...", first, second, np.array(self.axes[2]))
        n1 = np.broadcast_to(np.array(self.axes[0]).reshape(3, *[1] * (n2.ndim - 1)), n2.shape)
        return np.stack([n1, n2, n3], axis=1)

    def velocity_terms(self, angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Ė (ȧ, ḃ, ċ) (3, ...): the velocity-dependent part of the angular acceleration."""
        E = self.columns(angles)
        w1, w2, w3 = (E[:, k] * rates[k] for k in range(3))
        return np.cross(w1, w2, axis=0) + np.cross(w1 + w2, w3, axis=0)


def rotation_about(axis: Sequence[float], angle: np.ndarray) -> np.ndarray:
    """The rotation matrices (3, 3, ...) for angles (...) about a unit axis."""
    k = np.array(axis, dtype=float)
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    shape = (3, 3, *[1] * np.ndim(angle))
    parallel, across = np.outer(k, k).reshape(shape), (np.eye(3) - np.outer(k, k)).reshape(shape)
    return parallel + across * np.cos(angle) + K.reshape(shape) * np.sin(angle)


def swept_angle(x0: np.ndarray, v0: np.ndarray, x1: np.ndarray, v1: np.ndarray, h: float) -> float:
    """The angle about the origin swept by a point of the plane in a time h, on the cubic with these end points and velocities.

    >>> up, right = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    >>> round(swept_angle(up - 0.1 * right, 2 * right, up + 0.1 * right, 2 * right, 0.1), 6)
    -0.199337
    """
    s, steps = np.linspace(0.0, 1.0, 9), np.zeros(0)
    for _ in range(40):
        x = (
            np.outer((1 + 2 * s) * (1 - s) ** 2, x0)
            + np.outer(h * s * (1 - s) ** 2, v0)
            + np.outer(s**2 * (3 - 2 * s), x1)
            - np.outer(h * s**2 * (1 - s), v1)
        ).T
        x = x / max(float(np.abs(x).max()), 1e-300)
        steps = np.arctan2(x[0, :-1] * x[1, 1:] - x[1, :-1] * x[0, 1:], (x[:, :-1] * x[:, 1:]).sum(axis=0))
        large = np.abs(steps) > _MAX_ANGLE_STEP
        if not large.any():
            break
        s = np.sort(np.concatenate([s, (s[:-1] + s[1:])[large] / 2]))
    return float(steps.sum())


def solved(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """x of E x = w for E (3, 3, ...) and w (3, ...); the minimum-norm x if E is singular."""
    E, w = np.moveaxis(matrices, (0, 1), (-2, -1)), np.moveaxis(vectors, 0, -1)
    return np.moveaxis(np.einsum("...ij,...j->...i", np.linalg.pinv(E, rcond=_SINGULARITY_TOLERANCE), w), -1, 0)


@dataclass(frozen=True)
class AxisRotation:
    """A rotation R = `before` · (rotation by `angle` about `axis`); successive rotations about one axis add their angles."""

    before: Array
    axis: tuple[Component, ...]
    angle: Scalar

    def on(self, axis: Sequence[Component], angle: Scalar) -> AxisRotation | None:
        """Compose with a further rotation; None if the axes are not parallel."""
        if tuple(axis) == self.axis:
            return AxisRotation(self.before, self.axis, self.angle + angle)
        return (
            AxisRotation(self.before, self.axis, self.angle - angle) if tuple(-x for x in axis) == self.axis else None
        )

    def rotation(self, algebra: Algebra) -> Array:
        """The rotation matrix R."""
        return self.before @ algebra.pack(about_axis(algebra, self.axis, self.angle))


@dataclass(frozen=True)
class Frame:
    """A moving frame: its pose, and its velocities as functions of q̇."""

    R: Array  # R_WB
    p: Array  # p_WB, world axes
    J: Array  # velocity of the origin, world axes: J q̇ + c
    c: Array
    D: Array  # angular velocity, body axes: D q̇ + E
    E: Array
    last_rotation: AxisRotation | None = None  # the last rotation factor of R

    def fixed_frame(self, algebra: Algebra, position: Array, angles: Scalars) -> Frame:
        """A frame fixed in this one, at `position` and rotated by roll, pitch and yaw."""
        p, J, c = self.point(position)
        if all(algebra.is_zero(angle) for angle in angles):
            return replace(self, p=p, J=J, c=c)
        R = algebra.pack(roll_pitch_yaw(algebra, angles))
        return Frame(self.R @ R, p, J, c, R.T @ self.D, R.T @ self.E)

    def point(self, p_BP: Array) -> tuple[Array, Array, Array]:
        """Position of a point fixed in the frame, and J, c of its velocity, all in world axes."""
        arm = self.R @ -skew(p_BP)  # ω × r = −[r×] ω
        return self.p + self.R @ p_BP, self.J + arm @ self.D, self.c + arm @ self.E


def cross_columns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b for numeric vectors (3, ...); `rotations.cross` works over any algebra."""
    return np.cross(a, b, axis=0)


def quaternion(R: np.ndarray) -> np.ndarray:
    """The unit quaternion (w, x, y, z), (4, ...), of a rotation (3, 3, ...), with w ≥ 0."""
    # 4 q qᵀ is linear in R: its longest column has no cancellation
    K = np.array(
        [
            [1 + R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2]],
        ]
    )
    longest = np.argmax(np.einsum("ii...->i...", K), axis=0)
    column = np.take_along_axis(K, longest[None, None], axis=1)[:, 0]
    return column / np.linalg.norm(column, axis=0) * np.where(column[0] < 0, -1.0, 1.0)


def rotation(quaternions: np.ndarray) -> np.ndarray:
    """The rotation (3, 3, ...) of unit quaternions (4, ...)."""
    w, x, y, z = quaternions
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a body frame: R and p of x = R x_body + p, for one state or with the batch on the last axis.

    >>> pose = Pose("arm", "world", np.eye(3), np.array([1.0, 0.0, 0.0]))
    >>> pose.quaternion, pose.matrix[:, 3]
    (array([1., 0., 0., 0.]), array([1., 0., 0., 1.]))
    >>> pose.at((0.0, 2.0, 0.0))
    array([1., 2., 0.])
    """

    of: str  # name of the body
    frame: str  # name of the reference frame
    rotation: np.ndarray  # (3, 3) or (3, 3, batch): columns are the axes of the body
    position: np.ndarray  # (3,) or (3, batch): the origin of the body, in meters

    @property
    def matrix(self) -> np.ndarray:
        """Homogeneous transform [R p; 0 1], (4, 4) or (4, 4, batch)."""
        out = np.zeros((4, 4, *self.position.shape[1:]))
        out[:3, :3], out[:3, 3], out[3, 3] = self.rotation, self.position, 1.0
        return out

    @property
    def quaternion(self) -> np.ndarray:
        """Unit quaternion (w, x, y, z) with w ≥ 0, (4,) or (4, batch)."""
        return quaternion(self.rotation)

    def at(self, point: np.typing.ArrayLike) -> np.ndarray:
        """Position of a body-fixed point, (3,) or (3, batch)."""
        return np.einsum("ij...,j->i...", self.rotation, np.asarray(point, dtype=float)) + self.position

    def __repr__(self) -> str:
        batch = "".join(f", {n} states" for n in self.position.shape[1:])
        return f"<Pose of '{self.of}' in '{self.frame}'{batch}>"


class PointMotion(NamedTuple):
    """Linear velocity or acceleration of a point and angular velocity or acceleration of its body, (3,) or (3, batch).

    In world axes; in axes of the other body when relative to one.
    """

    linear: np.ndarray
    angular: np.ndarray


def relative_pose(of: Pose, base: Pose) -> Pose:
    """The pose of a body relative to another body.

    >>> base = Pose("base", "world", np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.0, 0.0]))
    >>> relative_pose(Pose("arm", "world", np.eye(3), np.array([1.0, 2.0, 0.0])), base).position
    array([2., 0., 0.])
    """
    return Pose(of.of, base.of, in_base_axes(base, of.rotation), relative_position(of.position, base))


def in_base_axes(base: Pose, x: np.ndarray) -> np.ndarray:
    """Express vectors (3, ...) or matrices (3, n, ...) in axes of the base."""
    rule = "ji...,j...->i..." if x.ndim == base.position.ndim else "ji...,jn...->in..."
    return np.einsum(rule, base.rotation, x)


def relative_position(p: np.ndarray, base: Pose) -> np.ndarray:
    """The position of a point relative to the base."""
    return in_base_axes(base, p - base.position)


def relative_velocity(p: np.ndarray, v: PointMotion, base: Pose, base_v: PointMotion) -> PointMotion:
    """The relative velocity of a point at p and angular velocity of its body."""
    linear, angular = _velocity(p, v, base, base_v)
    return PointMotion(in_base_axes(base, linear), in_base_axes(base, angular))


def _velocity(p: np.ndarray, v: PointMotion, base: Pose, base_v: PointMotion) -> PointMotion:
    """The relative velocity in world axes."""
    transport = base_v.linear + cross_columns(base_v.angular, p - base.position)
    return PointMotion(v.linear - transport, v.angular - base_v.angular)


def relative_acceleration(
    p: np.ndarray, v: PointMotion, a: PointMotion, base: Pose, base_v: PointMotion, base_a: PointMotion
) -> PointMotion:
    """The relative acceleration of a point at p and of its body; the motion of the base is that of its origin."""
    r, w = p - base.position, base_v.angular
    relative = _velocity(p, v, base, base_v)
    transport = base_a.linear + cross_columns(base_a.angular, r) + cross_columns(w, cross_columns(w, r))
    linear = a.linear - transport - 2 * cross_columns(w, relative.linear)  # Coriolis acceleration
    angular = a.angular - base_a.angular - cross_columns(w, relative.angular)
    return PointMotion(in_base_axes(base, linear), in_base_axes(base, angular))


def relative_jacobian(p: np.ndarray, J: np.ndarray, base: Pose, base_J: np.ndarray) -> np.ndarray:
    """The relative Jacobian of a point at p; `base_J` is the Jacobian of the origin of the base."""
    return _by_rows(base, _jacobian(p - base.position, J, base_J))


def _jacobian(r: np.ndarray, J: np.ndarray, base_J: np.ndarray) -> np.ndarray:
    """The relative Jacobian in world axes."""
    return np.concatenate([J[:3] - base_J[:3] + cross_columns(r[:, None], base_J[3:]), J[3:] - base_J[3:]])


def relative_jacobian_rate(
    p: np.ndarray,
    v: PointMotion,
    J: np.ndarray,
    J_rate: np.ndarray,
    base: Pose,
    base_v: PointMotion,
    base_J: np.ndarray,
    base_J_rate: np.ndarray,
) -> np.ndarray:
    """The time derivative of `relative_jacobian` along a motion."""
    r, rd, w = p - base.position, v.linear - base_v.linear, base_v.angular[:, None]
    now, rate = _jacobian(r, J, base_J), _jacobian(r, J_rate, base_J_rate)
    rate[:3] += cross_columns(rd[:, None], base_J[3:])
    turning = np.concatenate([cross_columns(w, now[:3]), cross_columns(w, now[3:])])  # rotation of the base axes
    return _by_rows(base, rate - turning)


def _by_rows(base: Pose, J: np.ndarray) -> np.ndarray:
    return np.concatenate([in_base_axes(base, J[:3]), in_base_axes(base, J[3:])])
