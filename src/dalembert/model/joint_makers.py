"""Making joints: one method for each kind, reading its placement and the formulas of its motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.errors import InputError, nearest
from dalembert.expressions import coordinate
from dalembert.model.declarations import Declarations, unit_vector
from dalembert.model.joints import (
    SEQUENCES,
    Cylindrical,
    Fixed,
    Free,
    Planar,
    Prismatic,
    Quaternion,
    Revolute,
    Screw,
    Spherical,
    Universal,
)

_HERE = (0, 0, 0)


class JointMakers(Declarations):
    """The joints a body can hang on. Every motion is a formula of coordinates and time."""

    def fixed(
        self, position: Sequence[Any] = (0, 0, 0), rotation: Sequence[Any] = (0, 0, 0), *, where: str = "joint"
    ) -> Fixed:
        """A joint that does not move, placed at `position` with `rotation` = (roll, pitch, yaw).

        `where` begins the message of an error, here and in the other joints.
        """
        return Fixed(*self._placement(f"{where} (fixed)", position, rotation))

    def revolute(
        self,
        axis: Sequence[float],
        angle: Any,
        position: Sequence[Any] = (0, 0, 0),
        rotation: Sequence[Any] = (0, 0, 0),
        *,
        where: str = "joint",
    ) -> Revolute:
        """A joint that turns about `axis` by `angle`, any expression of coordinates and time."""
        where = f"{where} (revolute)"
        place = self._placement(where, position, rotation)
        return Revolute(*place, unit_vector(axis, where), self.reader.read(angle, f"{where}, angle", rates=False))

    def prismatic(
        self,
        axis: Sequence[float],
        displacement: Any,
        position: Sequence[Any] = (0, 0, 0),
        rotation: Sequence[Any] = (0, 0, 0),
        *,
        where: str = "joint",
    ) -> Prismatic:
        """A joint that slides along `axis` by `displacement`, any expression of coordinates and time."""
        where = f"{where} (prismatic)"
        place = self._placement(where, position, rotation)
        value = self.reader.read(displacement, f"{where}, displacement", rates=False)
        return Prismatic(*place, unit_vector(axis, where), value)

    def screw(
        self,
        axis: Sequence[float],
        angle: Any,
        pitch: float,
        position: Sequence[Any] = _HERE,
        rotation: Sequence[Any] = _HERE,
        *,
        where: str = "joint",
    ) -> Screw:
        """A joint that turns about `axis` by `angle` and advances by `pitch` with every full turn."""
        where = f"{where} (screw)"
        advance = self.number(pitch, f"{where}, pitch")
        if not advance:
            raise InputError(f"{where}, pitch: the value is 0. Expected an advance per turn; without one use revolute.")
        place = self._placement(where, position, rotation)
        return Screw(*place, unit_vector(axis, where), self._motion(angle, f"{where}, angle"), advance)

    def cylindrical(
        self,
        axis: Sequence[float],
        angle: Any,
        displacement: Any,
        position: Sequence[Any] = _HERE,
        rotation: Sequence[Any] = _HERE,
        *,
        where: str = "joint",
    ) -> Cylindrical:
        """A joint that turns about `axis` by `angle` and slides along it by `displacement`."""
        where = f"{where} (cylindrical)"
        place = self._placement(where, position, rotation)
        turn, slide = self._motion(angle, f"{where}, angle"), self._motion(displacement, f"{where}, displacement")
        return Cylindrical(*place, unit_vector(axis, where), turn, slide)

    def universal(
        self,
        axes: Sequence[Sequence[float]],
        angles: Sequence[Any],
        position: Sequence[Any] = _HERE,
        rotation: Sequence[Any] = _HERE,
        *,
        where: str = "joint",
    ) -> Universal:
        """A joint that turns about `axes[0]`, fixed on the parent, and about `axes[1]`, fixed on the child."""
        where = f"{where} (universal)"
        if len(axes) != 2:
            raise InputError(f"{where}, axes: got {len(axes)}. Expected two axes at right angles.")
        first, second = unit_vector(axes[0], f"{where}, axes[0]"), unit_vector(axes[1], f"{where}, axes[1]")
        lean = sum(a * b for a, b in zip(first, second, strict=True))
        if abs(lean) > 1e-9:
            raise InputError(f"{where}, axes: the cosine between them is {lean:g}. Expected axes at right angles.")
        a, b = self._motions(angles, 2, f"{where}, angles")
        return Universal(*self._placement(where, position, rotation), (first, second), (a, b))

    def planar(
        self,
        normal: Sequence[float],
        displacement: Sequence[Any],
        angle: Any,
        position: Sequence[Any] = _HERE,
        rotation: Sequence[Any] = _HERE,
        *,
        where: str = "joint",
    ) -> Planar:
        """A joint that slides in the plane with the given normal (along x and y for the normal z) and turns in it."""
        where = f"{where} (planar)"
        place = self._placement(where, position, rotation)
        x, y = self._motions(displacement, 2, f"{where}, displacement")
        return Planar(*place, unit_vector(normal, where), (x, y), self._motion(angle, f"{where}, angle"))

    def spherical(
        self,
        angles: Sequence[Any] | None = None,
        sequence: str = "xyz",
        quaternion: Sequence[Any] | None = None,
        position: Sequence[Any] = _HERE,
        rotation: Sequence[Any] = _HERE,
        *,
        where: str = "joint",
    ) -> Spherical | Quaternion:
        """A joint that turns about a point: by three `angles` about the axes of `sequence`, or by a `quaternion` (w, x, y, z).

        The axes are carried along: "zyx" turns about z, then about the new y, then about the new x.
        """
        where = f"{where} (spherical)"
        return self._attitude(angles, sequence, quaternion, self._placement(where, position, rotation), where)

    def free(
        self,
        displacement: Sequence[Any],
        angles: Sequence[Any] | None = None,
        sequence: str = "xyz",
        quaternion: Sequence[Any] | None = None,
        position: Sequence[Any] = _HERE,
        rotation: Sequence[Any] = _HERE,
        *,
        where: str = "joint",
    ) -> Free:
        """A joint with all six freedoms: three displacements in axes of the parent, and an attitude as in `spherical`."""
        where = f"{where} (free)"
        place = self._placement(where, position, rotation)
        x, y, z = self._motions(displacement, 3, f"{where}, displacement")
        return Free(*place, (x, y, z), self._attitude(angles, sequence, quaternion, (_HERE, _HERE), where))

    def _attitude(
        self, angles: Any, sequence: str, quaternion: Any, place: tuple[Any, Any], where: str
    ) -> Spherical | Quaternion:
        if (angles is None) == (quaternion is None):
            got = "neither" if angles is None else "both"
            raise InputError(
                f"{where}: got {got} of angles and quaternion. Give three angles or four parts (w, x, y, z)."
            )
        if quaternion is not None:
            w, x, y, z = parts = self._motions(quaternion, 4, f"{where}, quaternion")
            known = {coordinate(name) for name in self.coordinate_names}
            if len({*parts}) != 4 or not {*parts} <= known:
                raise InputError(
                    f"{where}, quaternion: got {', '.join(map(str, parts))}. Expected four different coordinates (w, x, y, z)."
                )
            return Quaternion(*place, (w, x, y, z))
        if sequence not in SEQUENCES:
            raise InputError(
                f"{where}, sequence: there is no '{sequence}'. {nearest(str(sequence), SEQUENCES)} "
                "Expected three of x, y, z, neighbours different."
            )
        a, b, c = self._motions(angles, 3, f"{where}, angles")
        return Spherical(*place, sequence, (a, b, c))

    def _motion(self, formula: Any, where: str) -> Any:
        return self.reader.read(formula, where, rates=False)

    def _motions(self, formulas: Sequence[Any], count: int, where: str) -> tuple[Any, ...]:
        if isinstance(formulas, str) or len(formulas) != count:
            raise InputError(f"{where}: got {formulas!r}. Expected {count} formulas.")
        return tuple(self._motion(formula, f"{where}[{i}]") for i, formula in enumerate(formulas))
