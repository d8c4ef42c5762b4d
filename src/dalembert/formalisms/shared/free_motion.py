"""The motion without constraints: M q̈ = h, by Lagrange's operators. Where several formalisms only begin, and how they go on."""

from __future__ import annotations

from dalembert.formalisms.shared.linear_form import LinearForm, Rows, constrained, in_velocities
from dalembert.formalisms.shared.linear_system import Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import generalized_forces
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, vector


def free_equations(system: System, show: Show = SILENT, numbers: tuple[str, str] = ("", "")) -> tuple[Array, Array]:
    """M and h of d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q − Q = M q̈ − h; `numbers` are those of their equations in a paper."""
    algebra, q, qd = system.algebra, system.q, system.qd
    T, V = show.short(vector([kinetic(system.motion, qd), potential(system.motion)]))
    p = algebra.gradient(T, qd)
    push = generalized_forces(system.motion) + algebra.gradient(T - V, q)
    M = show("M", numbers[0], "mass matrix, ∂²T/∂q̇²", algebra.jacobian(p, qd))
    h = push - algebra.total_derivative(p, (q, qd), system.clock)
    return M, show("h", numbers[1], "all that is free of q̈: M q̈ = h without constraints", h)


def free_parts(system: System) -> tuple[Array, Array, Array]:
    """b, g and τ of h = τ − b − g, from the energies: (5.217) of papers/desapio, ∂V/∂q, and Q."""
    algebra, q, qd = system.algebra, system.q, system.qd
    T, V = kinetic(system.motion, qd), potential(system.motion)
    b = algebra.total_derivative(algebra.gradient(T, qd), (q, qd), system.clock) - algebra.gradient(T, q)
    return b, algebra.gradient(V, q), generalized_forces(system.motion)


def held_form(
    formalism: str, system: System, free: tuple[Array, Array], solver: Solver, count: int | None = None
) -> LinearForm:
    """M q̈ = h with all rows of A q̈ = β, redundant ones too, left to the solver of a formalism."""
    linear = constrained(system, *free, Rows.ALL)
    return in_velocities(formalism, system, linear, Rows.ALL, solver=solver, count=count)


def unexplained_force(system: System) -> Array:
    """M q̈ − h at any q̈: what the applied forces do not explain is the reaction of the constraints."""
    M, h = free_equations(system)
    return M @ system.qdd - h
