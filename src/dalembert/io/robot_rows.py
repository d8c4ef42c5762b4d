"""Rows of a robot table become bodies on joints: what Denavit–Hartenberg tables and ReDySim's arrays share.

A row is one link and the joint that moves it along z. The four numbers of a row make one step from the frame of the parent
to the frame of the link:

    dh     Rz(theta) Tz(d) Tx(a) Rx(alpha)      the joint moves at the parent's frame, the link's frame is at its far end
    mdh    Rx(alpha) Tx(a) Rz(theta) Tz(d)      the link's frame is at its joint

In the model the moving joint comes first and what is left of the step follows as a fixed placement. Turning about z and
sliding along z can change places, so no formula of sines is ever needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from dalembert.errors import Problem, nearest
from dalembert.io import toml_schema
from dalembert.io.toml_reader import Builder, begin
from dalembert.io.toml_source import Enough, Table
from dalembert.model.joints.base import Joint
from dalembert.model.keys import attempt, quote
from dalembert.model.loads.joint_friction import SMOOTHING
from dalembert.model.model import Model
from dalembert.model.values import WORLD

CONVENTIONS = ("dh", "mdh")
KINDS = ("revolute", "prismatic", "fixed")
UNITS = ("rad", "deg")
HEAD = ("name", "description", "gravity", "parameters", "coordinates")

Value = str | float  # a number, or a formula of parameters as text


@dataclass(frozen=True)
class Row:
    """One row of a table: the step from the parent's frame, in radians, the body that hangs on it, and what drives it.

    Rotor, friction and limits are what `Model.rotor`, `Model.joint_friction` and `Model.limit` are given, on the side of the
    joint; empty where there is none.
    """

    name: str
    parent: str = WORLD
    kind: str = "revolute"
    coordinate: str = ""
    theta: Value = 0
    d: Value = 0
    a: Value = 0
    alpha: Value = 0
    mass: Value = 0
    center: Sequence[Value] = (0, 0, 0)
    inertia: Sequence[Value] = (0, 0, 0)
    description: str = ""
    rotor: Table = field(default_factory=dict)
    friction: Table = field(default_factory=dict)
    limits: Table = field(default_factory=dict)


def joints(model: Model, row: Row, convention: str, where: str) -> list[Joint]:
    """The joints of one row: the one that moves, then a fixed placement unless the step ends there.

    >>> model = Model("elbow").coordinates("q1")
    >>> [joint.kind for joint in joints(model, Row("arm", coordinate="q1", a=0.4), "dh", "link 'arm'")]
    ['revolute', 'fixed']
    >>> [joint.kind for joint in joints(model, Row("arm", coordinate="q1", a=0.4), "mdh", "link 'arm'")]
    ['revolute']
    """
    turns, slides = row.kind == "revolute", row.kind == "prismatic"
    across = ((row.a, 0, 0), (row.alpha, 0, 0))
    if convention == "mdh":
        before = across
        after = ((0, 0, 0 if slides else row.d), (0, 0, 0 if turns else row.theta))
    else:
        before = ((0, 0, 0), (0, 0, 0 if turns else row.theta))
        after = ((row.a, 0, 0 if slides else row.d), (row.alpha, 0, 0))
    if turns:
        first: Joint = model.revolute((0, 0, 1), shifted(row.coordinate, row.theta), *before, where=where)
    elif slides:
        first = model.prismatic((0, 0, 1), shifted(row.coordinate, row.d), *before, where=where)
    else:
        first = model.fixed(*before, where=where)
    still = all(is_zero(value) for part in after for value in part)
    return [first] if still else [first, model.fixed(*after, where=where)]


def add(model: Model, row: Row, convention: str, where: str) -> None:
    """Add the body of a row, and what its drive brings."""
    model.body(
        row.name,
        joint=joints(model, row, convention, where),
        parent=row.parent,
        mass=row.mass,
        center=row.center,
        inertia=row.inertia,
        description=row.description,
    )
    if row.rotor:
        model.rotor(row.name, **row.rotor, name=f"motor of {row.name}")
    if row.friction:
        usual = {} if is_zero(row.friction.get("coulomb", 0)) else {"smoothing": SMOOTHING}
        model.joint_friction(row.name, **{**usual, **row.friction}, name=f"friction of {row.name}")
    if row.limits:
        model.limit(row.coordinate, **row.limits)


def build(data: Table, own: Collection[str], coordinates: Table, source: str, rows: Callable[[Builder], None]) -> Model:
    """The model of a table, or one error with everything that is wrong; `rows` adds the bodies, given the builder.

    Head, parameters and coordinates come first, then the rows, then all other sections. These are read as in ordinary model
    files, so they can say here what they say there.
    """
    builder = Builder(begin(data), source)
    builder.model.published = True
    with suppress(Enough):
        builder.require_known(data, own)
        builder.require_name(data)
        builder.build({**{key: data[key] for key in HEAD if key in data}, "coordinates": coordinates})
        rows(builder)
        builder.build({key: data[key] for key in toml_schema.sections() if key in data and key not in HEAD})
    builder.require_sound()
    return builder.model


def add_rows(builder: Builder, rows: Sequence[tuple[str, Row]], convention: str, parents: Collection[str]) -> None:
    """Add rows that are sound by themselves, each with what messages call it; they can hang on the world and on `parents`."""
    known = {WORLD, *parents}
    for where, row in rows:
        if row.parent not in known:
            fact = f"there is no link or body {quote(row.parent)}."
            builder.note([Problem(f"{where}, parent", fact, nearest(row.parent, known - {row.name}))])
        builder.note(attempt(where, lambda row=row, where=where: add(builder.model, row, convention, where)))


def names_in(elements: object) -> list[str]:
    """The names of the elements of a section such as [[body]], as far as it is sound."""
    given = elements if isinstance(elements, list) else []
    return [str(each.get("name")) for each in given if isinstance(each, dict)]


def described(name: str, *, turns: bool) -> Table:
    """Unit and description of the coordinate of a joint.

    >>> described("elbow", turns=True)
    {'unit': 'rad', 'description': "angle of joint 'elbow' about its z axis"}
    """
    what, along = ("angle", "about") if turns else ("displacement", "along")
    return {"unit": "rad" if turns else "m", "description": f"{what} of joint '{name}' {along} its z axis"}


def merged(defaults: Mapping[str, Table], given: object) -> Table:
    """The coordinates of a table, each overlaid by what the section [coordinates] says of it, and the others of that section.

    >>> merged({"q1": {"start": 0.1, "unit": "rad"}}, {"q1": {"start": 0.5}, "x": {}})
    {'q1': {'start': 0.5, 'unit': 'rad'}, 'x': {}}
    """
    entries: Table = given if isinstance(given, dict) else {}
    out: Table = {}
    for name, default in defaults.items():
        entry = entries.get(name, {})
        out[name] = {**default, **entry} if isinstance(entry, dict) else entry
    return {**out, **{name: entry for name, entry in entries.items() if name not in out}}


def shifted(coordinate: str, offset: Value) -> str:
    """The formula of a coordinate plus an offset.

    >>> shifted("q1", 0), shifted("q1", -0.5), shifted("q1", "pi/2")
    ('q1', 'q1 - 0.5', 'q1 + (pi/2)')
    """
    if is_zero(offset):
        return coordinate
    if isinstance(offset, str):
        return f"{coordinate} + ({offset})"
    return f"{coordinate} - {-offset!r}" if offset < 0 else f"{coordinate} + {offset!r}"


def radians(value: Value, unit: str) -> Value:
    """An angle in radians: numbers and formulas alike.

    >>> radians(180, "deg") == math.pi, radians("90 + b", "deg"), radians(0.5, "rad")
    (True, '(90 + b)*pi/180', 0.5)
    """
    if unit != "deg" or isinstance(value, bool) or value == 0:
        return value
    if isinstance(value, str):
        return f"({value})*pi/180"
    # whole numbers that are too large for this are told by whoever reads them
    return math.radians(value) if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1e300) else value


def is_zero(value: Value) -> bool:
    """Whether this is the number 0."""
    return not isinstance(value, str) and value == 0
