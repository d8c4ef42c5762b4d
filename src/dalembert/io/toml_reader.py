"""Reader of model files in TOML: their schema, and conversion to a model. `docs/model-files.md` is the reference.

Joints, loads, constraints and contacts define their own keys.

Files are untrusted: the size of a file, the number of its elements and the size of each formula are limited, and
nothing in it is evaluated as code. All problems are reported together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from dalembert.errors import Problem, suggest_name
from dalembert.io.toml_source import ProblemList, Table, TooManyProblems, read_text, tables
from dalembert.model import attitude, constraints, contacts, joints, keys, loads
from dalembert.model.description import Elements
from dalembert.model.elements import Event, Point, Rotor
from dalembert.model.joints.base import Joint
from dalembert.model.keys import MAX_ELEMENTS, Check, Key, Keys, invalid_value, problem_of, quote
from dalembert.model.model import Model
from dalembert.model.solids import solids_in_file
from dalembert.model.values import is_name, is_printable


def read_toml(path: str | Path) -> Model:
    """Read a model from a TOML file.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_toml("no-such-folder/pendulum.toml")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    return loads_toml(read_text(path), str(path))


def loads_toml(content: str, source: str = "<text>") -> Model:
    """Read a model from a TOML string; `source` is its name in messages.

    >>> loads_toml('''
    ... name = "falling stone"
    ... gravity = [0, 0, -9.81]
    ... coordinates.z = { start = 10 }
    ... [[body]]
    ... name = "stone"
    ... mass = 1
    ... joint = { type = "prismatic", axis = [0, 0, 1], displacement = "z" }
    ... ''')
    <Model 'falling stone': 1 bodies, 1 coordinates, 0 constraints>
    """
    return from_sections(tables(content, source), source)


def from_sections(data: Table, source: str) -> Model:
    """Build the model described by the tables of a file, or raise one error with all problems."""
    builder = FileModelBuilder(empty_model(data), source)
    with suppress(TooManyProblems):
        builder.require_name(data)
        builder.require_known(data)
        builder.build(data)
    builder.require_sound()
    return builder.model


def empty_model(data: Table) -> Model:
    """An empty model with the head of the file, as far as it is valid."""
    name, about, gravity = data.get("name"), data.get("description"), data.get("gravity")
    return Model(
        name if is_name(name) else "model",
        gravity if isinstance(gravity, list) and len(gravity) == 3 else (0, 0, 0),
        about if isinstance(about, str) and is_printable(about) else "",
    )


