"""Contacts become constraints: each states its formulas, which are read off the motion of its bodies."""

from __future__ import annotations

import symengine as se

from dalembert.mechanics.loop_closure import loop_rows
from dalembert.mechanics.motion import Motion, move
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.contacts.base import Push, pushed
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import choose
from dalembert.symbolic.reserved_symbols import rate


def with_contacts(model: Elements) -> Elements:
    """The model with every contact, and the norm of every quaternion, written as formulas; the same where there is none."""
    norms = [
        Holonomic(f"norm of {body.name}", sum((part * part for part in joint.values[-4:]), start=se.Integer(-1)) / 2)
        for body in model.bodies
        for joint in body.joints
        if joint.quaternion
    ]
    if norms:
        model = model.replaced(holonomic_constraints=(*model.holonomic_constraints, *norms))
    if not model.contacts:
        return model
    algebra = choose("symbolic")
    names = model.coordinate_names
    q, qd = algebra.symbols(names), algebra.symbols([rate(name).name for name in names])
    parameters = list(model.parameter_values)
    (t,) = algebra.symbols(["t"])
    motion = move(model, algebra, t, q, qd, dict(zip(parameters, algebra.symbols(parameters), strict=True)))
    held, rolling = list(model.holonomic_constraints), list(model.nonholonomic_constraints)
    for contact in model.contacts:
        on_positions, on_velocities = contact.formulas(motion)
        held += (Holonomic(name, se.sympify(phi)) for name, phi in on_positions.items())
        rolling += (Nonholonomic(name, se.sympify(psi)) for name, psi in on_velocities.items())
    return model.replaced(contacts=(), holonomic_constraints=tuple(held), nonholonomic_constraints=tuple(rolling))


def pushes(declared: Elements, motion: Motion) -> dict[str, list[Push]]:
    """Constraint by constraint, where its force acts: contacts on their bodies, loops on the second and back on the first."""
    out = {name: acting for contact in declared.contacts for name, acting in contact.pushes(motion).items()}
    return out | {row.name: pushed(row.bodies, row.force, row.point, row.moment) for row in loop_rows(motion)}
