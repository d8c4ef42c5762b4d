"""The power that enters a system: what the energy balance (80) of papers/volterra is checked against."""

from __future__ import annotations

from dalembert.algebra import Array, Scalar, vector
from dalembert.kinematics.applied import generalized_forces, non_ideal_forces
from dalembert.kinematics.energies import kinetic, potential
from dalembert.structure.system import System


def jacobi(system: System) -> Scalar:
    """q̇·∂L/∂q̇ − L: equal to T + V unless bodies move explicitly with time."""
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    return system.algebra.gradient(T, system.qd) @ system.qd - T + V


def power_into(system: System) -> Scalar:
    """The rate of the Jacobi function: Q·q̇ − ∂L/∂t, and Aᵀλ·q̇ where constraints move with time.

    A function of (q, q̇, q̈, t); for applied forces alone it is the integrand Qᵀq̇ of (80).
    """
    algebra, q, qd = system.algebra, system.q, system.qd
    T, V = kinetic(system.motion, qd), potential(system.motion)
    Q, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
    explicit = algebra.gradient(T - V, vector([system.t]))[0]
    out = Q @ qd - explicit
    if C is not None:
        out = out + C @ qd
    if _constraints_do_work(system):
        p = algebra.gradient(T, qd)
        pd = algebra.total_derivative(p, (q, qd), (qd, system.qdd), system.clock)
        ideal: Array = pd - algebra.gradient(T - V, q) - Q
        ideal = ideal if C is None else ideal - C
        out = out + ideal @ qd
    return out


def _constraints_do_work(system: System) -> bool:
    """False when a q̇ = 0 for every constraint, so that ideal reactions have no power."""
    levels = system.facts.levels
    at_rest = all(system.algebra.is_zero(b) for b in system.constraints.b)
    return not (at_rest and all(levels.linear)) or any(levels.servo)
