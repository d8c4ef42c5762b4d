"""Energies and applied forces of a model in motion: the mass matrix, gravity and the loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.mechanics.motion import Motion, velocities
from dalembert.model.loads.base import Applied, Span, Wrench
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector, zeros

NON_IDEAL = "non-ideal constraints"


@dataclass(frozen=True)
class NamedForce:
    """A named force whose work is recorded separately: its power is Q·q̇ + drift."""

    name: str
    Q: Array
    drift: Scalar = 0  # F·c, where the velocity is J q̇ + c


def point_to_point_loads(motion: Motion) -> list[Span]:
    """The loads whose force direction is undefined if their ends coincide."""
    found = (load.span(motion) for load in motion.model.loads)
    return [span for span in found if span is not None]


def applied_forces(motion: Motion) -> list[Applied]:
    """All applied forces, gravity first."""
    out = _gravity(motion)
    for load in motion.model.loads:
        out += load.applied(motion)
    return out


def _gravity(motion: Motion) -> list[Applied]:
    g = vector([motion.lower(x) for x in motion.model.gravity])
    if all(motion.algebra.is_zero(x) for x in g):
        return []
    return [
        Applied(
            f"gravity on {body.name}",
            body.mass * g,
            body.B,
            body.C,
            -body.mass * (g @ body.p_WG),
            (Wrench(body.name, body.mass * g, zeros(3)),),
        )
        for body in motion.bodies
        if not motion.algebra.is_zero(body.mass)
    ]


def non_ideal_forces(motion: Motion) -> Array | None:
    """C(q, q̇, t): the non-ideal part of the constraint forces, (3.44) of papers/poincare; None if all are ideal."""
    declared = motion.model.non_ideal_forces
    if not declared:
        return None
    return vector([motion.lower(declared.get(name, 0)) for name in motion.model.coordinate_names])


def generalized_forces(motion: Motion) -> Array:
    """Q: the generalized applied forces without potential."""
    if motion.model.energies is not None:
        return vector([motion.lower(force) for force in motion.model.energies.forces])
    total = zeros(motion.n)
    for load in applied_forces(motion):
        if load.potential is None:
            total = total + load.J.T @ load.force
    return total


def working_forces(motion: Motion, potentials: bool = False) -> Iterator[NamedForce]:
    """Every load except gravity, or every force declared with energies, and C; `potentials` includes conservative parts."""
    names = motion.model.coordinate_names
    if motion.model.energies is not None:
        for i, force in enumerate(motion.model.energies.forces):
            Q = zeros(motion.n)
            Q[i] = motion.lower(force)
            yield NamedForce(f"force on {names[i]}", Q)
    for load in motion.model.loads:
        Q, drift = zeros(motion.n), 0
        for part in load.applied(motion):
            if potentials or part.potential is None:
                Q, drift = Q + part.J.T @ part.force, drift + part.force @ part.c
        yield NamedForce(load.name, Q, drift)
    if (C := non_ideal_forces(motion)) is not None:
        yield NamedForce(NON_IDEAL, C)


def active_forces(motion: Motion, W: Array) -> Array:
    """U = Σ (∂V/∂u)ᵀ F over all applied forces, including conservative ones: (9) of papers/volterra with ∂V/∂u = J W."""
    total = zeros(W.shape[1])
    for load in applied_forces(motion):
        total = total + (load.J @ W).T @ load.force
    return total


def kinetic(motion: Motion, qd: Array) -> Scalar:
    """T = Σ ½ m V_G·V_G + ½ ω·I ω at the velocities `qd`: (7) of papers/volterra."""
    if motion.model.energies is not None:
        return _user_kinetic(motion, qd)
    total: Scalar = 0
    for body, velocity in velocities(motion, qd):
        V, w = velocity.V, velocity.w
        total = total + motion.algebra.half * (body.mass * V.dot(V) + w @ (body.inertia @ w))
    return total


def _user_kinetic(motion: Motion, qd: Array) -> Scalar:
    """The user's formula of T, at the velocities `qd`."""
    T = motion.lower(motion.model.energies.kinetic) if motion.model.energies is not None else 0
    if qd is motion.qd or not isinstance(motion.algebra, DifferentialAlgebra):
        return T
    values = {str(x): value for x, value in zip(motion.qd, qd, strict=True)}
    return motion.algebra.substitute(vector([T]), values)[0]


def potential(motion: Motion) -> Scalar:
    """V: the sum of the potentials of gravity and springs, or the user's formula of V."""
    if motion.model.energies is not None:
        return motion.lower(motion.model.energies.potential)
    total: Scalar = 0
    for load in applied_forces(motion):
        if load.potential is not None:
            total = total + load.potential
    return total


def mass_matrix(motion: Motion) -> Array:
    """M = Σ m BᵀB + DᵀI D."""
    M = motion.algebra.pack(zeros(motion.n, motion.n))
    for body in motion.masses:
        M = M + body.mass * (body.B.T @ body.B) + body.D.T @ (body.inertia @ body.D)
    return M
