"""Converts rows of a robot table to bodies with joints; Denavit–Hartenberg tables in TOML, one table [[link]] per row.

ReDySim's arrays and CSV tables share these rows. `docs/robot-tables.md` is the reference of the format.

A row is one link and its joint, which moves about or along z. The four numbers of a row define the transform from the frame of
the parent to the frame of the link:

    dh     Rz(theta) Tz(d) Tx(a) Rx(alpha)      the joint moves at the parent's frame, the link's frame is at its far end
    mdh    Rx(alpha) Tx(a) Rz(theta) Tz(d)      the link's frame is at its joint

In the model the moving joint comes first and the rest of the transform follows as a fixed placement. Rotation about z and
translation along z commute, so no trigonometric formula is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dalembert.errors import Problem, suggest_name
from dalembert.io import toml_reader
from dalembert.io.toml_reader import (
    FileModelBuilder,
    Table,
    TooManyProblems,
    empty_model,
    failure,
    read_text,
    tables,
    title,
)
from dalembert.model import keys
from dalembert.model.description import Elements
from dalembert.model.joints.base import Joint
from dalembert.model.keys import MAX_ELEMENTS, Check, Key, Keys, invalid_value, problem_of, quote
from dalembert.model.loads.joint_friction import SMOOTHING
from dalembert.model.model import Model
from dalembert.model.values import WORLD

CONVENTIONS = ("dh", "mdh")
KINDS = ("revolute", "prismatic", "fixed")
UNITS = ("rad", "deg")
HEAD = ("name", "description", "gravity", "parameters", "coordinates")
Value = str | float  # a number, or a formula of parameters as a str


@dataclass(frozen=True)
class RobotRow:
    """One row of a table: the transform from the parent's frame, in radians, its body and its drive.

    Rotor, friction and limits are the arguments of `Model.rotor`, `Model.joint_friction` and `Model.limit`, on the joint side;
    empty if there are none.
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


def joints(model: Model, row: RobotRow, convention: str, where: str) -> list[Joint]:
    """The joints of one row: the moving joint, then a fixed placement unless it is the identity.

    >>> model = Model("elbow").coordinates("q1")
    >>> [joint.kind for joint in joints(model, RobotRow("arm", coordinate="q1", a=0.4), "dh", "link 'arm'")]
    ['revolute', 'fixed']
    >>> [joint.kind for joint in joints(model, RobotRow("arm", coordinate="q1", a=0.4), "mdh", "link 'arm'")]
    ['revolute']
    """
    rotates, slides = row.kind == "revolute", row.kind == "prismatic"
    across = ((row.a, 0, 0), (row.alpha, 0, 0))
    if convention == "mdh":
        before = across
        after = ((0, 0, 0 if slides else row.d), (0, 0, 0 if rotates else row.theta))
    else:
        before = ((0, 0, 0), (0, 0, 0 if rotates else row.theta))
        after = ((row.a, 0, 0 if slides else row.d), (row.alpha, 0, 0))
    if rotates:
        first: Joint = model.revolute((0, 0, 1), with_offset(row.coordinate, row.theta), *before, where=where)
    elif slides:
        first = model.prismatic((0, 0, 1), with_offset(row.coordinate, row.d), *before, where=where)
    else:
        first = model.fixed(*before, where=where)
    is_identity = all(is_zero(value) for part in after for value in part)
    return [first] if is_identity else [first, model.fixed(*after, where=where)]


def add(model: Model, row: RobotRow, convention: str, where: str) -> None:
    """Add the body of a row, its rotor, friction and limits."""
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
        default = {} if is_zero(row.friction.get("coulomb", 0)) else {"smoothing": SMOOTHING}
        model.joint_friction(row.name, **{**default, **row.friction}, name=f"friction of {row.name}")
    if row.limits:
        model.limit(row.coordinate, **row.limits)


def build(
    data: Table, own: Collection[str], coordinates: Table, source: str, rows: Callable[[FileModelBuilder], None]
) -> Model:
    """Build the model of a table, or raise one error with all problems; `rows(builder)` adds the bodies.

    Head, parameters and coordinates come first, then the rows, then all other sections. These have the same format as in
    ordinary model files.
    """
    builder = FileModelBuilder(empty_model(data), source)
    builder.model.published = True
    with suppress(TooManyProblems):
        builder.require_known(data, own)
        builder.require_name(data)
        builder.build({**{key: data[key] for key in HEAD if key in data}, "coordinates": coordinates})
        rows(builder)
        builder.build({key: data[key] for key in toml_reader.sections() if key in data and key not in HEAD})
    builder.require_sound()
    return builder.model


