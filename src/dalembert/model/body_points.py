"""Points of bodies that formulas may name: `height(foot)`, `rise(foot)` and `speed(foot)`.

A point is declared once, behind its body. Where a formula names it, its height against gravity, the rate of the height, or its
speed is written out in coordinates and velocities, so that such formulas are like any other: in forces, constraints, events and
switchings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import symengine as se

from dalembert.errors import InputError, nearest
from dalembert.model.file_form import Element
from dalembert.model.keys import body_name, entries, fixed_vector, name
from dalembert.model.record import Record, argument, record
from dalembert.model.values import WORLD, ZERO, Vector3
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import TIME, Formula, coordinate, is_identifier, rate
from dalembert.symbolic.symengine_algebra import SYMBOLIC

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.elements import Body
    from dalembert.model.model import Model


@record
class Point(Record):
    """Name a point of a body, so that formulas can ask for its `height`, the rate `rise` of the height, and its `speed`.

    Height is counted against gravity from the origin of the world.

    >>> import dalembert as dl
    >>> model = dl.Model("pendulum", gravity=(0, -9.81, 0)).parameters(l=0.5).coordinate("a", 1.0)
    >>> _ = model.body("rod", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0, "-l", 0))
    >>> _ = model.point("tip", "rod", (0, "-l", 0))
    >>> model.formula("height(tip)"), model.formula("rise(tip)")
    (-l*cos(a), l*sin(a)*dot(a))
    >>> _ = model.event("nearly down", "height(tip) + 0.9*l")
    >>> round(float(dl.simulate(model, 1.0).events[0].q[0]), 9)  # arccos 0.9
    0.451026812
    """

    kind: ClassVar[str] = "point"

    name: str = argument(name, positional=True, about="an identifier")
    body: str = argument(body_name, positional=True, about="the body, declared before")
    position: Vector3 = argument(fixed_vector, ZERO, positional=True, about="three constants")

    @classmethod
    def build(cls, model: Model, **given: Any) -> Model:
        """Add the point."""
        name, body = given["name"], given["body"]
        where = f"point '{name}'"
        if not is_identifier(name):
            raise InputError(f"{where}: not a name for a point. Expected letters, digits and _.")
        if any(each.name == name for each in model.points):
            raise InputError(f"{where}: declared twice. Give each point its own name.")
        bodies = [WORLD, *(each.name for each in model.bodies)]
        if body not in bodies:
            raise InputError(f"{where}: there is no body '{body}' yet. {nearest(body, bodies)}")
        model.points += (cls.read(model, given, where),)
        return model

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"point '{self.name}'"

    def element(self) -> Element:
        """Its keys as they stand in a model file."""
        return entries(self, self.keys(), self.title)


def named_points(model: Elements) -> Mapping[str, Callable[[str], Formula]]:
    """What `height`, `rise` and `speed` of each point are, to be asked when a formula names them."""
    return {point.name: partial(_quantity, model, point) for point in model.points}


def _quantity(model: Elements, point: Point, word: str) -> Formula:
    """Height, rise or speed of a point."""
    p = _position(model, point)
    v = [_derivative(model, x) for x in p]
    if word == "speed":
        return se.sqrt(sum((x**2 for x in v), start=se.Integer(0)))
    g = model.gravity
    if all(x == 0 for x in g):
        fact = "the model has no gravity, so nothing says which way is up"
        raise InputError(f"{word}({point.name}): {fact}. Give the model a gravity, or use speed({point.name}).")
    along = sum((a * b for a, b in zip(g, p if word == "height" else v, strict=True)), start=se.Integer(0))
    return -along / se.sqrt(sum((x**2 for x in g), start=se.Integer(0)))


def _derivative(model: Elements, formula: Formula) -> Formula:
    """Its rate along a motion."""
    moves = ((coordinate(name), rate(name)) for name in model.coordinate_names)
    return sum((se.diff(formula, x) * xd for x, xd in moves), start=se.diff(formula, TIME))


def _position(model: Elements, point: Point) -> Array:
    """Where a point is in the world, joint by joint from its body down."""
    known: dict[str, Body] = {body.name: body for body in model.bodies}
    place, at = vector(list(point.position)), point.body
    while at != WORLD:
        for joint in reversed(known[at].joints):
            if joint.values:
                values = list(joint.values)
                place = joint.shift(SYMBOLIC, values) + joint.turn(SYMBOLIC, values) @ place
            place = vector(list(joint.position)) + roll_pitch_yaw(SYMBOLIC, list(joint.rotation)) @ place
        at = known[at].parent
    return place
