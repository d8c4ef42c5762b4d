"""The elements of a model as the tables of a model file: what stands in a file is a number, text, a list or a table.

A key that has its usual value is left out. Formulas become text that the parser reads back to the same formula.
"""

from __future__ import annotations

from collections.abc import Iterator

from dalembert.model.description import Elements
from dalembert.model.elements import Body, Coordinate, Parameter, Shape, Speed
from dalembert.model.file_form import ORIGIN, Element, Value, given, unless, vector
from dalembert.model.keys import entries
from dalembert.model.loads.unilateral import FORCES
from dalembert.model.vectors import WORLD
from dalembert.symbolic.formula_writer import written
from dalembert.symbolic.reserved_symbols import kind_of


def head(model: Elements) -> Element:
    """Name, description and gravity."""
    gravity = unless(vector(model.gravity, "gravity"), ORIGIN)
    head = {"name": model.name, "description": model.text or None, "gravity": gravity}
    return given({**head, "published": True if model.published else None})


def sections(model: Elements) -> Iterator[tuple[str, Element]]:
    """The tables that stand before the elements: parameters and coordinates."""
    yield "parameters", {p.name: _parameter(p) for p in model.parameter_list if kind_of(p.name) not in FORCES}
    yield "coordinates", {c.name: _coordinate(c) for c in model.coordinate_list}


def last_sections(model: Elements) -> Iterator[tuple[str, Element]]:
    """The tables that stand after the elements."""
    yield "speeds", {u.name: _speed(u) for u in model.speed_list}
    yield "energies", _energies(model)
    forces = model.non_ideal_forces.items()
    yield "non_ideal", {name: written(force, f"non_ideal '{name}'") for name, force in forces}
    yield "limits", {name: given(vars(limits)) for name, limits in model.limits.items()}
    yield "simulation", _simulation(model)


def _parameter(parameter: Parameter) -> Value:
    about = {"unit": parameter.unit or None, "description": parameter.description or None}
    return given({"value": parameter.value, **about}) if any(about.values()) else parameter.value


def _coordinate(c: Coordinate) -> Value:
    start = {"start": c.start or None, "rate": c.start_rate or None}
    return given({**start, "unit": c.unit or None, "description": c.description or None})


def _speed(speed: Speed) -> Value:
    text = written(speed.value, f"speed '{speed.name}'")
    return {"formula": text, "description": speed.description} if speed.description else text


def _energies(model: Elements) -> Element:
    if model.energies is None:
        return {}
    known = model.energies
    pairs = zip(model.coordinate_names, known.forces, strict=True)
    forces = {name: written(force, f"force on '{name}'") for name, force in pairs if force != 0}
    return given(
        {
            "kinetic": written(known.kinetic, "kinetic energy"),
            "potential": unless(written(known.potential, "potential energy"), 0),
            "forces": forces or None,
        }
    )


def _simulation(model: Elements) -> Element:
    return given(
        {
            "duration": model.duration,
            "samples": model.samples,
            "integrator": model.integrator,
            "step": model.step,
            "assemble": model.assemble_start or None,
        }
    )


def elements(model: Elements) -> Iterator[tuple[str, Element]]:
    """Every element with its kind, in an order in which they can be read."""
    for body in model.bodies:
        yield "body", _body(body)
    for point in model.points:
        yield point.kind, point.element()
    for loop in model.loops:
        yield "loop", loop.element()
    for load in model.loads:
        yield load.element(set(model.parameter_values))
    for rotor in model.rotors:
        yield "rotor", entries(rotor, rotor.keys, rotor.title)
    yield from _holonomic(model)
    for constraint in (*model.nonholonomic_list, *model.canonical_list):
        yield constraint.kind, constraint.element()
    for contact in model.contacts:
        yield contact.kind, contact.element()
    for event in model.events:
        yield event.kind, event.element()
    for shape in model.shapes:
        yield "shape", _shape(shape)


def _body(body: Body) -> Element:
    where = f"body '{body.name}'"
    joints = [joint.element(f"{where}, joint {i}") for i, joint in enumerate(body.joints)]
    return {
        "name": body.name,
        "description": body.description or None,
        "parent": unless(body.parent, WORLD),
        "joint": joints[0] if len(joints) == 1 else joints,
        "mass": unless(written(body.mass, where), 0),
        "center": unless(vector(body.center, where), ORIGIN),
        "inertia": unless(_inertia(body, where), ORIGIN),
    }


def _inertia(body: Body, where: str) -> list[Value]:
    """Three moments, six entries, or all nine, as few as there are."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = body.inertia
    if (xy, xz, yz) != (yx, zx, zy):
        return [vector(row, where) for row in body.inertia]
    entries = [written(entry, where) for entry in (xx, yy, zz, xy, xz, yz)]
    return entries if any(unless(entry, 0) is not None for entry in entries[3:]) else entries[:3]


def _holonomic(model: Elements) -> Iterator[tuple[str, Element]]:
    """The formulas, and at the end the drives: in this order they are read."""
    found = [(constraint, constraint.driven(model)) for constraint in model.holonomic_list]
    count = len(found)
    while count and found[count - 1][1] is not None:
        count -= 1
    for constraint, _ in found[:count]:
        yield "holonomic", constraint.element()
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
