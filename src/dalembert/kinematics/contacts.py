"""Contacts become constraints: the formulas of blades and rolling discs, read off the motion of their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import symengine as se

from dalembert.algebra import Array, choose, vector, zeros
from dalembert.algebra.surds import Component
from dalembert.expressions import rate
from dalembert.kinematics.loops import loop_rows
from dalembert.kinematics.motion import Motion, move
from dalembert.model import WORLD, Elements
from dalembert.model.elements import Contact, Holonomic, KnifeEdge, Nonholonomic, RollingDisk
from dalembert.spatial import cross, perpendicular


def with_contacts(model: Elements) -> Elements:
    """The model with every contact, and the norm of every quaternion, written as formulas; the same where there is none."""
    norms = [
        Holonomic(f"norm of {body.name}", sum((part * part for part in joint.values[-4:]), start=se.Integer(-1)) / 2)
        for body in model.bodies
        for joint in body.joints
        if joint.quaternion
    ]
    if norms:
        model = model.replaced(holonomic_list=(*model.holonomic_list, *norms))
    if not model.contacts:
        return model
    algebra = choose("symbolic")
    names = model.coordinate_names
    q, qd = algebra.symbols(names), algebra.symbols([rate(name).name for name in names])
    parameters = list(model.parameter_values)
    (t,) = algebra.symbols(["t"])
    motion = move(model, algebra, t, q, qd, dict(zip(parameters, algebra.symbols(parameters), strict=True)))
    held, rolling = list(model.holonomic_list), list(model.nonholonomic_list)
    for contact in model.contacts:
        on_positions, on_velocities = _formulas(contact, motion)
        held += (Holonomic(name, se.sympify(phi)) for name, phi in on_positions.items())
        rolling += (Nonholonomic(name, se.sympify(psi)) for name, psi in on_velocities.items())
    return model.replaced(contacts=(), holonomic_list=tuple(held), nonholonomic_list=tuple(rolling))


@dataclass(frozen=True)
class Push:
    """What a constraint does to a body for a multiplier of one: a force at a point and a moment, in world axes."""

    body: str
    force: Array
    moment: Array
    point: Array


def pushes(declared: Elements, motion: Motion) -> dict[str, list[Push]]:
    """Constraint by constraint, where its force acts: contacts on their body, loops on the second body and back on the first."""
    out = {name: [Push(body, e, zeros(3), at)] for name, (body, e, at) in _contact_forces(declared, motion).items()}
    for row in loop_rows(motion):
        first, second = row.bodies
        both = ((second, row.force, row.moment), (first, -row.force, -row.moment))
        out[row.name] = [Push(body, force, moment, row.point) for body, force, moment in both if body != WORLD]
    return out


def _contact_forces(declared: Elements, motion: Motion) -> dict[str, tuple[str, Array, Array]]:
    """Constraint by constraint: the body it pushes, the direction of its force and the point, both in world axes."""
    out: dict[str, tuple[str, Array, Array]] = {}
    for contact in declared.contacts:
        frame = motion.frames[contact.body]
        match contact:
            case KnifeEdge():
                point, _, _ = frame.point(vector([motion.lower(x) for x in contact.point]))
                out[contact.name] = (contact.body, frame.R @ vector(contact.direction), point)
            case RollingDisk():
                center, arm, _ = _disc(contact, motion)
                first, second = _along_plane(contact.normal)
                if contact.contact:
                    out[f"{contact.name}, contact"] = (contact.body, vector(contact.normal), center + arm)
                for i, e in ((1, first), (2, second)):
                    out[f"{contact.name}, slip {i}"] = (contact.body, e, center + arm)
    return out


def _formulas(contact: Contact, motion: Motion) -> tuple[dict[str, Any], dict[str, Any]]:
    match contact:
        case KnifeEdge():
            return {}, {contact.name: _sideways(contact, motion)}
        case RollingDisk():
            return _rolling(contact, motion)


def _sideways(blade: KnifeEdge, motion: Motion) -> Any:
    """The velocity of the blade's point along its sideways direction."""
    frame = motion.frames[blade.body]
    _, J, c = frame.point(vector([motion.lower(x) for x in blade.point]))
    return (frame.R @ vector(blade.direction)) @ (J @ motion.qd + c)


def _rolling(disc: RollingDisk, motion: Motion) -> tuple[dict[str, Any], dict[str, Any]]:
    """The height of the lowest point, and the velocity of the matter in it along the plane."""
    frame, n = motion.frames[disc.body], vector(disc.normal)
    p, J, c = frame.point(vector([motion.lower(x) for x in disc.center]))
    _, arm, length = _disc(disc, motion)
    spin = frame.R @ (frame.D @ motion.qd + frame.E)
    velocity = J @ motion.qd + c + np.cross(spin, arm)
    first, second = _along_plane(disc.normal)
    held = {f"{disc.name}, contact": n @ p - motion.lower(disc.radius) * length} if disc.contact else {}
    return held, {f"{disc.name}, slip {i}": e @ velocity for i, e in ((1, first), (2, second))}


def _disc(disc: RollingDisk, motion: Motion) -> tuple[Array, Array, Any]:
    """The centre of a disc, the way from it to the contact, and the sine of the angle between axis and normal."""
    frame, algebra = motion.frames[disc.body], motion.algebra
    n, axis = vector(disc.normal), frame.R @ vector(disc.axis)
    center, _, _ = frame.point(vector([motion.lower(x) for x in disc.center]))
    uphill = n - (n @ axis) * axis  # in the plane of the disc, away from the ground
    length = algebra.sqrt(1 - (n @ axis) * (n @ axis))
    return center, -motion.lower(disc.radius) / length * uphill, length


def _along_plane(normal: Sequence[Component]) -> tuple[Array, Array]:
    """Two unit vectors along the plane."""
    first = perpendicular(normal)
    return vector(list(first)), cross(vector(list(normal)), vector(list(first)))
