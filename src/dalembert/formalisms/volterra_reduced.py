"""The reduced Volterra equations: constant momenta of ignorable coordinates are added to the constraints; d − s equations.

Source: papers/volterra (10)–(67).

| symbol | name | meaning |
|---|---|---|
| q_I | `ignorable` | coordinates that are ignorable by Definition 1 |
| M′ q̇ + N′ = 0 | `M_prime`, `N_prime` | dynamical constraints, N′ = N₂ − G_I |
| G_I | `G` | constant momenta, from the initial state |
| u_NI, W_NI, X_NI | `speeds` | q̇ = W_NI u_NI + X_NI |
| q̇_I | `last` | velocities of ignorable coordinates: eliminated last, by M₂₂ |
| B_NI, C_NI | `B_NI`, `C_NI` | d/dt of the partial velocities, in the inertial frame |
| M_NI, K_NI, L_NI | `M`, `K`, `L` | M_NI u̇_NI = L_NI |

Deviates: (65) prints F_NI where K_NI of (63) is meant; (61) prints D_NI where C_NI of (58) is meant; under (12) the second
a₁ is a₂; λ_NI and λ_I of (18) and (19) are one λ, γ_NIj in (30) is dγ_NIj; the mass matrix of the standard method, below (67),
has p rows and not m.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.formalisms.shared.common_quantities import (
    along_speeds,
    define_bodies,
    define_speeds,
    momenta_on_changing_directions,
    rates,
    rates_of_momenta,
    reaction_by_momenta,
)
from dalembert.formalisms.shared.linear_form import Constants, in_speeds
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import active_forces, kinetic
from dalembert.mechanics.generalized_speeds import Speeds, invert
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity
from dalembert.symbolic.elimination import ldl_solve
from dalembert.symbolic.symbols import SymbolKind

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


def derive(system: System) -> Derived:
    """M_NI u̇_NI = L_NI, (64)."""
    define, algebra, known = Definitions(system), system.algebra, system.facts
    define_bodies(define, system)
    G = algebra.symbols([SymbolKind.CONSTANT.of(system.model.coordinate_names[i]) for i in known.ignorable])
    qd_I = system.qd[list(known.ignorable)]
    momenta = algebra.gradient(kinetic(system.motion, system.qd), qd_I)  # M′ q̇ + N₂ = ∂T/∂q̇_I: (22), (23)
    if known.s:
        momenta = define("G_I", momenta, "constant momenta of the ignorable coordinates, ∂T/∂q̇_I", "(26)")
    speeds = _speeds(define, system, momenta, G)
    last, u = _last(system), speeds.u
    W, X, W_I, v_I = speeds.W.copy(), speeds.X.copy(), speeds.W[last], system.qd[last]
    W[last], X[last] = 0, v_I
    apart = replace(speeds, W=W, X=X)  # q̇_I stays symbolic
    # M_NI = W_NIᵀ M W_NI and N_NI = W_NIᵀ (M X_NI + N); by (44) M′ W_NI = 0: M_NI needs only the rows of M other than M′,
    # and the ignorable velocities add nothing to N_NI
    T = kinetic(system.motion, apart.qd)
    p, p_I = algebra.gradient(T, u), algebra.gradient(T, v_I)
    M = algebra.jacobian(p, u) + algebra.jacobian(p, v_I) @ W_I
    M = define("M_NI", M, "mass matrix of the reduced speeds", "(47)")
    N = algebra.substitute(p + W_I.T @ p_I, {str(v): 0 for v in (*u, *v_I)})  # (48)
    A = lambda: system.rate_of(M @ u + N, speeds)  # noqa: E731 (of ∂T/∂u_NI = M_NI u_NI + N_NI, (50))
    define("A_NI", A, "d/dt ∂T/∂u_NI at u̇_NI = 0", "(52)")
    K = lambda: momenta_on_changing_directions(system, speeds)  # noqa: E731
    define("K_NI", K, "momenta times partial velocity rates", "(63)")
    U = active_forces(system.motion, apart.W)  # Q_I = 0: Definition 1
    U = define("U_NI", U, "applied forces along the speeds", "(33)")
    # Σ [d/dt P·∂V_G/∂u_NI + d/dt H_G·∂ω/∂u_NI] of (38) at constant q̇_I, whose rate adds W_NIᵀ M′ᵀ q̈_I = 0
    both = np.concatenate([apart.W, identity(len(system.q))[:, last]], axis=1)
    found = rates_of_momenta(system, apart, both)
    changing = found[: len(u)] + W_I.T @ found[len(u) :]  # ∂q̇_I/∂u_NI is W_NI too
    L = U - system.at_rates(changing, speeds.qd)  # K_NI − A_NI by (39)
    L = define.velocity_terms("L_NI", L, "terms without u̇_NI, U_NI + K_NI − A_NI", "(65)")  # corrected
    ud, (push, plus) = rates(system, speeds.u), along_speeds(system, speeds)
    define.law(f"M_NI u̇_NI = L_NI{plus}", ("M_NI", "L_NI"), lambda: (M @ ud, L + push), "(64)")
    define.law("q̇ = W_NI u_NI + X_NI", ("W_NI", "X_NI"), lambda: (system.qd, speeds.qd), "(43)")
    note = "no coordinate is ignorable, so there is nothing to reduce: these are Volterra's equations"
    if known.s:
        remaining = ", ".join(known.speed_names[i] for i in known.reduced)
        ignored = ", ".join(system.model.coordinate_names[i] for i in known.ignorable)
        words = f"the speeds {remaining} remain" if remaining else "no speed remains"
        note = f"the momenta of {ignored} are constants of the motion; {words}"
    constants = Constants(G, momenta)
    form = in_speeds("volterra_reduced", system, speeds, M, L, constants=constants, notes=(note,), reaction=reaction)
    return define.derived(form)


def _speeds(define: Definitions, system: System, momenta: Array, G: Array) -> Speeds:
    """u_NI and q̇ = W_NI u_NI + X_NI: (42)–(44)."""
    algebra, known, full = system.algebra, system.facts, system.speeds
    chosen = list(known.reduced)
    M_prime, N_prime = algebra.jacobian(momenta, system.qd), -G
    if known.s:
        rest = dict.fromkeys((str(v) for v in system.qd), 0)
        M_prime = define("M_prime", M_prime, "of the dynamical constraints M′ q̇ + N′ = 0", "(24)")
        N_prime = define("N_prime", algebra.substitute(momenta, rest) - G, "N₂ − G_I", "(25)")
    Y = define("Y_NI", full.Y[chosen], "of the speeds u_NI = Y_NI q̇ + Z_NI", "(42)")
    Z = define("Z_NI", full.Z[chosen], "of the speeds u_NI = Y_NI q̇ + Z_NI", "(42)")
    assert known.reduced_order is not None  # such models are rejected earlier
    last = _last(system)
    # (44) by blocks: a does not contain q̇_I, nor does u_NI in most models; then q̇_I is eliminated last
    dynamical = (identity(len(system.q))[last], -system.qd[last]) if last else (M_prime, N_prime)
    A = system.A.copy()
    A[:, list(known.ignorable)] = 0  # proved to vanish, possibly only by an identity such as sin² + cos² = 1
    reduced = invert(system.motion, full.u[chosen], Y, Z, [dynamical, (A, system.b)], known.reduced_order)
    if last:
        reduced = _with_momenta(system, reduced, G)
    return define_speeds(define, system, reduced, "(44)", "_NI")


def _last(system: System) -> list[int]:
    """Return the ignorable coordinates, whose velocities are eliminated last; empty if u_NI contains some of them."""
    return [] if system.facts.reduced_mixed else list(system.facts.ignorable)


def _with_momenta(system: System, speeds: Speeds, G: Array) -> Speeds:
    """Return the speeds with q̇_I solved for by M₂₂: M₂₂ q̇_I = G_I − M₂₁ q̇_NI − N₂, (23) with (22)."""
    algebra, last = system.algebra, _last(system)
    qd_I = system.qd[last]
    momenta = algebra.gradient(kinetic(system.motion, speeds.qd), qd_I)
    M21, M22 = algebra.jacobian(momenta, speeds.u), algebra.jacobian(momenta, qd_I)
    N2 = algebra.substitute(momenta, {str(v): 0 for v in (*speeds.u, *qd_I)})
    solved = ldl_solve(algebra, M22, np.concatenate([-M21, (G - N2)[:, None]], axis=1))
    W, X = speeds.W.copy(), speeds.X.copy()
    W[last], X[last] = solved[:, :-1], solved[:, -1]
    return replace(speeds, W=W, X=X)


def reaction(system: System) -> Array:
    """(64) for all n velocities u = q̇, compared with (18)(19); zero on ignorable coordinates by Definition 1."""
    out = reaction_by_momenta(system)
    out[list(system.facts.ignorable)] = 0
    return out