def add_rows(
    builder: FileModelBuilder, rows: Sequence[tuple[str, RobotRow]], convention: str, parents: Collection[str]
) -> None:
    """Add valid rows, each with its name in messages; their parents are the world or one of `parents`."""
    known = {WORLD, *parents}
    for where, row in rows:
        if row.parent not in known:
            fact = f"there is no link or body {quote(row.parent)}."
            builder.note([Problem(f"{where}, parent", fact, suggest_name(row.parent, known - {row.name}))])
        builder.note(problem_of(where, lambda row=row, where=where: add(builder.model, row, convention, where)))


def names_in(elements: object) -> list[str]:
    """The names of the elements of a section such as [[body]], as far as they are valid."""
    entries = elements if isinstance(elements, list) else []
    return [str(each.get("name")) for each in entries if isinstance(each, dict)]


def coordinate_entry(name: str, *, rotates: bool) -> Table:
    """Unit and description of the coordinate of a joint.

    >>> coordinate_entry("elbow", rotates=True)
    {'unit': 'rad', 'description': "angle of joint 'elbow' about its z axis"}
    """
    what, along = ("angle", "about") if rotates else ("displacement", "along")
    return {"unit": "rad" if rotates else "m", "description": f"{what} of joint '{name}' {along} its z axis"}


def merged(defaults: Mapping[str, Table], overrides: object) -> Table:
    """The coordinates of a table, updated by their entries in the section [coordinates], and the others of that section.

    >>> merged({"q1": {"start": 0.1, "unit": "rad"}}, {"q1": {"start": 0.5}, "x": {}})
    {'q1': {'start': 0.5, 'unit': 'rad'}, 'x': {}}
    """
    entries: Table = overrides if isinstance(overrides, dict) else {}
    out: Table = {}
    for name, default in defaults.items():
        entry = entries.get(name, {})
        out[name] = {**default, **entry} if isinstance(entry, dict) else entry
    return {**out, **{name: entry for name, entry in entries.items() if name not in out}}


def with_offset(coordinate: str, offset: Value) -> str:
    """The formula of a coordinate plus an offset.

    >>> with_offset("q1", 0), with_offset("q1", -0.5), with_offset("q1", "pi/2")
    ('q1', 'q1 - 0.5', 'q1 + (pi/2)')
    """
    if is_zero(offset):
        return coordinate
    if isinstance(offset, str):
        return f"{coordinate} + ({offset})"
    return f"{coordinate} - {-offset!r}" if offset < 0 else f"{coordinate} + {offset!r}"


def radians(value: Value, unit: str) -> Value:
    """An angle in radians, for numbers and formulas.

    >>> radians(180, "deg") == math.pi, radians("90 + b", "deg"), radians(0.5, "rad")
    (True, '(90 + b)*pi/180', 0.5)
    """
    if unit != "deg" or isinstance(value, bool) or value == 0:
        return value
    if isinstance(value, str):
        return f"({value})*pi/180"
    # integers that are too large are reported when they are read
    return math.radians(value) if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1e300) else value


def is_zero(value: Value) -> bool:
    """Whether this is the number 0."""
    return not isinstance(value, str) and value == 0


def one_of(names: tuple[str, ...]) -> Check:
    """Check for one of several strings."""

    def check(value: object, where: str, model: Elements) -> Iterator[Problem]:
        if not isinstance(value, str):
            yield invalid_value(where, f"one of {', '.join(names)}", value)
        elif value not in names:
            yield Problem(where, f"unknown value {quote(value)}.", suggest_name(value[: keys.MAX_NAME], names))

    return check


def inside(allowed: Keys) -> Check:
    """Check for a nested table."""
    return lambda value, where, model: keys.table(value, allowed, where, model)


