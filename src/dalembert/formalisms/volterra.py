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

from dalembert.equations import About, LinearForm, Velocities, in_speeds
from dalembert.equations.momenta import momenta_on_changing_directions, reaction_by_momenta
from dalembert.equations.quantities import SILENT, Show
from dalembert.kinematics import active_forces, kinetic
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M u̇ = U + Σ [P·d/dt(∂V_G/∂u) + H·d/dt(∂ω/∂u)] − (d/dt ∂T/∂u at u̇ = 0)."""
    algebra, speeds = system.algebra, system.speeds  # (3)–(5)
    T = kinetic(system.motion, speeds.qd)  # (7) with (6)
    T_u = algebra.gradient(T, speeds.u)
    M = algebra.jacobian(T_u, speeds.u)
    U = active_forces(system.motion, speeds.W)  # (9)
    f = U + momenta_on_changing_directions(system, speeds) - system.rate_of(T_u, speeds)  # (2)
    return in_speeds("volterra", system, speeds, M, f)


reaction = reaction_by_momenta  # what (2) leaves over
