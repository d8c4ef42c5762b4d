"""Writer of models in TOML, the inverse of `io.toml_reader`: every element is written, and reading it gives the same model.

No library is used: tomli-w writes a separate header for each joint and one line for each vector entry, and tomlkit requires
explicit formatting of every table and list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path

from dalembert.errors import InputError
from dalembert.io.files import write_text
from dalembert.io.toml_reader import loads_toml
from dalembert.model.description import Elements
from dalembert.model.elements import Body, Coordinate, Parameter, Shape, Speed
from dalembert.model.keys import ORIGIN, Element, Value, omit_default, vector, without_none
from dalembert.model.loads.contact_base import FORCES
from dalembert.model.values import WORLD
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.symbols import kind_of


def _head(model: Elements) -> Element:
    gravity = omit_default(vector(model.gravity, "gravity"), ORIGIN)
    head = {"name": model.name, "description": model.text or None, "gravity": gravity}
    return {**head, "published": True if model.published else None}


def _sections(model: Elements) -> Iterator[tuple[str, Element]]:
    """The tables before the elements."""
    yield "parameters", {p.name: _parameter(p) for p in model.declared_parameters if kind_of(p.name) not in FORCES}
    yield "coordinates", {c.name: _coordinate(c) for c in model.generalized_coordinates}


def _last_sections(model: Elements) -> Iterator[tuple[str, Element]]:
    """The tables after the elements."""
    yield "speeds", {u.name: _speed(u) for u in model.generalized_speeds}
    yield "energies", _energies(model)
    forces = model.non_ideal_forces.items()
    yield "non_ideal", {name: write_formula(force, f"non_ideal '{name}'") for name, force in forces}
    yield "limits", {name: without_none(vars(limits)) for name, limits in model.limits.items()}
    run = {"duration": model.duration, "samples": model.samples, "integrator": model.integrator, "step": model.step}
    yield "simulation", without_none({**run, "assemble": model.assemble_start or None})


def _parameter(parameter: Parameter) -> Value:
    about = {"unit": parameter.unit or None, "description": parameter.description or None}
    return without_none({"value": parameter.value, **about}) if any(about.values()) else parameter.value


def _coordinate(c: Coordinate) -> Value:
    start = {"start": c.start or None, "rate": c.start_rate or None}
    return without_none({**start, "unit": c.unit or None, "description": c.description or None})


def _speed(speed: Speed) -> Value:
    formula = write_formula(speed.value, f"speed '{speed.name}'")
    return {"formula": formula, "description": speed.description} if speed.description else formula


def _energies(model: Elements) -> Element:
    if model.energies is None:
        return {}
    known = model.energies
    pairs = zip(model.coordinate_names, known.forces, strict=True)
    forces = {name: write_formula(force, f"force on '{name}'") for name, force in pairs if force != 0}
    potential = omit_default(write_formula(known.potential, "potential energy"), 0)
    kinetic = write_formula(known.kinetic, "kinetic energy")
    return without_none({"kinetic": kinetic, "potential": potential, "forces": forces or None})


def _elements(model: Elements) -> Iterator[tuple[str, Element]]:
    """Every element with its kind, in a readable order."""
    for body in model.bodies:
        yield "body", _body(body)
    parameters = set(model.parameter_values)
    yield from (each.element(parameters) for each in (*model.points, *model.loops, *model.loads, *model.rotors))
    yield from _holonomic(model, parameters)
    velocities = (*model.nonholonomic_constraints, *model.canonical_constraints)
    yield from (each.element(parameters) for each in (*velocities, *model.contacts, *model.events))
    for shape in model.shapes:
        yield "shape", _shape(shape)


def _body(body: Body) -> Element:
    where = f"body '{body.name}'"
    joints = [joint.element(f"{where}, joint {i}") for i, joint in enumerate(body.joints)]
    return {
        "name": body.name,
        "description": body.description or None,
        "parent": omit_default(body.parent, WORLD),
        "joint": joints[0] if len(joints) == 1 else joints,
        "mass": omit_default(write_formula(body.mass, where), 0),
        "center": omit_default(vector(body.center, where), ORIGIN),
        "inertia": omit_default(_inertia(body, where), ORIGIN),
    }


def _inertia(body: Body, where: str) -> list[Value]:
    """Three moments, six entries, or all nine: the shortest form."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = body.inertia
    if (xy, xz, yz) != (yx, zx, zy):
        return [vector(row, where) for row in body.inertia]
    entries = [write_formula(entry, where) for entry in (xx, yy, zz, xy, xz, yz)]
    return entries if any(omit_default(entry, 0) is not None for entry in entries[3:]) else entries[:3]


