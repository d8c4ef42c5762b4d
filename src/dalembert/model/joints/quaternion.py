"""The joint that turns about a point, by a unit quaternion (w, x, y, z): no attitude is singular."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector, zeros
from dalembert.expressions.formula import Formula
from dalembert.model import file_form
from dalembert.model.declared import Place, apart, rotation
from dalembert.model.file_form import Element
from dalembert.model.joints.base import HERE, Joint, Rows
from dalembert.model.joints.rows import Row, together
from dalembert.model.joints.spherical import Spherical


@dataclass(frozen=True)
class Quaternion(Joint):
    """The child is turned by the quaternion `parts` = (w, x, y, z), four coordinates whose squares sum to 1.

    The model keeps the norm as a constraint of its own. Speeds are the components of ω in axes of the child:
    ω = 2 G(q) q̇ and back q̇ = H(q) ω with H = Gᵀ / 2.
    """

    kind: ClassVar[str] = "quaternion"
    quaternion: ClassVar[bool] = True
    moves: ClassVar[tuple[str, ...]] = ("parts",)
    names: ClassVar[tuple[str, ...]] = ("w", "x", "y", "z")

    parts: tuple[Formula, Formula, Formula, Formula]

    def turn(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """The rotation of q / |q|: off the unit sphere nothing depends on the norm, so its constraint has no force."""
        w, x, y, z = values
        two = 2 / (w * w + x * x + y * y + z * z)
        return matrix(
            [
                [1 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
                [two * (x * y + w * z), 1 - two * (x * x + z * z), two * (y * z - w * x)],
                [two * (x * z - w * y), two * (y * z + w * x), 1 - two * (x * x + y * y)],
            ]
        )

    def angular(self, algebra: Algebra, values: Sequence[Scalar]) -> Array:
        """2 G(q) / |q|²."""
        w, x, y, z = values
        two = 2 / (w * w + x * x + y * y + z * z)
        return matrix([[two * part for part in row] for row in ([-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w])])

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[Row]:
        """Origins together: three rows."""
        return together(p)

    def measure(self, R: np.ndarray, p: np.ndarray) -> tuple[float, ...]:
        """The four parts, w not negative."""
        from scipy.spatial.transform import Rotation

        x, y, z, w = Rotation.from_matrix(R).as_quat(canonical=True)
        return (float(w), float(x), float(y), float(z))

    def still(self) -> Spherical:
        """A ball by angles: in a loop they are as free."""
        return Spherical(self.position, self.rotation, "xyz", HERE)

    def written(self, where: str) -> Element:
        """A file has it as a spherical joint."""
        return {"type": "spherical", "quaternion": file_form.vector(self.parts, where)}

    def displaced(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """It turns by the parameters of Euler and Rodrigues."""
        return zeros(3), rotation(values[0], vector(list(values[1:])))

    def unfulfilled(self, algebra: Algebra, F: Place, M: Place) -> Rows:
        """Origins together."""
        return apart(F, M), []
