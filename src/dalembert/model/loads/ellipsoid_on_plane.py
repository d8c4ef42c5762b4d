"""An ellipsoid of a body on a plane: a rattleback or an egg that may slip and jump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

from dalembert.arguments import checked
from dalembert.errors import Problem
from dalembert.model.attitude import Rotation
from dalembert.model.ellipsoids import ELLIPSOID, below, lowest, misshapen
from dalembert.model.keys import Keys
from dalembert.model.loads.base import Motion, vector_of
from dalembert.model.loads.contact_laws import LAWS, ContactLaw
from dalembert.model.loads.sphere_on_plane import PLANE, beside_normal
from dalembert.model.loads.touching import TOUCHING, Meeting, Touch, TouchMaker
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Places
from dalembert.model.vectors import WORLD, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, vector
from dalembert.symbolic.surds import Component
from dalembert.symbolic.symbols import Formula


@dataclass(frozen=True)
class EllipsoidOnPlane(Touch):
    """The lowest point of an ellipsoid of a body on a plane of the ground through `point`; `normal` points out of the ground."""

    kind: ClassVar[str] = "ellipsoid_on_plane"
    forms: ClassVar[dict[str, Keys]] = {"ellipsoid_on_plane": {**TOUCHING, **ELLIPSOID, **PLANE, **LAWS}}

    semi_axes: Vector3
    center: Vector3
    rotation: Vector3
    point: Vector3
    normal: tuple[Component, Component, Component]

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """The centre, and the point of the plane."""
        return [(self.body, self.center), (self.ground, self.point)]

    @property
    def length(self) -> Formula:
        """The first semi-axis."""
        return self.semi_axes[0]

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """It has a shape, and a planar motion does not go along the plane's normal."""
        return super().problems(table) + misshapen(self.title, self.semi_axes, table) + beside_normal(self, self.normal)

    def meeting(self, motion: Motion) -> Meeting:
        """At the lowest point."""
        frame, ground = motion.frame(self.body), motion.frame(self.ground)
        n, center = ground.R @ vector(list(self.normal)), vector_of(motion, self.center)
        arm, depth = lowest(motion, self.semi_axes, self.rotation, frame.R.T @ n)
        middle = frame.p + frame.R @ center
        height = n @ (middle - ground.p - ground.R @ vector_of(motion, self.point))
        return Meeting(depth - height, n, middle + frame.R @ arm)

    def seen(self, places: Places) -> tuple[Scalar, Array, Array]:
        """By three conjugate half diameters."""
        n = places.frames[self.ground].along(self.normal)
        place = places.point(self.body, self.center) + below(places, self.body, self.semi_axes, self.rotation, n)
        return n @ (places.point(self.ground, self.point) - place), n, place


class EllipsoidOnPlaneMaker(TouchMaker):
    """Makes contacts of ellipsoids and planes."""

    @checked
    def ellipsoid_on_plane(
        self,
        body: str,
        semi_axes: Given,
        *,
        center: Given = ZERO,
        rotation: Rotation = ZERO,
        ground: str = WORLD,
        point: Given = ZERO,
        normal: Given = (0, 0, 1),
        name: str | None = None,
        **law: Unpack[ContactLaw],
    ) -> Self:
        """Let an ellipsoid of a body touch a plane of the world or of another body, by a law as in `sphere_on_plane`.

        `center` is its middle and `rotation` how its axes are turned, on the body. An egg that stands on its tip:

        >>> import dalembert as dl
        >>> model = dl.Model("egg", gravity=(0, 0, -10)).coordinates("x", "y", "z", "a", "b", "c").start({"z": 0.299}, {})
        >>> _ = model.body("egg", joint=model.free(("x", "y", "z"), ("a", "b", "c")), mass=1, inertia=(0.02, 0.02, 0.01))
        >>> _ = model.ellipsoid_on_plane("egg", (0.2, 0.2, 0.3), stiffness=1e4, damping=10, friction=0.4)
        >>> dl.derive(model).accelerations(*model.initial).round(9) + 0.0
        array([0., 0., 0., 0., 0., 0.])
        """
        place = {"semi_axes": semi_axes, "center": center, "rotation": rotation, "point": point, "normal": normal}
        return self._touch(EllipsoidOnPlane, name, law, body=body, ground=ground, **place)
