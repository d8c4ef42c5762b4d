"""Reference definitions for verification: what elements do, stated a second time and in plain numbers.

Equations are made from what a joint, load or contact states for `kinematics`. Evidence that they are right may not share those
formulas, so each element also says in its own file what it does to positions alone: where a joint carries its child
(`displaced`), what keeps a loop closed (`unfulfilled`), the virtual work of a load (`declared`) and its pushes on each body
(`actions`), and what a contact forbids. None of this uses a Jacobian, a velocity of `kinematics` or a rotation of `spatial`:

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
class Place:
    """A frame: its origin p and its axes, the columns of R, both in the world."""

    p: Array
    R: Array

    def point(self, x: Array) -> Array:
        """Where a point with the coordinates x in this frame is."""
        return self.p + self.R @ x

    def along(self, axis: Sequence[Component]) -> Array:
        """A direction of this frame in the world."""
        return self.R @ vector(list(axis))


def turned(algebra: Algebra, axis: Sequence[Component], angle: Scalar) -> Array:
    """The rotation by an angle about a unit vector."""
    half = angle * 0.5
    return rotation(algebra.cos(half), slid(axis, algebra.sin(half)))


def slid(axis: Sequence[Component], length: Scalar) -> Array:
    """A vector of this length along a unit vector."""
    return vector([float(k) * length for k in axis])


def rotation(w: Scalar, u: Array) -> Array:
    """The rotation of the parameters of Euler and Rodrigues, of any length."""
    x, y, z = u
    square = u @ u
    across = matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    size = 1 / (w * w + square)
    rows = [
        [(int(i == j) * (w * w - square) + 2 * (u[i] * u[j] + w * across[i, j])) * size for j in range(3)]
        for i in range(3)
    ]
    return matrix(rows)


def apart(F: Place, M: Place) -> list[Scalar]:
    """The way from one origin to the other."""
    return list(M.p - F.p)


def beside(F: Place, axis: Sequence[Component], v: Sequence[Scalar]) -> list[Scalar]:
    """What of a vector is not along an axis of F: their cross product."""
    (a, b, c), (x, y, z) = F.along(axis), v
    return [y * c - z * b, z * a - x * c, x * b - y * a]


def parallel(F: Place, M: Place, axis: Sequence[Component]) -> list[Scalar]:
    """How far an axis points into different directions in the two frames; it may be turned over."""
    return beside(F, axis, list(M.along(axis)))


def twisted(F: Place, M: Place) -> list[Scalar]:
    """How far the axes of the two frames differ."""
    return list((F.R - M.R).ravel())


@dataclass(frozen=True)
class Traced:
    """A quantity at K states: its value and rates along the motion (..., K), and its change with each coordinate (..., n, K)."""

    value: np.ndarray
    rate: np.ndarray
    second: np.ndarray
    change: np.ndarray


class Places(Protocol):
    """Where all bodies are, over one algebra."""

    @property
    def algebra(self) -> Algebra:
        """What the scalars are."""
        ...

    @property
    def frames(self) -> Mapping[str, Place]:
        """World and bodies by name."""
        ...

    @property
    def lower(self) -> Callable[[Formula], Scalar]:
        """Makes a scalar of a formula."""
        ...

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        """Where a point of a body is."""
        ...

    def placed(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> Place:
        """A frame fixed on a body: its origin at `position`, turned by roll, then pitch, then yaw about the body's axes."""
        ...

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        """How far a joint has moved along one of its motions."""
        ...

    def started(self, body: str, joint: int, motion: int) -> Scalar:
        """How far it has moved in the initial state of the model."""
        ...


class Watch(Protocol):
    """A model that is watched while it moves: how anything that follows from positions changes."""

    @property
    def K(self) -> int:
        """The number of states."""
        ...

    def number(self, formula: Formula, more: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """The value of a formula at every state; `more` are the values of further symbols."""
        ...

    def numbers(self, formulas: Sequence[Formula] | Sequence[Sequence[Formula]]) -> np.ndarray:
        """The values of several formulas, in their shape with the states behind it."""
        ...

    def traced(self, quantity: Callable[[Places], Array | Scalar]) -> Traced:
        """How a quantity that follows from `Places` changes."""
        ...

    def center(self, body: str) -> Vector3:
        """The mass centre of a body, in its axes."""
        ...

    def mass(self, body: str) -> np.ndarray:
        """The mass of a body at every state."""
        ...


def point_of(watch: Watch, body: str, x: Sequence[Formula]) -> Traced:
    """A point of a body."""
    return watch.traced(lambda places: places.point(body, x))


def axes_of(watch: Watch, body: str) -> Traced:
    """The axes of a body, the columns of R."""
    return watch.traced(lambda places: places.frames[body].R)


def in_world(watch: Watch, components: Sequence[Formula], frame: str) -> np.ndarray:
    """A vector given in the axes of `frame`."""
    return np.einsum("xak,ak->xk", axes_of(watch, frame).value, watch.numbers(components))


def turn_of(axes: Traced) -> np.ndarray:
    """The small rotation in a change of the axes, (3, n, K): half the sum of R_a × δR_a."""
    return 0.5 * np.cross(axes.value[:, :, None, :], axes.change, axis=0).sum(axis=1)


# what loads do


@dataclass(frozen=True)
class Work:
    """The virtual work of one thing (n, K), and its size before anything cancels."""

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


def on_point(name: str, force: np.ndarray, point: Traced) -> Work:
    """Force (x, K) times the change of its point (x, n, K); its size does not count on right angles between them."""
    value = np.einsum("xk,xnk->nk", force, point.change)
    return Work(name, value, np.linalg.norm(force, axis=0) * np.linalg.norm(point.change, axis=0))


def product(name: str, force: np.ndarray, scalar: Traced) -> Work:
    """A force along a scalar times the change of the scalar."""
    value = force * scalar.change
    return Work(name, value, np.abs(value))


# what constraints forbid


@dataclass(frozen=True)
class Level:
    """What must vanish (m, K), and the size of what it is made of; zero where the parts are those of q, q̇ or q̈ themselves."""

    value: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class Condition:
    """Rows that belong together: their slopes (m, n, K) and their levels; None where a level is not asked to vanish."""

    name: str
    slopes: np.ndarray
    position: Level | None
    velocity: Level | None
    acceleration: Level


def held(
    name: str,
    watch: Watch,
    gap: Traced,
    feedback: Sequence[Formula] = (),
    sizes: Sequence[float | np.ndarray] = (0.0, 0.0, 0.0),
) -> Condition:
    """φ = 0, φ̇ = 0, φ̈ = 0; with gains (α, β) only φ̈ + β φ̇ + α φ = 0."""
    if feedback:
        alpha, beta = (watch.number(gain) for gain in feedback)
        pull = beta * gap.rate + alpha * gap.value
        return Condition(name, gap.change, None, None, Level(gap.second + pull, sizes[2] + np.abs(pull)))
    levels = (gap.value, gap.rate, gap.second)
    return Condition(
        name, gap.change, *(Level(x, np.zeros_like(x) + size) for x, size in zip(levels, sizes, strict=True))
    )


def length(x: np.ndarray) -> np.ndarray:
    """The size of vectors or matrices at each state."""
    return np.sqrt(np.sum(x.reshape(-1, x.shape[-1]) ** 2, axis=0))
