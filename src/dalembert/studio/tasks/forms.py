"""Model files as forms: the keys of every element with their expected values, and the values in a source."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from dalembert.io import toml_reader
from dalembert.model import constraints, contacts, keys, loads
from dalembert.model.contacts.base import PositionContact
from dalembert.model.keys import Key, Keys
from dalembert.model.loads.contact_base import ContactLoad
from dalembert.model.model import Model
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Payload, ReportProgress, Toml

MAX_VALUE = 2_000  # characters of one value

HEAD: Keys = {
    "name": Key(keys.name, required=True),
    "description": Key(keys.string),
    "gravity": Key(keys.fixed_vector, default_in_file=[0, 0, 0]),
}
TABLES: dict[str, Keys] = {
    "parameters": toml_reader.PARAMETER,
    "coordinates": toml_reader.COORDINATE,
    "limits": toml_reader.LIMITS,
    "speeds": toml_reader.SPEED,
    "energies": toml_reader.ENERGIES,
    "simulation": toml_reader.SIMULATION,
}
NAMED = ("parameters", "coordinates", "limits", "speeds")  # tables with an entry for each name
SHORT = {"parameters": "value", "speeds": "formula"}  # the key that an entry without a table stands for


def families() -> dict[str, list[str]]:
    """Return the kinds of elements grouped by family, as in the menu.

    >>> families()["Loops"], "spring" in families()["Loads"], "gear" in families()["Constraints"]
    (['loop'], True, True)
    """
    pushing = {kind: load for load in loads.LOADS for kind in load.forms()}
    holding = {kind.kind: kind for kind in contacts.CONTACTS}
    stated = [kind for constraint in constraints.CONSTRAINTS for kind in constraint.forms()]
    return {
        "Bodies": ["body"],
        "Loops": ["loop"],
        "Loads": [kind for kind, load in pushing.items() if not issubclass(load, ContactLoad)],
        "Contacts": [
            *(kind for kind, load in pushing.items() if issubclass(load, ContactLoad)),
            *(kind for kind, contact in holding.items() if not issubclass(contact, PositionContact)),
        ],
        "Constraints": [*(kind for kind, contact in holding.items() if issubclass(contact, PositionContact)), *stated],
        "Others": ["rotor", "point", "event", "shape"],
    }


def expected(key: Key) -> str:
    """Return the expected value of a key, from the message of its check.

    >>> expected(toml_reader.elements()["body"]["center"])
    'an array of 3 numbers or formulas'
    """
    problem = next(iter(key.check(object(), "", Model("probe"))), None)
    return "" if problem is None else problem.advice.removeprefix("Expected ").removesuffix(".")


def form_of(name: str, key: Key) -> str:
    """Return the form field of a key: body, bodies, coordinate, switch, choice, text, joint, table or value."""
    about = expected(key)
    if name == "parent" or key.check is keys.body_name:
        return "body"
    if name == "joint" and "type" in about:
        return "joint"
    for words, form in _FORMS.items():
        if words in about:
            return "coordinate" if form == "text" and name == "coordinate" else form
    return "choice" if about.startswith("'") else "value"


_FORMS = {"names of bodies": "bodies", "true or false": "switch", "a table": "table"} | dict.fromkeys(
    ("a name in quotation", "a string in quotation"), "text"
)


def _about(of: Keys) -> dict[str, Answer]:
    out = {}
    for name, key in of.items():
        about, form = expected(key), form_of(name, key)
        out[name] = {"expects": about, "required": key.required, "form": form}
        if form == "choice":
            out[name]["options"] = re.findall(r"'([^']*)'", about)
        if key.default_in_file not in (None, "", [], {}):
            out[name]["default"] = form_value(key.default_in_file)
    return out


@cache
def _format() -> Answer:
    return {
        "sections": list(toml_reader.sections()),
        "families": families(),
        "head": _about(HEAD),
        "tables": {name: _about(of) for name, of in TABLES.items()},
        "named": list(NAMED),
        "short": SHORT,
        "elements": {kind: _about(of) for kind, of in toml_reader.elements().items()},
        "joints": {kind: _about(of) for kind, of in toml_reader.joint_keys().items()},
        "loop_joints": {kind: _about(of) for kind, of in toml_reader.loop_joint_keys().items()},
    }


def file_format(payload: Payload, folder: Folder, progress: ReportProgress) -> Answer:
    """Return the keys of all elements, for forms and for completion."""
    return _format()


# the values in a source


def outline(text: str) -> Answer | None:
    """Return the values of a source as displayed in forms: top-level keys, tables and elements; None if it is not valid TOML.

    >>> found = outline('name = "arm"\\nparameters.m = 2\\n[[body]]\\nname = "rod"\\ncenter = ["m/2", 0, 0]')
    >>> found["tables"]["parameters"], found["elements"][0]["values"]["center"]
    ({'m': {'value': '2'}}, 'm/2, 0, 0')
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
    known = toml_reader.elements()
    return {
        "head": {key: form_value(data[key]) for key in HEAD if key in data},
        "tables": {name: _table(name, data[name]) for name in TABLES if isinstance(data.get(name), dict)},
        "elements": [
            {"kind": kind, "index": i, "values": _values(each)}
            for kind in sorted(data, key=lambda kind: list(known).index(kind) if kind in known else 0)
            if kind in known and isinstance(data[kind], list)
            for i, each in enumerate(data[kind])
        ],
        "convention": data["convention"] if isinstance(data.get("convention"), str) else "",
        "bodies": _names(data),
    }


