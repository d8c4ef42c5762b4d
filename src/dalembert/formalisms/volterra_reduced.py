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

from dataclasses import replace

import numpy as np

from dalembert.algebra import Array, identity
from dalembert.algebra.linear import ldl_solve
from dalembert.equations import About, Constants, LinearForm, Velocities, in_speeds
from dalembert.equations.momenta import momenta_changing, momenta_on_changing_directions, reaction_by_momenta
from dalembert.equations.quantities import SILENT, Show
from dalembert.equations.shared import beyond, rates, show_bodies, shown_speeds
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M_NI u̇_NI = L_NI, (64)."""
    algebra, known = system.algebra, system.facts
    show_bodies(system, show)
    G = algebra.symbols([Kind.CONSTANT.of(system.model.coordinate_names[i]) for i in known.ignorable])
    qd_I = system.qd[list(known.ignorable)]
    momenta = algebra.gradient(kinetic(system.motion, system.qd), qd_I)  # M′ q̇ + N₂ = ∂T/∂q̇_I: (22), (23)
    if known.s:
        momenta = show("G_I", "(26)", "constant momenta of the ignorable coordinates, ∂T/∂q̇_I", momenta)
    speeds = _speeds(system, momenta, G, show)
    I, free = _apart(system, speeds)  # noqa: E741
    # (47): M′ W_NI = 0, so of W_NIᵀ M W_NI only the rows beside M′ remain
    p = algebra.gradient(kinetic(system.motion, free.qd), free.u)
    M = algebra.jacobian(p, speeds.u) + algebra.jacobian(p, system.qd[I]) @ speeds.W[I]
    M = show("M_NI", "(47)", "mass matrix of the speeds that remain", M)
    K = momenta_on_changing_directions(system, speeds)
    # (38): for the same reason the rate of q̇_I drops out
    along = momenta_changing(system, free, np.concatenate([free.W, identity(len(system.q))[:, I]], axis=1))
    d = len(speeds.u)
    changing = system.at_rates(along[:d] + speeds.W[I].T @ along[d:], speeds.qd)
    A = show("A_NI", "(52)", "d/dt ∂T/∂u_NI at u̇_NI = 0", K + changing)
    K = show("K_NI", "(63)", "momenta along changing directions", K)
    U = show("U_NI", "(33)", "applied forces along the speeds", active_forces(system.motion, free.W))  # with Q_I = 0
    L = show.last("L_NI", "(65)", "all that is free of u̇_NI, U_NI + K_NI − A_NI", U + K - A)  # corrected
    ud = rates(system, speeds.u)
    push, plus = beyond(system, speeds)
    show.law("(64)", f"M_NI u̇_NI = L_NI{plus}", ("M_NI", "L_NI"), lambda: (M @ ud, L + push))
    show.law("(43)", "q̇ = W_NI u_NI + X_NI", ("W_NI", "X_NI"), lambda: (system.qd, speeds.qd))
    return in_speeds("volterra_reduced", system, speeds, M, L, constants=Constants(G, momenta), notes=(_note(system),))


def _speeds(system: System, momenta: Array, G: Array, show: Show) -> Speeds:
    """u_NI and q̇ = W_NI u_NI + X_NI: (42)–(44)."""
    algebra, known, full = system.algebra, system.facts, system.speeds
    chosen, I = list(known.reduced), list(known.ignorable)  # noqa: E741
    M_prime, N_prime = algebra.jacobian(momenta, system.qd), -G
    if known.s:
        rest = dict.fromkeys((str(v) for v in system.qd), 0)
        M_prime = show("M_prime", "(24)", "of the dynamical constraints M′ q̇ + N′ = 0", M_prime)
        N_prime = show("N_prime", "(25)", "N₂ − G_I", algebra.substitute(momenta, rest) - G)
    Y = show("Y_NI", "(42)", "of the speeds u_NI = Y_NI q̇ + Z_NI", full.Y[chosen])
    Z = show("Z_NI", "(42)", "of the speeds u_NI = Y_NI q̇ + Z_NI", full.Z[chosen])
    assert known.reduced_order is not None  # refused before where no speeds serve
    # where u_NI is free of q̇_I, so are Y_NI and a: those rows leave q̇_I as it is, and M′ q̇ + N′ = 0 is solved for it after them
    dynamical = (M_prime, N_prime) if known.reduced_mixed else (identity(len(system.q))[I], -system.qd[I])
    rows = [dynamical, (system.A, system.b)]
    reduced = invert(system.motion, full.u[chosen], Y, Z, rows, known.reduced_order)
    if known.s and not known.reduced_mixed:
        reduced = _without_ignorable(system, reduced, G)
    return shown_speeds(system, reduced, show, "(44)", "_NI")


def _without_ignorable(system: System, free: Speeds, G: Array) -> Speeds:
    """q̇_I by u_NI: M₂₁ u_NI + M₂₂ q̇_I + N₂ = G_I solved by M₂₂, (23)."""
    algebra, I = system.algebra, list(system.facts.ignorable)  # noqa: E741
    qd_I = system.qd[I]
    p_I = algebra.gradient(kinetic(system.motion, free.qd), qd_I)
    M21, M22 = algebra.jacobian(p_I, free.u), algebra.jacobian(p_I, qd_I)
    N2 = algebra.substitute(p_I, {str(v): 0 for v in (*free.u, *qd_I)})
    solved = ldl_solve(algebra, M22, np.concatenate([-M21, (G - N2)[:, None]], axis=1))
    W, X = free.W.copy(), free.X.copy()
    W[I], X[I] = solved[:, :-1], solved[:, -1]
    return replace(free, W=W, X=X)


def _apart(system: System, speeds: Speeds) -> tuple[list[int], Speeds]:
    """The ignorable coordinates whose velocities no u_NI contains, and the speeds with these velocities by their own names."""
    I = [] if system.facts.reduced_mixed else list(system.facts.ignorable)  # noqa: E741
    W, X = speeds.W.copy(), speeds.X.copy()
    W[I], X[I] = 0, system.qd[I]
    return I, replace(speeds, W=W, X=X)


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
