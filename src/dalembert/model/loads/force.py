"""A force at a point of a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.model.controllers import Law, Timing
from dalembert.model.file_form import Element
from dalembert.model.keys import AT, BODY, FRAME, NAMED, Key, Keys, entries, moving_vector
from dalembert.model.loads.base import Applied, Load, LoadMaker, Motion, at_point, vector_of
from dalembert.model.loads.measured_curves import in_words, timed
from dalembert.model.making import Given, vector3
from dalembert.model.reference_model import Action, Watch, Work, in_world, on_point, point_of
from dalembert.model.vectors import WORLD, Vector3


@dataclass(frozen=True)
class Force(Load):
    """A force at a point of a body (None: the mass centre), in the axes of `frame`: `world` or a body."""

    kind: ClassVar[str] = "force"
    forms: ClassVar[dict[str, Keys]] = {"force": {**NAMED, **BODY, "force": Key(moving_vector, True), **AT, **FRAME}}

    body: str
    force: Vector3
    point: Vector3 | None
    frame: str

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """Where it acts, if not at the mass centre."""
        return [] if self.point is None else [(self.body, self.point)]

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        """A table of time where it is one."""
        kind, force = timed("force", self.force, self.title)
        return kind, entries(self, self.keys, self.title, force=force)

    def law(self) -> tuple[str, str]:
        """Its components."""
        return self.kind, f"{in_words(self.force)} in axes of {self.frame}"

    def applied(self, motion: Motion) -> list[Applied]:
        """F on the velocity of its point."""
        point = motion.center(self.body) if self.point is None else vector_of(motion, self.point)
        _, J, c = motion.frame(self.body).point(point)
        force = motion.frame(self.frame).R @ vector_of(motion, self.force)
        return [Applied(self.name, force, J, c, wrenches=at_point(motion, self.body, point, force))]

    def declared(self, watch: Watch) -> Work:
        """F · δr."""
        at = watch.center(self.body) if self.point is None else self.point
        return on_point(self.name, in_world(watch, self.force, self.frame), point_of(watch, self.body, at))

    def actions(self, watch: Watch) -> Iterator[Action]:
        """The force at its point."""
        at = watch.center(self.body) if self.point is None else self.point
        force, point = in_world(watch, self.force, self.frame), point_of(watch, self.body, at).value
        yield Action(self.body, force, point, np.zeros((3, watch.K)))


class ForceMaker(LoadMaker):
    """Makes forces."""

    @checked
    def force(
        self,
        body: str,
        force: Given | None = None,
        *,
        law: Law | None = None,
        period: float | None = None,
        delay: float = 0.0,
        vectorized: bool = False,
        point: Given | None = None,
        frame: str = WORLD,
        name: str | None = None,
    ) -> Self:
        """Apply a force at a point of a body (default: its mass centre), in the axes of `frame`.

        It has three components by formulas, or is what `law(t, state)` gives, a function in Python: see `actuator`.
        """
        at = None if point is None else vector3(self.reader.constant, point, f"force '{name or ''}', point")
        found = self._by_law(Force.kind, name, force, law, Timing(period, delay, vectorized))
        if found is None:
            return self._load(Force, name, body=body, force=force, point=point, frame=frame)
        return self._add(Force(found[0], body, found[1], at, frame))
