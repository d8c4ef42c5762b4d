"""Motion as it is seen from a body B that moves itself: differences from the motion of B, in axes of B.

With r from the origin of B to a point, all of it in world axes:

| seen from B | is R_Bᵀ times |
|---|---|
| position | r |
| velocity | v − v_B − ω_B × r, and ω − ω_B |
| acceleration | a − a_B − α_B × r − ω_B × (ω_B × r) − 2 ω_B × (v − v_B − ω_B × r), and α − α_B − ω_B × (ω − ω_B) |
| Jacobian | J_v − J_vB + r × J_ωB, and J_ω − J_ωB |

Each is the rate of the one above it, as an observer on B would measure it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.symbolic.frames import Pose, cross


class PointMotion(NamedTuple):
    """A velocity or an acceleration: of a point, and of the turning of its body, (3,) or (3, batch).

    In world axes; relative to another body in axes of that.
    """

    linear: np.ndarray
    angular: np.ndarray


def seen_pose(of: Pose, base: Pose) -> Pose:
    """The pose of a body from another one.

    >>> base = Pose("base", "world", np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.0, 0.0]))
    >>> seen_pose(Pose("arm", "world", np.eye(3), np.array([1.0, 2.0, 0.0])), base).position
    array([2., 0., 0.])
    """
    return Pose(of.of, base.of, turned(base, of.rotation), seen_position(of.position, base))


def turned(base: Pose, x: np.ndarray) -> np.ndarray:
    """Vectors (3, ...) or matrices (3, n, ...) in axes of the base."""
    rule = "ji...,j...->i..." if x.ndim == base.position.ndim else "ji...,jn...->in..."
    return np.einsum(rule, base.rotation, x)


def seen_position(p: np.ndarray, base: Pose) -> np.ndarray:
    """The position of a point."""
    return turned(base, p - base.position)


def seen_velocity(p: np.ndarray, v: PointMotion, base: Pose, moved: PointMotion) -> PointMotion:
    """The velocity of a point at p, and of the turning of its body."""
    linear, angular = _velocity(p, v, base, moved)
    return PointMotion(turned(base, linear), turned(base, angular))


def _velocity(p: np.ndarray, v: PointMotion, base: Pose, moved: PointMotion) -> PointMotion:
    """The same in world axes."""
    carried = moved.linear + cross(moved.angular, p - base.position)
    return PointMotion(v.linear - carried, v.angular - moved.angular)


def seen_acceleration(
    p: np.ndarray, v: PointMotion, a: PointMotion, base: Pose, moved: PointMotion, driven: PointMotion
) -> PointMotion:
    """The acceleration of a point at p, and of the turning of its body; the base moves with `moved` and `driven`."""
    r, w = p - base.position, moved.angular
    seen = _velocity(p, v, base, moved)
    carried = driven.linear + cross(driven.angular, r) + cross(w, cross(w, r))
    linear = a.linear - carried - 2 * cross(w, seen.linear)  # and Coriolis
    return PointMotion(turned(base, linear), turned(base, a.angular - driven.angular - cross(w, seen.angular)))


def seen_jacobian(p: np.ndarray, J: np.ndarray, base: Pose, own: np.ndarray) -> np.ndarray:
    """The Jacobian of a point at p; `own` is that of the origin of the base."""
    return _by_rows(base, _jacobian(p - base.position, J, own))


def _jacobian(r: np.ndarray, J: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The same in world axes."""
    return np.concatenate([J[:3] - own[:3] + cross(r[:, None], own[3:]), J[3:] - own[3:]])


def seen_jacobian_rate(
    p: np.ndarray,
    v: PointMotion,
    J: np.ndarray,
    J_rate: np.ndarray,
    base: Pose,
    moved: PointMotion,
    own: np.ndarray,
    own_rate: np.ndarray,
) -> np.ndarray:
    """The rate of `seen_jacobian` along a motion."""
    r, rd, w = p - base.position, v.linear - moved.linear, moved.angular[:, None]
    now, rate = _jacobian(r, J, own), _jacobian(r, J_rate, own_rate)
    rate[:3] += cross(rd[:, None], own[3:])
    turning = np.concatenate([cross(w, now[:3]), cross(w, now[3:])])  # the axes turn away beneath
    return _by_rows(base, rate - turning)


def _by_rows(base: Pose, J: np.ndarray) -> np.ndarray:
    return np.concatenate([turned(base, J[:3]), turned(base, J[3:])])
