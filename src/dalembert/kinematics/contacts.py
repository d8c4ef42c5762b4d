"""Contacts become constraints: each states its formulas, which are read off the motion of its body."""

from __future__ import annotations

from dataclasses import dataclass

import symengine as se

from dalembert.algebra import Array, choose, zeros
from dalembert.expressions import rate
from dalembert.kinematics.loops import loop_rows
from dalembert.kinematics.motion import Motion, move
from dalembert.model import WORLD, Elements
from dalembert.model.constraints import Holonomic, Nonholonomic


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
        on_positions, on_velocities = contact.formulas(motion)
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
    out = {
        name: [Push(contact.body, direction, zeros(3), at)]
        for contact in declared.contacts
        for name, (direction, at) in contact.pushes(motion).items()
    }
    for row in loop_rows(motion):
        first, second = row.bodies
        both = ((second, row.force, row.moment), (first, -row.force, -row.moment))
        out[row.name] = [Push(body, force, moment, row.point) for body, force, moment in both if body != WORLD]
    return out
