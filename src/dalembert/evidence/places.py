"""Where the bodies are, in the declaration's own words: a walk that shares no line with `kinematics`.

Only positions are made here. Rotations are built from the parameters of Euler and Rodrigues,

    R = ((w² − u·u) 1 + 2 u uᵀ + 2 w u×) / (w² + u·u)     w = cos(α/2), u = k sin(α/2) for an angle α about k,

not from the joints' own matrices: a joint, a placement or a rotation that `kinematics` gets wrong is seen as a difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.algebra import Algebra, Array, Scalar, identity, matrix, vector, zeros
from dalembert.algebra.surds import Component
from dalembert.errors import InputError
from dalembert.expressions.lower import Lowering
from dalembert.model import WORLD, Elements
from dalembert.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Quaternion,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.model.joints.rows import plane

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@dataclass(frozen=True)
class Place:
    """A frame: its origin p and its axes, the columns of R, both in the world."""

    p: Array
    R: Array

    def point(self, x: Array) -> Array:
        """Where a point with the coordinates x in this frame is."""
        return self.p + self.R @ x


@dataclass(frozen=True)
class Places:
    """Where all bodies of a model are, over one algebra."""

    model: Elements
    algebra: Algebra
    lower: Lowering
    frames: Mapping[str, Place]
    hinges: Mapping[str, Array]  # where each body hangs: the origin of the last joint that moves it

    def numbers(self, formulas: Sequence[Any]) -> Array:
        """Formulas as a vector of scalars."""
        return vector([self.lower(formula) for formula in formulas])

    def point(self, body: str, x: Sequence[Any]) -> Array:
        """Where a point of a body is; x are formulas, in body axes."""
        return self.frames[body].point(self.numbers(x))

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        """How far a joint has moved along one of its motions."""
        carried = next(b for b in self.model.bodies if b.name == body)
        return self.lower(carried.joints[joint].values[motion])

    def placed(self, body: str, position: Sequence[Any], rotation: Sequence[Any]) -> Place:
        """A frame fixed on a body: its origin at `position`, turned by roll, then pitch, then yaw about the body's axes."""
        return _placed(self.algebra, self.frames[body], self.numbers(position), self.numbers(rotation))


def places(model: Elements, algebra: Algebra, values: Mapping[str, Scalar]) -> Places:
    """The places of all bodies, given a scalar for every symbol."""
    lower = Lowering(algebra, values)
    frames, hinges = {WORLD: Place(zeros(3), identity(3))}, {}
    rest = list(model.bodies)
    while rest:
        body = next(b for b in rest if b.parent in frames)
        rest.remove(body)
        at = frames[body.parent]
        for joint in body.joints:
            position, rotation = (vector([lower(x) for x in part]) for part in (joint.position, joint.rotation))
            shift, turn = displaced(algebra, joint, [lower(x) for x in joint.values])
            at = _placed(algebra, at, position, rotation)
            at = Place(at.point(shift), at.R @ turn)
            if joint.values:
                hinges[body.name] = at.p
        frames[body.name] = at
        hinges.setdefault(body.name, at.p)
    return Places(model, algebra, lower, frames, hinges)


def displaced(algebra: Algebra, joint: Joint, values: Sequence[Scalar]) -> tuple[Array, Array]:
    """How far a joint carries its child and how it turns it, as the docstring of each kind says."""
    match joint:
        case Fixed():
            return zeros(3), identity(3)
        case Revolute():
            return zeros(3), turned(algebra, joint.axis, values[0])
        case Prismatic():
            return _along(joint.axis, values[0]), identity(3)
        case Screw():
            advance = values[0] * (joint.pitch / (2 * math.pi))
            return _along(joint.axis, advance), turned(algebra, joint.axis, values[0])
        case Cylindrical():
            return _along(joint.axis, values[1]), turned(algebra, joint.axis, values[0])
        case Universal():
            first, second = (turned(algebra, a, x) for a, x in zip(joint.axes, values, strict=True))
            return zeros(3), first @ second
        case Planar():
            e1, e2 = plane(joint.normal)
            return _along(e1, values[0]) + _along(e2, values[1]), turned(algebra, joint.normal, values[2])
        case Spherical():
            turns = [turned(algebra, _AXES[name], x) for name, x in zip(joint.sequence, values, strict=True)]
            return zeros(3), turns[0] @ turns[1] @ turns[2]
        case Quaternion():
            return zeros(3), _rotation(values[0], vector(list(values[1:])))
        case Free():
            return vector(list(values[:3])), displaced(algebra, joint.attitude, values[3:])[1]
    raise InputError(
        f"joint of kind '{joint.kind}': the principle does not know how it moves. State it in `displaced`."
    )


def turned(algebra: Algebra, axis: Sequence[Component], angle: Scalar) -> Array:
    """The rotation by an angle about a unit vector."""
    half = angle * 0.5
    return _rotation(algebra.cos(half), _along(axis, algebra.sin(half)))


def _placed(algebra: Algebra, at: Place, position: Array, rotation: Array) -> Place:
    roll, pitch, yaw = rotation
    R = at.R
    for axis, angle in (("z", yaw), ("y", pitch), ("x", roll)):
        R = R @ turned(algebra, _AXES[axis], angle)
    return Place(at.point(position), R)


def _along(axis: Sequence[Component], length: Scalar) -> Array:
    return vector([float(k) * length for k in axis])


def _rotation(w: Scalar, u: Array) -> Array:
    x, y, z = u
    square = u @ u
    across = matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    size = 1 / (w * w + square)
    rows = [
        [(int(i == j) * (w * w - square) + 2 * (u[i] * u[j] + w * across[i, j])) * size for j in range(3)]
        for i in range(3)
    ]
    return matrix(rows)
