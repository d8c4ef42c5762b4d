"""The elements of a model as the tables of a model file: what stands in a file is a number, text, a list or a table.

A key that has its usual value is left out. Formulas become text that the parser reads back to the same formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dalembert.algebra.surds import Component, Surd
from dalembert.errors import InputError
from dalembert.exporters.formulas import Knots, knots, limited, written
from dalembert.expressions import TIME, coordinate
from dalembert.model import WORLD, Body, Coordinate, Elements, Parameter
from dalembert.model.declarations import unit_vector
from dalembert.model.elements import Contact, Holonomic, KnifeEdge, Loop, Nonholonomic, Shape, Speed
from dalembert.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Quaternion,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.model.loads import Damper, Force, JointFriction, JointSpring, JointTorque, Load, Spring, Torque

Element = dict[str, Any]
_ORIGIN = [0, 0, 0]


def head(model: Elements) -> Element:
    """Name, description and gravity."""
    gravity = _unless(_vector(model.gravity, "gravity"), _ORIGIN)
    head = {"name": model.name, "description": model.text or None, "gravity": gravity}
    return given({**head, "published": True if model.published else None})


def sections(model: Elements) -> Iterator[tuple[str, Element]]:
    """The tables that stand before the elements: parameters and coordinates."""
    yield "parameters", {p.name: _parameter(p) for p in model.parameter_list}
    yield "coordinates", {c.name: _coordinate(c) for c in model.coordinate_list}


def last_sections(model: Elements) -> Iterator[tuple[str, Element]]:
    """The tables that stand after the elements."""
    yield "speeds", {u.name: _speed(u) for u in model.speed_list}
    yield "energies", _energies(model)
    forces = model.non_ideal_forces.items()
    yield "non_ideal", {name: written(force, f"non_ideal '{name}'") for name, force in forces}
    yield "limits", {name: given(vars(limits)) for name, limits in model.limits.items()}
    yield "simulation", _simulation(model)


def _parameter(parameter: Parameter) -> Any:
    about = {"unit": parameter.unit or None, "description": parameter.description or None}
    return given({"value": parameter.value, **about}) if any(about.values()) else parameter.value


def _coordinate(c: Coordinate) -> Element:
    start = {"start": c.start or None, "rate": c.start_rate or None}
    return given({**start, "unit": c.unit or None, "description": c.description or None})


def _speed(speed: Speed) -> Any:
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
            "potential": _unless(written(known.potential, "potential energy"), 0),
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
    for loop in model.loops:
        yield "loop", _loop(loop)
    for load in model.loads:
        kind, element = _load(load, set(model.parameter_values))
        yield kind, {"name": load.name, **element}
    for rotor in model.rotors:
        where = f"rotor '{rotor.name}'"
        constants = {"inertia": written(rotor.inertia, where), "ratio": _unless(written(rotor.ratio, where), 1)}
        yield "rotor", {"name": rotor.name, **_in_joint(rotor), **constants}
    yield from _holonomic(model)
    for constraint in model.nonholonomic_list:
        yield "nonholonomic", _constraint(constraint, constraint.psi, "nonholonomic")
    for each in model.canonical_list:
        formula = written(each.phi, f"canonical '{each.name}'")
        yield "canonical", {"name": each.name, "formula": formula, "description": each.description or None}
    for contact in model.contacts:
        yield _contact(contact)
    for shape in model.shapes:
        yield "shape", _shape(shape)


def _body(body: Body) -> Element:
    where = f"body '{body.name}'"
    joints = [_joint(joint, f"{where}, joint {i}") for i, joint in enumerate(body.joints)]
    return {
        "name": body.name,
        "description": body.description or None,
        "parent": _unless(body.parent, WORLD),
        "joint": joints[0] if len(joints) == 1 else joints,
        "mass": _unless(written(body.mass, where), 0),
        "center": _unless(_vector(body.center, where), _ORIGIN),
        "inertia": _unless(_inertia(body, where), _ORIGIN),
    }


def _inertia(body: Body, where: str) -> list[Any]:
    """Three moments, six entries, or all nine, as few as there are."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = body.inertia
    if (xy, xz, yz) != (yx, zx, zy):
        return [_vector(row, where) for row in body.inertia]
    entries = [written(entry, where) for entry in (xx, yy, zz, xy, xz, yz)]
    return entries if any(_unless(entry, 0) is not None for entry in entries[3:]) else entries[:3]


def _joint(joint: Joint, where: str) -> Element:
    return given({"type": _kind(joint), **_motion(joint, where), **_place(joint.position, joint.rotation, where)})


def _kind(joint: Joint) -> str:
    return "spherical" if isinstance(joint, Quaternion) else joint.kind