_CONSTANT = Key(keys.constant)
_FRICTION = {**dict.fromkeys(("viscous", "coulomb", "smoothing"), _CONSTANT), "side": Key(one_of(("joint", "motor")))}
LINK: Keys = {
    "name": Key(keys.name, required=True),
    "description": Key(keys.string),
    "parent": Key(keys.name),
    "type": Key(one_of(KINDS)),
    **dict.fromkeys(("theta", "d", "a", "alpha", "mass"), _CONSTANT),
    "center": Key(keys.fixed_vector),
    "inertia": Key(keys.inertia),
    "coordinate": Key(keys.name),
    "start": _CONSTANT,
    "rate": _CONSTANT,
    "motor": Key(inside({"inertia": Key(keys.constant, required=True), "ratio": _CONSTANT})),
    "friction": Key(inside(_FRICTION)),
    "limits": Key(inside(toml_reader.LIMITS)),
}
TABLE_KEYS = ("convention", "unit", "link")
_MOVING = ("coordinate", "start", "rate", "motor", "friction", "limits")


def read_dh(path: str | Path) -> Model:
    """Read a robot from a TOML file with a Denavit–Hartenberg table."""
    return loads_dh(read_text(path), str(path))


def loads_dh(content: str, source: str = "<text>") -> Model:
    """Read a robot from a TOML string; `source` is its name in messages.

    >>> loads_dh('''
    ... convention = "mdh"
    ... name = "elbow"
    ... gravity = [0, -9.81, 0]
    ... [[link]]
    ... name = "upper"
    ... mass = 1
    ... center = [0.2, 0, 0]
    ... [[link]]
    ... name = "lower"
    ... a = 0.4
    ... mass = 1
    ... center = [0.2, 0, 0]
    ... ''').coordinate_names
    ('q1', 'q2')
    """
    return from_links(tables(content, source), source)


def from_links(data: Table, source: str) -> Model:
    """Build the robot described by the tables of a file."""
    convention, unit = _word(data, "convention", CONVENTIONS, source), _word(data, "unit", UNITS, source, "rad")
    links = _links(data, source)
    names = coordinates(links)
    parents = [*names_in(links), *names_in(data.get("body"))]

    def rows(builder: FileModelBuilder) -> None:
        builder.note(_duplicates(links, names, data.get("coordinates")))
        valid = []
        begin: dict[str, Table] = {"start": {}, "rate": {}}
        for i, (link, name) in enumerate(zip(links, names, strict=True)):
            where = title("link", link, i)
            if builder.note(keys.table(link, LINK, where, builder.model)) and builder.note(contradictions(link, where)):
                before = str(links[i - 1].get("name", WORLD)) if i and isinstance(links[i - 1], dict) else WORLD
                valid.append((where, _row(link, name, before, unit)))
                for key in begin.keys() & link.keys():
                    begin[key][name] = radians(link[key], unit) if _rotates(link) else link[key]
        builder.note(problem_of("links", lambda: builder.model.start(begin["start"], begin["rate"])))
        add_rows(builder, valid, convention, parents)

    defaults = {
        name: coordinate_entry(str(link.get("name", "?"))[: keys.MAX_NAME], rotates=_rotates(link))
        for link, name in zip(links, names, strict=True)
        if name
    }
    model = build(data, TABLE_KEYS, merged(defaults, data.get("coordinates")), source, rows)
    if "gravity" not in data:
        model.note("no gravity is defined; it is zero.")
    return model


def _rotates(link: Table) -> bool:
    return link.get("type", "revolute") == "revolute"


def coordinates(links: Sequence[Table]) -> list[str]:
    """The coordinate of each link, and an empty name for fixed links.

    >>> coordinates([{}, {"type": "fixed"}, {"coordinate": "elbow"}, {}])
    ['q1', '', 'elbow', 'q3']
    """
    names, moving = [], 0
    for link in links:
        moves = isinstance(link, dict) and link.get("type", "revolute") != "fixed"
        moving += moves
        name = link.get("coordinate", f"q{moving}") if moves else ""
        names.append(name if isinstance(name, str) else "")
    return names


def on_joint_side(friction: Table, ratio: Value) -> Table:
    """Friction of the motor converted to the joint side; empty if there is none.

    >>> on_joint_side({"viscous": 1e-3, "coulomb": 0.4, "side": "motor"}, -50)
    {'viscous': 2.5, 'coulomb': 20.0}
    """
    found = {key: value for key, value in friction.items() if key != "side"}
    if friction.get("side") == "motor":
        powers = {"viscous": 2, "coulomb": 1, "smoothing": -1}
        found = {key: _scaled(value, ratio, powers[key]) for key, value in found.items()}
    return found if any(not is_zero(found.get(key, 0)) for key in ("viscous", "coulomb")) else {}


