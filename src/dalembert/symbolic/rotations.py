"""Rotation matrices and cross products, over any algebra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, Scalars, identity, matrix, vector
from dalembert.symbolic.surds import Component, Surd, root

_TINY = 1e-12  # sin B at which the first and the third angle cannot be distinguished
_LARGE = 1.0  # radians between neighbours on a path above which points are inserted in between
_RIGHT = 1e-12  # cosine of axes that are at right angles


def skew(v: Array) -> Array:
    """The matrix of v × (·)."""
    x, y, z = v
    return matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]]).astype(v.dtype, copy=False)


def cross(a: Array, b: Array) -> Array:
    """a × b."""
    return vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def about_axis(algebra: Algebra, axis: Sequence[Component], angle: Scalar) -> Array:
    """The rotation by `angle` about a unit `axis` of numbers: R = 1 + sinα k× + (1 − cosα) k×k×."""
    s, c = sine_and_cosine(algebra, angle)
    K = skew(vector(list(axis)))
    R = identity(3)
    for i in range(3):
        for j in range(3):
            # k kᵀ + c (1 − k kᵀ) + s k×, written so that principal axes give bare sines and cosines
            straight = _whole(axis[i] * axis[j])
            turned = _whole(int(i == j) - straight)
            R[i, j] = straight
            if turned:
                R[i, j] = R[i, j] + turned * c if straight else turned * c
            if K[i, j]:
                R[i, j] = R[i, j] + K[i, j] * s
    return R


def sine_and_cosine(algebra: Algebra, angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine; those of a quarter turn given as a number are whole, so that zeros stay structural."""
    if isinstance(angle, int | float):
        quarters = round(angle / (np.pi / 2))
        if abs(angle - quarters * np.pi / 2) <= 1e-15 * max(1, abs(quarters)):
            return ((0, 1), (1, 0), (0, -1), (-1, 0))[quarters % 4]
    return algebra.sin(angle), algebra.cos(angle)


def roll_pitch_yaw(algebra: Algebra, angles: Scalars) -> Array:
    """Rz(yaw) Ry(pitch) Rx(roll) for angles = (roll, pitch, yaw); angles that are zero leave no trace."""
    R = identity(3)
    for axis, angle in zip(((0, 0, 1), (0, 1, 0), (1, 0, 0)), reversed(list(angles)), strict=True):
        if not algebra.is_zero(angle):
            R = R @ about_axis(algebra, axis, angle)
    return R


def perpendicular(axis: Sequence[Component]) -> tuple[Component, Component, Component]:
    """A unit vector at right angles to a unit `axis`: its cross product with the coordinate axis farthest from it.

    >>> perpendicular((0, 0, 1))
    (0, -1, 0)
    """
    i = int(np.argmin(np.abs(np.array(axis, dtype=float))))
    j, k = (i + 1) % 3, (i + 2) % 3
    square = _fraction(axis[j] * axis[j] + axis[k] * axis[k])
    inverse = root(1 / square)
    out: list[Component] = [0, 0, 0]
    out[j], out[k] = _whole(-inverse * axis[k]), _whole(inverse * axis[j])
    return out[0], out[1], out[2]


def _fraction(x: Component) -> Fraction:
    """A rational number: the square of a component of a unit vector."""
    return x.terms.get(1, Fraction(0)) if isinstance(x, Surd) else Fraction(repr(float(x)))


def angle_about(axis: Sequence[Component], R: np.ndarray) -> float:
    """The angle of a rotation about a unit axis, in numbers; of any other rotation the part about the axis."""
    k = np.array([float(a) for a in axis])
    spin = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(k @ spin, np.trace(R) - k @ R @ k))


def _whole(x: Component) -> Component:
    """Whole numbers as int, so that 0 and 1 stay structural."""
    return round(float(x)) if float(x).is_integer() else x


