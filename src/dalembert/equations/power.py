"""The power that enters a system: what the energy balance (80) of papers/volterra is checked against."""

from __future__ import annotations

from dalembert.algebra import Scalar, vector
from dalembert.equations.free_motion import unexplained_force
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
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    (explicit,) = system.algebra.gradient(T - V, vector([system.t]))
    out = generalized_forces(system.motion) @ system.qd - explicit
    if _constraints_do_work(system):
        return out + unexplained_force(system) @ system.qd  # ideal and non-ideal reactions
    C = non_ideal_forces(system.motion)
    return out if C is None else out + C @ system.qd


def _constraints_do_work(system: System) -> bool:
    """False when a q̇ = 0 for every constraint, so that ideal reactions have no power."""
    levels = system.facts.levels
    at_rest = all(system.algebra.is_zero(b) for b in system.constraints.b)
    return not (at_rest and all(levels.linear)) or any(levels.servo)
