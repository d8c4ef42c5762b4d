"""The format of a model file as tables: which keys an element has. Joints, loads, constraints and contacts state their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dalembert.errors import Problem, nearest
from dalembert.io.toml_source import Table
from dalembert.model import attitude, constraints, contacts, joints, keys, loads
from dalembert.model.body_points import Point
from dalembert.model.description import Elements
from dalembert.model.elements import Rotor
from dalembert.model.events import Event
from dalembert.model.joints.base import Joint
from dalembert.model.keys import Key, Keys, quote, wrong
from dalembert.model.solids import solids_in_file


def joint_keys() -> dict[str, Keys]:
    """What joints of bodies are written with, by their types."""
    found = (form for kind in joints.JOINTS for form in kind.forms().items())
    return {kind: {"type": _TEXT, **own} for kind, own in found}


def loop_joint_keys() -> dict[str, Keys]:
    """What joints of loops are written with: their motions are free and need not be said."""
    return {
        kind: {key: Key(about.check, about.required and not about.motion) for key, about in own.items() if about.loop}
        for kind, own in joint_keys().items()
    }


def joint(given: object, where: str, model: Elements, *, loop: bool = False) -> Iterator[Problem]:
    """A table with a known type, and what that type needs."""
    kinds = loop_joint_keys() if loop else joint_keys()
    if not isinstance(given, dict):
        yield wrong(where, f"a table with a type ({', '.join(kinds)})", given)
        return
    kind = given.get("type")
    if kind is None:
        yield Problem(where, "the key 'type' is missing.", f"Give one of {', '.join(kinds)}.")
    elif not isinstance(kind, str):
        yield wrong(f"{where}, type", f"one of {', '.join(kinds)}", kind)
    elif kind not in kinds:
        yield Problem(where, f"there is no joint of type {quote(kind)}.", nearest(kind[: keys.MAX_NAME], kinds))
    else:
        found = [*keys.table(given, kinds[kind], f"{where} ({kind})", model)]
        yield from found or keys.attempt(f"{where} ({kind})", lambda: make_joint(given, where, model, loop=loop))


def body_joints(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """One joint, or a sequence of them."""
    if not isinstance(value, list):
        yield from joint(value, where, model)
    elif not 1 <= len(value) <= keys.MAX_ELEMENTS:
        yield wrong(where, f"1 to {keys.MAX_ELEMENTS} joints", value)
    else:
        for i, each in enumerate(value):
            yield from joint(each, f"{where} {i}", model)


def make_joint(given: Table, where: str, model: Elements, *, loop: bool = False) -> Joint:
    """The joint that a sound table describes; in a loop its motions are free where they are left out."""
    values = {key: value for key, value in given.items() if key != "type"}
    made: Joint = getattr(model, given["type"])(**values, where=where)
    if not loop:
        made.require_motions(where)
    return made


_TEXT, _NAME, _CONSTANT = Key(keys.text), Key(keys.name), Key(keys.constant)
_REQUIRED_NAME = Key(keys.name, required=True)

PARAMETER: Keys = {"value": Key(keys.constant, required=True), "unit": _TEXT, "description": _TEXT}
COORDINATE: Keys = {"start": _CONSTANT, "rate": _CONSTANT, "unit": _TEXT, "description": _TEXT}
SPEED: Keys = {"formula": Key(keys.moving, required=True), "description": _TEXT}
LIMITS: Keys = dict.fromkeys(("lower", "upper", "velocity", "effort"), _CONSTANT)
SIMULATION: Keys = {
    "duration": _CONSTANT,
    "samples": Key(keys.whole),
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
        "inertia_axes": Key(attitude.turn),
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
        **attitude.PLACE,
        "color": Key(keys.array(4, keys.constant, "numbers (red, green, blue, alpha)")),
        "mesh": _TEXT,
    },
}


def elements() -> dict[str, Keys]:
    """The elements a model can have any number of, in the order in which they are read."""
    families = (*loads.LOADS, Rotor, *constraints.CONSTRAINTS, *contacts.CONTACTS)
    return {**_BEFORE, **{kind: own for each in families for kind, own in each.forms().items()}, **_LAST}


def forces(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """A table from coordinates to formulas."""
    yield from keys.table(value, dict.fromkeys(model.coordinate_names, Key(keys.moving)), where, model)


ENERGIES: Keys = {"kinetic": Key(keys.moving, True), "potential": Key(keys.position), "forces": Key(forces)}
TABLES = ("parameters", "coordinates", "speeds", "energies", "non_ideal", "limits", "simulation")


def sections() -> tuple[str, ...]:
    """Everything that may stand at the top level of a file."""
    return ("name", "description", "gravity", "published", *TABLES, *elements())
