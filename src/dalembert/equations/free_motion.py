"""The motion without constraints: M q̈ = h, by Lagrange's operators. Where several formalisms only begin, and how they go on."""

from __future__ import annotations

from dalembert.algebra import Array
from dalembert.equations.linear_form import LinearForm, Rows, constrained, in_velocities
from dalembert.equations.linear_system import Solver
from dalembert.kinematics.applied import generalized_forces
from dalembert.kinematics.energies import kinetic, potential
from dalembert.structure.system import System


def free_equations(system: System) -> tuple[Array, Array]:
    """M and h of d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q − Q = M q̈ − h."""
    algebra, q, qd = system.algebra, system.q, system.qd
    T, V = kinetic(system.motion, qd), potential(system.motion)
    p = algebra.gradient(T, qd)
    push = generalized_forces(system.motion) + algebra.gradient(T - V, q)
    return algebra.jacobian(p, qd), push - algebra.total_derivative(p, (q, qd), system.clock)


def held_form(formalism: str, system: System, solver: Solver, count: int | None = None) -> LinearForm:
    """M q̈ = h with all rows of A q̈ = β, redundant ones too, left to the solver of a formalism."""
    linear = constrained(system, *free_equations(system), Rows.ALL)
    return in_velocities(formalism, system, linear, Rows.ALL, solver=solver, count=count)


def unexplained_force(system: System) -> Array:
    """M q̈ − h at any q̈: what the applied forces do not explain is the reaction of the constraints."""
    M, h = free_equations(system)
    return M @ system.qdd - h
