"""The transform from a parent to a link: translations along axes and rotations about them, applied to vectors in sequence.

    x_P = T_1 T_2 ... x_L        axes: a rotation about a coordinate axis is planar and costs 4 products, not 9
    p_P = before + T_1 T_2 ... after

Vectors are tuples of three scalars of any algebra. Structurally absent entries are the int 0 and are never multiplied; other
numbers are folded by the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dalembert.symbolic.algebra_base import Array, Scalar, Scalars, identity, vector

Three: TypeAlias = tuple[Scalar, Scalar, Scalar]

NONE: Three = (0, 0, 0)
UNITS: tuple[Three, Three, Three] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def absent(x: Scalar) -> bool:
    """True for the int 0, which is never a computed number."""
    return type(x) is int and x == 0


def is_absent(v: Three) -> bool:
    """True for a vector whose entries are all absent."""
    return all(map(absent, v))


def three(entries: Array | Scalars) -> Three:
    """Convert three entries to a tuple."""
    x, y, z = entries
    return (x, y, z)


def plus(a: Three, b: Three) -> Three:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def times(x: Scalar, a: Three) -> Three:
    """x a; absent entries of a remain absent."""
    return tuple(0 if absent(y) else x * y for y in a)  # type: ignore[return-value]


def dot(a: Three, b: Three) -> Scalar:
    """a · b without the terms that are absent from a."""
    total: Scalar = 0
    for x, y in zip(a, b, strict=True):
        if not absent(x):
            total = total + x * y
    return total


def crossed(a: Three, b: Three) -> Three:
    """a × b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@dataclass(frozen=True)
class AxisRotationMatrix:
    """A rotation about a coordinate axis (0, 1 or 2), by the cosine and sine of its angle."""

    axis: int
    c: Scalar
    s: Scalar

    def inwards(self, v: Three) -> Three:
        """T v: from the axes after the rotation to those before it."""
        k, c, s, out = self.axis, self.c, self.s, list(v)
        i, j = k - 2, k - 1  # the axes that follow k, as negative indices
        out[i], out[j] = c * v[i] - s * v[j], s * v[i] + c * v[j]
        return (out[0], out[1], out[2])

    def outwards(self, v: Three) -> Three:
        """Tᵀ v."""
        k, c, s, out = self.axis, self.c, self.s, list(v)
        i, j = k - 2, k - 1
        out[i], out[j] = c * v[i] + s * v[j], c * v[j] - s * v[i]
        return (out[0], out[1], out[2])


@dataclass(frozen=True)
class Matrix:
    """Any other rotation, by its matrix."""

    R: Array

    def inwards(self, v: Three) -> Three:
        """R v."""
        return three(self.R @ vector(v))

    def outwards(self, v: Three) -> Three:
        """Rᵀ v."""
        return three(self.R.T @ vector(v))


Rotation: TypeAlias = AxisRotationMatrix | Matrix


@dataclass(frozen=True)
class Transform:
    """From a parent to a link: a translation along axes of the parent, rotations, and a translation along axes of the link."""

    before: Three
    rotations: tuple[Rotation, ...]
    after: Three

    def inwards(self, v: Three) -> Three:
        """Transform a vector from axes of the link to axes of the parent."""
        for rotation in reversed(self.rotations):
            v = rotation.inwards(v)
        return v

    def outwards(self, v: Three) -> Three:
        """Transform a vector from axes of the parent to axes of the link."""
        for rotation in self.rotations:
            v = rotation.outwards(v)
        return v

    def wrench_inwards(self, n: Three, f: Three) -> tuple[Three, Three]:
        """Aᵀ w of (25), (36): a moment and a force on the link about the origin of its parent, in axes of the parent."""
        n, f = self.inwards(shifted_moment(n, f, self.after)), self.inwards(f)
        return shifted_moment(n, f, self.before), f

    def rates_outwards(self, wd: Three, vd: Three) -> tuple[Three, Three]:
        """A ṫ of (36): ω̇ and v̇ of the link as if it were fixed to its parent and both at rest."""
        vd = self.outwards(_carried(vd, wd, self.before))
        wd = self.outwards(wd)
        return wd, _carried(vd, wd, self.after)

    @property
    def R(self) -> Array:
        """The rotation matrix T_1 T_2 ..."""
        out = identity(3)
        for k, unit in enumerate(UNITS):
            out[:, k] = vector(self.inwards(unit))
        return out

    @property
    def p(self) -> Array:
        """The origin of the link in axes of the parent."""
        return vector(plus(self.before, self.inwards(self.after)))


def shifted_moment(n: Three, f: Three, p: Three) -> Three:
    """n + p × f."""
    out = list(n)
    for k, d in enumerate(p):
        if not absent(d):
            i, j = k - 2, k - 1
            out[i], out[j] = out[i] - d * f[j], out[j] + d * f[i]
    return (out[0], out[1], out[2])


def _carried(vd: Three, wd: Three, p: Three) -> Three:
    """v̇ + ω̇ × p."""
    out = list(vd)
    for k, d in enumerate(p):
        if not absent(d):
            i, j = k - 2, k - 1
            out[i], out[j] = out[i] + d * wd[j], out[j] - d * wd[i]
    return (out[0], out[1], out[2])
