"""Volterra's equations: kinetic energy in quasi-velocities, corrected by the momenta along the changing partial velocities.

Source: papers/volterra (2)–(9).

| symbol | name | meaning |
|---|---|---|
| u, W, X | `speeds` | q̇ = W u + X |
| T(q, u, t) | `T` | kinetic energy in quasi-velocities |
| P, H_G | `P`, `H` | linear momentum (world axes), angular momentum (body axes) |
| ∂V_G/∂u, ∂ω/∂u | `V_u`, `w_u` | partial velocities |
| U | `U` | generalized forces in quasi-velocity space |

d/dt of a vector is meant in the inertial frame: with ω in body axes, ω × (∂ω/∂u) is added.
"""

from __future__ import annotations

from dalembert.algebra import Array, identity, zeros
from dalembert.equations import About, LinearForm, Velocities, in_speeds
from dalembert.kinematics import Speeds, active_forces, kinetic
from dalembert.spatial import skew
from dalembert.structure import System

ABOUT = About(
    key="volterra",
    title="Volterra's equations",
    source="papers/volterra (2)–(9)",
    needs="bodies",
    velocities=Velocities.SPEEDS,
    count="d",
    lineage=("T", "bodies", "active forces"),
    singular_mass=True,
    citation="""@article{volterra1898,
  author = {Volterra, Vito},
  title = {Sopra una classe di equazioni dinamiche},
  journal = {Atti della Reale Accademia delle Scienze di Torino},
  volume = {33},
  pages = {451--475},
  year = {1898}
}""",
)


def derive(system: System) -> LinearForm:
    """M u̇ = U + Σ [P·d/dt(∂V_G/∂u) + H·d/dt(∂ω/∂u)] − (d/dt ∂T/∂u at u̇ = 0)."""
    algebra, speeds = system.algebra, system.speeds  # (3)–(5)
    T = kinetic(system.motion, speeds.qd)  # (7) with (6)
    T_u = algebra.gradient(T, speeds.u)
    M = algebra.jacobian(T_u, speeds.u)
    U = active_forces(system.motion, speeds.W)  # (9)
    f = U + _momenta_on_changing_directions(system, speeds) - system.rate_of(T_u, speeds)  # (2)
    return in_speeds("volterra", system, speeds, M, f)


def reaction(system: System) -> Array:
    """(2) written for u = q̇, all n of them: what it leaves over is the reaction of the constraints."""
    algebra, q, qd = system.algebra, system.q, system.qd
    free = Speeds(qd, identity(len(q)), zeros(len(q)), identity(len(q)), zeros(len(q)))
    T_u = algebra.gradient(kinetic(system.motion, qd), qd)
    rate = algebra.total_derivative(T_u, (q, qd), (qd, system.qdd), system.clock)
    return rate - _momenta_on_changing_directions(system, free) - active_forces(system.motion, free.W)


def _momenta_on_changing_directions(system: System, speeds: Speeds) -> Array:
    """Σ [P·d/dt(∂V_G/∂u) + H_G·d/dt(∂ω/∂u)], the sum in (2)."""
    total = zeros(len(speeds.u))
    for body in system.motion.masses:
        V, w = body.B @ speeds.qd + body.C, body.D @ speeds.qd + body.E  # (6)
        P, H = body.mass * V, body.inertia @ w  # (8)
        V_u, w_u = body.B @ speeds.W, body.D @ speeds.W
        dV_u = system.rate_of(V_u, speeds)
        dw_u = system.rate_of(w_u, speeds) + skew(w) @ w_u  # inertial derivative, in body axes
        total = total + dV_u.T @ P + dw_u.T @ H
    return total
