"""Volterra's equations: kinetic energy in quasi-velocities, corrected by momenta times the rates of partial velocities.

Source: papers/volterra (2)–(9).

| symbol | name | meaning |
|---|---|---|
| u, W, X | `speeds` | q̇ = W u + X |
| T(q, u, t) | `T` | kinetic energy in quasi-velocities |
| P, H_G | `P`, `H` | linear momentum (world axes), angular momentum (body axes) |
| ∂V_G/∂u, ∂ω/∂u | `V_u`, `w_u` | partial velocities |
| U | `U` | generalized forces in quasi-velocity space |

d/dt of a vector is taken in the inertial frame: with ω in body axes, ω × (∂ω/∂u) is added.
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import (
    along_speeds,
    define_bodies,
    define_speeds,
    momenta_on_changing_directions,
    of_bodies,
    rates,
    reaction_by_momenta,
)
from dalembert.formalisms.shared.linear_form import in_speeds
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import active_forces, kinetic
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


def derive(system: System) -> Derived:
    """M u̇ = U + Σ [P·d/dt(∂V_G/∂u) + H·d/dt(∂ω/∂u)] − (d/dt ∂T/∂u at u̇ = 0)."""
    define, algebra, names = Definitions(system), system.algebra, [body.name for body in system.motion.bodies]
    define_bodies(define, system)
    speeds = define_speeds(define, system, system.speeds)  # (3)–(5)
    T = define("T", kinetic(system.motion, speeds.qd), "kinetic energy in the speeds", "(7)")  # with (6)
    P = lambda: of_bodies(system, lambda b: b.mass * (b.B @ speeds.qd + b.C))  # noqa: E731
    define("P", P, "linear momenta m V_G, world axes", "(8)", names)
    H = lambda: of_bodies(system, lambda b: b.inertia @ (b.D @ speeds.qd + b.E))  # noqa: E731
    define("H_G", H, "angular momenta about the mass centers, body axes", "(8)", names)
    U = define("U", active_forces(system.motion, speeds.W), "applied forces along the speeds", "(9)")
    T_u = algebra.gradient(T, speeds.u)
    M = define("M", algebra.jacobian(T_u, speeds.u), "∂²T/∂u∂u", "(2)")
    A = define("A", system.rate_of(T_u, speeds), "d/dt ∂T/∂u at u̇ = 0", "(2)")
    K = define("K", momenta_on_changing_directions(system, speeds), "momenta times partial velocity rates", "(2)")
    L = define.velocity_terms("L", U + K - A, "terms without u̇, U + K − A", "(2)")
    ud, (push, plus) = rates(system, speeds.u), along_speeds(system, speeds)
    words = f"d/dt ∂T/∂u − Σ [P·d/dt(∂V_G/∂u) + H_G·d/dt(∂ω/∂u)] = U{plus}"
    define.law(words, ("M", "A", "K", "U"), lambda: (M @ ud + A - K, U + push), "(2)")
    define.law(f"M u̇ = L{plus}", ("M", "L"), lambda: (M @ ud, L + push), "(2)")
    define.law("q̇ = W u + X", ("W", "X"), lambda: (system.qd, speeds.qd), "(4)")
    return define.derived(in_speeds("volterra", system, speeds, M, L, reaction=reaction_by_momenta))
