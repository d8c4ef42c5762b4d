"""Robots from Denavit–Hartenberg tables in TOML: `docs/robot-tables.md` is the reference of the format.

The rows are tables [[link]]; all other sections are those of ordinary model files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dalembert.errors import Problem, nearest
from dalembert.importers import schema
from dalembert.importers.source import failure, read_text, tables
from dalembert.importers.tables import (
    CONVENTIONS,
    KINDS,
    UNITS,
    Drive,
    Row,
    TableBuilder,
    add_rows,
    described,
    merged,
    radians,
)
from dalembert.model import WORLD, Model
from dalembert.model.keys import MAX_ELEMENTS, Check, Key, Keys, attempt, quote, wrong
from dalembert.model.making import Maker


def one_of(names: tuple[str, ...]) -> Check:
    """One of a few words."""

    def check(value: Any, where: str, model: Maker) -> Iterator[Problem]:
        if not isinstance(value, str):
            yield wrong(where, f"one of {', '.join(names)}", value)
        elif value not in names:
            yield Problem(where, f"there is no {quote(value)} here.", nearest(value[: schema.MAX_NAME], names))

    return check


def inside(keys: Keys) -> Check:
    """A table in a table."""

    def check(value: Any, where: str, model: Maker) -> Iterator[Problem]:
        yield from schema.table(value, keys, where, model)

    return check


_CONSTANT = Key(schema.constant)
MOTOR: Keys = {"inertia": Key(schema.constant, required=True), "ratio": _CONSTANT}
FRICTION: Keys = {
    "viscous": _CONSTANT,
    "coulomb": _CONSTANT,
    "smoothing": _CONSTANT,
    "side": Key(one_of(("joint", "motor"))),
}
LIMITS: Keys = dict.fromkeys(("lower", "upper", "velocity", "effort"), _CONSTANT)
LINK: Keys = {
    "name": Key(schema.name, required=True),
    "description": Key(schema.text),
    "parent": Key(schema.name),
    "type": Key(one_of(KINDS)),
    **dict.fromkeys(("theta", "d", "a", "alpha"), _CONSTANT),
    "mass": _CONSTANT,
    "center": Key(schema.fixed_vector),
    "inertia": Key(schema.inertia),
    "coordinate": Key(schema.name),
    "start": _CONSTANT,
    "rate": _CONSTANT,
    "motor": Key(inside(MOTOR)),
    "friction": Key(inside(FRICTION)),
    "limits": Key(inside(LIMITS)),
}
OWN = ("convention", "unit", "link")
_MOVING = ("coordinate", "start", "rate", "motor", "friction", "limits")


def read_dh(path: str | Path) -> Model:
    """The robot described by a TOML file with a Denavit–Hartenberg table.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_dh("no-such-place/arm.toml")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    return loads_dh(read_text(path), str(path))


