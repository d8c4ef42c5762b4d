"""The constraints at position, velocity and acceleration level, over any algebra.

    position      φ(q, t) = 0
    velocity      a q̇ + b = 0 (φ differentiated once; ψ where it is linear), ψ(q, q̇, t) = 0
    acceleration  A q̈ = β     (φ differentiated twice, ψ once)

Rows stand in the order of declaration, holonomic first. The formulas are differentiated before they are lowered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import symengine as se

from dalembert.algebra import Array, matrix, vector, zeros
from dalembert.expressions import TIME, coordinate, rate
from dalembert.kinematics.motion import Motion
from dalembert.model import Model
from dalembert.model.checks.values import at_start, is_affine
from dalembert.model.elements import Holonomic, Nonholonomic


@dataclass(frozen=True)
class Levels:
    """The constraints of a model as formulas, on all three levels."""

    names: tuple[str, ...]
    phi: tuple[Any, ...]
    velocity: tuple[Any, ...]  # φ̇ and ψ, functions of (q, q̇, t)
    A: tuple[tuple[Any, ...], ...]
    beta: tuple[Any, ...]
    linear: tuple[bool, ...]  # row by row: is the velocity level linear in q̇?
    servo: tuple[bool, ...]  # row by row: is it driven to zero by feedback instead of holding from the start?


def levels(model: Model) -> Levels:
    """The constraints of a model, differentiated as formulas."""
    q = [coordinate(name) for name in model.coordinate_names]
    qd = [rate(name) for name in model.coordinate_names]
    phi = tuple(c.phi for c in model.holonomic_list)
    velocity = (*(_along(f, q, qd) for f in phi), *(c.psi for c in model.nonholonomic_list))
    A = tuple(tuple(se.diff(f, v) for v in qd) for f in velocity)
    declared = (*model.holonomic_list, *model.nonholonomic_list)
    beta = tuple(-_along(f, q, qd) - _feedback(constraint, f) for f, constraint in zip(velocity, declared, strict=True))
    start = at_start(model)
    linear = tuple(is_affine(f, set(qd), start) for f in velocity)
    servo = tuple(bool(constraint.feedback) for constraint in declared)
    return Levels(model.constraint_names, phi, velocity, A, beta, linear, servo)


def _feedback(constraint: Holonomic | Nonholonomic, velocity: Any) -> Any:
    """β φ̇ + α φ of (5.96) in papers/desapio for a servo constraint, α ψ for a nonholonomic one; else nothing."""
    match constraint:
        case Holonomic(feedback=(alpha, beta)):
            return beta * velocity + alpha * constraint.phi
        case Nonholonomic(feedback=(alpha,)):
            return alpha * velocity
    return se.Integer(0)


def _along(f: Any, q: list[Any], qd: list[Any]) -> Any:
    """∂f/∂t + (∂f/∂q) q̇."""
    return se.diff(f, TIME) + sum((se.diff(f, x) * xd for x, xd in zip(q, qd, strict=True)), start=se.Integer(0))


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
    def phi(self) -> Array:
        """φ(q, t), one entry for each holonomic constraint."""
        return vector([self.motion.lower(f) for f in self.levels.phi])

    @cached_property
    def velocity(self) -> Array:
        """φ̇ and ψ at (q, q̇, t), one entry for each constraint."""
        return vector([self.motion.lower(f) for f in self.levels.velocity])

    @cached_property
    def A(self) -> Array:
        """A = ∂φ/∂q and ∂ψ/∂q̇ (k×n); equal to a for linear constraints."""
        return self._rows(self.levels.A)

    @cached_property
    def beta(self) -> Array:
        """β of A q̈ = β."""
        return vector([self.motion.lower(f) for f in self.levels.beta])

    @cached_property
    def b(self) -> Array:
        """b of a q̇ + b = 0: the velocity level at q̇ = 0."""
        rest = {rate(name): 0 for name in self.motion.model.coordinate_names}
        return vector([self.motion.lower(f.subs(rest)) for f in self.levels.velocity])

    def _rows(self, rows: tuple[tuple[Any, ...], ...]) -> Array:
        if not rows:
            return zeros(0, self.motion.n)
        return matrix([[self.motion.lower(f) for f in row] for row in rows])


def constraints(motion: Motion) -> Constraints:
    """The constraints of a motion, on all levels."""
    return Constraints(motion, levels(motion.model))
