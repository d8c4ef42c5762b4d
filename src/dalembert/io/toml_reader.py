"""Reader of model files in TOML: their schema, and conversion to a model. `docs/model-files.md` is the reference.

Joints, loads, constraints and contacts define their own keys.

Files are untrusted: the size of a file, the number of its elements and the size of each formula are limited, and
nothing in it is evaluated as code. All problems are reported together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from dalembert.errors import ModelFileError, Problem, suggest_name
from dalembert.model import attitude, constraints, contacts, joints, keys, loads
from dalembert.model.description import Elements
from dalembert.model.elements import Event, Point, Rotor
from dalembert.model.joints.base import Joint
from dalembert.model.keys import MAX_ELEMENTS, Check, Key, Keys, invalid_value, problem_of, quote
from dalembert.model.model import Model
from dalembert.model.solids import solids_in_file
from dalembert.model.values import is_name, is_printable

MAX_BYTES = 1_000_000
MAX_KEY_PARTS = 16
MAX_PROBLEMS = 100

Table: TypeAlias = dict[str, Any]  # content of a file: checked by the schema, not by the type

_SPLIT = "Split the system into several models."
# tomllib needs quadratic time for a.a.a. ... = 1, so such keys are refused before parsing
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}""")
_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")


class TooManyProblems(Exception):
    """Raised if there are more than `MAX_PROBLEMS` problems."""


class ProblemList:
    """Collects the problems of one file; too many of them raise `TooManyProblems`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Problem] = []

    def note(self, problems: Iterable[Problem], at: int | None = None) -> bool:
        """Add problems at index `at` or at the end; return True if there were none."""
        before = len(self.found)
        for problem in problems:
            self.found.insert(len(self.found) if at is None else at, problem)
            if len(self.found) > MAX_PROBLEMS:
                raise TooManyProblems
        return len(self.found) == before

    def require_sound(self) -> None:
        """Raise one error that lists all problems, if there are any."""
        if not self.found:
            return
        listed = self.found[:MAX_PROBLEMS]
        count = "1 problem" if len(listed) == 1 else f"{len(listed)} problems"
        more = "\n  - and more; correct these first." if len(self.found) > MAX_PROBLEMS else ""
        lines = "\n".join(f"  - {problem}" for problem in listed)
        raise ModelFileError(f"{self.source} has {count}:\n{lines}{more}", listed)


def failure(path: str, fact: str, advice: str) -> ModelFileError:
    """The error for a file that cannot be read."""
    problem = Problem(path, fact, advice)
    return ModelFileError(str(problem), [problem])


def read_text(path: str | Path, max_bytes: int = MAX_BYTES) -> str:
    """The content of a model file of at most `max_bytes` bytes; raises `ModelFileError` if it cannot be read."""
    return decode(read_bytes(path, max_bytes), str(path), max_bytes)


def read_bytes(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a model file of at most `max_bytes` bytes."""
    path, name = Path(path), str(path)
    advice = f"Expected the path of a model file, such as model{path.suffix or '.toml'}."
    try:
        if path.is_dir():
            raise failure(name, "the path is a directory.", advice)
        if not path.exists():
            raise failure(name, "there is no such file.", _others(path))
        if not path.is_file():
            raise failure(name, "the path is not a regular file.", advice)
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(name, f"the file cannot be opened ({reason}).", "Check its name and permissions.") from error
    _require_small(data, name, max_bytes)
    return data


def decode(data: bytes, source: str, max_bytes: int = MAX_BYTES) -> str:
    """Decode the bytes of a file: UTF-8 without NUL characters, and not too long."""
    _require_small(data, source, max_bytes)
    if (at := data.find(b"\0")) >= 0:
        line, advice = data.count(b"\n", 0, at) + 1, "Expected a text file; save it as UTF-8 text."
        raise failure(f"{source}, line {line}", "the line contains a NUL character.", advice)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"the byte 0x{data[error.start]:02x} is not UTF-8."
        raise failure(f"{source}, line {line}", fact, "Save the file in UTF-8 encoding.") from error


def _require_small(data: bytes, source: str, max_bytes: int) -> None:
    if len(data) > max_bytes:
        raise failure(source, f"the file is larger than {max_bytes} bytes.", _SPLIT)


def require_short(size: int, source: str, unit: str = "characters") -> None:
    """Raise if a string is longer than the largest file."""
    if size > MAX_BYTES:
        raise failure(source, f"the input is larger than {MAX_BYTES} {unit}.", _SPLIT)


def tables(content: str, source: str) -> Table:
    """Parse a TOML string; raises `ModelFileError` with the line of a syntax error."""
    require_short(len(content.encode("utf-8", "replace")), source, "bytes")
    if long := _LONG_KEY.search(content):
        line = content.count("\n", 0, long.start()) + 1
        fact = f"a key has more than {MAX_KEY_PARTS} dotted parts."
        raise failure(f"{source}, line {line}", fact, "Write tables under separate headers, such as [parameters].")
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(content, source, str(error)) from error
    except (RecursionError, ValueError) as error:
        raise beyond_bounds(error, source, "tables") from error


def beyond_bounds(error: Exception, source: str, what: str) -> ModelFileError:
    """The error for input with too many nesting levels or too many digits for the parser of its format."""
    if isinstance(error, RecursionError):
        return failure(source, f"arrays or {what} are nested too deeply.", "Expected at most a few levels.")
    # the only ValueError of these parsers: integers with thousands of digits
    return failure(source, "an integer has too many digits.", "Write it as a float such as 1.5e10.")


def shortened_line(content: str, number: int) -> str:
    """A line of a string, shortened for a message."""
    lines = content.split("\n", number)
    line = lines[number - 1].strip() if number <= len(lines) else ""
    return line if len(line) <= 60 else line[:57] + "..."


def _syntax(content: str, source: str, message: str) -> ModelFileError:
    """The error of tomllib with its line and advice for the most frequent mistakes."""
    position = _LINE.search(message)
    number = int(position.group(1)) if position and position.group(1) else max(len(content.rstrip().split("\n")), 1)
    reason = _LINE.sub("", message)
    if reason == "Invalid value":
        advice = 'Put strings and formulas in quotation marks, as in mass = "2*m".'
    elif reason.startswith(("Cannot overwrite", "Cannot declare")):
        advice = "A table or key is defined twice: remove one of them, or use [[...]] for repeated elements."
    else:
        advice = "Correct this line."
    return failure(
        f"{source}, line {number}", f"not valid TOML: {reason}, at {shortened_line(content, number)!r}.", advice
    )


def _others(path: Path) -> str:
    """A hint with the most similar file name in the same directory."""
    if not path.parent.is_dir():
        return f"There is no directory {str(path.parent)!r} either."
    others = [other.name for other in islice(path.parent.glob(f"*{path.suffix or '.toml'}"), 1000)]
    return suggest_name(path.name, others) if others else "Check the name and the directory."


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
