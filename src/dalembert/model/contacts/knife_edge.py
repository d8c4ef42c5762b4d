"""Knife edge: no sideways velocity at a point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.model.contacts.base import ConstraintAction, Contact, Formulas, reaction_pair
from dalembert.model.keys import body_name, direction, fixed_vector
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Condition, Level, MotionProbe, length, point_of
from dalembert.model.values import ZERO, UnitVector, Vector3
from dalembert.symbolic.algebra_base import vector


@record
class KnifeEdge(Contact):
    """Add a knife edge at a point of a body: its velocity along `direction` is zero (both in body axes)."""

    kind = "knife_edge"

    body: str = argument(body_name, positional=True, about="the body that carries the blade")
    point: Vector3 = argument(fixed_vector, ZERO, about="three constants: the position of the blade, in body axes")
    direction: UnitVector = argument(
        direction,
        positional=True,
        about="three numbers: the blocked direction, perpendicular to the blade, in body axes",
    )

    def formulas(self, motion: LoadKinematics) -> tuple[Formulas, Formulas]:
        frame = motion.frame(self.body)
        _, J, c = frame.point(vector_of(motion, self.point))
        return {}, {self.name: (frame.R @ vector(self.direction)) @ (J @ motion.qd + c)}

    def constraint_actions(self, motion: LoadKinematics) -> dict[str, list[ConstraintAction]]:
        frame = motion.frame(self.body)
        point, _, _ = frame.point(vector_of(motion, self.point))
        return {self.name: reaction_pair([self.body], frame.R @ vector(self.direction), point)}

    def reference_conditions(self, probe: MotionProbe) -> Iterator[Condition]:
        """(R d)·ṙ = 0 for the point r of the knife edge and the direction d on its body."""
        point = point_of(probe, self.body, self.point)
        side = probe.traced(lambda poses: poses.frames[self.body].along(self.direction))
        slopes = np.einsum("xk,xnk->nk", side.value, point.change)[None]
        velocity = np.einsum("xk,xk->k", side.value, point.rate)[None]
        acceleration = np.einsum("xk,xk->k", side.rate, point.rate) + np.einsum("xk,xk->k", side.value, point.second)
        speed, size = length(point.rate), length(point.second) + length(side.rate) * length(point.rate)
        yield Condition(self.name, slopes, None, Level(velocity, speed[None]), Level(acceleration[None], size[None]))
