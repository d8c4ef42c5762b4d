"""A point that stays in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from dalembert.arguments import checked
from dalembert.model.contacts.base import ContactMaker, Formulas, Push, pushed
from dalembert.model.contacts.contact_points import ENDS, BetweenPoints
from dalembert.model.keys import Key, Keys, direction
from dalembert.model.loads.base import Motion
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Places
from dalembert.symbolic.algebra_base import Array, matrix, vector
from dalembert.symbolic.surds import Component


@dataclass(frozen=True)
class PointInPlane(BetweenPoints):
    """The point of the second body stays in the plane through the point of the first across `normal`, fixed on the first."""

    kind: ClassVar[str] = "point_in_plane"
    keys: ClassVar[Keys] = {**ENDS, "normal": Key(direction, required=True)}

    normal: tuple[Component, Component, Component]

    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The height over the plane."""
        return {self.name: vector(list(self.normal)) @ self._seen(motion)}, {}

    def pushes(self, motion: Motion) -> dict[str, list[Push]]:
        """Along the normal, at the point."""
        R, (_, point) = motion.frame(self.bodies[0]).R, self._ends(motion)
        return {self.name: pushed(self.bodies, R @ vector(list(self.normal)), point)}

    def parts(self, places: Places) -> Array:
        """The heights of both points."""
        normal, (first, second) = places.frames[self.bodies[0]].along(self.normal), self._found(places)
        return matrix([[normal @ second, -(normal @ first)]])


class PointInPlaneMaker(ContactMaker):
    """Makes planes for points."""

    @checked
    def point_in_plane(
        self, bodies: tuple[str, str], normal: Given, *, points: Given = (ZERO, ZERO), name: str | None = None
    ) -> Self:
        """Keep a point of the second body in a plane of the first: through its point and across `normal`, in its axes.

        A block that slides down a wedge of 45 degrees, which slides on the ground:

        >>> from dalembert.model.model import Model
        >>> model = Model("wedge", gravity=(0, 0, -9)).coordinates("x", "y", "z")
        >>> _ = model.body("wedge", joint=model.prismatic((1, 0, 0), "x"), mass=1)
        >>> _ = model.body("block", joint=[model.prismatic((1, 0, 0), "y"), model.prismatic((0, 0, 1), "z")], mass=1)
        >>> _ = model.point_in_plane(("wedge", "block"), (1, 0, 1))
        >>> import dalembert as dl
        >>> dl.derive(model).accelerations([0, 0, 0], [0, 0, 0]).round(12)
        array([-3.,  3., -6.])
        """
        return self._contact(PointInPlane, name, bodies=bodies, points=points, normal=normal)