def _table(name: str, entries: Toml) -> Answer:
    if name not in NAMED:
        return _values(entries)
    return {
        key: _values(entry) if isinstance(entry, dict) else {SHORT.get(name, ""): form_value(entry)}
        for key, entry in entries.items()
    }


def _values(element: object) -> Answer:
    """Return the keys of an element; a joint, or a sequence of joints, as nested tables."""
    if not isinstance(element, dict):
        return {}
    out: Answer = {}
    for key, value in element.items():
        several = value if isinstance(value, list) else [value]
        if key == "joint" and several and all(isinstance(each, dict) for each in several):
            out[key] = [_values(each) for each in several]
        else:
            out[key] = form_value(value)
    return out


def _names(data: Toml) -> list[str]:
    found = [each for kind in ("body", "link") for each in data.get(kind, []) if isinstance(data.get(kind), list)]
    return [each["name"] for each in found if isinstance(each, dict) and isinstance(each.get("name"), str)]


def form_value(value: object, inner: bool = False) -> str:
    """Return a value as displayed in a form: formulas without quotation marks, an array as its entries.

    >>> form_value(["a/2", 0, 0.5]), form_value([[0, 0, 1], ["l", 0, 0]]), form_value(True)
    ('a/2, 0, 0.5', '[0, 0, 1], [l, 0, 0]', 'true')
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"' if inner and re.search(r"[,\[\]{}\"]", value) and not _closed(value) else value
        case list():
            text = ", ".join(form_value(each, True) for each in value)
            return f"[{text}]" if inner or len(value) == 1 else text[:MAX_VALUE]
        case dict():
            return "{ " + ", ".join(f"{key} = {toml_value(each)}" for key, each in value.items()) + " }"
        case _:
            return str(value)


def _closed(text: str) -> bool:
    """Return True if all commas of a string are within parentheses."""
    return len(split(text)) == 1 and not re.search(r"[\[\]{}\"]", text)


def toml_value(value: object) -> str:
    """Return a value in TOML syntax, on one line.

    >>> toml_value({"axis": [0, 0, 1], "angle": "q1"})
    '{ axis = [0, 0, 1], angle = "q1" }'
    """
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return "[" + ", ".join(toml_value(each) for each in value) + "]"
        case _:
            return form_value(value)


def split(text: str) -> list[str]:
    """Split a string at commas outside of brackets.

    >>> split("atan2(x, y), [1, 2], 3")
    ['atan2(x, y)', '[1, 2]', '3']
    """
    depth, quoted, begin, out = 0, "", 0, []
    for i, c in enumerate(text):
        if quoted:
            quoted = "" if c == quoted else quoted
        elif c in "\"'":
            quoted = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[begin:i].strip())
            begin = i + 1
    return [*out, text[begin:].strip()]


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
