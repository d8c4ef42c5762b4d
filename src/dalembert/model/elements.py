"""The elements of a model as frozen records. A formula is a SymEngine expression of plain symbols.

Formulas may refer to points of bodies: `height(foot)`, `rise(foot)` and `speed(foot)` become formulas of coordinates and
velocities. An event occurs at a zero crossing of a formula of the motion. Discontinuities of formulas (`abs`, `max`, tables)
need no event: see `model/discontinuities`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import symengine as se

from dalembert.errors import InputError, Problem, short_repr, suggest_name
from dalembert.model.evaluation import coordinate_name
from dalembert.model.immutable import Frozen
from dalembert.model.joints.base import Joint
from dalembert.model.keys import (
    Key,
    ValueType,
    body_name,
    constant,
    fixed_vector,
    integer,
    invalid_value,
    moving,
    name,
    satisfying,
    switch,
    table,
)
from dalembert.model.record import Arguments, Named, argument, record
from dalembert.model.values import WORLD, ZERO, Matrix3, Vector3
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import TIME, Formula, coordinate, is_identifier, kind_of, rate
from dalembert.symbolic.symengine_algebra import SYMBOLIC

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model


Direction = Literal["up", "down", "both"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)
_direction = satisfying(lambda x: x in DIRECTIONS, "'up', 'down' or 'both'", "Direction")


@dataclass(frozen=True)
class Parameter:
    """A named constant of the model; its value can be changed at run time."""

    name: str
    value: float
    description: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Coordinate:
    """A generalized coordinate with its default initial position and velocity."""

    name: str
    description: str = ""
    unit: str = ""
    start: float = 0.0
    start_rate: float = 0.0


@dataclass(frozen=True)
class Body:
    """A rigid body, connected to its parent by one joint or a sequence of joints.

    `center` is the mass center from the body origin and `inertia` the inertia about the mass center, both in body axes.
    """

    name: str
    parent: str
    joints: tuple[Joint, ...]
    mass: Formula
    center: Vector3
    inertia: Matrix3
    description: str = ""


@dataclass(frozen=True)
class Speed:
    """A generalized speed (quasi-velocity) u = Y(q,t) q̇ + Z(q,t), a formula linear in the velocities."""

    name: str
    value: Formula
    description: str = ""


@dataclass(frozen=True)
class Energies:
    """An analytic description: T(q, q̇, t), V(q, t) and the applied generalized forces Q(q, q̇, t)."""

    kinetic: Formula
    potential: Formula
    forces: tuple[Formula, ...]


@record
class Rotor(Named):
    """Add a rotor to the motor of a joint, which rotates `ratio` times as fast as the joint.

    It adds ½ inertia (ratio × rate)² to the kinetic energy (reflected inertia); its gyroscopic effects are neglected, as is
    common for geared drives.
    """

    kind = family = "rotor"
    model_attribute = "rotors"

    name: str = argument(name, None, about="the name of the rotor", absent="numbered")
    body: str = argument(body_name, positional=True, about="the body whose joint is driven")
    joint: int = argument(integer, 0, about="which of the body's joints, counted from 0")
    motion: int = argument(integer, 0, about="which of the joint's motions, counted from 0")
    inertia: Formula = argument(
        constant, positional=True, about="a constant: the inertia of the rotor about its own axis"
    )
    ratio: Formula = argument(constant, 1, about="a constant: the ratio of the gear")


@dataclass(frozen=True)
class Limits:
    """Limits of a coordinate and its drive; None for no limit. `joint_stop` adds stops at them."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Shape:
    """Visual shape of a body: box (three edges), cylinder or capsule (radius, length), sphere (radius) or mesh (file)."""

    body: str
    kind: str
    size: tuple[float, ...]
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    rotation: tuple[float, ...] = (0.0, 0.0, 0.0)
    color: tuple[float, ...] | None = None  # red, green, blue, alpha
    mesh: str = ""
    folder: str = field(default="", compare=False, repr=False)  # of the model file, in which the mesh is searched


