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

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import beyond, rates, show_bodies, shown_speeds, vanishing
from dalembert.formalisms.shared.linear_form import LinearForm, in_speeds
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import active_forces
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.resolved_velocities import velocities
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M u̇ = f with M = Σ m V_uᵀV_u + w_uᵀ I w_u."""
    show_bodies(system, show)
    speeds = shown_speeds(system, system.speeds, show)
    d = len(speeds.u)
    show_partial_velocities(system, speeds, show)
    F = show("F", "(9)", "generalized active forces", active_forces(system.motion, speeds.W))
    M, f = zeros(d, d), F.copy()
    for body, velocity in velocities(system.motion, speeds.qd, speeds.W):
        V, w = velocity.V, velocity.w  # (6)
        V_u, w_u = velocity.V_u, velocity.w_u  # partial velocities
        a, alpha = system.acceleration(V, speeds), system.rate_of(w, speeds)  # with u̇ = 0
        M = M + body.mass * V_u.dot(V_u) + w_u.T @ (body.inertia @ w_u)
        f = f - body.mass * V_u.dot(a) - w_u.T @ (body.inertia @ alpha + cross(w, body.inertia @ w))
    M, f = (
        show("M", "refs. [13, 14]", "mass matrix of the speeds", M),
        show.last("f", "refs. [13, 14]", "F + F* at u̇ = 0", f),
    )
    ud = rates(system, speeds.u)
    F_star = show("F_star", "refs. [13, 14]", "generalized inertia forces", f - F - M @ ud)
    push, plus = beyond(system, speeds)
    show.law("refs. [13, 14]", f"F + F*{plus} = 0", ("F", "F_star"), lambda: vanishing(F + F_star + push))
    show.law("(4)", "q̇ = W u + X", ("W", "X"), lambda: (system.qd, speeds.qd))
    return in_speeds("kane", system, speeds, M, f)


def show_partial_velocities(system: System, speeds: Speeds, show: Show) -> None:
    """∂V_G/∂u = B W and ∂ω/∂u = D W of every body."""
    bodies, names = system.motion.bodies, [body.name for body in system.motion.bodies]
    show.also("V_partial", "(6)", "∂V_G/∂u, world axes", lambda: np.array([b.B @ speeds.W for b in bodies]), names)
    show.also("omega_partial", "(6)", "∂ω/∂u, body axes", lambda: np.array([b.D @ speeds.W for b in bodies]), names)


def reaction(system: System) -> Array:
    """What active and inertia forces, projected on all n velocities q̇, leave over: the reaction of the constraints."""
    total = -active_forces(system.motion, identity(len(system.q)))
    for body in system.motion.masses:
        force, moment = system.inertia_of(body)
        total = total + body.B.T @ force + body.D.T @ moment
    return total
