"""What the keys of a model file may hold. Each element states its own keys with these kinds of values.

A kind knows what a file may hold, what a maker reads it as, and how it is written back. Formulas are read by the model itself,
so a file can say exactly what the Python interface can. Kept by hand: no library for schemas reads formulas or knows the nearest
name to a mistyped one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeVar

from dalembert.errors import InputError, Problem, nearest
from dalembert.expressions import parse
from dalembert.expressions.writing import written
from dalembert.model import file_form
from dalembert.model.file_form import ORIGIN, Element, Value, unless
from dalembert.model.making import Maker, motion, motions, pair, points, unit_vector, vector3
from dalembert.model.vectors import WORLD

MAX_ELEMENTS = 2000
MAX_FILE_ROWS = 100_000  # of a table; the size of a file is the narrower bound
MAX_SAMPLES = 1_000_000
MAX_NAME = 100

T = TypeVar("T")
Check = Callable[[object, str, Maker], Iterator[Problem]]  # yields the problems of one value in a file


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of value: its check in a file, how a maker reads it, and how it is written back; else it stays as it is.

    Of some kinds an element has one only, so that messages name the element `alone` and not the key as well.
    """

    check: Check
    read: Callable[[Maker, Any, str], object] = lambda maker, value, where: value
    write: Callable[[Any, str], Value] = lambda value, where: value
    alone: bool = False

    def __call__(self, value: object, where: str, model: Maker) -> Iterator[Problem]:
        """The problems of a value."""
        return self.check(value, where, model)


@dataclass(frozen=True)
class Key:
    """One key of an element: what it may hold, and whether it has to be there; a file leaves it out where it has the usual value.

    The keys of a joint's motions (`motion`) may be left out where it closes a loop, and some have no place there (`loop`).
    """

    check: Check
    required: bool = False
    motion: bool = False
    loop: bool = True
    usual: Value | None = None

    @property
    def kind(self) -> Kind:
        """How its values are read and written."""
        return self.check if isinstance(self.check, Kind) else Kind(self.check)


Keys = Mapping[str, Key]


def make(
    record: Callable[..., T], first: Sequence[object], keys: Keys, given: Mapping[str, object], maker: Maker, where: str
) -> T:
    """An element whose fields are `first` and what users gave, each read as its key says."""
    kinds = {key: keys[key].kind for key in given}
    paths = {key: where if kind.alone else f"{where}, {key}" for key, kind in kinds.items()}
    return record(*first, **{key: kind.read(maker, given[key], paths[key]) for key, kind in kinds.items()})


def entries(element: object, keys: Keys, where: str, **instead: Element) -> dict[str, Value | None]:
    """The fields of an element as they stand in a file, some `instead` in another form; None for what need not be said."""
    out: dict[str, Value | None] = {}
    for key, about in keys.items():
        value = getattr(element, key)
        shown = None if value is None or key in instead else unless(about.kind.write(value, where), about.usual)
        out |= instead.get(key, {key: shown})
    return out


def table(given: object, keys: Keys, where: str, model: Maker) -> Iterator[Problem]:
    """The problems of an element: keys that are unknown, missing, or hold something wrong."""
    if not isinstance(given, dict):
        yield wrong(where, f"a table with the keys {', '.join(keys)}", given)
        return
    for key, value in given.items():
        if key not in keys:
            yield Problem(where, f"there is no key {quote(key)} here.", nearest(key[:MAX_NAME], keys))
        else:
            yield from keys[key].check(value, f"{where}, {key}", model)
    for key, about in keys.items():
        if about.required and key not in given:
            yield Problem(where, f"the key '{key}' is missing.", f"Add a line {key} = ... to it.")


