"""The format of a model file as tables: which keys an element has, and what each of them may hold.

A check yields the problems of one value. Formulas are read by the model itself, so a file can say exactly what the
Python interface can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import InputError, Problem, nearest
from dalembert.model import Model

MAX_ELEMENTS = 2000
MAX_SAMPLES = 1_000_000
MAX_NAME = 100

Check = Callable[[Any, str, Model], Iterator[Problem]]


@dataclass(frozen=True)
class Key:
    """One key of an element: what it may hold, and whether it has to be there."""

    check: Check
    required: bool = False


Keys = Mapping[str, Key]


def table(given: Any, keys: Keys, where: str, model: Model) -> Iterator[Problem]:
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


def text(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """Text in quotation marks; control characters could play tricks on a terminal."""
    if not isinstance(value, str):
        yield wrong(where, "text in quotation marks", value)
    elif any(not c.isprintable() and c not in "\n\t" for c in value):
        yield wrong(where, "text without control characters", value)


def name(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """A name of moderate length."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        yield wrong(where, f"a name in quotation marks, of 1 to {MAX_NAME} characters", value)


def whole(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """A whole number from 0 to the largest number of samples."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SAMPLES:
        yield wrong(where, f"a whole number from 0 to {MAX_SAMPLES}", value)


def switch(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """true or false."""
    if not isinstance(value, bool):
        yield wrong(where, "true or false", value)


def formula(*, rates: bool = True, constant: bool = False) -> Check:
    """A number or a formula in quotation marks."""

    def check(value: Any, where: str, model: Model) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield wrong(where, "a number or a formula in quotation marks", value)
            return
        yield from attempt(where, lambda: model.formula(value, where, rates=rates, constant=constant))

    return check


def array(count: int, each: Check, what: str) -> Check:
    """An array with `count` entries."""

    def check(value: Any, where: str, model: Model) -> Iterator[Problem]:
        if not isinstance(value, list) or len(value) != count:
            yield wrong(where, f"an array of {count} {what}", value)
            return
        for i, entry in enumerate(value):
            yield from each(entry, f"{where}[{i}]", model)

    return check


def number(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """A number, no formula."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield wrong(where, "a number", value)
    else:
        yield from constant(value, where, model)


constant = formula(constant=True)
position = formula(rates=False)
moving = formula()
direction = array(3, number, "numbers")
fixed_vector = array(3, constant, "numbers or formulas")
moving_vector = array(3, moving, "numbers or formulas")


def inertia(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """Three principal moments, six entries, or a 3×3 matrix."""
    if isinstance(value, list) and len(value) == 3 and all(isinstance(row, list) for row in value):
        for i, row in enumerate(value):
            yield from fixed_vector(row, f"{where}[{i}]", model)
    elif isinstance(value, list) and len(value) in (3, 6):
        yield from array(len(value), constant, "numbers or formulas")(value, where, model)
    else:
        yield wrong(where, "3 moments, 6 entries (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or 3 rows of 3", value)


_PLACE = {"position": Key(fixed_vector), "rotation": Key(fixed_vector)}
_AXIS = {"axis": Key(direction, required=True)}
JOINTS: dict[str, Keys] = {
    "fixed": {"type": Key(text), **_PLACE},
    "revolute": {"type": Key(text), **_AXIS, "angle": Key(position, required=True), **_PLACE},
    "prismatic": {"type": Key(text), **_AXIS, "displacement": Key(position, required=True), **_PLACE},
}


def joint(given: Any, where: str, model: Model) -> Iterator[Problem]:
    """A table with a known type, and what that type needs."""
    if not isinstance(given, dict):
        yield wrong(where, f"a table with a type ({', '.join(JOINTS)})", given)
        return
    kind = given.get("type")
    if kind is None:
        yield Problem(where, "the key 'type' is missing.", f"Give one of {', '.join(JOINTS)}.")
    elif not isinstance(kind, str):
        yield wrong(f"{where}, type", f"one of {', '.join(JOINTS)}", kind)
    elif kind not in JOINTS:
        yield Problem(where, f"there is no joint of type {quote(kind)}.", nearest(kind[:MAX_NAME], JOINTS))
    else:
        sound = True
        for problem in table(given, JOINTS[kind], f"{where} ({kind})", model):
            sound = False
            yield problem
        if sound:
            yield from attempt(f"{where} ({kind})", lambda: make_joint(given, where, model))


def joints(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """One joint, or a sequence of them."""
    if isinstance(value, list):
        if not 1 <= len(value) <= MAX_ELEMENTS:
            yield wrong(where, f"1 to {MAX_ELEMENTS} joints", value)
            return
        for i, each in enumerate(value):
            yield from joint(each, f"{where} {i}", model)
    else:
        yield from joint(value, where, model)


def make_joint(given: dict[str, Any], where: str, model: Model) -> Any:
    """The joint that a sound table describes."""
    make = {"fixed": model.fixed, "revolute": model.revolute, "prismatic": model.prismatic}[given["type"]]
    return make(**{key: value for key, value in given.items() if key != "type"}, where=where)


_NAMED = {"name": Key(name)}
_BODY = {"body": Key(name, required=True)}
_BODIES = {"bodies": Key(array(2, name, "names of bodies"), required=True)}
_POINTS = {"points": Key(array(2, fixed_vector, "points"))}
_FORMULA = {"formula": Key(moving, required=True), "description": Key(text)}

PARAMETER: Keys = {"value": Key(constant, required=True), "unit": Key(text), "description": Key(text)}
COORDINATE: Keys = {"start": Key(constant), "rate": Key(constant), "unit": Key(text), "description": Key(text)}
SPEED: Keys = _FORMULA
BODY: Keys = {
    "name": Key(name, required=True),
    "description": Key(text),
    "parent": Key(name),
    "mass": Key(constant),
    "center": Key(fixed_vector),
    "inertia": Key(inertia),
    "joint": Key(joints, required=True),
}
# the elements a model can have any number of, in the order in which they are read
ELEMENTS: dict[str, Keys] = {
    "body": BODY,
    "force": {**_NAMED, **_BODY, "force": Key(moving_vector, True), "point": Key(fixed_vector), "frame": Key(name)},
    "torque": {**_NAMED, **_BODY, "torque": Key(moving_vector, True), "frame": Key(name), "reaction": Key(name)},
    "joint_torque": {**_NAMED, **_BODY, "value": Key(moving, True), "joint": Key(whole)},
    "spring": {**_NAMED, **_BODIES, **_POINTS, "stiffness": Key(constant, True), "natural_length": Key(constant)},
    "damper": {**_NAMED, **_BODIES, **_POINTS, "damping": Key(constant, True)},
    "holonomic": {
        **_NAMED,
        "formula": Key(position, True),
        "description": Key(text),
        "feedback": Key(array(2, constant, "gains (alpha, beta)")),
    },
    "nonholonomic": {**_NAMED, **_FORMULA, "feedback": Key(constant)},
    "knife_edge": {**_NAMED, **_BODY, "direction": Key(direction, True), "point": Key(fixed_vector)},
    "rolling_disk": {
        **_NAMED,
        **_BODY,
        "radius": Key(constant, True),
        "axis": Key(direction),
        "center": Key(fixed_vector),
        "normal": Key(direction),
        "contact": Key(switch),
    },
}
SIMULATION: Keys = {
    "duration": Key(constant),
    "samples": Key(whole),
    "integrator": Key(name),
    "step": Key(constant),
}


def forces(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """A table from coordinates to formulas."""
    yield from table(value, {name: Key(moving) for name in model.coordinate_names}, where, model)


ENERGIES: Keys = {"kinetic": Key(moving, True), "potential": Key(position), "forces": Key(forces)}
GRAVITY: Check = fixed_vector
TABLES = ("parameters", "coordinates", "speeds", "energies", "non_ideal", "simulation")
SECTIONS = ("name", "description", "gravity", *TABLES, *ELEMENTS)


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
