"""What the keys of a model file may hold. Each element states its own keys with these checks.

A check yields the problems of one value. Formulas are read by the model itself, so a file can say exactly what the
Python interface can. Kept by hand: no library for schemas reads formulas or knows the nearest name to a mistyped one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from dalembert.errors import InputError, Problem, nearest
from dalembert.expressions import parse
from dalembert.model.making import Maker

MAX_ELEMENTS = 2000
MAX_FILE_ROWS = 100_000  # of a table; the size of a file is the narrower bound
MAX_SAMPLES = 1_000_000
MAX_NAME = 100

Check = Callable[[Any, str, Maker], Iterator[Problem]]


@dataclass(frozen=True)
class Key:
    """One key of an element: what it may hold, and whether it has to be there.

    The keys of a joint's motions (`motion`) may be left out where it closes a loop, and some have no place there (`loop`).
    """

    check: Check
    required: bool = False
    motion: bool = False
    loop: bool = True


Keys = Mapping[str, Key]


def table(given: Any, keys: Keys, where: str, model: Maker) -> Iterator[Problem]:
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


def text(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """Text in quotation marks; control characters could play tricks on a terminal."""
    if not isinstance(value, str):
        yield wrong(where, "text in quotation marks", value)
    elif any(not c.isprintable() and c not in "\n\t" for c in value):
        yield wrong(where, "text without control characters", value)


def name(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A name of moderate length."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        yield wrong(where, f"a name in quotation marks, of 1 to {MAX_NAME} characters", value)


def whole(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A whole number from 0 to the largest number of samples."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SAMPLES:
        yield wrong(where, f"a whole number from 0 to {MAX_SAMPLES}", value)


def switch(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """true or false."""
    if not isinstance(value, bool):
        yield wrong(where, "true or false", value)


def formula(*, rates: bool = True, constant: bool = False) -> Check:
    """A number or a formula in quotation marks."""

    def check(value: Any, where: str, model: Maker) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield wrong(where, "a number or a formula in quotation marks", value)
            return
        if isinstance(value, float) and isfinite(value):
            return
        yield from attempt(where, lambda: model.formula(value, where, rates=rates, constant=constant))

    return check


def canonical(value: Any, where: str, model: Maker) -> Iterator[Problem]:
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

    def check(value: Any, where: str, model: Maker) -> Iterator[Problem]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            yield wrong(where, expected, value)
            return
        for i, entry in enumerate(value):
            yield from each(entry, f"{where}[{i}]", model)

    return check


def number(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A number, no formula."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield wrong(where, "a number", value)
    else:
        yield from constant(value, where, model)


def many(each: Check, what: str, most: int = MAX_ELEMENTS) -> Check:
    """An array of any moderate length."""
    return _entries(each, 1, most, f"an array of 1 to {most} {what}")


def of_time(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A number, or a formula of parameters and the time."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        yield wrong(where, "a number or a formula of the time t in quotation marks", value)
        return
    known = model.parameter_values
    yield from attempt(where, lambda: parse(value, coordinates=(), parameters=known, where=where, rates=False))


constant = formula(constant=True)
position = formula(rates=False)
moving = formula()
direction = array(3, number, "numbers")
fixed_vector = array(3, constant, "numbers or formulas")
moving_vector = array(3, moving, "numbers or formulas")


def limit(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """The largest magnitude, or the lowest and the highest value."""
    if isinstance(value, list):
        yield from array(2, constant, "numbers or formulas (lowest, highest)")(value, where, model)
    else:
        yield from constant(value, where, model)


def inertia(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """Three principal moments, six entries, or a 3×3 matrix."""
    if isinstance(value, list) and len(value) == 3 and all(isinstance(row, list) for row in value):
        for i, row in enumerate(value):
            yield from fixed_vector(row, f"{where}[{i}]", model)
    elif isinstance(value, list) and len(value) in (3, 6):
        yield from array(len(value), constant, "numbers or formulas")(value, where, model)
    else:
        yield wrong(where, "3 moments, 6 entries (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or 3 rows of 3", value)


PLACE: Keys = {"position": Key(fixed_vector), "rotation": Key(fixed_vector)}
NAMED: Keys = {"name": Key(name)}
BODY: Keys = {"body": Key(name, required=True)}
BODIES: Keys = {"bodies": Key(array(2, name, "names of bodies"), required=True)}
POINTS: Keys = {"points": Key(array(2, fixed_vector, "points"))}
IN_JOINT: Keys = {**NAMED, **BODY, "joint": Key(whole), "motion": Key(whole)}
AXIS: Keys = {"axis": Key(direction, required=True)}
ANGLE: Keys = {"angle": Key(position, required=True, motion=True)}
DISPLACEMENT: Keys = {"displacement": Key(position, required=True, motion=True)}


def attempt(where: str, work: Callable[[], Any]) -> Iterator[Problem]:
    """The problem that `work` raises as an error, if it does; what the message says of the place is not said twice."""
    try:
        work()
    except InputError as error:
        message = str(error)
        fact = message.removeprefix(where).lstrip(",: ") if message.startswith(where) else message
        yield Problem(where, fact)


def wrong(where: str, expected: str, got: Any) -> Problem:
    """The problem of a value that is not what the key needs."""
    return Problem(where, f"got {_described(got)}.", f"Expected {expected}.")


def quote(text: str) -> str:
    """The text in quotation marks, shortened and printable."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _described(value: Any) -> str:
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
