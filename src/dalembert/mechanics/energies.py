"""Kinetic and potential energy, and the mass matrix as a sum over bodies."""

from __future__ import annotations

from dalembert.mechanics.applied_forces import applied_forces
from dalembert.mechanics.motion import Motion
from dalembert.mechanics.resolved_velocities import velocities
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector, zeros


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
