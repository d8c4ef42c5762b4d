"""Moving frames over any algebra, and numerical rotations, quaternions and poses.

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
from typing import NamedTuple

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, Scalars
from dalembert.symbolic.rotations import about_axis, roll_pitch_yaw, skew
from dalembert.symbolic.surds import Component


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


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
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
    transport = base_v.linear + cross(base_v.angular, p - base.position)
    return PointMotion(v.linear - transport, v.angular - base_v.angular)


def relative_acceleration(
    p: np.ndarray, v: PointMotion, a: PointMotion, base: Pose, base_v: PointMotion, base_a: PointMotion
) -> PointMotion:
    """The relative acceleration of a point at p and of its body; the motion of the base is that of its origin."""
    r, w = p - base.position, base_v.angular
    relative = _velocity(p, v, base, base_v)
    transport = base_a.linear + cross(base_a.angular, r) + cross(w, cross(w, r))
    linear = a.linear - transport - 2 * cross(w, relative.linear)  # Coriolis acceleration
    angular = a.angular - base_a.angular - cross(w, relative.angular)
    return PointMotion(in_base_axes(base, linear), in_base_axes(base, angular))


def relative_jacobian(p: np.ndarray, J: np.ndarray, base: Pose, base_J: np.ndarray) -> np.ndarray:
    """The relative Jacobian of a point at p; `base_J` is the Jacobian of the origin of the base."""
    return _by_rows(base, _jacobian(p - base.position, J, base_J))


def _jacobian(r: np.ndarray, J: np.ndarray, base_J: np.ndarray) -> np.ndarray:
    """The relative Jacobian in world axes."""
    return np.concatenate([J[:3] - base_J[:3] + cross(r[:, None], base_J[3:]), J[3:] - base_J[3:]])


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
    rate[:3] += cross(rd[:, None], base_J[3:])
    turning = np.concatenate([cross(w, now[:3]), cross(w, now[3:])])  # rotation of the base axes
    return _by_rows(base, rate - turning)


def _by_rows(base: Pose, J: np.ndarray) -> np.ndarray:
    return np.concatenate([in_base_axes(base, J[:3]), in_base_axes(base, J[3:])])
