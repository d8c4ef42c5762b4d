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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.errors import ModelFileError, Problem, nearest
from dalembert.importers import schema
from dalembert.importers.toml import add_sections, problems_failure
from dalembert.model import WORLD, Model
from dalembert.model.joints import Joint
from dalembert.model.keys import attempt, quote

CONVENTIONS = ("dh", "mdh")
KINDS = ("revolute", "prismatic", "fixed")
UNITS = ("rad", "deg")
HEAD = ("name", "description", "gravity", "parameters", "coordinates")

Value = Any  # a number, or a formula of parameters as text


@dataclass(frozen=True)
class Drive:
    """What sits in a joint besides its motion: the rotor of a motor, friction, and limits; all on the side of the joint."""

    inertia: Value = 0
    ratio: Value = 1
    viscous: Value = 0
    coulomb: Value = 0
    smoothing: Value = 1e-3
    limits: Mapping[str, Value] | None = None


@dataclass(frozen=True)
class Row:
    """One row of a table: the step from the parent's frame, in radians, and the body that hangs on it."""

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
    inertia: Sequence[Any] = (0, 0, 0)
    description: str = ""
    drive: Drive | None = None


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
    still = all(_is_zero(value) for part in after for value in part)
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
    drive = row.drive
    if drive is None:
        return
    if not _is_zero(drive.inertia):
        model.rotor(row.name, drive.inertia, ratio=drive.ratio, name=f"motor of {row.name}")
    if not (_is_zero(drive.viscous) and _is_zero(drive.coulomb)):
        values = {"viscous": drive.viscous, "coulomb": drive.coulomb, "smoothing": drive.smoothing}
        model.joint_friction(row.name, **values, name=f"friction of {row.name}")
    if drive.limits:
        model.limit(row.coordinate, **drive.limits)


class TableBuilder:
    """Builds a model from the tables of a file: head, parameters and coordinates first, then rows, then all other sections.

    The other sections are read as in ordinary model files, so they can say here what they say there.
    """

    def __init__(self, data: Mapping[str, Any], own: Collection[str], coordinates: Mapping[str, Any]) -> None:
        name, about, gravity = data.get("name"), data.get("description"), data.get("gravity")
        self.model = Model(
            name if isinstance(name, str) else "model",
            gravity if isinstance(gravity, list) and len(gravity) == 3 else (0, 0, 0),
            about if isinstance(about, str) else "",
        )
        self.model.published = True
        self.found: list[Problem] = []
        self._data, self._own, self._coordinates = data, own, coordinates

    def note(self, problems: Iterable[Problem]) -> bool:
        """Keep problems; true if there were none."""
        before = len(self.found)
        self.found.extend(problems)
        return len(self.found) == before

    def given(self, section: str) -> list[Any]:
        """The elements of a section as the file has them."""
        value = self._data.get(section, [])
        return value if isinstance(value, list) else []

    def build(self, source: str, rows: Callable[[TableBuilder], None]) -> Model:
        """The model, or one error with everything that is wrong; `rows` adds the bodies, given this builder."""
        known = (*self._own, *schema.sections())
        for section in self._data:
            if section not in known:
                advice = nearest(section[: schema.MAX_NAME], known)
                self.note([Problem("model file", f"there is no key or section {quote(section)}.", advice)])
        if "name" not in self._data:
            self.note([Problem("model file", "the key 'name' is missing.", 'Add a line name = "..." at the top.')])
        head = {key: self._data[key] for key in HEAD if key in self._data}
        self._read({**head, "coordinates": self._coordinates}, source)
        rows(self)
        self._read({key: self._data[key] for key in schema.sections() if key in self._data and key not in HEAD}, source)
        if self.found:
            raise problems_failure(source, self.found)
        return self.model

    def _read(self, sections: Mapping[str, Any], source: str) -> None:
        try:
            add_sections(self.model, sections, source)
        except ModelFileError as error:
            self.note(error.problems)


def add_rows(
    builder: TableBuilder, rows: Sequence[tuple[str, Row]], convention: str, names: Collection[str] = ()
) -> None:
    """Add rows that are sound by themselves, each with what messages call it; `names` are known as parents besides."""
    known = {WORLD, *names, *(row.name for _, row in rows)}
    known |= {str(body.get("name")) for body in builder.given("body") if isinstance(body, dict)}
    for where, row in rows:
        if row.parent not in known:
            fact = f"there is no link or body {quote(row.parent)}."
            builder.note([Problem(f"{where}, parent", fact, nearest(row.parent, known - {row.name}))])
        builder.note(attempt(where, lambda row=row, where=where: add(builder.model, row, convention, where)))


def described(name: str, *, turns: bool) -> dict[str, str]:
    """Unit and description of the coordinate of a joint.

    >>> described("elbow", turns=True)
    {'unit': 'rad', 'description': "angle of joint 'elbow' about its z axis"}
    """
    what, along = ("angle", "about") if turns else ("displacement", "along")
    return {"unit": "rad" if turns else "m", "description": f"{what} of joint '{name}' {along} its z axis"}


def merged(defaults: Mapping[str, Mapping[str, Any]], given: Any) -> dict[str, Any]:
    """The coordinates of a table, each overlaid by what the section [coordinates] says of it, and the others of that section.

    >>> merged({"q1": {"start": 0.1, "unit": "rad"}}, {"q1": {"start": 0.5}, "x": {}})
    {'q1': {'start': 0.5, 'unit': 'rad'}, 'x': {}}
    """
    entries = given if isinstance(given, dict) else {}
    out: dict[str, Any] = {}
    for name, default in defaults.items():
        entry = entries.get(name, {})
        out[name] = {**default, **entry} if isinstance(entry, dict) else entry
    return {**out, **{name: entry for name, entry in entries.items() if name not in out}}


def shifted(coordinate: str, offset: Value) -> str:
    """The formula of a coordinate plus an offset.

    >>> shifted("q1", 0), shifted("q1", -0.5), shifted("q1", "pi/2")
    ('q1', 'q1 - 0.5', 'q1 + (pi/2)')
    """
    if _is_zero(offset):
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


def _is_zero(value: Value) -> bool:
    return not isinstance(value, str) and value == 0