def title(kind: str, entry: object, index: int) -> str:
    """The name of an element in messages: its name, or its number in the file if it has none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return f"{kind} {quote(name)}" if isinstance(name, str) and name else f"{kind} number {index + 1}"


class FileModelBuilder(ProblemList):
    """Adds the elements of a file to a model one by one and collects their problems."""

    def __init__(self, model: Model, source: str) -> None:
        super().__init__(source)
        self.model = model

    def require_name(self, data: Table) -> None:
        """Report a missing name."""
        if "name" not in data:
            self.note([Problem("model file", "the key 'name' is missing.", 'Add a line name = "..." at the top.')])

    def require_known(self, data: Table, own: Collection[str] = ()) -> None:
        """Report sections that are neither sections of model files nor `own` sections of the format."""
        known = (*own, *sections())
        for section in data:
            if section not in known:
                advice = suggest_name(section[: keys.MAX_NAME], known)
                self.note([Problem("model file", f"there is no key or section {quote(section)}.", advice)])

    def build(self, data: Table) -> None:
        """Add all elements, names before the formulas that use them."""
        model = self.model
        self._valid("name", data, keys.name)
        self._valid("description", data, keys.string)
        if self._valid("published", data, keys.switch):
            model.published = data["published"]
        self._each("parameters", data, self._parameter)
        self._each("coordinates", data, self._coordinate)
        self._valid("gravity", data, keys.fixed_vector)
        self._each("limits", data, self._limit)
        for kind, allowed in elements().items():
            self._elements(kind, allowed, data)
        self._each("speeds", data, self._speed)
        if "energies" in data:
            self._add("energies", data["energies"], ENERGIES, model.set_energies)
        if self._valid("non_ideal", data, forces):
            self.note(problem_of("non_ideal", lambda: model.non_ideal(data["non_ideal"])))
        if "simulation" in data:
            self._add("simulation", data["simulation"], SIMULATION, model.simulation)

    def _valid(self, key: str, data: Table, check: Check) -> bool:
        """True if a key is present and valid."""
        return key in data and self.note(check(data[key], key, self.model))

    def _each(self, section: str, data: Table, add: Callable[[str, object], object]) -> None:
        """Add the named entries of a section such as [parameters]."""
        entries = data.get(section, {})
        if not isinstance(entries, dict):
            self.note([invalid_value(section, f"a table: the header [{section}] and a line for each", entries)])
        elif self._require_count(section, len(entries)):
            for name, entry in entries.items():
                add(name, entry)

    def _elements(self, kind: str, allowed: Keys, data: Table) -> None:
        """Add the elements of the array [[kind]]."""
        entries = data.get(kind, [])
        if not isinstance(entries, list):
            advice = f"Write its header with double brackets: [[{kind}]]."
            self.note([Problem(kind, "not an array of tables.", advice)])
        elif self._require_count(kind, len(entries)):
            for index, entry in enumerate(entries):
                where = title(kind, entry, index)
                self._add(where, entry, allowed, partial(self._element, kind, where))

    def _require_count(self, kind: str, count: int) -> bool:
        if count <= MAX_ELEMENTS:
            return True
        advice = f"Expected at most {MAX_ELEMENTS} in one file."
        return self.note([Problem(kind, f"the file has {count} elements of this kind.", advice)])

    def _add(self, where: str, entry: object, allowed: Keys, add: Callable[..., object]) -> bool:
        """Add one element; return True if its table and values are valid."""
        if not self.note(keys.table(entry, allowed, where, self.model)) or not isinstance(entry, dict):
            return False
        return self.note(problem_of(where, lambda: add(**entry)))

    def _element(self, kind: str, where: str, /, **values: Any) -> None:
        if kind == "body":
            sequence = values["joint"] if isinstance(values["joint"], list) else [values["joint"]]
            values["joint"] = [make_joint(each, f"{where}, joint", self.model) for each in sequence]
            if "solid" in values:
                parts = values["solid"] if isinstance(values["solid"], list) else [values["solid"]]
                values["solid"] = [self.model.solid(**part, where=f"{where}, solid") for part in parts]
        elif kind == "loop":
            values["joint"] = make_joint(values["joint"], f"{where}, joint", self.model, loop=True)
        formula = [values.pop("formula")] if "formula" in values else []
        getattr(self.model, kind)(*formula, **values)

    def _parameter(self, name: str, value: object) -> None:
        entry = value if isinstance(value, dict) else {"value": value}
        add = partial(self.model.parameter, name)
        self._declare(f"parameter {quote(name)}", entry, PARAMETER, add, value=1.0)

    def _coordinate(self, name: str, entry: object) -> None:
        def add(rate: float | str = 0.0, **values: str) -> Model:
            return self.model.coordinate(name, start_rate=rate, **values)

        self._declare(f"coordinate {quote(name)}", entry, COORDINATE, add)

    def _declare(self, where: str, entry: object, allowed: Keys, add: Callable[..., Model], **neutral: float) -> None:
        """Add a parameter or coordinate; one with an invalid value is still defined for the formulas that use it."""
        if not self._add(where, entry, allowed, add):
            again = problem_of(where, lambda: add(**neutral))
            self.note(problem for problem in again if problem not in self.found)

    def _limit(self, name: str, entry: object) -> None:
        self._add(f"limit of {quote(name)}", entry, LIMITS, partial(self.model.limit, name))

    def _speed(self, name: str, value: object) -> None:
        entry = value if isinstance(value, dict) else {"formula": value}

        def add(formula: str, description: str = "") -> Model:
            return self.model.speed(formula, name, description)

        self._add(f"speed {quote(name)}", entry, SPEED, add)


def joint_keys() -> dict[str, Keys]:
    """The keys of body joints, by joint type."""
    found = (table for kind in joints.JOINTS for table in kind.forms().items())
    return {kind: {"type": _TEXT, **own} for kind, own in found}


def loop_joint_keys() -> dict[str, Keys]:
    """The keys of loop joints: their motions are free and may be omitted."""
    return {
        kind: {key: Key(about.check, about.required and not about.motion) for key, about in own.items() if about.loop}
        for kind, own in joint_keys().items()
    }


def joint(entry: object, where: str, model: Elements, *, loop: bool = False) -> Iterator[Problem]:
    """Check for a table with a known joint type and the keys of that type."""
    kinds = loop_joint_keys() if loop else joint_keys()
    if not isinstance(entry, dict):
        yield invalid_value(where, f"a table with a type ({', '.join(kinds)})", entry)
        return
    kind = entry.get("type")
    if kind is None:
        yield Problem(where, "the key 'type' is missing.", f"Add one of {', '.join(kinds)}.")
    elif not isinstance(kind, str):
        yield invalid_value(f"{where}, type", f"one of {', '.join(kinds)}", kind)
    elif kind not in kinds:
        yield Problem(where, f"there is no joint of type {quote(kind)}.", suggest_name(kind[: keys.MAX_NAME], kinds))
    else:
        found = [*keys.table(entry, kinds[kind], f"{where} ({kind})", model)]
        yield from found or keys.problem_of(f"{where} ({kind})", lambda: make_joint(entry, where, model, loop=loop))


def body_joints(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """Check for one joint, or a sequence of joints."""
    if not isinstance(value, list):
        yield from joint(value, where, model)
    elif not 1 <= len(value) <= keys.MAX_ELEMENTS:
        yield invalid_value(where, f"1 to {keys.MAX_ELEMENTS} joints", value)
    else:
        for i, each in enumerate(value):
            yield from joint(each, f"{where} {i}", model)


def make_joint(entry: Table, where: str, model: Elements, *, loop: bool = False) -> Joint:
    """The joint described by a valid table; in a loop, motions that are omitted are free."""
    values = {key: value for key, value in entry.items() if key != "type"}
    built: Joint = getattr(model, entry["type"])(**values, where=where)
    if not loop:
        built.require_motions(where)
    return built


_TEXT, _NAME, _CONSTANT = Key(keys.string), Key(keys.name), Key(keys.constant)
_REQUIRED_NAME = Key(keys.name, required=True)
PARAMETER: Keys = {"value": Key(keys.constant, required=True), "unit": _TEXT, "description": _TEXT}
COORDINATE: Keys = {"start": _CONSTANT, "rate": _CONSTANT, "unit": _TEXT, "description": _TEXT}
SPEED: Keys = {"formula": Key(keys.moving, required=True), "description": _TEXT}
LIMITS: Keys = dict.fromkeys(("lower", "upper", "velocity", "effort"), _CONSTANT)
SIMULATION: Keys = {
    "duration": _CONSTANT,
    "samples": Key(keys.integer),
    "integrator": _NAME,
    "step": _CONSTANT,
    "assemble": Key(keys.switch),
}
_BEFORE: dict[str, Keys] = {
    "body": {
        "name": _REQUIRED_NAME,
        "description": _TEXT,
        "parent": _NAME,
        "mass": _CONSTANT,
        "center": Key(keys.fixed_vector),
        "inertia": Key(keys.inertia),
        "inertia_axes": Key(attitude.rotation_of),
        "solid": Key(solids_in_file),
        "joint": Key(body_joints, required=True),
    },
    **Point.forms(),
    "loop": {**constraints.Loop.forms()["loop"], "joint": Key(partial(joint, loop=True), required=True)},
}
_LAST: dict[str, Keys] = {
    **Event.forms(),
    "shape": {
        "body": Key(keys.body_name, required=True),
        "kind": _REQUIRED_NAME,
        "size": Key(keys.many(keys.constant, "sizes"), True),
        **attitude.PLACEMENT,
        "color": Key(keys.array(4, keys.constant, "numbers (red, green, blue, alpha)")),
        "mesh": _TEXT,
    },
}


def elements() -> dict[str, Keys]:
    """The repeatable elements of a model, in the order in which they are read."""
    families = (*loads.LOADS, Rotor, *constraints.CONSTRAINTS, *contacts.CONTACTS)
    return {**_BEFORE, **{kind: own for each in families for kind, own in each.forms().items()}, **_LAST}


def forces(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """Check for a table from coordinates to formulas."""
    yield from keys.table(value, dict.fromkeys(model.coordinate_names, Key(keys.moving)), where, model)


ENERGIES: Keys = {"kinetic": Key(keys.moving, True), "potential": Key(keys.position), "forces": Key(forces)}
TABLES = ("parameters", "coordinates", "speeds", "energies", "non_ideal", "limits", "simulation")


def sections() -> tuple[str, ...]:
    """All keys and sections at the top level of a file."""
    return ("name", "description", "gravity", "published", *TABLES, *elements())