def loads_dh(text: str, source: str = "<text>") -> Model:
    """The robot described by a text in TOML; `source` is what messages call it.

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
    return from_links(tables(text, source), source)


def from_links(data: dict[str, Any], source: str) -> Model:
    """The robot described by the tables of a file."""
    convention, unit = _word(data, "convention", CONVENTIONS, source), _word(data, "unit", UNITS, source, "rad")
    links = _links(data, source)
    names = coordinates(links)
    defaults = {name: _coordinate(link) for link, name in zip(links, names, strict=True) if name}
    builder = TableBuilder(data, OWN, merged(defaults, data.get("coordinates")))

    def rows(builder: TableBuilder) -> None:
        builder.note(_twice(links, names, data))
        sound = []
        begin: dict[str, dict[str, Any]] = {"start": {}, "rate": {}}
        for i, (link, name) in enumerate(zip(links, names, strict=True)):
            where = title(link, i)
            if builder.note(schema.table(link, LINK, where, builder.model)) and builder.note(senseless(link, where)):
                before = str(links[i - 1].get("name", WORLD)) if i and isinstance(links[i - 1], dict) else WORLD
                sound.append((where, _row(link, name, before, unit)))
                for key, value in _start(link, unit).items():
                    begin[key][name] = value
        builder.note(attempt("links", lambda: builder.model.start(begin["start"], begin["rate"])))
        add_rows(builder, sound, convention, [str(link.get("name")) for link in links if isinstance(link, dict)])

    model = builder.build(source, rows)
    if "gravity" not in data:
        model.note("no gravity is given, so the robot is weightless.")
    return model


def coordinates(links: list[Any]) -> list[str]:
    """The coordinate of each link, and no name for those that do not move.

    >>> coordinates([{}, {"type": "fixed"}, {"coordinate": "elbow"}, {}])
    ['q1', '', 'elbow', 'q3']
    """
    names, moving = [], 0
    for link in links:
        given = link if isinstance(link, dict) else {}
        moves = given.get("type", "revolute") != "fixed"
        moving += moves
        name = given.get("coordinate", f"q{moving}")
        names.append(name if moves and isinstance(name, str) and name else "")
    return names


def title(link: Any, place: int) -> str:
    """What messages call a link: its name, or its place in the table if it has none."""
    name = link.get("name") if isinstance(link, dict) else None
    return f"link {quote(name)}" if isinstance(name, str) and name else f"link number {place + 1}"


def on_joint_side(motor: dict[str, Any], friction: dict[str, Any], limits: dict[str, Any]) -> Drive:
    """The drive of a joint, with friction that is told at the motor carried over to the joint.

    >>> drive = on_joint_side({"inertia": 2e-4, "ratio": -50}, {"viscous": 1e-3, "coulomb": 0.4, "side": "motor"}, {})
    >>> drive.viscous, drive.coulomb
    (2.5, 20.0)
    """
    ratio = motor.get("ratio", 1)
    viscous, coulomb = friction.get("viscous", 0), friction.get("coulomb", 0)
    smoothing = friction.get("smoothing")
    if friction.get("side") == "motor":
        viscous = _scaled(viscous, ratio, 2)
        coulomb = _scaled(coulomb, ratio, 1)
        smoothing = None if smoothing is None else _scaled(smoothing, ratio, -1)
    eps = 1e-3 if smoothing is None else smoothing
    return Drive(motor.get("inertia", 0), ratio, viscous, coulomb, eps, limits)


def _scaled(value: Any, ratio: Any, power: int) -> Any:
    """value × |ratio|^power, as a number where both are numbers."""
    if isinstance(value, str) or isinstance(ratio, str):
        factor = f"({ratio})**2" if power == 2 else f"abs({ratio})"
        return f"({value})/{factor}" if power < 0 else f"({value})*{factor}"
    return value * abs(float(ratio)) ** power


def _word(data: dict[str, Any], key: str, known: tuple[str, ...], source: str, default: str | None = None) -> str:
    """A word at the top of the file on which everything else depends."""
    value = data.get(key, default)
    if value is None:
        raise failure(
            source, f"the key '{key}' is missing.", f"Add a line {key} = ... at the top: {' or '.join(known)}."
        )
    if not isinstance(value, str) or value not in known:
        raise failure(f"{source}, {key}", f"there is no {key} {value!r:.60}.", f"Expected {' or '.join(known)}.")
    return value


def _links(data: dict[str, Any], source: str) -> list[Any]:
    links = data.get("link", [])
    if not isinstance(links, list) or not links:
        raise failure(source, "there are no links.", "Add a table [[link]] for each row.")
    if len(links) > MAX_ELEMENTS:
        raise failure(f"{source}, link", f"the file has {len(links)} of them.", f"Expected at most {MAX_ELEMENTS}.")
    return links


def _coordinate(link: Any) -> dict[str, Any]:
    """What the section [coordinates] would say of a link's coordinate."""
    turns = link.get("type", "revolute") == "revolute"
    return described(str(link.get("name", "?"))[: schema.MAX_NAME], turns=turns)


def _twice(links: list[Any], names: list[str], data: dict[str, Any]) -> Iterator[Problem]:
    """What two links, or a link and the section [coordinates], both claim."""
    owners: dict[str, str] = {}
    section = data.get("coordinates")
    declared = section if isinstance(section, dict) else {}
    for i, (link, name) in enumerate(zip(links, names, strict=True)):
        where = title(link, i)
        if name and name in owners:
            fact = f"{owners[name]} moves by the coordinate {quote(name)} already."
            yield Problem(f"{where}, coordinate", fact, "Give each link a coordinate of its own.")
        entry = declared.get(name) if name else None
        for key in ("start", "rate"):
            if isinstance(entry, dict) and key in entry and key in link:
                advice = f"Keep it here or in [coordinates], {name}."
                yield Problem(f"{where}, {key}", "the value is given twice.", advice)
        owners.setdefault(name, where)


def senseless(link: dict[str, Any], where: str) -> Iterator[Problem]:
    """What a sound link still cannot mean: motion of a fixed one, friction at a motor that is not there, limits the wrong way.

    >>> [problem.fact for problem in senseless({"type": "fixed", "start": 1}, "link 'base'")]
    ['a fixed link does not move.']
    """
    for key in _MOVING:
        if link.get("type") == "fixed" and key in link:
            yield Problem(f"{where}, {key}", "a fixed link does not move.", "Remove the key, or give another type.")
    if link.get("friction", {}).get("side") == "motor" and "ratio" not in link.get("motor", {}):
        advice = "Add motor = { inertia = ..., ratio = ... }, or tell the friction of the joint."
        yield Problem(f"{where}, friction", "it is told at the motor, but the motor has no ratio.", advice)
    lower, upper = (link.get("limits", {}).get(key) for key in ("lower", "upper"))
    if isinstance(lower, int | float) and isinstance(upper, int | float) and lower > upper:
        yield Problem(f"{where}, limits", f"lower is {lower:g} and upper is {upper:g}.", "Exchange them.")


def _row(link: dict[str, Any], coordinate: str, before: str, unit: str) -> Row:
    turns = link.get("type", "revolute") == "revolute"
    limits = dict(link.get("limits", {}))
    if turns:
        limits |= {key: radians(limits[key], unit) for key in ("lower", "upper", "velocity") if key in limits}
    return Row(
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
        on_joint_side(link.get("motor", {}), link.get("friction", {}), limits),
    )


def _start(link: dict[str, Any], unit: str) -> dict[str, Any]:
    """The initial state that a link gives."""
    turns = link.get("type", "revolute") == "revolute"
    return {key: radians(link[key], unit) if turns else link[key] for key in ("start", "rate") if key in link}
