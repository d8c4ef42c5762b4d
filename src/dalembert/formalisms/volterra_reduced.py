"""The reduced Volterra equations: the constant momenta of ignorable coordinates join the constraints, so d − s equations remain.

Source: papers/volterra (10)–(67).

| symbol | name | meaning |
|---|---|---|
| q_I | `ignorable` | coordinates that Definition 1 finds ignorable |
| M′ q̇ + N′ = 0 | `M_prime`, `N_prime` | dynamical constraints, N′ = N₂ − G_I |
| G_I | `G` | constant momenta, from the initial state |
| u_NI, W_NI, X_NI | `speeds` | q̇ = W_NI u_NI + X_NI |
| B_NI, C_NI | `B_NI`, `C_NI` | d/dt of the partial velocities, in the inertial frame |
| K_NI, A_NI, L_NI | `K`, `A`, `L` | M_NI u̇_NI = L_NI |

Deviates: (65) prints F_NI where K_NI of (63) is meant; (61) prints D_NI where C_NI of (58) is meant; under (12) the second
a₁ is a₂.
"""

from __future__ import annotations

from dalembert.algebra import Array
from dalembert.equations import About, Constants, LinearForm, Velocities, in_speeds
from dalembert.equations.momenta import momenta_on_changing_directions, reaction_by_momenta
from dalembert.expressions import Kind
from dalembert.kinematics import Speeds, active_forces, kinetic
from dalembert.kinematics.speeds import invert
from dalembert.structure import System

ABOUT = About(
    key="volterra_reduced",
    title="The reduced Volterra equations",
    source="papers/volterra (10)–(67)",
    needs="bodies",
    velocities=Velocities.REDUCED_SPEEDS,
    count="d − s",
    lineage=("T", "bodies", "active forces"),
    citation="""@article{yoosefian2025,
  author = {Yoosefian Nooshabadi, Mohammad Hussein and Nejat Pishkenari, Hossein},
  title = {Development of an efficient formulation for {V}olterra's equations of motion for multibody dynamical systems},
  journal = {Scientia Iranica},
  volume = {32},
  number = {2},
  pages = {6891},
  year = {2025},
  doi = {10.24200/sci.2024.60600.6891}
}""",
)


def derive(system: System) -> LinearForm:
    """M_NI u̇_NI = L_NI, (64)."""
    algebra, known = system.algebra, system.facts
    G = algebra.symbols([Kind.CONSTANT.of(system.model.coordinate_names[i]) for i in known.ignorable])
    qd_I = system.qd[list(known.ignorable)]
    momenta = algebra.gradient(
        kinetic(system.motion, system.qd), qd_I
    )  # M′ q̇ + N₂ = ∂T/∂q̇_I: (22), (23), G_I at the start: (26)
    speeds = _speeds(system, momenta, G)
    T = kinetic(system.motion, speeds.qd)  # (46)
    T_u = algebra.gradient(T, speeds.u)  # (50)
    M = algebra.jacobian(T_u, speeds.u)  # (47)
    A = system.rate_of(T_u, speeds)  # (52)
    K = momenta_on_changing_directions(system, speeds)  # (63)
    U = active_forces(system.motion, speeds.W)  # (33)
    L = U + K - A  # (65), corrected
    return in_speeds("volterra_reduced", system, speeds, M, L, constants=Constants(G, momenta), notes=(_note(system),))


def _speeds(system: System, momenta: Array, G: Array) -> Speeds:
    """u_NI and q̇ = W_NI u_NI + X_NI: (42)–(44)."""
    algebra, known, full = system.algebra, system.facts, system.speeds
    chosen = list(known.reduced)
    M_prime = algebra.jacobian(momenta, system.qd)  # (24)
    rest = dict.fromkeys((str(v) for v in system.qd), 0)
    N_prime = algebra.substitute(momenta, rest) - G  # (25)
    u = full.u[chosen]
    assert known.reduced_order is not None  # refused before where no speeds serve
    rows = [(M_prime, N_prime), (system.A, system.b)]
    return invert(system.motion, u, full.Y[chosen], full.Z[chosen], rows, known.reduced_order)


def reaction(system: System) -> Array:
    """(64) written for u = q̇, all n of them, against (18)(19); on ignorable coordinates it vanishes by Definition 1."""
    out = reaction_by_momenta(system)
    out[list(system.facts.ignorable)] = 0
    return out


def _note(system: System) -> str:
    """What Definition 1 found, in a sentence."""
    known, names = system.facts, system.model.coordinate_names
    if not known.s:
        return "no coordinate is ignorable, so there is nothing to reduce: the equations are Volterra's own"
    chosen = ", ".join(known.speed_names[i] for i in known.reduced)
    kept = f"the speeds {chosen} remain" if chosen else "no speed remains"
    return f"the momenta of {', '.join(names[i] for i in known.ignorable)} are constants of the motion; {kept}"
