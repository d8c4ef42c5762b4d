"""Reference definitions for verification: independent numerical definitions of the elements.

Equations are derived from the definitions that joints, loads and contacts provide for `mechanics/motion`. The verification must
not share these formulas, so each element also defines its effect on positions alone: the pose of a joint's child
(`reference_pose`), the residuals of a loop (`reference_residuals`), the virtual work of a load (`reference_work`) and its forces
on each body (`actions`), and the residuals of a contact (`reference_conditions`). None of this uses a Jacobian, a velocity of
`mechanics/motion` or a rotation of `symbolic/rotations`:

    R = ((w² − u·u) 1 + 2 u uᵀ + 2 w u×) / (w² + u·u)     w = cos(α/2), u = k sin(α/2) for an angle α about k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.model.values import Vector3
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, matrix, vector
from dalembert.symbolic.surds import Component
from dalembert.symbolic.symbols import Formula


@dataclass(frozen=True)
class ReferenceFrame:
    """A frame: its origin p and its axes, the columns of R, both in world axes."""

    p: Array
    R: Array

    def point(self, x: Array) -> Array:
        """World position of the point with coordinates x in this frame."""
        return self.p + self.R @ x

    def along(self, axis: Sequence[Component]) -> Array:
        """World components of a direction of this frame."""
        return self.R @ vector(list(axis))


def rotation_about(algebra: Algebra, axis: Sequence[Component], angle: Scalar) -> Array:
    """Rotation matrix by an angle about a unit vector."""
    half = angle * 0.5
    return rotation(algebra.cos(half), scaled_axis(axis, algebra.sin(half)))


def scaled_axis(axis: Sequence[Component], length: Scalar) -> Array:
    """A vector of this length along a unit vector."""
    return vector([float(k) * length for k in axis])


def rotation(w: Scalar, u: Array) -> Array:
    """Rotation matrix of Euler-Rodrigues parameters of any norm."""
    x, y, z = u
    square = u @ u
    across = matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    size = 1 / (w * w + square)
    rows = [
        [(int(i == j) * (w * w - square) + 2 * (u[i] * u[j] + w * across[i, j])) * size for j in range(3)]
        for i in range(3)
    ]
    return matrix(rows)


def offset(F: ReferenceFrame, M: ReferenceFrame) -> list[Scalar]:
    """The vector from the origin of F to the origin of M."""
    return list(M.p - F.p)


def cross_with_axis(F: ReferenceFrame, axis: Sequence[Component], v: Sequence[Scalar]) -> list[Scalar]:
    """The cross product of a vector and an axis of F, zero if they are parallel."""
    (a, b, c), (x, y, z) = F.along(axis), v
    return [y * c - z * b, z * a - x * c, x * b - y * a]


def parallel(F: ReferenceFrame, M: ReferenceFrame, axis: Sequence[Component]) -> list[Scalar]:
    """Residual of an axis that is parallel in both frames, in the same or the opposite direction."""
    return cross_with_axis(F, axis, list(M.along(axis)))


def axes_difference(F: ReferenceFrame, M: ReferenceFrame) -> list[Scalar]:
    """The difference of the axes of two frames."""
    return list((F.R - M.R).ravel())


@dataclass(frozen=True)
class Derivatives:
    """A quantity at K states: value and time derivatives (..., K), and derivative with each coordinate (..., n, K)."""

    value: np.ndarray
    rate: np.ndarray
    second: np.ndarray
    change: np.ndarray


class ReferencePoses(Protocol):
    """The poses of all bodies, over one algebra."""

    @property
    def algebra(self) -> Algebra:
        """The algebra of the scalars."""
        ...

    @property
    def frames(self) -> Mapping[str, ReferenceFrame]:
        """The frames of the world and the bodies, by name."""
        ...

    @property
    def lower(self) -> Callable[[Formula], Scalar]:
        """Converts a formula to a scalar."""
        ...

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        """World position of a point of a body."""
        ...

    def fixed_frame(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> ReferenceFrame:
        """A frame fixed on a body, with its origin at `position` and rotated by roll, pitch and yaw about the body axes."""
        ...

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        """The value of one motion of a joint."""
        ...

    def initial_value(self, body: str, joint: int, motion: int) -> Scalar:
        """The value of the motion in the initial state of the model."""
        ...


class MotionProbe(Protocol):
    """Numerical derivatives of functions of the positions along a motion."""

    @property
    def K(self) -> int:
        """The number of states."""
        ...

    def number(self, formula: Formula, more: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """The value of a formula at every state; `more` has the values of additional symbols."""
        ...

    def numbers(self, formulas: Sequence[Formula] | Sequence[Sequence[Formula]]) -> np.ndarray:
        """The values of several formulas; the last axis is that of the states."""
        ...

    def traced(self, quantity: Callable[[ReferencePoses], Array | Scalar]) -> Derivatives:
        """The value and the derivatives of a function of `ReferencePoses`."""
        ...

    def center(self, body: str) -> Vector3:
        """The mass center of a body, in its axes."""
        ...

    def mass(self, body: str) -> np.ndarray:
        """The mass of a body at every state."""
        ...


def point_of(probe: MotionProbe, body: str, x: Sequence[Formula]) -> Derivatives:
    """A point of a body."""
    return probe.traced(lambda poses: poses.point(body, x))


def axes_of(probe: MotionProbe, body: str) -> Derivatives:
    """The axes of a body, the columns of R."""
    return probe.traced(lambda poses: poses.frames[body].R)


def in_world(probe: MotionProbe, components: Sequence[Formula], frame: str) -> np.ndarray:
    """World components of a vector in axes of `frame`."""
    return np.einsum("xak,ak->xk", axes_of(probe, frame).value, probe.numbers(components))


def rotation_variation(axes: Derivatives) -> np.ndarray:
    """The infinitesimal rotation of a variation of the axes, (3, n, K): half the sum of R_a × δR_a."""
    return 0.5 * np.cross(axes.value[:, :, None, :], axes.change, axis=0).sum(axis=1)


# loads


@dataclass(frozen=True)
class VirtualWork:
    """The virtual work of one element (n, K), and its magnitude before cancellation."""

    name: str
    value: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class Action:
    """A force at a point and a couple on a body, in world axes, each (3, K)."""

    body: str
    force: np.ndarray
    point: np.ndarray
    couple: np.ndarray


def on_point(name: str, force: np.ndarray, point: Derivatives) -> VirtualWork:
    """Force (x, K) times the variation of its point (x, n, K); the magnitude ignores the angle between them."""
    value = np.einsum("xk,xnk->nk", force, point.change)
    return VirtualWork(name, value, np.linalg.norm(force, axis=0) * np.linalg.norm(point.change, axis=0))


def product(name: str, force: np.ndarray, scalar: Derivatives) -> VirtualWork:
    """A generalized force times the variation of its scalar."""
    value = force * scalar.change
    return VirtualWork(name, value, np.abs(value))


# constraints


@dataclass(frozen=True)
class Level:
    """A residual (m, K) and the magnitude of its terms; zero if these are q, q̇ or q̈ themselves."""

    value: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class Condition:
    """Rows of one constraint: their gradients (m, n, K) and residuals; None for a level that need not vanish."""

    name: str
    slopes: np.ndarray
    position: Level | None
    velocity: Level | None
    acceleration: Level


def position_condition(
    name: str,
    probe: MotionProbe,
    gap: Derivatives,
    feedback: Sequence[Formula] = (),
    sizes: Sequence[float | np.ndarray] = (0.0, 0.0, 0.0),
) -> Condition:
    """φ = 0, φ̇ = 0, φ̈ = 0; with gains (α, β) only φ̈ + β φ̇ + α φ = 0."""
    if feedback:
        alpha, beta = (probe.number(gain) for gain in feedback)
        pull = beta * gap.rate + alpha * gap.value
        return Condition(name, gap.change, None, None, Level(gap.second + pull, sizes[2] + np.abs(pull)))
    levels = (gap.value, gap.rate, gap.second)
    return Condition(
        name, gap.change, *(Level(x, np.zeros_like(x) + size) for x, size in zip(levels, sizes, strict=True))
    )


def length(x: np.ndarray) -> np.ndarray:
    """The norm of vectors or matrices at each state."""
    return np.sqrt(np.sum(x.reshape(-1, x.shape[-1]) ** 2, axis=0))
