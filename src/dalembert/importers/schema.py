"""The format of a model file as tables: which keys an element has, and what each of them may hold.

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
from dalembert.model import Model

MAX_ELEMENTS = 2000
MAX_ROWS = 100_000  # of a table; the size of a file is the narrower bound
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
        if isinstance(value, float) and isfinite(value):
            return
        yield from attempt(where, lambda: model.formula(value, where, rates=rates, constant=constant))

    return check


def canonical(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """A formula of coordinates, time and momenta p(x)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        yield wrong(where, "a formula in quotation marks", value)
        return
    yield from attempt(where, lambda: model.formula(value, where, momenta=True))


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


def many(each: Check, what: str, most: int = MAX_ELEMENTS) -> Check:
    """An array of any moderate length."""

    def check(value: Any, where: str, model: Model) -> Iterator[Problem]:
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            yield wrong(where, f"an array of 1 to {most} {what}", value)
            return
        for i, entry in enumerate(value):
            yield from each(entry, f"{where}[{i}]", model)

    return check


def of_time(value: Any, where: str, model: Model) -> Iterator[Problem]:
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


def limit(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """The largest magnitude, or the lowest and the highest value."""
    if isinstance(value, list):
        yield from array(2, constant, "numbers or formulas (lowest, highest)")(value, where, model)
    else:
        yield from constant(value, where, model)


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
_ANGLE = {"angle": Key(position, required=True)}
_ANGLES = {"angles": Key(array(3, position, "formulas")), "sequence": Key(name)}
_QUATERNION = {"quaternion": Key(array(4, position, "coordinates (w, x, y, z)"))}


def _displacement(count: int) -> Keys:
    return {"displacement": Key(array(count, position, "formulas"), required=True)}


JOINTS: dict[str, Keys] = {
    "fixed": {"type": Key(text), **_PLACE},
    "revolute": {"type": Key(text), **_AXIS, **_ANGLE, **_PLACE},
    "prismatic": {"type": Key(text), **_AXIS, "displacement": Key(position, required=True), **_PLACE},
    "screw": {"type": Key(text), **_AXIS, **_ANGLE, "pitch": Key(constant, required=True), **_PLACE},
    "cylindrical": {
        "type": Key(text),
        **_AXIS,
        **_ANGLE,
        "displacement": Key(position, required=True),
        **_PLACE,
    },
    "universal": {
        "type": Key(text),
        "axes": Key(array(2, direction, "directions"), required=True),
        "angles": Key(array(2, position, "formulas"), required=True),
        **_PLACE,
    },
    "planar": {"type": Key(text), "normal": Key(direction, required=True), **_displacement(2), **_ANGLE, **_PLACE},
    "spherical": {"type": Key(text), **_ANGLES, **_QUATERNION, **_PLACE},
    "free": {"type": Key(text), **_displacement(3), **_ANGLES, **_QUATERNION, **_PLACE},
}
# what a joint moves by when it closes a loop: nothing that the file has to say
FREE_MOTIONS: dict[str, dict[str, Any]] = {
    "fixed": {},
    "revolute": {"angle": 0},
    "prismatic": {"displacement": 0},
    "screw": {"angle": 0},
    "cylindrical": {"angle": 0, "displacement": 0},
    "universal": {"angles": [0, 0]},
    "planar": {"displacement": [0, 0], "angle": 0},
    "spherical": {"angles": [0, 0, 0]},
    "free": {"displacement": [0, 0, 0], "angles": [0, 0, 0]},
}
LOOP_JOINTS: dict[str, Keys] = {
    kind: {
        key: Key(about.check, about.required and key not in FREE_MOTIONS[kind])
        for key, about in keys.items()
        if key != "quaternion"
    }
    for kind, keys in JOINTS.items()
}


def joint(given: Any, where: str, model: Model) -> Iterator[Problem]:
    """A table with a known type, and what that type needs."""
    yield from _joint(given, where, model, JOINTS, make_joint)


def loop_joint(given: Any, where: str, model: Model) -> Iterator[Problem]:
    """A joint whose motions may be left out, because they are free."""
    yield from _joint(given, where, model, LOOP_JOINTS, make_loop_joint)


def _joint(
    given: Any, where: str, model: Model, kinds: Mapping[str, Keys], make: Callable[..., Any]
) -> Iterator[Problem]:
    if not isinstance(given, dict):
        yield wrong(where, f"a table with a type ({', '.join(kinds)})", given)
        return
    kind = given.get("type")
    if kind is None:
        yield Problem(where, "the key 'type' is missing.", f"Give one of {', '.join(kinds)}.")
    elif not isinstance(kind, str):
        yield wrong(f"{where}, type", f"one of {', '.join(kinds)}", kind)
    elif kind not in kinds:
        yield Problem(where, f"there is no joint of type {quote(kind)}.", nearest(kind[:MAX_NAME], kinds))
    else:
        sound = True
        for problem in table(given, kinds[kind], f"{where} ({kind})", model):
            sound = False
            yield problem
        if sound:
            yield from attempt(f"{where} ({kind})", lambda: make(given, where, model))


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
    make = {
        "fixed": model.fixed,
        "revolute": model.revolute,
        "prismatic": model.prismatic,
        "screw": model.screw,
        "cylindrical": model.cylindrical,
        "universal": model.universal,
        "planar": model.planar,
        "spherical": model.spherical,
        "free": model.free,
    }[given["type"]]
    return make(**{key: value for key, value in given.items() if key != "type"}, where=where)


def make_loop_joint(given: dict[str, Any], where: str, model: Model) -> Any:
    """The joint that a sound table describes, its motions 0 where they are left out."""
    return make_joint({**FREE_MOTIONS[given["type"]], **given}, where, model)


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
_IN_JOINT = {**_NAMED, **_BODY, "joint": Key(whole), "motion": Key(whole)}
_GAINS = {"feedback": Key(array(2, constant, "gains (alpha, beta)"))}
# the elements a model can have any number of, in the order in which they are read
ELEMENTS: dict[str, Keys] = {
    "body": BODY,
    "loop": {
        "name": Key(name, required=True),
        "description": Key(text),
        **_BODIES,
        "joint": Key(loop_joint, required=True),
        **_PLACE,
        **_GAINS,
    },
    "force": {**_NAMED, **_BODY, "force": Key(moving_vector, True), "point": Key(fixed_vector), "frame": Key(name)},
    "torque": {**_NAMED, **_BODY, "torque": Key(moving_vector, True), "frame": Key(name), "reaction": Key(name)},
    "wrench_table": {
        **_NAMED,
        **_BODY,
        "times": Key(many(constant, "times", MAX_ROWS), True),
        "force": Key(many(fixed_vector, "rows of three", MAX_ROWS)),
        "torque": Key(many(fixed_vector, "rows of three", MAX_ROWS)),
        "point": Key(fixed_vector),
        "frame": Key(name),
    },
    "torque_table": {
        **_IN_JOINT,
        "times": Key(many(constant, "times", MAX_ROWS), True),
        "values": Key(many(constant, "values", MAX_ROWS), True),
    },
    "joint_torque": {**_IN_JOINT, "value": Key(moving, True)},
    "actuator": {**_IN_JOINT, "effort": Key(moving, True), "limit": Key(limit)},
    "joint_spring": {**_IN_JOINT, "stiffness": Key(constant), "rest": Key(constant), "damping": Key(constant)},
    "joint_friction": {**_IN_JOINT, "viscous": Key(constant), "coulomb": Key(constant), "smoothing": Key(constant)},
    "spring": {**_NAMED, **_BODIES, **_POINTS, "stiffness": Key(constant, True), "natural_length": Key(constant)},
    "damper": {**_NAMED, **_BODIES, **_POINTS, "damping": Key(constant, True)},
    "rotor": {**_IN_JOINT, "inertia": Key(constant, True), "ratio": Key(constant)},
    "holonomic": {**_NAMED, "formula": Key(position, True), "description": Key(text), **_GAINS},
    "drive": {**_NAMED, "coordinate": Key(name, True), "motion": Key(of_time, True)},
    "nonholonomic": {**_NAMED, **_FORMULA, "feedback": Key(constant)},
    "canonical": {**_NAMED, "formula": Key(canonical, True), "description": Key(text)},
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
    "shape": {
        **_BODY,
        "kind": Key(name, True),
        "size": Key(many(constant, "sizes"), True),
        "position": Key(fixed_vector),
        "rotation": Key(fixed_vector),
        "color": Key(array(4, constant, "numbers (red, green, blue, alpha)")),
        "mesh": Key(text),
    },
}
LIMITS: Keys = {"lower": Key(constant), "upper": Key(constant), "velocity": Key(constant), "effort": Key(constant)}
SIMULATION: Keys = {
    "duration": Key(constant),
    "samples": Key(whole),
    "integrator": Key(name),
    "step": Key(constant),
    "assemble": Key(switch),
}


def forces(value: Any, where: str, model: Model) -> Iterator[Problem]:
    """A table from coordinates to formulas."""
    yield from table(value, {name: Key(moving) for name in model.coordinate_names}, where, model)


ENERGIES: Keys = {"kinetic": Key(moving, True), "potential": Key(position), "forces": Key(forces)}
GRAVITY: Check = fixed_vector
TABLES = ("parameters", "coordinates", "speeds", "energies", "non_ideal", "limits", "simulation")
SECTIONS = ("name", "description", "gravity", "published", *TABLES, *ELEMENTS)


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
