"""Default values of a new element, such that the model stays valid as far as its keys determine them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any

from dalembert.io import toml_reader
from dalembert.model.keys import Key
from dalembert.studio.payload import Toml
from dalembert.studio.tasks.forms import expected, form_of

Values = dict[str, Any]

EMPTY = """name = "model"
description = ""
gravity = [0, -9.81, 0]

[parameters]

[coordinates]

[simulation]
duration = 10
"""

_ROD = {"mass": 1, "center": [0.5, 0, 0], "inertia": [0.001, 0.085, 0.085]}
_PRESS = {"stiffness": 10000, "damping": 100}
# keys of which an element needs at least one, and values that do not follow from its description
_MORE: dict[str, Values] = {
    "joint_spring": {"stiffness": 1},
    "joint_friction": {"viscous": 0.1},
    "joint_stop": {"lower": -3, "upper": 3, **_PRESS},
    "joint_strut": {"pull": "-position"},
    "strut": {"pull": "length"},
    "backlash": {"play": 0.01, **_PRESS},
    "wrench_table": {"force": [[0, 0, 0], [0, 0, 0]]},
    "sphere_on_plane": {"radius": 0.1, **_PRESS},
    "sphere_on_sphere": {"radius": 0.1, "ground_radius": 0.1, **_PRESS},
    "sphere_on_box": {"radius": 0.1, **_PRESS},
    "disk_on_plane": _PRESS,
    "ellipsoid_on_plane": _PRESS,
    "tire": {"mu": 1},
    "shape": {"kind": "box", "size": [0.1, 0.1, 0.1]},
    "event": {"when": "t - 1"},
    "rolling_disk": {"axis": [0, 0, 1], "normal": [0, 1, 0], "point": [0, -0.1, 0]},
    "rolling_ball": {"point": [0, 0, -0.1]},
    "rolling_ellipsoid": {"point": [0, 0, -0.1]},
    "point_on_line": {"axis": [1, 0, 0]},
    "drive": {"motion": "1 - cos(t)"},
    "holonomic": {"formula": "{q}"},
    "nonholonomic": {"formula": "dot({q})"},
    "canonical": {"formula": "p({q})"},
}
_USUAL = {
    "an array of 3 numbers": [0, 0, 1],
    "an array of 2 directions": [[1, 0, 0], [0, 1, 0]],
    "times": [0, 1],
    "values": [0, 0],
    "radii": [1, 1],
    "an array of 2 formulas of x, y and z": ["y", "z"],
    "a formula of x, y and z in quotation marks": "z",
    "numbers or formulas": [1, -1],
}
_POSITIVE = {
    "semi_axes": [0.1, 0.1, 0.1],
    "size": [0.1, 0.1, 0.1],
    "radius": 0.1,
    "force": [0, 0, 0],
    "torque": [0, 0, 0],
}


def new_name(stem: str, taken: Collection[str]) -> str:
    """Return the first free name of the form stem1, stem2, ...

    >>> new_name("q", {"q1", "q2"})
    'q3'
    """
    return next(name for k in itertools.count(1) if (name := f"{stem}{k}") not in taken)


def names_in(data: Toml) -> set[str]:
    """Return all names that a file uses."""
    found = {name for section in data.values() if isinstance(section, dict) for name in section}
    tables = [each for section in data.values() if isinstance(section, list) for each in section]
    return found | {str(each["name"]) for each in tables if isinstance(each, dict) and "name" in each}


def joint(kind: str, old: Toml, free: Iterator[str], *, loop: bool = False) -> Values:
    """Return a joint of a type, with the values of the old joint where they apply; `free` supplies further coordinates."""
    keys = (toml_reader.loop_joint_keys() if loop else toml_reader.joint_keys())[kind]
    motions = itertools.chain(_motions(old), free)
    out: Values = {"type": kind}
    for name, key in keys.items():
        if key.motion and not loop:
            out[name] = _coordinate_names(key, motions)
        elif name in old and name != "type" and not key.motion:
            out[name] = old[name]
        elif key.required:
            out[name] = _default(name, key)
    return out


def _motions(values: Toml) -> list[str]:
    found = [values[key] for key in ("displacement", "angle", "angles") if key in values]
    flat = [each for value in found for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, str)]


def _coordinate_names(key: Key, motions: Iterator[str]) -> str | list[str]:
    several = re.match(r"an array of (\d+)", expected(key))
    return list(itertools.islice(motions, int(several.group(1)))) if several else next(motions)


def body(data: Toml, free: Iterator[str]) -> Values:
    """Return a body of the same size, connected to the last one by a revolute joint."""
    last = _last_body(data)
    out: Values = {"name": new_name("body", names_in(data))}
    if "name" in last:
        out["parent"] = last["name"]
    same = {key: last[key] for key in _ROD if key in last}
    out |= same if "mass" in same else _ROD
    out["joint"] = {"type": "revolute", "axis": _joint_of(last).get("axis", [0, 0, 1]), "angle": next(free)}
    if last:
        center = last.get("center")
        out["joint"]["position"] = [_twice(x) for x in center] if isinstance(center, list) else [1, 0, 0]
    return out


def _last_body(data: Toml) -> Toml:
    return next((each for each in reversed(data.get("body", [])) if isinstance(each, dict)), {})


def _joint_of(body: Toml) -> Toml:
    """Return the first joint of a body."""
    first = body.get("joint")
    first = first[0] if isinstance(first, list) and first else first
    return first if isinstance(first, dict) else {}


def loop(data: Toml) -> Values:
    """Return a revolute loop joint that is already closed: at the joint of the last body."""
    last = _last_body(data)
    hinge = _joint_of(last)
    joint: Values = {"type": "revolute", "axis": hinge.get("axis", [0, 0, 1])}
    bodies = [last.get("name", "world"), last.get("parent", "world")]
    return {
        "name": new_name("loop", names_in(data)),
        "bodies": bodies,
        "joint": joint,
        "position": hinge.get("position", [0, 0, 0]),
    }


def _twice(x: object) -> object:
    if isinstance(x, str):
        return f"2*({x})"
    twice = 2 * x if isinstance(x, int | float) else 0
    return int(twice) if twice == int(twice) else twice


def element(kind: str, data: Toml, free: Iterator[str]) -> Values:
    """Return the values of a new element of a kind."""
    if kind in ("body", "loop"):
        return body(data, free) if kind == "body" else loop(data)
    bodies = [each["name"] for each in data.get("body", []) if isinstance(each, dict) and "name" in each] or ["world"]
    coordinates = list(data.get("coordinates", {})) or ["q1"]
    more = _MORE.get(kind, {})
    out: Values = {}
    for name, key in toml_reader.elements()[kind].items():
        form = form_of(name, key)
        if name == "name":
            out[name] = new_name(kind, names_in(data))
        elif name in more:
            out[name] = more[name].format(q=coordinates[-1]) if isinstance(more[name], str) else more[name]
        elif not key.required:
            continue
        elif form == "body":
            out[name] = bodies[-1]
        elif form == "bodies":
            out[name] = [bodies[-1], bodies[-2] if len(bodies) > 1 else "world"]
        elif form == "coordinate":
            out[name] = coordinates[-1]
        else:
            out[name] = _default(name, key)
    return out


def _default(name: str, key: Key) -> object:
    if name in _POSITIVE:
        return _POSITIVE[name]
    about = expected(key)
    return next((value for words, value in _USUAL.items() if about == words or about.endswith(f" {words}")), 1)
