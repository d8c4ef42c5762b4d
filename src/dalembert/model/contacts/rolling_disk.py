"""A thin disc that rolls on a plane without slipping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dalembert.algebra import Array, Scalar, scaled, vector
from dalembert.algebra.surds import Component
from dalembert.arguments import checked
from dalembert.expressions.formula import Written
from dalembert.model.contacts.base import Contact, ContactMaker, Formulas, Push, pushed
from dalembert.model.declared import Condition, Level, Places, Watch, axes_of, held, length, point_of
from dalembert.model.file_form import ORIGIN
from dalembert.model.keys import BODY, NAMED, Key, Keys, constant_length, direction, fixed_vector, switch
from dalembert.model.loads.base import Motion, vector_of
from dalembert.model.making import ZERO, Given
from dalembert.model.vectors import Formula, Vector3
from dalembert.spatial import cross, perpendicular


@dataclass(frozen=True)
class RollingDisk(Contact):
    """A thin disc that rolls without slipping on a plane through the world origin.

    `center` and `axis` are the disc's centre and symmetry axis in body axes, `normal` the plane's normal in world axes. With
    `contact` the disc is also held on the plane; without it the coordinates have to do that.
    """

    kind: ClassVar[str] = "rolling_disk"
    keys: ClassVar[Keys] = {
        **NAMED,
        **BODY,
        "radius": Key(constant_length, True),
        "axis": Key(direction),
        "center": Key(fixed_vector, usual=ORIGIN),
        "normal": Key(direction),
        "contact": Key(switch),
    }

    body: str
    radius: Formula
    center: Vector3
    axis: tuple[Component, Component, Component]
    normal: tuple[Component, Component, Component]
    contact: bool

    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The height of the lowest point, and the velocity of the matter in it along the plane."""
        frame, n = motion.frame(self.body), vector(self.normal)
        p, J, c = frame.point(vector_of(motion, self.center))
        _, arm, sine = self._lowest(motion)
        spin = frame.R @ (frame.D @ motion.qd + frame.E)
        velocity = J @ motion.qd + c + np.cross(spin, arm)
        held = {f"{self.name}, contact": n @ p - motion.lower(self.radius) * sine} if self.contact else {}
        return held, {f"{self.name}, slip {i + 1}": e @ velocity for i, e in enumerate(self._plane())}

    def pushes(self, motion: Motion) -> dict[str, list[Push]]:
        """Up and along the plane, at the lowest point."""
        center, arm, _ = self._lowest(motion)
        ways = {f"{self.name}, contact": vector(self.normal)} if self.contact else {}
        ways |= {f"{self.name}, slip {i + 1}": e for i, e in enumerate(self._plane())}
        return {name: pushed([self.body], way, center + arm) for name, way in ways.items()}

    def _lowest(self, motion: Motion) -> tuple[Array, Array, Scalar]:
        """The centre, the way from it to the contact, and the sine of the angle between axis and normal."""
        frame, algebra = motion.frame(self.body), motion.algebra
        n, axis = vector(self.normal), frame.R @ vector(self.axis)
        center, _, _ = frame.point(vector_of(motion, self.center))
        uphill = n - (n @ axis) * axis  # in the plane of the disc, away from the ground
        sine = algebra.sqrt(1 - (n @ axis) * (n @ axis))
        return center, -motion.lower(self.radius) / sine * uphill, sine

    def _plane(self) -> tuple[Array, Array]:
        """Two unit vectors along the plane."""
        first = perpendicular(self.normal)
        return vector(list(first)), cross(vector(list(self.normal)), vector(list(first)))

    def declared(self, watch: Watch) -> Iterator[Condition]:
        """The matter in the lowest point r does not move along the plane: v = ċ + Ṙ Rᵀ (r − c), less its part along n."""
        n = np.array(self.normal, dtype=float)
        center, axes = point_of(watch, self.body, self.center), axes_of(watch, self.body)
        arm = watch.traced(self._down)
        # the arm as the body sees it, x = Rᵀ arm, belongs to other matter at every instant: ẋ = Ṙᵀ arm + Rᵀ ȧrm
        x = np.einsum("yak,yk->ak", axes.value, arm.value)
        xd = np.einsum("yak,yk->ak", axes.rate, arm.value) + np.einsum("yak,yk->ak", axes.value, arm.rate)
        v = center.rate + np.einsum("yak,ak->yk", axes.rate, x)
        vd = center.second + np.einsum("yak,ak->yk", axes.second, x) + np.einsum("yak,ak->yk", axes.rate, xd)
        dv = center.change + np.einsum("yank,ak->ynk", axes.change, x)
        along = np.eye(3) - np.outer(n, n)
        spin, size = length(axes.rate), length(arm.value)
        fast = length(center.rate) + spin * size
        quick = length(center.second) + length(axes.second) * size + spin * (spin * size + length(arm.rate))
        yield Condition(
            f"{self.name}, slip",
            np.einsum("xy,ynk->xnk", along, dv),
            None,
            Level(along @ v, fast + np.zeros_like(v)),
            Level(along @ vd, quick + np.zeros_like(v)),
        )
        if self.contact:
            height = watch.traced(
                lambda places: vector([vector(list(n)) @ (places.point(self.body, self.center) + self._down(places))])
            )
            yield held(f"{self.name}, contact", watch, height, sizes=(size, fast, quick))

    def _down(self, places: Places) -> Array:
        """From the centre to the lowest point: straight down, as far as the plane of the disc lets it go."""
        n, axis = vector(list(self.normal)), places.frames[self.body].along(self.axis)
        down = scaled(n @ axis, axis) - n
        return scaled(places.lower(self.radius) / places.algebra.sqrt(down @ down), down)


class RollingDiskMaker(ContactMaker):
    """Makes rolling discs."""

    @checked
    def rolling_disk(
        self,
        body: str,
        radius: Written,
        *,
        axis: Given = (0, 1, 0),
        center: Given = ZERO,
        normal: Given = (0, 0, 1),
        contact: bool = True,
        name: str | None = None,
    ) -> Self:
        """Let a thin disc roll without slipping on the plane through the world origin with the given normal.

        With `contact` the disc is also held on the plane, as a holonomic constraint; leave it out where the coordinates
        do that already.
        """
        place = {"axis": axis, "center": center, "normal": normal}
        return self._contact(RollingDisk, name, body=body, radius=radius, **place, contact=contact)
