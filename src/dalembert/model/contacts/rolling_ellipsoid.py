"""An ellipsoid that rolls on a plane without slipping: a rattleback, an egg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from dalembert.arguments import checked
from dalembert.model.attitude import Rotation
from dalembert.model.contacts.base import ContactMaker
from dalembert.model.contacts.rolling import PLANE, ROLLS, Rolling
from dalembert.model.ellipsoids import ELLIPSOID, below, lowest
from dalembert.model.keys import Keys
from dalembert.model.loads.base import Motion
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Places
from dalembert.model.vectors import WORLD, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar
from dalembert.symbolic.symbols import Formula


@dataclass(frozen=True)
class RollingEllipsoid(Rolling):
    """An ellipsoid around `center`, whose axes are those of the body, or turned on it by `rotation`."""

    kind: ClassVar[str] = "rolling_ellipsoid"
    keys: ClassVar[Keys] = {**ROLLS, **ELLIPSOID, **PLANE}

    semi_axes: Vector3
    rotation: Vector3

    @property
    def sizes(self) -> Sequence[tuple[str, Formula]]:
        """The semi-axes."""
        return [(f"semi_axes[{i}]", size) for i, size in enumerate(self.semi_axes)]

    def lowest(self, motion: Motion, up: Array) -> tuple[Array, Scalar]:
        """x = −A² m/√(m·A² m)."""
        return lowest(motion, self.semi_axes, self.rotation, up)

    def down(self, places: Places, up: Array) -> Array:
        """By three conjugate half diameters."""
        return below(places, self.body, self.semi_axes, self.rotation, up)


class RollingEllipsoidMaker(ContactMaker):
    """Makes rolling ellipsoids."""

    @checked
    def rolling_ellipsoid(
        self,
        body: str,
        semi_axes: Given,
        *,
        center: Given = ZERO,
        rotation: Rotation = ZERO,
        ground: str = WORLD,
        point: Given = ZERO,
        normal: Given = (0, 0, 1),
        contact: bool = True,
        name: str | None = None,
    ) -> Self:
        """Let an ellipsoid roll without slipping on a plane of the world or of another body.

        `center` is its middle and `rotation` how its axes are turned, on the body. The plane goes through `point` of the ground
        across `normal`, both in its axes. With `contact` the ellipsoid is also held on the plane. An egg that rocks over its long
        side, half way up:

        >>> import dalembert as dl
        >>> model = dl.Model("egg", gravity=(0, 0, -10)).coordinates("x", "z", "tilt")
        >>> way = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "tilt")]
        >>> _ = model.body("egg", joint=way, mass=1, inertia=(0.4, 1, 1)).start({"z": "sqrt(5/2)", "tilt": "pi/4"}, {})
        >>> _ = model.rolling_ellipsoid("egg", (2, 1, 1), name="table")
        >>> print(dl.derive(model).accelerations(*model.initial)[2].round(6))  # −m g h′/(I + m (h² + h′²)) for the height h(tilt)
        -2.156098
        """
        place = {"center": center, "rotation": rotation, "ground": ground, "point": point, "normal": normal}
        return self._contact(RollingEllipsoid, name, body=body, semi_axes=semi_axes, **place, contact=contact)
