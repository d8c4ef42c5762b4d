"""Kane's equations: the active and inertia forces of every body, each projected on its partial velocities, sum to zero.

Source: papers/volterra (4)–(6), (9) and refs. [13, 14]; Σ partial velocity · (active + inertia force) = 0.

| symbol | name | meaning |
|---|---|---|
| ∂V_G/∂u, ∂ω/∂u | `V_u`, `w_u` | partial velocities: B W (world axes) and D W (body axes) |
| a, α | `a`, `alpha` | accelerations; those with u̇ = 0 are the remainders |
| −m a, −(I α + ω × I ω) | | inertia force and inertia torque |
| U | `U` | generalized active forces |
"""

from __future__ import annotations

from dalembert.algebra import Array, identity, zeros
from dalembert.equations import About, LinearForm, Velocities, in_speeds
from dalembert.kinematics import active_forces, velocities
from dalembert.spatial import cross
from dalembert.structure import System

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


def derive(system: System) -> LinearForm:
    """M u̇ = f with M = Σ m V_uᵀV_u + w_uᵀ I w_u."""
    speeds = system.speeds
    d = len(speeds.u)
    M, f = zeros(d, d), active_forces(system.motion, speeds.W).copy()  # (9)
    for body, velocity in velocities(system.motion, speeds.qd, speeds.W):
        V, w = velocity.V, velocity.w  # (6)
        V_u, w_u = velocity.V_u, velocity.w_u  # partial velocities
        a, alpha = system.acceleration(V, speeds), system.rate_of(w, speeds)  # with u̇ = 0
        M = M + body.mass * V_u.dot(V_u) + w_u.T @ (body.inertia @ w_u)
        f = f - body.mass * V_u.dot(a) - w_u.T @ (body.inertia @ alpha + cross(w, body.inertia @ w))
    return in_speeds("kane", system, speeds, M, f)


def reaction(system: System) -> Array:
    """What active and inertia forces, projected on all n velocities q̇, leave over: the reaction of the constraints."""
    total = -active_forces(system.motion, identity(len(system.q)))
    for body in system.motion.masses:
        force, moment = system.inertia_of(body)
        total = total + body.B.T @ force + body.D.T @ moment
    return total
