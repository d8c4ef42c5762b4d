"""Kane's equations: active and inertia forces of all bodies, projected on partial velocities, sum to zero.

Source: papers/volterra (4)–(6), (9) and refs. [13, 14]; Σ partial velocity · (active + inertia force) = 0.

| symbol | name | meaning |
|---|---|---|
| ∂V_G/∂u, ∂ω/∂u | `V_u`, `w_u` | partial velocities: B W (world axes) and D W (body axes) |
| a, α | `a`, `alpha` | accelerations; at u̇ = 0 they are the velocity-dependent parts |
| −m a, −(I α + ω × I ω) | | inertia force and inertia torque |
| U | `U` | generalized active forces |
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import (
    along_speeds,
    define_bodies,
    define_speeds,
    of_bodies,
    rates,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import in_speeds
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import active_forces
from dalembert.mechanics.motion import velocities
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, zeros
from dalembert.symbolic.rotations import cross

ABOUT = About(
    key="kane",
    title="Kane's equations",
    source="papers/volterra (4)–(6), (9) and refs. [13, 14]",
    needs="bodies",
    velocities=Velocities.SPEEDS,
    count="d",
    lineage=("bodies", "active forces"),
    singular_mass=True,
    compiles="large open",
    citation="""@book{kane1985,
  author = {Kane, Thomas R. and Levinson, David A.},
  title = {Dynamics: Theory and Applications},
  publisher = {McGraw-Hill},
  year = {1985}
}""",
)


def derive(system: System) -> Derived:
    """M u̇ = f with M = Σ m V_uᵀV_u + w_uᵀ I w_u."""
    define, names = Definitions(system), [body.name for body in system.motion.bodies]
    define_bodies(define, system)
    speeds = define_speeds(define, system, system.speeds)
    define("V_partial", lambda: of_bodies(system, lambda b: b.B @ speeds.W), "∂V_G/∂u, world axes", "(6)", names)
    define("omega_partial", lambda: of_bodies(system, lambda b: b.D @ speeds.W), "∂ω/∂u, body axes", "(6)", names)
    F = define("F", active_forces(system.motion, speeds.W), "generalized active forces", "(9)")
    M, f = zeros(len(speeds.u), len(speeds.u)), F.copy()
    for body, velocity in velocities(system.motion, speeds.qd, speeds.W):
        V, w = velocity.V, velocity.w  # (6)
        V_u, w_u = velocity.V_u, velocity.w_u  # partial velocities
        a, alpha = system.acceleration(V, speeds), system.rate_of(w, speeds)  # with u̇ = 0
        M = M + body.mass * V_u.dot(V_u) + w_u.T @ (body.inertia @ w_u)
        f = f - body.mass * V_u.dot(a) - w_u.T @ (body.inertia @ alpha + cross(w, body.inertia @ w))
    M = define("M", M, "mass matrix of the speeds", "refs. [13, 14]")
    f = define.velocity_terms("f", f, "F + F* at u̇ = 0", "refs. [13, 14]")
    F_star = define("F_star", f - F - M @ rates(system, speeds.u), "generalized inertia forces", "refs. [13, 14]")
    push, plus = along_speeds(system, speeds)
    define.law(f"F + F*{plus} = 0", ("F", "F_star"), lambda: vanishing(F + F_star + push), "refs. [13, 14]")
    define.law("q̇ = W u + X", ("W", "X"), lambda: (system.qd, speeds.qd), "(4)")
    return define.derived(in_speeds("kane", system, speeds, M, f, reaction=reaction))


def reaction(system: System) -> Array:
    """Residual of active and inertia forces projected on all n velocities q̇: the constraint reactions."""
    total = -active_forces(system.motion, identity(len(system.q)))
    for body in system.motion.masses:
        force, moment = system.inertia_of(body)
        total = total + body.B.T @ force + body.D.T @ moment
    return total
