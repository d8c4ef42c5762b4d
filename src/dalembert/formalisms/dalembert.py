"""D'Alembert's principle of virtual work: sums over the bodies with Jacobians in body frames, and an explicit solution.

Source: papers/desapio (5.49)–(5.59), constrained (5.86)–(5.93), generalized constrained equation (5.152)–(5.154).

| symbol | name | meaning |
|---|---|---|
| Γ, Π | `Gamma`, `Pi` | Jacobians of mass center and rotation, both in the body frame |
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

from dalembert.formalisms.shared.common_quantities import (
    define_bodies,
    define_constraints,
    define_drift,
    define_push,
    multipliers,
    of_bodies,
)
from dalembert.formalisms.shared.linear_form import AccelerationRows, Solver, constrained, in_velocities
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import define_inverse, inverse_mass, solve_in_constraint_space
from dalembert.mechanics.energies import applied_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, zeros
from dalembert.symbolic.rotations import skew

Parts = tuple[Array, Array, Array, Array]  # M, b, g, τ

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


def derive(system: System) -> Derived:
    """M q̈ = τ − b − g + Φᵀλ with Φ q̈ = β."""
    define, names, n = Definitions(system), [body.name for body in system.motion.bodies], len(system.q)
    define_bodies(define, system, ("(5.54)", "(5.49)"))
    define("Gamma", lambda: of_bodies(system, lambda b: b.R_WB.T @ b.B), "∂V_G/∂q̇, body axes", "(5.49)", names)
    M, b = zeros(n, n), zeros(n)
    for body in system.motion.masses:
        Gamma, drift = body.R_WB.T @ body.B, body.R_WB.T @ body.C  # body axes
        Pi, w = body.D, body.D @ system.qd + body.E
        Omega, v = skew(w), Gamma @ system.qd + drift
        a = system.algebra.total_derivative(v, (system.q, system.qd), system.clock) + Omega @ v  # (5.54) without Γ q̈
        alpha = system.algebra.total_derivative(w, (system.q, system.qd), system.clock)  # (5.54) without Π q̈
        M = M + body.mass * (Gamma.T @ Gamma) + Pi.T @ (body.inertia @ Pi)  # (5.56)
        b = b + body.mass * (Gamma.T @ a) + Pi.T @ (body.inertia @ alpha + Omega @ (body.inertia @ w))  # (5.57)
    g, tau = zeros(n), zeros(n)
    for load in applied_forces(system.motion):
        if load.potential is None:
            tau = tau + load.J.T @ load.force
        else:
            g = g - load.J.T @ load.force  # springs are included in g
    M = define("M", M, "mass matrix", "(5.56)")
    b = define.velocity_terms("b", b, "centrifugal and Coriolis forces", "(5.57)")
    g = define("g", g, "gravity and springs", "(5.58)")
    tau = define("tau", tau, "applied forces without potential", "(5.59)")
    if system.facts.rows:
        define.later(lambda: _constrained(define, system, (M, b, g, tau)))
    else:
        define.law("τ = M q̈ + b + g", ("tau", "M", "b", "g"), lambda: (tau, M @ system.qdd + b + g), "(5.59)")
    linear = constrained(system, M, tau - b - g, AccelerationRows.INDEPENDENT)
    solver = Solver(solve_in_constraint_space)
    return define.derived(in_velocities("dalembert", system, linear, AccelerationRows.INDEPENDENT, solver=solver))


def _constrained(define: Definitions, system: System, parts: Parts) -> None:
    """Define the constraints and the equations with multipliers."""
    qdd, (M, b, g, tau) = system.qdd, parts
    define_constraints(define, system, ("(5.87)", "(5.87)"))
    Phi = define("Phi", system.A, "constraint matrix", "(5.81)")
    drift, key, letters = define_drift(define, system)
    applied, lam = define_push(define, system, tau), multipliers(system, len(drift))
    words = "τ = M q̈ + b + g − Φᵀλ" if applied is tau else "τ + C = M q̈ + b + g − Φᵀλ"
    define.law(words, ("tau", "M", "b", "g", "Phi"), lambda: (applied, M @ qdd + b + g - Phi.T @ lam), "(5.86)")
    number = "(5.89)" if key == "Phi_dot_qd" else "(5.97)"
    define.law(f"Φ q̈ = −{letters}", ("Phi", key), lambda: (Phi @ qdd, -drift), number)
    define.later(lambda: _constraint_space(define, system, (M, b, g, applied), Phi, drift, (key, letters)))


def _constraint_space(
    define: Definitions, system: System, parts: Parts, Phi: Array, drift: Array, names: tuple[str, str]
) -> None:
    """Define the constraint space, the multipliers, and the equation without multipliers."""
    qdd, (M, b, g, applied), (key, letters) = system.qdd, parts, names
    drift, Phi = define.symbols(key, drift), define.symbols("Phi", Phi)
    MiPt = inverse_mass(define, system.algebra, M, "(5.56)") @ Phi.T
    meaning = "constraint space mass matrix, (Φ M⁻¹ Φᵀ)⁻¹"
    H = define_inverse(define, system.algebra, "H", Phi @ MiPt, meaning, "(5.90)")
    Phi_bar = define.named("Phi_bar", MiPt @ H, "mass-weighted inverse of Φ, M⁻¹ Φᵀ H", "(5.91)")
    Theta = define("Theta", identity(len(M)) - Phi_bar @ Phi, "projection onto the null space of Φ, 1 − Φ̄ Φ", "(5.95)")
    alpha = define("alpha", Phi_bar.T @ b - H @ drift, f"Φ̄ᵀ b − H {letters}: b in constraint space", "(5.152)")
    rho = define("rho", Phi_bar.T @ g, "Φ̄ᵀ g: gravity in constraint space", "(5.153)")
    Theta, alpha, rho = (define.symbols(key, x) for key, x in (("Theta", Theta), ("alpha", alpha), ("rho", rho)))
    lam, number = multipliers(system, len(drift)), "(5.93)" if letters == "Φ̇q̇" else "(5.100)"
    words, uses = f"λ = −Φ̄ᵀ(τ − b − g) − H {letters}", ("Phi_bar", "H", key)
    define.law(words, uses, lambda: (lam, -Phi_bar.T @ applied + alpha + rho), number)
    words, uses = "Θᵀτ = M q̈ + b + g − Φᵀ(α + ρ)", ("Theta", "M", "b", "g", "Phi", "alpha", "rho")
    define.law(words, uses, lambda: (Theta.T @ applied, M @ qdd + b + g - Phi.T @ (alpha + rho)), "(5.154)")
