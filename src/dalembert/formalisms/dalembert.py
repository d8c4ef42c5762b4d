"""D'Alembert's principle of virtual work: Jacobian sums over the bodies, each in its own frame, and an explicit solution.

Source: papers/desapio (5.49)–(5.59), constrained (5.86)–(5.93), generalized constrained equation (5.152)–(5.154).

| symbol | name | meaning |
|---|---|---|
| Γ, Π | `Gamma`, `Pi` | Jacobians of mass centre and rotation, both in the frame of the body |
| M, b, g, τ | `M`, `b`, `g`, `tau` | τ = M q̈ + b + g |
| Φ | `system.A` | constraint matrix |
| H = (Φ M⁻¹ Φᵀ)⁻¹ | `H` | constraint space mass matrix (5.90) |
| Φ̄ = M⁻¹ Φᵀ H | `Phi_bar` | mass-weighted inverse of Φ (5.91) |
| Θ = 1 − Φ̄ Φ | `Theta` | mass-weighted null space projection |

Deviates: (5.93) prints H Φ q̇ where H Φ̇ q̇ is meant, as (5.150) repeats it; M q in (5.80), (5.82), (5.85) means M
q̈; p in (5.157) means ρ; Φᵀλ of (5.145) has the sign of (5.86). The accelerations of particles, (5.26), (5.27), (5.30), lack Γ̇q̇,
which those of bodies have. Explicit time adds its drift to velocities and accelerations, and −Φ̇q̇ becomes β.
"""

from __future__ import annotations

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import (
    multipliers,
    show_bodies,
    show_constraints,
    shown_drift,
    shown_push,
)
from dalembert.formalisms.shared.inverses import inverse_mass, shown_inverse
from dalembert.formalisms.shared.linear_form import LinearForm, Rows, constrained, in_velocities
from dalembert.formalisms.shared.linear_system import LinearSystem, Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import applied_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, identity, zeros
from dalembert.symbolic.linear_algebra import ldl, ldl_apply, ldl_solve
from dalembert.symbolic.rotations import skew