@dataclass(frozen=True)
class EulerAngles:
    """Three angles about axes that follow each other at right angles."""

    axes: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]  # n₁, n₂, n₃, in axes of the fixed frame
    last: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # C, row by row

    @property
    def complete(self) -> bool:
        """True where every rotation has such angles: each axis is at right angles to the next."""
        first, second, third = np.array(self.axes)
        return abs(float(first @ second)) < _RIGHT and abs(float(second @ third)) < _RIGHT

    @cached_property
    def offset(self) -> float:
        """λ of n₃ = exp(n₂ λ) n₁."""
        first, second, third = np.array(self.axes)
        return float(np.arctan2(np.cross(first, third) @ second, first @ third))

    @cached_property
    def _frame(self) -> np.ndarray:
        """Q."""
        first, second, _ = np.array(self.axes)
        return np.stack([first, second, np.cross(first, second)], axis=1)

    @cached_property
    def _behind(self) -> np.ndarray:
        """Cᵀ exp(n₂ λ) Q."""
        return np.array(self.last).T @ turned(self.axes[1], np.array(self.offset)) @ self._frame

    def distance(self, angles: np.ndarray) -> np.ndarray:
        """|sin B| of angles (3, ...): 0 where the angles are singular, 1 where they are best."""
        return np.abs(np.sin(angles[1] + self.offset))

    def sheet(self, angles: np.ndarray) -> np.ndarray:
        """The whole number of half turns in B: it changes where a motion has passed through the singularity."""
        return np.floor((angles[1] + self.offset) / np.pi)

    def side(self, angles: np.ndarray) -> float:
        """The sign of sin B, which stays along every motion that is not led through the singularity itself."""
        return -1.0 if np.sin(angles[1] + self.offset) < 0 else 1.0

    def distance_of(self, rotation: np.ndarray) -> np.ndarray:
        """The same of rotations (3, 3, ...)."""
        first, second = self._turned(rotation)[0, 1:]
        return np.hypot(first, second)

    def _turned(self, rotation: np.ndarray) -> np.ndarray:
        """N."""
        return np.einsum("ji,jk...,kl->il...", self._frame, rotation, self._behind)

    def rotation(self, angles: np.ndarray) -> np.ndarray:
        """R (3, 3, ...) of angles (3, ...)."""
        first, second, third = (turned(axis, angle) for axis, angle in zip(self.axes, angles, strict=True))
        return np.einsum("ij...,jk...,kl...,lm->im...", first, second, third, np.array(self.last))

    def angles(self, rotation: np.ndarray, side: float) -> np.ndarray:
        """The angles (3, ...) of rotations (3, 3, ...) with this sign of sin B, the first and third within ±π."""
        N = self._turned(rotation)
        size = np.hypot(N[0, 1], N[0, 2])
        first, third = np.arctan2(side * N[1, 0], -side * N[2, 0]), np.arctan2(side * N[0, 1], side * N[0, 2])
        locked = size < _TINY  # a ± c alone is known: a is taken as zero
        third = np.where(locked, np.arctan2(-N[1, 2], N[1, 1]), third)
        second = np.arctan2(side * size, N[0, 0]) - self.offset
        return np.stack([np.where(locked, 0.0, first), second, third])

    def common(self, angles: np.ndarray) -> np.ndarray:
        """σ = ±1 with a + σ c regular next to the singularity."""
        return np.where(np.cos(angles[1] + self.offset) < 0, -1.0, 1.0)

    def pointer(self, angles: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sin B (cos a, sin a) of angles (3,), whose motion is regular everywhere, and its rate."""
        a, B = angles[0], angles[1] + self.offset
        along, across = np.array([np.cos(a), np.sin(a)]), np.array([-np.sin(a), np.cos(a)])
        return np.sin(B) * along, np.cos(B) * rates[1] * along + np.sin(B) * rates[0] * across

    def columns(self, angles: np.ndarray) -> np.ndarray:
        """E (3, 3, ...) of ω = E (ȧ, ḃ, ċ), in axes of the fixed frame."""
        first, second = turned(self.axes[0], angles[0]), turned(self.axes[1], angles[1])
        n2 = np.einsum("ij...,j->i...", first, np.array(self.axes[1]))
        n3 = np.einsum("ij...,jk...,k->i...", first, second, np.array(self.axes[2]))
        n1 = np.broadcast_to(np.array(self.axes[0]).reshape(3, *[1] * (n2.ndim - 1)), n2.shape)
        return np.stack([n1, n2, n3], axis=1)

    def turning(self, angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Ė (ȧ, ḃ, ċ) (3, ...): what rates alone add to the angular acceleration."""
        E = self.columns(angles)
        w1, w2, w3 = (E[:, k] * rates[k] for k in range(3))
        return np.cross(w1, w2, axis=0) + np.cross(w1 + w2, w3, axis=0)


def turned(axis: Sequence[float], angle: np.ndarray) -> np.ndarray:
    """The rotations (3, 3, ...) by angles (...) about a unit axis."""
    k = np.array(axis, dtype=float)
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    shape = (3, 3, *[1] * np.ndim(angle))
    straight, across = np.outer(k, k).reshape(shape), (np.eye(3) - np.outer(k, k)).reshape(shape)
    return straight + across * np.cos(angle) + K.reshape(shape) * np.sin(angle)


def swept_angle(x0: np.ndarray, v0: np.ndarray, x1: np.ndarray, v1: np.ndarray, h: float) -> float:
    """The angle that a point of the plane sweeps about the origin in a time h, on the cubic path with these ends and velocities.

    >>> up, right = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    >>> round(swept_angle(up - 0.1 * right, 2 * right, up + 0.1 * right, 2 * right, 0.1), 6)
    -0.199337
    """
    s, turns = np.linspace(0.0, 1.0, 9), np.zeros(0)
    for _ in range(40):
        x = (
            np.outer((1 + 2 * s) * (1 - s) ** 2, x0)
            + np.outer(h * s * (1 - s) ** 2, v0)
            + np.outer(s**2 * (3 - 2 * s), x1)
            - np.outer(h * s**2 * (1 - s), v1)
        ).T
        x = x / max(float(np.abs(x).max()), 1e-300)
        turns = np.arctan2(x[0, :-1] * x[1, 1:] - x[1, :-1] * x[0, 1:], (x[:, :-1] * x[:, 1:]).sum(axis=0))
        large = np.abs(turns) > _LARGE
        if not large.any():
            break
        s = np.sort(np.concatenate([s, (s[:-1] + s[1:])[large] / 2]))
    return float(turns.sum())


def solved(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """x of E x = w for E (3, 3, ...) and w (3, ...); the smallest x where E is singular."""
    E, w = np.moveaxis(matrices, (0, 1), (-2, -1)), np.moveaxis(vectors, 0, -1)
    return np.moveaxis(np.einsum("...ij,...j->...i", np.linalg.pinv(E, rcond=_TINY), w), -1, 0)
