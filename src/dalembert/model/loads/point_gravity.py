"""Newtonian gravity of a point of one body, or of the world, on the mass center of another body."""

from __future__ import annotations

import numpy as np
import symengine as se

from dalembert.errors import Problem
from dalembert.model.keys import constant, optional_point, two_bodies
from dalembert.model.loads.base import Applied, LoadKinematics, Pull, Span, Wrench, at_point, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe
from dalembert.model.values import WORLD, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.symbols import Formula

_ZERO = se.Integer(0)


@record
class PointGravity(Pull):
    """Add gravitational attraction mu × mass of the second body / distance² between the first body (or the world) and it.

    `mu` is the gravitational parameter G × mass of the attracting body. The center of attraction is its mass center, the
    origin of the world, or a `point` of it; the second body is attracted at its mass center.

    >>> from dalembert.model.model import Model
    >>> model = Model("orbit").parameters(mu=4.0).coordinate("x", 1.0).coordinate("y", 0.0, 2.0)
    >>> axes = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    >>> model.body("probe", joint=axes, mass=3).point_gravity(("world", "probe"), mu="mu").check()
    []
    """

    kind = "point_gravity"

    bodies: tuple[str, str] = argument(
        two_bodies,
        positional=True,
        about='two names: the attracting body or `"world"`, then the body attracted at its mass center',
    )
    mu: Formula = argument(constant, about="a constant: G × mass of the attracting body")
    point: Vector3 | None = argument(
        optional_point,
        None,
        about="three constants: the center of attraction, in axes of the attracting body",
        absent="its mass center; for the world, the origin",
    )

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [] if self.point is None else [(self.bodies[0], self.point)]

    def problems(self, table: dict[str, float]) -> list[Problem]:
        first, second = self.bodies
        if second != WORLD and first != second:
            return []
        fact = "the second is the world, which has no mass." if second == WORLD else f"'{first}' would attract itself."
        advice = "Expected `bodies` = (attracting body, attracted body); the first may be 'world'."
        return [Problem(self.title, fact, advice)]

    def _ends(self, motion: LoadKinematics) -> tuple[Array, Array]:
        """The center of attraction and the mass center, each in the axes of its body."""
        first, second = self.bodies
        if self.point is not None:
            return vector_of(motion, self.point), motion.center(second)
        return vector([0, 0, 0]) if first == WORLD else motion.center(first), motion.center(second)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        """The attraction along the vector from the center to the body, with the potential −mu m / r."""
        ends = self._ends(motion)
        (p1, J1, c1), (p2, J2, c2) = (motion.frame(body).point(x) for body, x in zip(self.bodies, ends, strict=True))
        line, strength = p2 - p1, motion.lower(self.mu) * motion.mass(self.bodies[1])
        with np.errstate(all="ignore"):  # undefined where they coincide, see `span`
            square = line @ line
            potential: Scalar = -strength / motion.algebra.sqrt(square)
            force = scaled(potential / square, line)
        wrenches: list[Wrench] = []
        for body, end, push in zip(self.bodies, ends, (-force, force), strict=True):
            wrenches += at_point(motion, body, end, push)
        return [Applied(self.name, force, J2 - J1, c2 - c1, potential, tuple(wrenches))]

    def span(self, motion: LoadKinematics) -> Span:
        ends = zip(self.bodies, self._ends(motion), strict=True)
        first, second = (motion.frame(body).point(x)[0] for body, x in ends)
        return Span(self.name, self.kind, (first, second), motion.lower(0))

    def attachment_points(self, probe: MotionProbe) -> list[tuple[str, Vector3]]:
        first, second = self.bodies
        center = (_ZERO, _ZERO, _ZERO) if first == WORLD else probe.center(first)
        return [(first, center if self.point is None else self.point), (second, probe.center(second))]

    def tension(self, probe: MotionProbe, length: Derivatives) -> np.ndarray:
        return probe.number(self.mu) * probe.mass(self.bodies[1]) / length.value**2