def _scaled(value: Value, ratio: Value, power: int) -> Value:
    """value × |ratio|^power, as a number if both are numbers."""
    if isinstance(value, str) or isinstance(ratio, str):
        factor = f"({ratio})**2" if power == 2 else f"abs({ratio})"
        return f"({value})/{factor}" if power < 0 else f"({value})*{factor}"
    return value * abs(float(ratio)) ** power


def _word(data: Table, key: str, known: tuple[str, ...], source: str, default: str | None = None) -> str:
    """The value of a required choice at the top of the file."""
    value = data.get(key, default)
    if value is None:
        advice = f"Add a line {key} = ... at the top: {' or '.join(known)}."
        raise failure(source, f"the key '{key}' is missing.", advice)
    if not isinstance(value, str) or value not in known:
        raise failure(f"{source}, {key}", f"there is no {key} {value!r:.60}.", f"Expected {' or '.join(known)}.")
    return value


def _links(data: Table, source: str) -> list[Table]:
    links = data.get("link", [])
    if not isinstance(links, list) or not links:
        raise failure(source, "the file has no links.", "Add a table [[link]] for each row.")
    if len(links) > MAX_ELEMENTS:
        raise failure(f"{source}, link", f"the file has {len(links)} links.", f"Expected at most {MAX_ELEMENTS}.")
    return links


def _duplicates(links: Sequence[Table], names: list[str], section: object) -> Iterator[Problem]:
    """Coordinates or values defined by two links, or by a link and the section [coordinates]."""
    owners: dict[str, str] = {}
    declared = section if isinstance(section, dict) else {}
    for i, (link, name) in enumerate(zip(links, names, strict=True)):
        where = title("link", link, i)
        if name and name in owners:
            fact = f"the coordinate {quote(name)} is already used by {owners[name]}."
            yield Problem(f"{where}, coordinate", fact, "Use a separate coordinate for each link.")
        entry = declared.get(name) if name else None
        for key in ("start", "rate"):
            if isinstance(entry, dict) and key in entry and key in link:
                advice = f"Keep it here or in [coordinates], {name}."
                yield Problem(f"{where}, {key}", "the value is defined twice.", advice)
        owners.setdefault(name, where)


def contradictions(link: Table, where: str) -> Iterator[Problem]:
    """Contradictions in a valid link: motion of a fixed link, friction of a missing motor, exchanged limits.

    >>> [problem.fact for problem in contradictions({"type": "fixed", "start": 1}, "link 'base'")]
    ['a fixed link cannot move.']
    """
    for key in _MOVING:
        if link.get("type") == "fixed" and key in link:
            yield Problem(f"{where}, {key}", "a fixed link cannot move.", "Remove the key, or use another type.")
    ratio = link.get("motor", {}).get("ratio")
    if ratio is not None and is_zero(ratio):
        fact = "the gear ratio is 0. Expected motor revolutions per joint revolution."
        yield Problem(f"{where}, motor", fact, "Set `ratio` to a nonzero value.")
    if link.get("friction", {}).get("side") == "motor" and ratio is None:
        advice = "Add motor = { inertia = ..., ratio = ... }, or specify the friction of the joint."
        yield Problem(f"{where}, friction", "it is specified at the motor, but the motor has no ratio.", advice)
    lower, upper = (link.get("limits", {}).get(key) for key in ("lower", "upper"))
    if isinstance(lower, int | float) and isinstance(upper, int | float) and lower > upper:
        yield Problem(f"{where}, limits", f"lower is {lower:g} and upper is {upper:g}.", "Swap them.")


def _row(link: Table, coordinate: str, before: str, unit: str) -> RobotRow:
    motor, limits = link.get("motor", {}), link.get("limits", {})
    if _rotates(link):
        limits = {key: value if key == "effort" else radians(value, unit) for key, value in limits.items()}
    return RobotRow(
        link["name"],
        link.get("parent", before),
        link.get("type", "revolute"),
        coordinate,
        radians(link.get("theta", 0), unit),
        link.get("d", 0),
        link.get("a", 0),
        radians(link.get("alpha", 0), unit),
        link.get("mass", 0),
        link.get("center", (0, 0, 0)),
        link.get("inertia", (0, 0, 0)),
        link.get("description", ""),
        {} if is_zero(motor.get("inertia", 0)) else motor,
        on_joint_side(link.get("friction", {}), motor.get("ratio", 1)),
        limits,
    )