@record
class Point(Named):
    """Name a point of a body, for the `height`, the rate `rise` of the height, and the `speed` of the point in formulas.

    Height is measured from the origin of the world, opposite to gravity.

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

    kind = family = "point"
    numbered = False
    model_attribute = "points"

    name: str = argument(name, positional=True, about="an identifier")
    body: str = argument(body_name, positional=True, about="the body, declared before")
    position: Vector3 = argument(fixed_vector, ZERO, positional=True, about="three constants")

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        """Its name must be an identifier, and its body must exist."""
        body, bodies = arguments["body"], [WORLD, *(each.name for each in model.bodies)]
        if not is_identifier(arguments["name"]):
            raise InputError(f"{where}: invalid point name. Expected letters, digits and _.")
        if body not in bodies:
            raise InputError(f"{where}: there is no body '{body}' yet. {suggest_name(body, bodies)}")
        return arguments


def named_points(model: Elements) -> Mapping[str, Callable[[str], Formula]]:
    """Functions that return the `height`, `rise` and `speed` of each point, called when a formula uses them."""
    return {point.name: partial(_quantity, model, point) for point in model.points}


def _quantity(model: Elements, point: Point, word: str) -> Formula:
    p = _position(model, point)
    v = [_derivative(model, x) for x in p]
    if word == "speed":
        return se.sqrt(sum((x**2 for x in v), start=se.Integer(0)))
    g = model.gravity
    if all(x == 0 for x in g):
        fact = "the model has no gravity, so the vertical is undefined"
        raise InputError(f"{word}({point.name}): {fact}. Give the model a gravity, or use speed({point.name}).")
    along = sum((a * b for a, b in zip(g, p if word == "height" else v, strict=True)), start=se.Integer(0))
    return -along / se.sqrt(sum((x**2 for x in g), start=se.Integer(0)))


def _derivative(model: Elements, formula: Formula) -> Formula:
    """The time derivative of a formula."""
    moves = ((coordinate(name), rate(name)) for name in model.coordinate_names)
    return sum((se.diff(formula, x) * xd for x, xd in moves), start=se.diff(formula, TIME))


def _position(model: Elements, point: Point) -> Array:
    """World position of a point, joint by joint from its body to the world."""
    known: dict[str, Body] = {body.name: body for body in model.bodies}
    r, at = vector(list(point.position)), point.body
    while at != WORLD:
        for joint in reversed(known[at].joints):
            if joint.values:
                values = list(joint.values)
                r = joint.translation(SYMBOLIC, values) + joint.rotation_matrix(SYMBOLIC, values) @ r
            r = vector(list(joint.position)) + roll_pitch_yaw(SYMBOLIC, list(joint.rotation)) @ r
        at = known[at].parent
    return r


def _assignments(what: str) -> ValueType:
    """A table from names of parameters or coordinates to formulas."""

    def names(model: Elements) -> tuple[str, ...]:
        if what != "parameter":
            return model.coordinate_names
        return tuple(
            name for name in model.parameter_values if kind_of(name) is None
        )  # without inputs, which laws compute

    def check(value: object, where: str, model: Elements) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield invalid_value(where, f"a table from names of {what}s to formulas", value)
            return
        yield from table(value, dict.fromkeys(names(model), Key(moving)), where, model)

    def read(model: Elements, value: object, where: str) -> Frozen[str, Formula]:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: got {short_repr(value)}. Expected a mapping of {what}s to formulas.")
        found = {coordinate_name(key): formula for key, formula in value.items()}
        for key in found:
            if key not in names(model):
                raise InputError(f"{where}: there is no {what} '{key}'. {suggest_name(key, names(model))}")
        return Frozen({key: model.reader.read(formula, f"{where}, {key}") for key, formula in found.items()})

    return ValueType(
        check,
        read,
        lambda x, where: {key: write_formula(formula, where) for key, formula in x.items()},
        argument="Mapping[str, Written]",
    )


@record
class Event(Named):
    """Add an event at the zero crossings of a formula of the motion.

    `direction` selects rising (`up`), falling (`down`) or both crossings. With `stop` the simulation ends there; `set`
    changes parameter values and `reset` changes rates of coordinates, each by a formula of the state just before the event.
    An event without any of these is only recorded, see `Trajectory.events`. A function that is zero at the start counts as
    crossing there if it leaves zero in the selected `direction`; with `both` it does not.

    >>> import dalembert as dl
    >>> model = dl.Model("ball", gravity=(0, 0, -9.81)).coordinates("z").start([1.0], [0.0])
    >>> _ = model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    >>> _ = model.event("bounce", "z", direction="down", reset={"z": "-0.5*dot(z)"})
    >>> run = dl.simulate(model, 0.7)
    >>> [round(event.t, 12) for event in run.events]
    [0.451523640986]
    """

    kind = family = "event"
    numbered = False
    model_attribute = "events"

    name: str = argument(name, positional=True, about="its name")
    when: Formula = argument(moving, positional=True, about="a formula of coordinates, rates, parameters and `t`")
    direction: Direction = argument(
        _direction, "both", about='which passages count: `"up"`, `"down"` or `"both"`', default="both"
    )
    stop: bool = argument(switch, False, about="`true` ends the run there", default=False)
    set: Frozen[str, Formula] = argument(
        _assignments("parameter"),
        None,
        saved={},
        about="a table: parameters and formulas of their new values",
        default=Frozen(),
    )
    reset: Frozen[str, Formula] = argument(
        _assignments("coordinate"),
        None,
        saved={},
        about="a table: coordinates and formulas of their new rates",
        default=Frozen(),
    )

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        """The direction must exist; `set` and `reset` are empty by default."""
        if arguments["direction"] not in DIRECTIONS:
            raise InputError(
                f"{where}, direction: got {short_repr(arguments['direction'])}. Expected 'up', 'down' or 'both'."
            )
        return {**arguments, "set": arguments["set"] or {}, "reset": arguments["reset"] or {}}

    @property
    def acts(self) -> bool:
        """False for an event that is only recorded."""
        return self.stop or bool(self.set) or bool(self.reset)

    def counts(self, *, up: bool) -> bool:
        """True if a crossing in this direction counts."""
        return self.direction in ("up" if up else "down", "both")

    def problems(self, model: Elements) -> list[Problem]:
        """A formula without zero crossings."""
        known = {TIME.name, *model.coordinate_names, *(f"dot({x})" for x in model.coordinate_names)}
        if {symbol.name for symbol in self.when.free_symbols} & known:
            return []
        fact = f"the formula {self.when} contains no coordinate, no velocity and no time, so it never crosses zero."
        return [Problem(f"{self.title}, when", fact, "Give a formula of the motion, such as when = 'x - 5'.")]
