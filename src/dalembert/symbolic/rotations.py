"""Rotation matrices and cross products, over any algebra."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, matrix, vector
from dalembert.symbolic.surds import Component, Surd, root


def skew(v: Array) -> Array:
    """The matrix of v × (·).

    >>> skew(vector([1, 2, 3])) @ vector([1, 2, 3])
    array([0, 0, 0], dtype=object)
    """
    x, y, z = v
    return matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]]).astype(v.dtype, copy=False)


def cross(a: Array, b: Array) -> Array:
    """a × b."""
    return vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def about_axis(algebra: Algebra, axis: Sequence[Component], angle: Scalar) -> Array:
    """The rotation by `angle` about a unit `axis` of numbers: R = 1 + sinα k× + (1 − cosα) k×k×.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> about_axis(FLOATS, (0, 0, 1), 0.0).astype(float).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
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


def roll_pitch_yaw(algebra: Algebra, angles: Sequence[Scalar]) -> Array:
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
    """The angle of a rotation about a unit axis, in numbers; of any other rotation the part about the axis.

    >>> round(angle_about((0, 0, 1), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])), 12)
    1.570796326795
    """
    k = np.array([float(a) for a in axis])
    spin = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(k @ spin, np.trace(R) - k @ R @ k))


def _whole(x: Component) -> Component:
    """Whole numbers as int, so that 0 and 1 stay structural."""
    return round(float(x)) if float(x).is_integer() else x
