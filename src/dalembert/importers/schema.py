"""The format of a model file as tables: which keys an element has. Joints, loads, constraints and contacts state their own.

`dalembert.model.keys` holds the checks of the keys, all of which are known here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dalembert.errors import Problem, nearest
from dalembert.model import constraints, contacts, joints, loads
from dalembert.model.joints import Joint
from dalembert.model.keys import (
    BODY,
    IN_JOINT,
    MAX_ELEMENTS,
    MAX_NAME,
    PLACE,
    Check,
    Key,
    Keys,
    array,
    attempt,
    constant,
    fixed_vector,
    inertia,
    many,
    moving,
    name,
    position,
    quote,
    switch,
    table,
    text,
    whole,
    wrong,
)
from dalembert.model.making import Maker


def joint_keys() -> dict[str, Keys]:
    """What joints of bodies are written with, by their types."""
    found = ((kind.kind, kind.keys) for kind in joints.JOINTS)
    return {kind: {"type": Key(text), **keys, **PLACE} for kind, keys in found if keys is not None}


def loop_joint_keys() -> dict[str, Keys]:
    """What joints of loops are written with: their motions are free and need not be said."""
    return {
        kind: {key: Key(about.check, about.required and not about.motion) for key, about in keys.items() if about.loop}
        for kind, keys in joint_keys().items()
    }


def joint(given: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A table with a known type, and what that type needs."""
    yield from _joint(given, where, model, joint_keys(), make_joint)


def loop_joint(given: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A joint whose motions may be left out, because they are free."""
    yield from _joint(given, where, model, loop_joint_keys(), make_loop_joint)


def _joint(
    given: Any, where: str, model: Maker, kinds: Mapping[str, Keys], make: Callable[..., Any]
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


def body_joints(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """One joint, or a sequence of them."""
    if isinstance(value, list):
        if not 1 <= len(value) <= MAX_ELEMENTS:
            yield wrong(where, f"1 to {MAX_ELEMENTS} joints", value)
            return
        for i, each in enumerate(value):
            yield from joint(each, f"{where} {i}", model)
    else:
        yield from joint(value, where, model)


def make_joint(given: dict[str, Any], where: str, model: Maker) -> Joint:
    """The joint of a body that a sound table describes."""
    joint = make_loop_joint(given, where, model)
    joint.require_motions(where)
    return joint


def make_loop_joint(given: dict[str, Any], where: str, model: Maker) -> Joint:
    """The joint that a sound table describes, its motions free where they are left out."""
    values = {key: value for key, value in given.items() if key != "type"}
    return getattr(model, given["type"])(**values, where=where)


PARAMETER: Keys = {"value": Key(constant, required=True), "unit": Key(text), "description": Key(text)}
COORDINATE: Keys = {"start": Key(constant), "rate": Key(constant), "unit": Key(text), "description": Key(text)}
SPEED: Keys = {"formula": Key(moving, required=True), "description": Key(text)}
_WHOLE_BODY: Keys = {
    "name": Key(name, required=True),
    "description": Key(text),
    "parent": Key(name),
    "mass": Key(constant),
    "center": Key(fixed_vector),
    "inertia": Key(inertia),
    "joint": Key(body_joints, required=True),
}
_BEFORE: dict[str, Keys] = {
    "body": _WHOLE_BODY,
    "loop": {**constraints.Loop.forms["loop"], "joint": Key(loop_joint, required=True)},
}
_ROTOR: Keys = {**IN_JOINT, "inertia": Key(constant, True), "ratio": Key(constant)}
_LAST: dict[str, Keys] = {
    "shape": {
        **BODY,
        "kind": Key(name, True),
        "size": Key(many(constant, "sizes"), True),
        **PLACE,
        "color": Key(array(4, constant, "numbers (red, green, blue, alpha)")),
        "mesh": Key(text),
    },
}


def elements() -> dict[str, Keys]:
    """The elements a model can have any number of, in the order in which they are read."""
    pushing = {kind: keys for load in loads.LOADS for kind, keys in load.forms.items()}
    holding = {kind: keys for constraint in constraints.CONSTRAINTS for kind, keys in constraint.forms.items()}
    touching = {kind.kind: kind.keys for kind in contacts.CONTACTS}
    return {**_BEFORE, **pushing, "rotor": _ROTOR, **holding, **touching, **_LAST}


LIMITS: Keys = {"lower": Key(constant), "upper": Key(constant), "velocity": Key(constant), "effort": Key(constant)}
SIMULATION: Keys = {
    "duration": Key(constant),
    "samples": Key(whole),
    "integrator": Key(name),
    "step": Key(constant),
    "assemble": Key(switch),
}


def forces(value: Any, where: str, model: Maker) -> Iterator[Problem]:
    """A table from coordinates to formulas."""
    yield from table(value, {name: Key(moving) for name in model.coordinate_names}, where, model)


ENERGIES: Keys = {"kinetic": Key(moving, True), "potential": Key(position), "forces": Key(forces)}
GRAVITY: Check = fixed_vector
TABLES = ("parameters", "coordinates", "speeds", "energies", "non_ideal", "limits", "simulation")


def sections() -> tuple[str, ...]:
    """Everything that may stand at the top level of a file."""
    return ("name", "description", "gravity", "published", *TABLES, *elements())
