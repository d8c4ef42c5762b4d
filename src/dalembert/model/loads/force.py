"""Force at a point of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.model.keys import Element, body_name, entries, moving_vector, optional_point
from dalembert.model.loads.base import Applied, AtPoint, LoadKinematics, add, at_point, by_law, vector_of
from dalembert.model.loads.force_laws import describe_formulas, timed
from dalembert.model.python_laws import Law, Timing
from dalembert.model.record import argument, builder_of, record
from dalembert.model.reference_model import Derivatives, MotionProbe, in_world, point_of
from dalembert.model.values import WORLD, ArrayInput, Vector3, vector3

if TYPE_CHECKING:
    from dalembert.model.model import Model


@record
class Force(AtPoint):
    """A force at a point of a body (None: the mass center), in the axes of `frame`: `world` or a body."""

    kind = "force"

    body: str = argument(body_name, positional=True, about="the body it acts on")
    force: Vector3 = argument(moving_vector, positional=True, about="three formulas")
    point: Vector3 | None = argument(
        optional_point, None, about="three constants: the point of application, in body axes", absent="the mass center"
    )
    frame: str = argument(body_name, WORLD, about='the axes in which `force` is expressed: a body, or `"world"`')

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [] if self.point is None else [(self.body, self.point)]

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        kind, force = timed("force", self.force, self.title)
        return kind, entries(self, self.keys(), self.title, force=force)

    def law(self) -> tuple[str, str]:
        return self.kind, f"{describe_formulas(self.force)} in axes of {self.frame}"

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        point = motion.center(self.body) if self.point is None else vector_of(motion, self.point)
        _, J, c = motion.frame(self.body).point(point)
        force = motion.frame(self.frame).R @ vector_of(motion, self.force)
        return [Applied(self.name, force, J, c, wrenches=at_point(motion, self.body, point, force))]

    def applied_force(self, probe: MotionProbe) -> tuple[Derivatives, np.ndarray]:
        at = probe.center(self.body) if self.point is None else self.point
        return point_of(probe, self.body, at), in_world(probe, self.force, self.frame)


@builder_of(Force)
def force(
    model: Model,
    body: str,
    force: ArrayInput | None = None,
    *,
    law: Law | None = None,
    period: float | None = None,
    delay: float = 0.0,
    vectorized: bool = False,
    point: ArrayInput | None = None,
    frame: str = WORLD,
    name: str | None = None,
) -> Model:
    """Apply a force to a body at a point, in the axes of `frame`.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    body : str
        The body on which the force acts.
    force : sequence of formula, optional
        Three components; formulas of coordinates, rates, parameters and t.
    law : callable, optional
        Control law in Python that returns three components, called as law(t, state); see `actuator`.
    point : array_like, shape (3,), optional
        Point of application in body axes; the mass center by default.
    frame : str, default 'world'
        The body in whose axes the components are expressed, or the world.
    """
    at = None if point is None else vector3(model.reader.constant, point, f"force '{name or ''}', point")
    found = by_law(model, Force.kind, name, force, law, Timing(period, delay, vectorized))
    if found is None:
        return Force.build(model, name=name, body=body, force=force, point=point, frame=frame)
    return add(model, Force(found[0], body, found[1], at, frame))
