"""The constraints at position, velocity and acceleration level, over any algebra.

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

import symengine as se

from dalembert.mechanics.contact_constraints import LoopRow, loop_rows
from dalembert.mechanics.motion import Motion
from dalembert.model.description import Elements
from dalembert.model.evaluation import at_start, is_affine
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, matrix, vector, zeros
from dalembert.symbolic.symbols import TIME, Formula, coordinate, rate
from dalembert.symbolic.symengine_algebra import slope


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
