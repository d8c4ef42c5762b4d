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

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.body_momenta import momenta_on_changing_directions, reaction_by_momenta, show_momenta
from dalembert.formalisms.shared.common_quantities import beyond, rates, show_bodies, shown_speeds
from dalembert.formalisms.shared.linear_form import LinearForm, in_speeds
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import active_forces
from dalembert.mechanics.energies import kinetic
from dalembert.mechanics.system import System

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
    algebra = system.algebra
    show_bodies(system, show)
    speeds = shown_speeds(system, system.speeds, show)  # (3)–(5)
    T = show("T", "(7)", "kinetic energy in the speeds", kinetic(system.motion, speeds.qd))  # with (6)
    show_momenta(system, speeds, show)
    U = show("U", "(9)", "applied forces along the speeds", active_forces(system.motion, speeds.W))
    T_u = algebra.gradient(T, speeds.u)
    M = show("M", "(2)", "∂²T/∂u∂u", algebra.jacobian(T_u, speeds.u))
    A = show("A", "(2)", "d/dt ∂T/∂u at u̇ = 0", system.rate_of(T_u, speeds))
    K = show("K", "(2)", "momenta along changing directions", momenta_on_changing_directions(system, speeds))
    L = show.last("L", "(2)", "all that is free of u̇, U + K − A", U + K - A)
    ud = rates(system, speeds.u)
    push, plus = beyond(system, speeds)
    words = f"d/dt ∂T/∂u − Σ [P·d/dt(∂V_G/∂u) + H_G·d/dt(∂ω/∂u)] = U{plus}"
    show.law("(2)", words, ("M", "A", "K", "U"), lambda: (M @ ud + A - K, U + push))
    show.law("(2)", f"M u̇ = L{plus}", ("M", "L"), lambda: (M @ ud, L + push))
    show.law("(4)", "q̇ = W u + X", ("W", "X"), lambda: (system.qd, speeds.qd))
    return in_speeds("volterra", system, speeds, M, L)


reaction = reaction_by_momenta  # what (2) leaves over