def _holonomic(model: Elements, parameters: set[str]) -> Iterator[tuple[str, Element]]:
    """The formulas, then the drives, in reading order."""
    found = [(constraint, constraint.driven(model)) for constraint in model.holonomic_constraints]
    count = len(found)
    while count and found[count - 1][1] is not None:
        count -= 1
    for constraint, _ in found[:count]:
        yield constraint.element(parameters)
    for _, drive in found[count:]:
        yield "drive", drive or {}


def _shape(shape: Shape) -> Element:
    return {
        "body": shape.body,
        "kind": shape.kind,
        "size": list(shape.size),
        "position": list(shape.position) if any(shape.position) else None,
        "rotation": list(shape.rotation) if any(shape.rotation) else None,
        "color": None if shape.color is None else list(shape.color),
        "mesh": shape.mesh or None,
    }


def to_toml(model: Elements) -> str:
    """The content of a model file; `loads_toml` reads back the same model, and notes of importers become comments.

    Loads and contacts are ordered by kind. A model that cannot be stored in a file, because a formula or a name is too
    long, raises an `InputError`.

    >>> from dalembert.model.model import Model
    >>> model = Model("falling stone", gravity=(0, 0, -9.81)).coordinate("z", 10.0)
    >>> _ = model.body("stone", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    >>> print(to_toml(model))
    name = "falling stone"
    gravity = [0, 0, -9.81]
    <BLANKLINE>
    [coordinates]
    z = { start = 10.0 }
    <BLANKLINE>
    [[body]]
    name = "stone"
    joint = { type = "prismatic", axis = [0, 0, 1], displacement = "z" }
    mass = 1
    <BLANKLINE>
    [simulation]
    duration = 10.0
    samples = 501
    <BLANKLINE>
    """
    for controller in model.controllers:
        raise InputError(
            f"model '{model.name}' cannot be written as TOML: '{controller.name}' is a Python control law, and a file can "
            "contain only formulas. Write the law as a formula, or remove the load."
        )
    try:
        content = "\n".join(_blocks(model))
        loads_toml(content, "what would be written")
    except InputError as error:
        raise InputError(f"model '{model.name}' cannot be written as TOML: {error}") from error
    return content


def write_toml(model: Elements, path: str | Path) -> None:
    """Write a model to a file atomically.

    >>> import tempfile
    >>> from dalembert.model.model import Model
    >>> model = Model.from_energies("spring", coordinates=["x"], kinetic="dot(x)**2/2", potential="x**2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_toml(model, Path(folder) / "spring.toml")
    ...     loads_toml((Path(folder) / "spring.toml").read_text(encoding="utf-8")).name
    'spring'
    """
    write_text(Path(path), to_toml(model))


def _blocks(model: Elements) -> Iterator[str]:
    """The head, the tables and the elements, each as one block of lines."""
    yield "".join(f"# {line}\n" for note in model.notes for line in _comment(note)) + lines_of(_head(model))
    yield from (f"[{name}]\n{lines_of(section)}" for name, section in _sections(model) if section)
    yield from (f"[[{kind}]]\n{lines_of(element)}" for kind, element in _elements(model))
    yield from (f"[{name}]\n{lines_of(section)}" for name, section in _last_sections(model) if section)


def _comment(note: str) -> list[str]:
    """A note as lines that are safe as comments."""
    return ["".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in note.splitlines()]


def lines_of(entries: Element) -> str:
    """The entries of a table, one line for each that is not None.

    >>> print(lines_of({"name": "arm", "a": 0.4, "parent": None}), end="")
    name = "arm"
    a = 0.4
    """
    return "".join(f"{key} = {_line_value(value)}\n" for key, value in without_none(entries).items())


def _line_value(value: Value) -> str:
    """A value after the equals sign; arrays of tables or arrays span several lines."""
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], list | dict):
        return "[\n" + "".join(f"  {_value(each)},\n" for each in value) + "]"
    return _value(value)


def _value(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Mapping():
            return f"{{ {', '.join(f'{key} = {_value(each)}' for key, each in value.items())} }}" if value else "{}"
        case Sequence():
            return f"[{', '.join(map(_value, value))}]"
        case Integral():
            return repr(int(value))
        case _:
            return repr(float(value))