def text(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """Text in quotation marks; control characters could play tricks on a terminal."""
    if not isinstance(value, str):
        yield wrong(where, "text in quotation marks", value)
    elif any(not c.isprintable() and c not in "\n\t" for c in value):
        yield wrong(where, "text without control characters", value)


def name(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """A name of moderate length."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        yield wrong(where, f"a name in quotation marks, of 1 to {MAX_NAME} characters", value)


def whole(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """A whole number from 0 to the largest number of samples."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SAMPLES:
        yield wrong(where, f"a whole number from 0 to {MAX_SAMPLES}", value)


def switch(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """true or false."""
    if not isinstance(value, bool):
        yield wrong(where, "true or false", value)


def formula(*, rates: bool = True, constant: bool = False) -> Check:
    """A number or a formula in quotation marks."""

    def check(value: object, where: str, model: Maker) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield wrong(where, "a number or a formula in quotation marks", value)
            return
        if isinstance(value, float) and isfinite(value):
            return
        yield from attempt(where, lambda: model.formula(value, where, rates=rates, constant=constant))

    return check


def canonical(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """A formula of coordinates, time and momenta p(x)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        yield wrong(where, "a formula in quotation marks", value)
        return
    yield from attempt(where, lambda: model.formula(value, where, momenta=True))


def array(count: int, each: Check, what: str) -> Check:
    """An array with `count` entries."""
    return _entries(each, count, count, f"an array of {count} {what}")


def _entries(each: Check, least: int, most: int, expected: str) -> Check:
    """An array whose length lies within bounds, entry by entry."""

    def check(value: object, where: str, model: Maker) -> Iterator[Problem]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            yield wrong(where, expected, value)
            return
        for i, entry in enumerate(value):
            yield from each(entry, f"{where}[{i}]", model)

    return check


def number(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """A number, no formula."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield wrong(where, "a number", value)
    else:
        yield from constant(value, where, model)


def many(each: Check, what: str, most: int = MAX_ELEMENTS) -> Check:
    """An array of any moderate length."""
    return _entries(each, 1, most, f"an array of 1 to {most} {what}")


def of_time(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """A number, or a formula of parameters and the time."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        yield wrong(where, "a number or a formula of the time t in quotation marks", value)
        return
    known = model.parameter_values
    yield from attempt(where, lambda: parse(value, coordinates=(), parameters=known, where=where, rates=False))


def moves(count: int, what: str = "formulas") -> Kind:
    """The formulas of several motions of a joint."""
    check = array(count, position, what)
    return Kind(check, lambda maker, value, where: motions(maker, value, count, where), file_form.vector)


_each = formula(constant=True)
constant = Kind(_each, lambda maker, value, where: maker.reader.constant(value, where), written)
size = Kind(_each, lambda maker, value, where: maker.number(value, where))
position = Kind(formula(rates=False), motion, written)
moving = Kind(formula(), lambda maker, value, where: maker.reader.read(value, where), written, alone=True)
direction = Kind(
    array(3, number, "numbers"),
    lambda maker, value, where: unit_vector(value, where),
    lambda value, where: file_form.direction(value),
    alone=True,
)
fixed_vector = Kind(
    array(3, constant, "numbers or formulas"),
    lambda maker, value, where: vector3(maker.reader.constant, value, where),
    file_form.vector,
)
moving_vector = Kind(
    array(3, moving, "numbers or formulas"),
    lambda maker, value, where: vector3(maker.reader.read, value, where),
    file_form.vector,
    alone=True,
)
optional_point = Kind(
    fixed_vector.check,
    lambda maker, value, where: None if value is None else fixed_vector.read(maker, value, where),
    file_form.vector,
)
two_points = Kind(
    array(2, fixed_vector, "points"), points, lambda value, where: [file_form.vector(x, where) for x in value]
)
body = Kind(name)
two_bodies = Kind(
    array(2, name, "names of bodies"),
    lambda maker, value, where: pair(value, where),
    lambda value, where: list(value),
    alone=True,
)


def limit(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """The largest magnitude, or the lowest and the highest value."""
    if isinstance(value, list):
        yield from array(2, constant, "numbers or formulas (lowest, highest)")(value, where, model)
    else:
        yield from constant(value, where, model)


def inertia(value: object, where: str, model: Maker) -> Iterator[Problem]:
    """Three principal moments, six entries, or a 3×3 matrix."""
    if isinstance(value, list) and len(value) == 3 and all(isinstance(row, list) for row in value):
        for i, row in enumerate(value):
            yield from fixed_vector(row, f"{where}[{i}]", model)
    elif isinstance(value, list) and len(value) in (3, 6):
        yield from array(len(value), constant, "numbers or formulas")(value, where, model)
    else:
        yield wrong(where, "3 moments, 6 entries (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or 3 rows of 3", value)


NAMED: Keys = {"name": Key(name)}
PLACE: Keys = {"position": Key(fixed_vector), "rotation": Key(fixed_vector)}
BODY: Keys = {"body": Key(body, required=True)}
BODIES: Keys = {"bodies": Key(two_bodies, required=True)}
POINTS: Keys = {"points": Key(two_points, usual=[ORIGIN, ORIGIN])}
FRAME: Keys = {"frame": Key(body, usual=WORLD)}
IN_JOINT: Keys = {**NAMED, **BODY, "joint": Key(whole, usual=0), "motion": Key(whole, usual=0)}
AXIS: Keys = {"axis": Key(direction, required=True)}
ANGLE: Keys = {"angle": Key(position, required=True, motion=True)}
DISPLACEMENT: Keys = {"displacement": Key(position, required=True, motion=True)}


def attempt(where: str, work: Callable[[], object]) -> Iterator[Problem]:
    """The problem that `work` raises as an error, if it does; what the message says of the place is not said twice."""
    try:
        work()
    except InputError as error:
        message = str(error)
        fact = message.removeprefix(where).lstrip(",: ") if message.startswith(where) else message
        yield Problem(where, fact)


def wrong(where: str, expected: str, got: object) -> Problem:
    """The problem of a value that is not what the key needs."""
    return Problem(where, f"got {_described(got)}.", f"Expected {expected}.")


def quote(text: str) -> str:
    """The text in quotation marks, shortened and printable."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _described(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"the text {quote(value)}"
        case int() | float():
            shown = str(value) if isinstance(value, float) or abs(value) < 10**20 else "a whole number of many digits"
            return f"the number {shown}" if shown[0] != "a" else shown
        case list():
            return f"an array of {len(value)}"
        case dict():
            return "a table"
        case _:
            return f"a {type(value).__name__}"