def _motion(joint: Joint, where: str) -> Element:
    """What is peculiar to a kind of joint: its axes and the formulas of its motions."""

    def read(formula: Any) -> Any:
        return written(formula, where)

    match joint:
        case Revolute():
            return {"axis": _direction(joint.axis), "angle": read(joint.angle)}
        case Prismatic():
            return {"axis": _direction(joint.axis), "displacement": read(joint.displacement)}
        case Screw():
            return {"axis": _direction(joint.axis), "angle": read(joint.angle), "pitch": joint.pitch}
        case Cylindrical():
            moves = {"angle": read(joint.angle), "displacement": read(joint.displacement)}
            return {"axis": _direction(joint.axis), **moves}
        case Universal():
            return {"axes": [_direction(axis) for axis in joint.axes], "angles": _vector(joint.angles, where)}
        case Planar():
            moves = {"displacement": _vector(joint.displacement, where), "angle": read(joint.angle)}
            return {"normal": _direction(joint.normal), **moves}
        case Spherical():
            return {"angles": _vector(joint.angles, where), "sequence": joint.sequence}
        case Quaternion():
            return {"quaternion": _vector(joint.parts, where)}
        case Free():
            return {"displacement": _vector(joint.displacement, where), **_motion(joint.attitude, where)}
        case Fixed():
            return {}
    raise InputError(f"{where}: a {joint.kind} joint cannot be written.")


_MOTIONS = ("angle", "angles", "displacement")


def _loop(loop: Loop) -> Element:
    where = f"loop '{loop.name}'"
    joint = {key: value for key, value in _joint(loop.joint, where).items() if key not in _MOTIONS}
    return {
        "name": loop.name,
        "description": loop.description or None,
        "bodies": list(loop.bodies),
        "joint": joint,
        **_place(loop.position, loop.rotation, where),
        "feedback": _vector(loop.feedback, where) or None,
    }


def _load(load: Load, parameters: set[str]) -> tuple[str, Element]:
    where = f"load '{load.name}'"

    def constants(**defaults: Any) -> Element:
        return {key: _unless(written(getattr(load, key), where), usual) for key, usual in defaults.items()}

    match load:
        case Force():
            at = None if load.point is None else _vector(load.point, where)
            kind, force = _timed("force", load.force, where)
            return kind, {"body": load.body, **force, "point": at, "frame": _unless(load.frame, WORLD)}
        case Torque():
            # a table has no reaction
            timed = load.reaction is None
            kind, torque = (_timed if timed else _plain)("torque", load.torque, where)
            return kind, {"body": load.body, **torque, "frame": _unless(load.frame, WORLD), "reaction": load.reaction}
        case JointTorque():
            return _joint_torque(load, parameters, where)
        case JointSpring():
            return "joint_spring", {**_in_joint(load), **constants(stiffness=0, rest=0, damping=0)}
        case JointFriction():
            return "joint_friction", {**_in_joint(load), **constants(viscous=0, coulomb=0, smoothing=1e-3)}
        case Spring():
            return "spring", {**_ends(load, where), **constants(stiffness=None, natural_length=0)}
        case Damper():
            return "damper", {**_ends(load, where), **constants(damping=None)}


def _plain(kind: str, vector: Sequence[Any], where: str) -> tuple[str, Element]:
    return kind, {kind: _vector(vector, where)}


def _timed(kind: str, vector: Sequence[Any], where: str) -> tuple[str, Element]:
    """A vector that changes with time along straight lines is a table, every other one its formulas."""
    curves = [knots(formula) for formula in vector]
    times = sorted({time for curve in curves for time, _ in curve or ()})
    if not times or any(curve is None for curve in curves):
        return _plain(kind, vector, where)
    columns = [_values(curve or [], times, formula) for curve, formula in zip(curves, vector, strict=True)]
    rows = [[_short(value) for value in row] for row in zip(*columns, strict=True)]
    return "wrench_table", {"times": [_short(time) for time in times], kind: rows}


def _values(curve: Knots, times: list[float], formula: Any) -> list[float]:
    if not curve:
        return [float(formula)] * len(times)
    known = dict(curve)
    between = np.interp(times, list(known), list(known.values()))
    return [known.get(time, float(value)) for time, value in zip(times, between, strict=True)]


