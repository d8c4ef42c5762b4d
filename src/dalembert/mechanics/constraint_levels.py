"""Constraints at position, velocity and acceleration level, over any algebra, and contacts as constraints.

    position      φ(q, t) = 0
    velocity      a q̇ + b = 0 (φ differentiated once; ψ where it is linear), ψ(q, q̇, t) = 0
    acceleration  A q̈ = β     (φ differentiated twice, ψ once)

Rows are in the order of declaration: holonomic formulas, then loops, then nonholonomic formulas. Formulas are
differentiated before they are lowered; loop rows are computed from the motion of the bodies they connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.mechanics.motion import Motion, move
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.contacts.base import ConstraintAction, reaction_pair
from dalembert.model.description import Elements
from dalembert.model.evaluation import at_start, is_affine
from dalembert.model.joints.base import ConstraintRow
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, choose, matrix, vector, zeros
from dalembert.symbolic.floats import to_numeric
from dalembert.symbolic.rotations import Frame, skew
from dalembert.symbolic.symbols import TIME, Formula, coordinate, rate
from dalembert.symbolic.symengine_algebra import slope


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


@dataclass(frozen=True)
class Levels:
    """The constraints of a model: properties of every row, and the formula constraints at all three levels."""

    names: tuple[str, ...]
    n_holonomic: int  # number of leading rows that constrain positions
    linear: tuple[bool, ...]  # row by row: is the velocity level linear in q̇?
    servo: tuple[bool, ...]  # row by row: is it driven to zero by feedback instead of satisfied from the start?
    phi: tuple[Formula, ...]  # the formulas; the loop rows follow them
    velocity: tuple[Formula, ...]  # φ̇ and ψ, functions of (q, q̇, t)
    A: tuple[tuple[Formula, ...], ...]
    beta: tuple[Formula, ...]
    gains: tuple[tuple[Formula, ...], ...]  # feedback gains of every loop row


def levels(model: Elements) -> Levels:
    """Constraint levels of a model, with formulas differentiated symbolically."""
    q = [coordinate(name) for name in model.coordinate_names]
    qd = [rate(name) for name in model.coordinate_names]
    phi = tuple(c.phi for c in model.holonomic_constraints)
    velocity = (*(_along(f, q, qd) for f in phi), *(c.psi for c in model.nonholonomic_constraints))
    A = tuple(tuple(slope(f, v) for v in qd) for f in velocity)
    declared = (*model.holonomic_constraints, *model.nonholonomic_constraints)
    beta = tuple(-_along(f, q, qd) - constraint.pull(f) for f, constraint in zip(velocity, declared, strict=True))
    start, h = at_start(model), len(phi)
    linear = [is_affine(f, set(qd), start) for f in velocity]
    servo = [bool(constraint.feedback) for constraint in declared]
    gains = tuple(loop.feedback for loop in model.loops for _ in loop.row_names)
    return Levels(
        model.constraint_names,
        h + len(gains),
        (*linear[:h], *(True for _ in gains), *linear[h:]),
        (*servo[:h], *map(bool, gains), *servo[h:]),
        phi,
        velocity,
        A,
        beta,
        gains,
    )


def _along(f: Formula, q: list[Formula], qd: list[Formula]) -> Formula:
    """∂f/∂t + (∂f/∂q) q̇."""
    used = f.free_symbols
    moving = ((x, xd) for x, xd in zip(q, qd, strict=True) if x in used)
    return slope(f, TIME) + sum((slope(f, x) * xd for x, xd in moving), start=se.Integer(0))


@dataclass(frozen=True)
class Constraints:
    """The constraint levels of a motion."""

    motion: Motion
    levels: Levels

    @property
    def k(self) -> int:
        """The number of constraints."""
        return len(self.levels.names)

    @cached_property
    def loops(self) -> list[LoopRow]:
        """The rows of the loops."""
        return loop_rows(self.motion)

    @cached_property
    def phi(self) -> Array:
        """φ(q, t), one entry for each holonomic constraint."""
        return vector([*(self.motion.lower(f) for f in self.levels.phi), *(row.phi for row in self.loops)])

    @cached_property
    def velocity(self) -> Array:
        """φ̇ and ψ at (q, q̇, t), one entry for each constraint."""
        return self._in_row_order(self.levels.velocity, [row.a @ self.motion.qd + row.b for row in self.loops])

    @cached_property
    def A(self) -> Array:
        """A = ∂φ/∂q and ∂ψ/∂q̇ (k×n); equal to a for linear constraints."""
        h = len(self.levels.phi)
        lowered = [[self.motion.lower(f) for f in row] for row in self.levels.A]
        rows = [*lowered[:h], *(list(row.a) for row in self.loops), *lowered[h:]]
        return matrix(rows) if rows else zeros(0, self.motion.n)

    @cached_property
    def beta(self) -> Array:
        """β of A q̈ = β; the loop rows require a differential algebra."""
        return self._in_row_order(self.levels.beta, self._loop_beta())

    @cached_property
    def b(self) -> Array:
        """b of a q̇ + b = 0: the velocity level at q̇ = 0."""
        rest = {rate(name): 0 for name in self.motion.model.coordinate_names}
        return self._in_row_order([f.subs(rest) for f in self.levels.velocity], [row.b for row in self.loops])

    def _in_row_order(self, formulas: Sequence[Formula], loops: Sequence[Scalar]) -> Array:
        """Formula rows and loop rows in row order."""
        h = len(self.levels.phi)
        lowered = [self.motion.lower(f) for f in formulas]
        return vector([*lowered[:h], *loops, *lowered[h:]])

    def _loop_beta(self) -> list[Scalar]:
        """−d/dt(a q̇ + b) without its q̈ part, minus the feedback if there is any."""
        motion, algebra = self.motion, self.motion.algebra
        if not self.loops:
            return []
        assert isinstance(algebra, DifferentialAlgebra)
        velocity = vector([row.a @ motion.qd + row.b for row in self.loops])
        drift = algebra.total_derivative(velocity, (motion.q, motion.qd), (vector([motion.t]), vector([1])))
        out = []
        for row, rate_, change, gains in zip(self.loops, velocity, drift, self.levels.gains, strict=True):
            feedback = motion.lower(gains[1]) * rate_ + motion.lower(gains[0]) * row.phi if gains else 0
            out.append(-change - feedback)
        return out
