"""Making joints that turn about a point: by three angles or by a quaternion."""

from __future__ import annotations

from typing import Any

from dalembert.arguments import checked
from dalembert.errors import InputError, nearest
from dalembert.expressions import coordinate
from dalembert.model.joints.quaternion import Quaternion
from dalembert.model.joints.spherical import SEQUENCES, Spherical
from dalembert.model.making import ZERO, Given, Maker
from dalembert.model.vectors import Vector3


class AttitudeMaker(Maker):
    """Makes spherical joints."""

    @checked
    def spherical(
        self,
        angles: Given | None = None,
        sequence: str = "xyz",
        quaternion: Given | None = None,
        position: Given = ZERO,
        rotation: Given = ZERO,
        *,
        where: str = "joint",
    ) -> Spherical | Quaternion:
        """A joint that turns about a point: by three `angles` about the axes of `sequence`, or by a `quaternion` (w, x, y, z).

        The axes are carried along: "zyx" turns about z, then about the new y, then about the new x.
        """
        where = f"{where} (spherical)"
        return self._attitude(angles, sequence, quaternion, self._placement(where, position, rotation), where)

    def _attitude(
        self, angles: Any, sequence: str, quaternion: Any, place: tuple[Vector3, Vector3], where: str
    ) -> Spherical | Quaternion:
        if quaternion is not None:
            if angles is not None:
                raise InputError(
                    f"{where}: got both of angles and quaternion. Give three angles or four parts (w, x, y, z)."
                )
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