def _short(number: float) -> float:
    """A number of a table, which is read as a decimal in any case."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _joint_torque(load: JointTorque, parameters: set[str], where: str) -> tuple[str, Element]:
    """An effort that is cut off at constant limits is an actuator."""
    if curve := knots(load.value):
        times, values = zip(*curve, strict=True)
        rows = {"times": [_short(time) for time in times], "values": [_short(value) for value in values]}
        return "torque_table", {**_in_joint(load), **rows}
    found = limited(load.value)
    if found is None or not {symbol.name for end in found[1:] for symbol in end.free_symbols} <= parameters:
        return "joint_torque", {**_in_joint(load), "value": written(load.value, where)}
    effort, low, high = found
    limit = written(high, where) if low == -high else [written(low, where), written(high, where)]
    return "actuator", {**_in_joint(load), "effort": written(effort, where), "limit": limit}


def _in_joint(element: Any) -> Element:
    return {"body": element.body, "joint": element.joint or None, "motion": element.motion or None}


def _ends(load: Spring | Damper, where: str) -> Element:
    points = [_vector(point, where) for point in load.points]
    return {"bodies": list(load.bodies), "points": _unless(points, [_ORIGIN, _ORIGIN])}


def _holonomic(model: Elements) -> Iterator[tuple[str, Element]]:
    """The formulas, and at the end the drives: in this order they are read."""
    found = [(constraint, _driven(constraint, model)) for constraint in model.holonomic_list]
    count = len(found)
    while count and found[count - 1][1] is not None:
        count -= 1
    for constraint, _ in found[:count]:
        yield "holonomic", _constraint(constraint, constraint.phi, "holonomic")
    for _, drive in found[count:]:
        yield "drive", drive or {}


def _driven(constraint: Holonomic, model: Elements) -> Element | None:
    """The drive that made a constraint, None for a constraint that was written as a formula."""
    name = constraint.description.removeprefix("prescribed motion of ")
    if constraint.feedback or name == constraint.description or name not in model.coordinate_names:
        return None
    motion = -constraint.phi.subs({coordinate(name): 0})
    known = {TIME.name, *model.parameter_values}
    if coordinate(name) - motion != constraint.phi or not {symbol.name for symbol in motion.free_symbols} <= known:
        return None
    label = _unless(constraint.name, f"drive of {name}")
    return {"name": label, "coordinate": name, "motion": written(motion, f"drive '{constraint.name}'")}


def _constraint(constraint: Holonomic | Nonholonomic, formula: Any, kind: str) -> Element:
    where = f"{kind} '{constraint.name}'"
    gains = [written(gain, where) for gain in constraint.feedback]
    return {
        "name": constraint.name,
        "formula": written(formula, where),
        "description": constraint.description or None,
        "feedback": gains[0] if len(gains) == 1 else gains or None,
    }


def _contact(contact: Contact) -> tuple[str, Element]:
    where = f"contact '{contact.name}'"
    if isinstance(contact, KnifeEdge):
        at = _unless(_vector(contact.point, where), _ORIGIN)
        blade = {"body": contact.body, "direction": _direction(contact.direction), "point": at}
        return "knife_edge", {"name": contact.name, **blade}
    return "rolling_disk", {
        "name": contact.name,
        "body": contact.body,
        "radius": written(contact.radius, where),
        "axis": _direction(contact.axis),
        "center": _unless(_vector(contact.center, where), _ORIGIN),
        "normal": _direction(contact.normal),
        "contact": contact.contact,
    }


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


# values


def _vector(formulas: Iterable[Any], where: str) -> list[Any]:
    return [written(formula, where) for formula in formulas]


def _place(position: Iterable[Any], rotation: Iterable[Any], where: str) -> Element:
    at, turned = _vector(position, where), _vector(rotation, where)
    return {"position": _unless(at, _ORIGIN), "rotation": _unless(turned, _ORIGIN)}


def _whole_direction(axis: Sequence[Component]) -> list[float] | None:
    """Whole numbers along the axis, exactly; None where they would be too long."""
    terms = [a.terms if isinstance(a, Surd) else {1: Fraction(a)} if a else {} for a in axis]
    radicands = {r for each in terms for r in each}
    if len(radicands) != 1:
        return None
    (r,) = radicands
    parts = [each.get(r, Fraction(0)) for each in terms]
    scale = math.lcm(*(x.denominator for x in parts))
    shared = math.gcd(*(int(x * scale) for x in parts))
    whole = [int(x * scale) // shared for x in parts]
    return [*whole] if max(map(abs, whole)) < 2**63 else None


def _direction(axis: Sequence[Component]) -> list[float]:
    """A vector along the axis that becomes this unit vector when it is read, in small numbers where it can."""
    if (whole := _whole_direction(axis)) is not None:
        return whole
    near = [float(a) for a in axis]
    sizes = sorted(abs(a) for a in near if a)
    for scale in (sizes[0], 1.0, sizes[-1]):
        trial = [int(a / scale) if (a / scale).is_integer() else a / scale for a in near]
        if sizes[-1] < 1e6 * scale and [float(a) for a in unit_vector(trial, "axis")] == near:
            return trial
    return near


def _unless(value: Any, usual: Any) -> Any:
    """The value, or None if it is exactly what a file need not say."""
    return None if _same(value, usual) else value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and a == b


def given(entries: Mapping[str, Any]) -> Element:
    """The entries that say something."""
    return {key: value for key, value in entries.items() if value is not None}
