"""Convert contacts to constraints: each contact computes its formulas from the motion of its bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.mechanics.motion import Motion, move
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.contacts.base import ConstraintAction, reaction_pair
from dalembert.model.description import Elements
from dalembert.model.joints.base import ConstraintRow
from dalembert.symbolic.algebra_base import Array, Scalar, choose, vector
from dalembert.symbolic.floats import to_numeric
from dalembert.symbolic.frames import Frame
from dalembert.symbolic.rotations import skew
from dalembert.symbolic.symbols import rate


def with_contacts(model: Elements) -> Elements:
    """The model with contacts and quaternion norms written as formulas; the same model if there are none."""
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
    phis, psis = list(model.holonomic_constraints), list(model.nonholonomic_constraints)
    for contact in model.contacts:
        on_positions, on_velocities = contact.formulas(motion)
        phis += (Holonomic(name, se.sympify(phi)) for name, phi in on_positions.items())
        psis += (Nonholonomic(name, se.sympify(psi)) for name, psi in on_velocities.items())
    return model.replaced(contacts=(), holonomic_constraints=tuple(phis), nonholonomic_constraints=tuple(psis))


def constraint_wrenches(declared: Elements, motion: Motion) -> dict[str, list[ConstraintAction]]:
    """Points of application by constraint: contacts act on their bodies, loops on the second body and back on the first."""
    out = {key: found for each in declared.contacts for key, found in each.constraint_actions(motion).items()}
    return out | {row.name: reaction_pair(row.bodies, row.force, row.point, row.moment) for row in loop_rows(motion)}


@dataclass(frozen=True)
class LoopRow:
    """One row of a loop: φ, its rate a q̇ + b, and the unit wrench on the second body at the origin of M, world axes."""

    name: str
    bodies: tuple[str, str]
    phi: Scalar
    a: Array
    b: Scalar
    force: Array
    moment: Array
    point: Array


def loop_rows(motion: Motion) -> list[LoopRow]:
    """The rows of all loops, in order of declaration."""
    return [row for loop in motion.model.loops for row in _rows(loop, motion)]


def ends(loop: Loop, motion: Motion) -> tuple[Frame, Frame]:
    """The frames F on the first body and M on the second."""
    found = []
    for body, half in zip(loop.bodies, (loop.joint, loop), strict=True):
        at, angles = vector([motion.lower(x) for x in half.position]), [motion.lower(x) for x in half.rotation]
        found.append(motion.frames[body].fixed_frame(motion.algebra, at, angles))
    return found[0], found[1]


def _rows(loop: Loop, motion: Motion) -> list[LoopRow]:
    F, M = ends(loop, motion)
    R, p = F.R.T @ M.R, F.R.T @ (M.p - F.p)
    # velocity of M relative to F, expressed in F: v_M − v_F − ω_F × p
    arm = skew(p)
    v, v0 = F.R.T @ (M.J - F.J) + arm @ F.D, F.R.T @ (M.c - F.c) + arm @ F.E
    w, w0 = R @ M.D - F.D, R @ M.E - F.E
    return [_row(loop, row, F, M, v, v0, w, w0) for row in loop.joint.closure(motion.algebra, R, p)]


def _row(loop: Loop, row: ConstraintRow, F: Frame, M: Frame, v: Array, v0: Array, w: Array, w0: Array) -> LoopRow:
    a, b = row.force @ v + row.moment @ w, row.force @ v0 + row.moment @ w0
    wrench = F.R @ row.force, F.R @ row.moment
    return LoopRow(f"{loop.name}, {row.name}", loop.bodies, row.phi, a, b, *wrench, M.p)


def displacement(F: Frame, M: Frame) -> tuple[np.ndarray, np.ndarray]:
    """R_FM and p_FM at one state, as float arrays."""
    R_F, R_M, d = (to_numeric(x) for x in (F.R, M.R, M.p - F.p))
    return R_F.T @ R_M, R_F.T @ d
