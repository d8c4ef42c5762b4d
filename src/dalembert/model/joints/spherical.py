"""The joint that turns about a point, by three Euler angles: the Euler-angle-joints of papers/denoc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector, zeros
from dalembert.errors import InputError
from dalembert.expressions.formula import Formula
from dalembert.model.declared import Place, apart, turned
from dalembert.model.joints.base import HERE, Joint, Rows, Undone
from dalembert.model.joints.rows import Row, together
from dalembert.model.keys import Key, Keys, array, name, position
from dalembert.spatial import about_axis

UNITS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
SEQUENCES = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c)


@dataclass(frozen=True)
class Spherical(Joint):
    """The child turns by three angles about the axes named in `sequence`, each carried along by the turns before it."""

    kind: ClassVar[str] = "spherical"
    moves: ClassVar[tuple[str, ...]] = ("angles",)
    names: ClassVar[tuple[str, ...]] = ("first angle", "second angle", "third angle")
    keys: ClassVar[Keys | None] = {
        "angles": Key(array(3, position, "formulas"), motion=True),
        "sequence": Key(name),
        "quaternion": Key(array(4, position, "coordinates (w, x, y, z)"), loop=False),
    }

    sequence: str
    angles: tuple[Formula, Formula, Formula]

    def _turns(self, algebra: Algebra, values: Sequence[Scalar]) -> list[Array]:
        return [about_axis(algebra, UNITS[axis], value) for axis, value in zip(self.sequence, values, strict=True)]

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """One rotation after the other."""
        first, second, third = self._turns(algebra, values)
        return first @ second @ third

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The three axes as the child sees them."""
        _, second, third = self._turns(algebra, values)
        e1, e2, e3 = (vector(list(UNITS[axis])) for axis in self.sequence)
        columns = (third.T @ (second.T @ e1), third.T @ e2, e3)
        return matrix([[column[i] for column in columns] for i in range(3)])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together: three rows."""
        return together(p)

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The three angles."""
        from scipy.spatial.transform import Rotation

        a, b, c = Rotation.from_matrix(R).as_euler(self.sequence.upper())
        return (float(a), float(b), float(c))

    def undone(self) -> Undone:
        """The last angle first, all opposite."""
        a, b, c = self.angles
        return Undone([Spherical(HERE, HERE, self.sequence[::-1], (-c, -b, -a))], [(0, 2), (0, 1), (0, 0)])

    def require_motions(self, where: str) -> None:
        """Its angles, or a quaternion in place of them."""
        if None in self.angles:
            raise InputError(
                f"{where} ({self.kind}): got neither of angles and quaternion. Give three angles or four parts (w, x, y, z); "
                "only a joint that closes a loop leaves them free."
            )

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It turns about one axis after the other."""
        first, second, third = (turned(algebra, UNITS[e], x) for e, x in zip(self.sequence, values, strict=True))
        return zeros(3), first @ second @ third

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origins together."""
        return apart(F, M), []