ABOUT = About(
    key="dalembert",
    title="D'Alembert's principle",
    source="papers/desapio (5.49)–(5.59), (5.86)–(5.93), (5.154)",
    needs="bodies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("bodies",),
    nonlinear=True,
    servo=True,
    citation="""@book{desapio2017,
  author = {De Sapio, Vincent},
  title = {Advanced Analytical Dynamics: Theory and Applications},
  publisher = {Cambridge University Press},
  year = {2017}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M q̈ = τ − b − g + Φᵀλ with Φ q̈ = β."""
    show_bodies(system, show, ("(5.54)", "(5.49)"))
    names = [body.name for body in system.motion.bodies]
    show.also("Gamma", "(5.49)", "∂V_G/∂q̇, body axes", lambda: _in_body_axes(system), names)
    M, b, g, tau = parts(system, show)
    if system.facts.rows:
        show.beside(lambda: _show_constrained(system, show, M, (b, g, tau)))
    else:
        show.law("(5.59)", "τ = M q̈ + b + g", ("tau", "M", "b", "g"), lambda: (tau, M @ system.qdd + b + g))
    linear = constrained(system, M, tau - b - g, Rows.INDEPENDENT)
    return in_velocities("dalembert", system, linear, Rows.INDEPENDENT, solver=Solver(explicit))


def _in_body_axes(system: System) -> Array:
    """Γ of every body in its own frame, as Π is."""
    return np.array([body.R_WB.T @ body.B for body in system.motion.bodies], dtype=object)


def parts(system: System, show: Show = SILENT) -> tuple[Array, Array, Array, Array]:
    """M (5.56), b (5.57), g (5.58) and τ of τ = M q̈ + b + g (5.59)."""
    qd, n = system.qd, len(system.q)
    M, b = zeros(n, n), zeros(n)
    for body in system.motion.masses:
        Gamma, drift = body.R_WB.T @ body.B, body.R_WB.T @ body.C  # body axes
        Pi = body.D
        w = Pi @ qd + body.E
        Omega, v = skew(w), Gamma @ qd + drift
        a = system.algebra.total_derivative(v, (system.q, qd), system.clock) + Omega @ v  # (5.54) without Γ q̈
        alpha = system.algebra.total_derivative(w, (system.q, qd), system.clock)  # (5.54) without Π q̈
        M = M + body.mass * (Gamma.T @ Gamma) + Pi.T @ (body.inertia @ Pi)  # (5.56)
        b = b + body.mass * (Gamma.T @ a) + Pi.T @ (body.inertia @ alpha + Omega @ (body.inertia @ w))  # (5.57)
    g, tau = zeros(n), zeros(n)
    for load in applied_forces(system.motion):
        if load.potential is None:
            tau = tau + load.J.T @ load.force
        else:
            g = g - load.J.T @ load.force  # springs count with gravity
    return (
        show("M", "(5.56)", "mass matrix", M),
        show.last("b", "(5.57)", "centrifugal and Coriolis forces", b),
        show("g", "(5.58)", "gravity and springs", g),
        show("tau", "(5.59)", "applied forces without potential", tau),
    )


def _show_constrained(system: System, show: Show, M: Array, forces: tuple[Array, Array, Array]) -> None:
    """The constraints, and the equations with multipliers."""
    qdd, (b, g, tau) = system.qdd, forces
    show_constraints(system, show, ("(5.87)", "(5.87)"))
    Phi = show("Phi", "(5.81)", "constraint matrix", system.A)
    drift, key, letters = shown_drift(system, show)
    applied, lam = shown_push(system, show, tau), multipliers(system, len(drift))
    words = "τ = M q̈ + b + g − Φᵀλ" if applied is tau else "τ + C = M q̈ + b + g − Φᵀλ"
    show.law("(5.86)", words, ("tau", "M", "b", "g", "Phi"), lambda: (applied, M @ qdd + b + g - Phi.T @ lam))
    number = "(5.89)" if key == "Phi_dot_qd" else "(5.97)"
    show.law(number, f"Φ q̈ = −{letters}", ("Phi", key), lambda: (Phi @ qdd, -drift))
    show.beside(lambda: _show_space(system, show, (M, b, g, applied), Phi, show.named(key, drift), letters))


def _show_space(
    system: System, show: Show, parts: tuple[Array, Array, Array, Array], Phi: Array, drift: Array, letters: str
) -> None:
    """The constraint space, the multipliers, and the equation without them."""
    algebra, qdd, (M, b, g, applied) = system.algebra, system.qdd, parts
    lam = multipliers(system, len(drift))
    Phi = show.named("Phi", Phi)
    MiPt = inverse_mass(algebra, show, M, "(5.56)") @ Phi.T
    H = shown_inverse(algebra, show, "H", "(5.90)", "constraint space mass matrix, (Φ M⁻¹ Φᵀ)⁻¹", Phi @ MiPt)
    Phi_bar = show("Phi_bar", "(5.91)", "mass-weighted inverse of Φ, M⁻¹ Φᵀ H", MiPt @ H)
    Phi_bar = show.named("Phi_bar", Phi_bar)
    Theta = show("Theta", "(5.95)", "onto the null space of Φ, 1 − Φ̄ Φ", identity(len(M)) - Phi_bar @ Phi)
    alpha = show("alpha", "(5.152)", f"Φ̄ᵀ b − H {letters}: b at the constraints", Phi_bar.T @ b - H @ drift)
    rho = show("rho", "(5.153)", "Φ̄ᵀ g: gravity at the constraints", Phi_bar.T @ g)
    Theta, alpha, rho = (show.named(key, x) for key, x in (("Theta", Theta), ("alpha", alpha), ("rho", rho)))
    words, key = f"λ = −Φ̄ᵀ(τ − b − g) − H {letters}", "Phi_dot_qd" if letters == "Φ̇q̇" else "Phi_dot_qd_prime"
    uses = ("Phi_bar", "H", key)
    show.law("(5.93)" if letters == "Φ̇q̇" else "(5.100)", words, uses, lambda: (lam, -Phi_bar.T @ applied + alpha + rho))
    words, uses = "Θᵀτ = M q̈ + b + g − Φᵀ(α + ρ)", ("Theta", "M", "b", "g", "Phi", "alpha", "rho")
    show.law("(5.154)", words, uses, lambda: (Theta.T @ applied, M @ qdd + b + g - Phi.T @ (alpha + rho)))


def explicit(algebra: Algebra, linear: LinearSystem) -> tuple[Array, Array]:
    """q̈ = Φ̄ β + Θ M⁻¹(τ − b − g), λ = −Φ̄ᵀ(τ − b − g) + H β: (5.92)(5.93)."""
    h, Phi, beta = linear.push, linear.A, linear.beta
    L, D = ldl(algebra, linear.M)
    MiPt = ldl_apply(algebra, L, D, Phi.T)
    H = ldl_solve(algebra, Phi @ MiPt, identity(len(beta))) if linear.constrained else zeros(0, 0)  # (5.90)
    Phi_bar = MiPt @ H  # (5.91)
    free = ldl_apply(algebra, L, D, h)
    qdd = Phi_bar @ beta + free - Phi_bar @ (Phi @ free)  # (5.92)
    lam = H @ beta - Phi_bar.T @ h  # (5.93)
    return qdd, lam


def constraint_space(M: np.ndarray, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H (5.90), Φ̄ (5.91) and Θ, batch on the first axis."""
    MiPt = np.linalg.solve(M, np.swapaxes(Phi, 1, 2))
    H = np.linalg.inv(Phi @ MiPt)
    Phi_bar = MiPt @ H
    return H, Phi_bar, np.eye(M.shape[1]) - Phi_bar @ Phi
