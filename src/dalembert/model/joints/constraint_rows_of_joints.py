"""The rows a joint closes a loop with: each a condition on two frames, and the unit wrench that keeps it.

F is fixed on the first body, M on the second. A row is a function φ(R, p) of the rotation R = R_FM and the displacement
p = p_FM; its wrench (on the second body at the origin of M, in axes of F) does work at the rate φ̇, so the row of the
Jacobian is force · v + moment · ω with the relative velocities v and ω.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, scaled, vector, zeros
from dalembert.symbolic.rotations import cross, perpendicular
from dalembert.symbolic.surds import Component


@dataclass(frozen=True)
class Row:
    """φ = 0, kept by a multiple of (force, moment)."""

    name: str
    phi: Scalar
    force: Array
    moment: Array


def along(name: str, n: Sequence[Component], p: Array) -> Row:
    """The origin of M does not move along n, a unit vector of F: n · p = 0."""
    direction = vector(list(n))
    return Row(name, direction @ p, direction, zeros(3))


def across(name: str, a: Sequence[Component], b: Sequence[Component], R: Array) -> Row:
    """Vector a of F and vector b of M stay perpendicular: a · R b = 0."""
    first, second = vector(list(a)), R @ vector(list(b))
    return Row(name, first @ second, zeros(3), cross(second, first))


def together(p: Array) -> list[Row]:
    """The origins of F and M coincide."""
    return [along(name, n, p) for name, n in zip("xyz", np.eye(3, dtype=int).tolist(), strict=True)]


def unturned(algebra: Algebra, R: Array) -> list[Row]:
    """M is not turned against F: twice the vector part of the quaternion of R, 2 sin(θ/2) along the axis, vanishes.

    It is zero for no other rotation than R = 1, so that a rough guess cannot end in another one.
    """
    w = 0.5 * algebra.sqrt(1 + R[0, 0] + R[1, 1] + R[2, 2])  # cos(θ/2)
    twice = vector([_ratio(algebra, R[k, j] - R[j, k], 2 * w) for j, k in ((1, 2), (2, 0), (0, 1))])
    rows = []
    for name in "zxy":
        e = vector([int(name == axis) for axis in "xyz"])
        # the rate of the vector part is (w ω + ω × part) / 2
        moment = scaled(w, e) + scaled(0.5, cross(twice, e))
        rows.append(Row(f"turn {name}", twice @ e, zeros(3), moment))
    return rows


def _ratio(algebra: Algebra, a: Scalar, b: Scalar) -> Scalar:
    """a / b, where a zero stays structural."""
    return 0 if algebra.is_zero(a) else a / b


def aligned(axis: Sequence[Component], R: Array) -> list[Row]:
    """The axis has the same direction in both frames."""
    return [across(f"tilt {i + 1}", e, axis, R) for i, e in enumerate(plane(axis))]


def on_line(axis: Sequence[Component], p: Array) -> list[Row]:
    """The origin of M stays on the axis through the origin of F."""
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
