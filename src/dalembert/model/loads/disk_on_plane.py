"""The edge of a thin disc on a plane: a wheel, a coin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import numpy as np

from dalembert.arguments import checked
from dalembert.model.file_form import ORIGIN
from dalembert.model.keys import Key, Keys, constant_length, direction, fixed_vector
from dalembert.model.loads.base import Motion, vector_of
from dalembert.model.loads.contact_laws import LAWS, ContactLaw
from dalembert.model.loads.sphere_on_plane import PLANE, OnPlane
from dalembert.model.loads.touching import TOUCHING, Meeting, TouchMaker
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Places
from dalembert.model.vectors import WORLD
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import cross
from dalembert.symbolic.surds import Component
from dalembert.symbolic.symbols import Written

DISK: Keys = {
    "radius": Key(constant_length, required=True),
    "center": Key(fixed_vector, usual=ORIGIN),
    "axis": Key(direction, usual=[0, 1, 0]),
}


@dataclass(frozen=True)
class DiskOnPlane(OnPlane):
    """The lowest point of the edge of a thin disc on a plane of the ground; a disc that lies flat has none."""

    kind: ClassVar[str] = "disk_on_plane"
    forms: ClassVar[dict[str, Keys]] = {"disk_on_plane": {**TOUCHING, **DISK, **PLANE, **LAWS}}

    axis: tuple[Component, Component, Component]

    def meeting(self, motion: Motion) -> Meeting:
        """From the centre down along the disc: u = ((n·a) a − n)/√(1 − (n·a)²) for its axis a."""
        frame, ground = motion.frame(self.body), motion.frame(self.ground)
        center, _, _ = frame.point(vector_of(motion, self.center))
        n, a = ground.R @ vector(list(self.normal)), frame.R @ vector(list(self.axis))
        cosine, radius = n @ a, motion.lower(self.radius)
        sine = motion.algebra.sqrt(1 - cosine * cosine)
        with np.errstate(all="ignore"):  # no lowest point where it lies flat
            arm = scaled(radius / sine, scaled(cosine, a) - n)
        height = n @ (center - ground.p - ground.R @ vector_of(motion, self.point))
        return Meeting(radius * sine - height, n, center + arm)

    def seen(self, places: Places) -> tuple[Scalar, Array, Array]:
        """Down along the disc is at right angles to its axis and to the line that it cuts the plane in."""
        a, n = places.frames[self.body].along(self.axis), places.frames[self.ground].along(self.normal)
        level = cross(n, a)
        down = scaled(places.lower(self.radius) / places.algebra.sqrt(level @ level), cross(level, a))
        lowest = places.point(self.body, self.center) + down
        return n @ (places.point(self.ground, self.point) - lowest), n, lowest


class DiskOnPlaneMaker(TouchMaker):
    """Makes contacts of discs and planes."""

    @checked
    def disk_on_plane(
        self,
        body: str,
        radius: Written,
        *,
        axis: Given = (0, 1, 0),
        center: Given = ZERO,
        ground: str = WORLD,
        point: Given = ZERO,
        normal: Given = (0, 0, 1),
        name: str | None = None,
        **law: Unpack[ContactLaw],
    ) -> Self:
        """Let the edge of a thin disc touch a plane of the world or of another body, by a law as in `sphere_on_plane`.

        `center` and `axis` are those of the disc, in axes of its body. A disc that lies flat on the plane has no lowest point,
        and a run that comes there ends.

        >>> from dalembert.model.model import Model
        >>> model = Model("coin", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "a", "b", "c")
        >>> _ = model.body("coin", joint=model.free(("x", "y", "z"), ("a", "b", "c")), mass=0.01, inertia=(1e-6, 2e-6, 1e-6))
        >>> model.disk_on_plane("coin", 0.01, stiffness=1e3, damping=2, friction=1).loads[0].law()
        ('disk on plane', 'stiffness 1000, damping 2, friction 1')
        """
        place = {"radius": radius, "center": center, "axis": axis, "point": point, "normal": normal}
        return self._touch(DiskOnPlane, name, law, body=body, ground=ground, **place)
