"""A blade that cannot move sideways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.model.contacts.base import Contact, ContactMaker, Formulas, Push, pushed
from dalembert.model.file_form import ORIGIN
from dalembert.model.keys import BODY, NAMED, Key, Keys, direction, fixed_vector
from dalembert.model.loads.base import Motion, vector_of
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Condition, Level, Watch, length, point_of
from dalembert.model.vectors import Vector3
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.surds import Component


@dataclass(frozen=True)
class KnifeEdge(Contact):
    """A blade at a point of a body: the velocity of the point along `direction` (body axes) vanishes."""

    kind: ClassVar[str] = "knife_edge"
    keys: ClassVar[Keys] = {
        **NAMED,
        **BODY,
        "direction": Key(direction, True),
        "point": Key(fixed_vector, usual=ORIGIN),
    }

    body: str
    point: Vector3
    direction: tuple[Component, Component, Component]

    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The velocity of the blade's point along its sideways direction."""
        frame = motion.frame(self.body)
        _, J, c = frame.point(vector_of(motion, self.point))
        return {}, {self.name: (frame.R @ vector(self.direction)) @ (J @ motion.qd + c)}

    def pushes(self, motion: Motion) -> dict[str, list[Push]]:
        """Sideways at the point."""
        frame = motion.frame(self.body)
        point, _, _ = frame.point(vector_of(motion, self.point))
        return {self.name: pushed([self.body], frame.R @ vector(self.direction), point)}

    def declared(self, watch: Watch) -> Iterator[Condition]:
        """(R d)·ṙ = 0 for the point r of the blade and the direction d on its body."""
        point = point_of(watch, self.body, self.point)
        side = watch.traced(lambda places: places.frames[self.body].along(self.direction))
        slopes = np.einsum("xk,xnk->nk", side.value, point.change)[None]
        velocity = np.einsum("xk,xk->k", side.value, point.rate)[None]
        bent = np.einsum("xk,xk->k", side.rate, point.rate) + np.einsum("xk,xk->k", side.value, point.second)
        fast, quick = length(point.rate), length(point.second) + length(side.rate) * length(point.rate)
        yield Condition(self.name, slopes, None, Level(velocity, fast[None]), Level(bent[None], quick[None]))


class KnifeEdgeMaker(ContactMaker):
    """Makes blades."""

    @checked
    def knife_edge(self, body: str, direction: Given, *, point: Given = ZERO, name: str | None = None) -> Self:
        """Put a blade at a point of a body: the point cannot move along `direction` (both in body axes)."""
        return self._contact(KnifeEdge, name, body=body, direction=direction, point=point)
