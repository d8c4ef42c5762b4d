"""Loads that pull along the line through two points, each on a body or on the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from dalembert.errors import Problem
from dalembert.model.keys import two_bodies, two_points
from dalembert.model.loads.base import Load, Motion, Span, Wrench, at_point, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Action, Places, Traced, Watch, Work, point_of, product
from dalembert.model.values import ZERO, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar


@record
class Between(Load):
    """It acts on the second point along the line from the first, and its opposite on the first."""

    bodies: tuple[str, str] = argument(two_bodies, positional=True, about='two names, of bodies or `"world"`')
    points: tuple[Vector3, Vector3] = argument(
        two_points, (ZERO, ZERO), about="two points, each in the axes of its body"
    )

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """Both ends."""
        return list(zip(self.bodies, self.points, strict=True))

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """Two ends on one body do nothing."""
        if self.bodies[0] != self.bodies[1]:
            return []
        fact = f"both ends are on '{self.bodies[0]}', so it does nothing."
        return [Problem(self.title, fact, "Give `bodies` two different names.")]

    def _ends(self, motion: Motion) -> list[tuple[Array, Array, Array]]:
        """Both points, and J, c of their velocities."""
        return [motion.frame(body).point(vector_of(motion, point)) for body, point in self.fixed_points]

    def _line(self, motion: Motion) -> tuple[Array, Array, Array]:
        """The vector from the first point to the second, and J, c of its rate."""
        (p1, J1, c1), (p2, J2, c2) = self._ends(motion)
        return p2 - p1, J2 - J1, c2 - c1

    def _pull(self, motion: Motion, force: Array) -> tuple[Wrench, ...]:
        """The wrenches of a force on the second point and its opposite on the first."""
        first, second = (vector_of(motion, point) for point in self.points)
        return (*at_point(motion, self.bodies[1], second, force), *at_point(motion, self.bodies[0], first, -force))

    def _span(self, motion: Motion, length: Scalar, *, regular: bool = False) -> Span:
        """Its ends, where the force has no direction."""
        (first, _, _), (second, _, _) = self._ends(motion)
        return Span(self.name, self.kind, (first, second), length, regular)

    # for the evidence

    def _distance(self, watch: Watch) -> Traced:
        """How far the points are apart."""

        def distance(places: Places) -> Scalar:
            first, second = (places.point(body, x) for body, x in self.fixed_points)
            span = second - first
            return places.algebra.sqrt(span @ span)

        return watch.traced(distance)

    @abstractmethod
    def tension(self, watch: Watch, length: Traced) -> np.ndarray:
        """How strongly it pulls the points together (K,)."""

    def declared(self, watch: Watch) -> Work:
        """Its pull times the change of the distance."""
        length = self._distance(watch)
        return product(self.name, -self.tension(watch, length), length)

    def actions(self, watch: Watch) -> Iterator[Action]:
        """Its pull on both points."""
        first, second = (point_of(watch, body, x).value for body, x in self.fixed_points)
        length, still = self._distance(watch), np.zeros((3, watch.K))
        along = self.tension(watch, length) * (second - first) / length.value
        yield Action(self.bodies[1], -along, second, still)
        yield Action(self.bodies[0], along, first, still)
