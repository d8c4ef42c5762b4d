"""Poincaré's equations under constraints: quasi-velocities s = G(q,t) q̇, all n of them, ideal constraints or not.

Source: papers/poincare (2.2)–(2.16), (3.5), (3.25), (3.35), non-ideal (3.44)–(3.47).

| symbol | name | meaning |
|---|---|---|
| s = G q̇, q̇ = H s | `s`, `G`, `H` | quasi-velocities and the inverse map |
| P = Gᵀ, R_s = (∂s/∂q)ᵀ | `P`, `R` | (2.5), (2.7) |
| M_s ṡ = S | `M_s`, `S` | unconstrained motion (2.14)(2.15) |
| A_s ṡ = b_s | `A_s`, `b_s` | constraints (3.5) |
| a_s = M_s⁻¹ S | `a_s` | free quasi-acceleration (3.22) |
| B_s = A_s M_s^(−1/2) | `B_s` | (3.27) |
| C_s = Hᵀ C | `C_s` | non-ideal virtual work (3.45) |

    S_c = M_s^(1/2) B_s⁺ (b_s − A_s a_s) + M_s^(1/2) (1 − B_s⁺B_s) M_s^(−1/2) C_s       (3.47)

G is made of the user's speeds (their homogeneous part) completed by rates of coordinates.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import rates, show_bodies
from dalembert.formalisms.shared.linear_form import LinearForm, Rows, VelocityMap
from dalembert.formalisms.shared.linear_system import LinearSystem, Numeric, Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import generalized_forces, non_ideal_forces
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, identity, zeros
from dalembert.symbolic.linear_algebra import ldl, ldl_apply, ldl_solve, lower_solve, lu_solve, upper_solve

ABOUT = About(
    key="poincare",
    title="The constrained Poincaré equations",
    source="papers/poincare (2.2)–(2.16), (3.25), (3.35), (3.47)",
    needs="energies",
    velocities=Velocities.SQUARE_SPEEDS,
    count="n",
    lineage=("T", "V"),
    nonlinear=True,
    servo=True,
    redundant="takes",
    citation="""@article{udwadia2007,
  author = {Udwadia, Firdaus E. and Phohomsiri, Phailaung},
  title = {Explicit {P}oincar\\'e equations of motion for general constrained systems. {P}art {I}. {A}nalytical results},
  journal = {Proceedings of the Royal Society A},
  volume = {463},
  pages = {1421--1434},
  year = {2007}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M_s ṡ = S + S_c with A_s ṡ = b_s."""
    algebra, q, t = system.algebra, system.q, system.clock
    show_bodies(system, show, ("volterra (6)", "volterra (54)"))
    speeds = _square(system)
    G = show("G", "(2.2)", "quasi-velocities s = G q̇", speeds.Y)
    H = show("H", "(2.3)", "G⁻¹: q̇ = H s", speeds.W)
    speeds = replace(speeds, Y=G, W=H)
    s, qd = speeds.u, speeds.qd
    M_s, S = _unconstrained(system, speeds)
    M_s = show("M_s", "(2.13)", "mass matrix of the quasi-velocities, HᵀM H", M_s)
    S = show("S", "(2.15)", "all that is free of ṡ: M_s ṡ = S without constraints", S)
    A = system.at_rates(system.constraints.A, qd)
    beta = system.at_rates(system.constraints.beta, qd)
    bias = algebra.total_derivative(qd, (q, qd), t)  # Ḣ s
    C = non_ideal_forces(system.motion)
    C_s = None if C is None else H.T @ system.at_rates(C, qd)  # (3.45)
    linear = LinearSystem(M_s, S, A @ H, beta - A @ bias, C_s)  # (3.5)
    show_constrained(system, s, linear, show)
    show.law("(2.16)", "q̇ = H s", ("H",), lambda: (system.qd, qd))
    return LinearForm(
        formalism="poincare",
        system=system,
        velocity=VelocityMap(s, G @ system.qd, qd, H, bias),
        linear=linear,
        rows=Rows.ALL,
        solver=Solver(graph, Numeric.MOORE_PENROSE),
    )


def show_constrained(system: System, s: Array, linear: LinearSystem, show: Show) -> None:
    """A_s, b_s, B_s and S_c, and M_s ṡ = S + S_c: (3.23) with (3.25), or with (3.47) where constraints are not ideal."""
    sd = rates(system, s)
    if not linear.constrained:
        show.law("(2.14)", "M_s ṡ = S", ("M_s", "S"), lambda: (linear.M @ sd, linear.f))
        return
    A_s = show("A_s", "(3.5)", "constraints on quasi-accelerations: A_s ṡ = b_s", linear.A)
    b_s = show("b_s", "(3.5)", "right side of A_s ṡ = b_s", linear.beta)
    known = replace(linear, A=A_s, beta=b_s)
    alone = replace(known, C=None)

    def constraint_force(of: LinearSystem) -> Array:
        free = of.with_rows(list(system.facts.rows) if system.facts.dropped else slice(None))
        return of.M @ graph(system.algebra, free)[0] - of.f

    show.also(
        "B_s", "(3.27)", "A_s M_s^(−1/2), by the root L√D of M_s = L D Lᵀ", lambda: scaled_rows(system.algebra, known)
    )
    show.also("S_ideal", "(3.25)", "M_s^(1/2) B_s⁺ (b_s − A_s a_s)", lambda: constraint_force(alone))
    if known.C is not None:
        beyond = lambda: constraint_force(known) - constraint_force(alone)  # noqa: E731
        show.also("S_nonideal", "(3.47)", "M_s^(1/2) (1 − B_s⁺B_s) M_s^(−1/2) C_s", beyond)
    show.also("S_c", "(3.47)", "the force of the constraints", lambda: constraint_force(known))
    S_c = system.algebra.symbols([f"S_c[{i + 1}]" for i in range(len(linear.f))])
    words = "M_s ṡ = S + S_c with S_c = M_s^(1/2) B_s⁺ (b_s − A_s a_s)"
    words += " + M_s^(1/2) (1 − B_s⁺B_s) M_s^(−1/2) C_s" if known.C is not None else ""
    show.law(
        "(3.47)" if known.C is not None else "(3.35)", words, ("M_s", "S"), lambda: (linear.M @ sd, linear.f + S_c)
    )
    show.law("(3.5)", "A_s ṡ = b_s", ("A_s", "b_s"), lambda: (A_s @ sd, b_s))


def _unconstrained(system: System, speeds: Speeds) -> tuple[Array, Array]:
    """M_s and S of M_s ṡ = S: (2.14), functions of (q, s, t)."""
    algebra, q, t = system.algebra, system.q, system.clock
    G, H, s, qd = speeds.Y, speeds.W, speeds.u, speeds.qd
    T_s = kinetic(system.motion, qd)  # (2.4)
    T_ss = algebra.gradient(T_s, s)
    M_s = algebra.jacobian(T_ss, s)  # (2.13)
    P_dot = algebra.total_derivative(G.T, (q, qd), t)
    R = system.at_rates(algebra.jacobian(G @ system.qd, q).T, qd)  # (2.7)
    Q = system.at_rates(generalized_forces(system.motion), qd)  # (2.8)
    total = Q - algebra.gradient(potential(system.motion), q)
    inner = total - (P_dot - R) @ T_ss + algebra.gradient(T_s, q)
    return M_s, H.T @ inner - algebra.total_derivative(T_ss, (q, qd), t)  # (2.15), P⁻¹ = Hᵀ


def _square(system: System) -> Speeds:
    """s = G q̇: the speeds, completed by the rates of the coordinates the constraints are solved for."""
    algebra, n = system.algebra, len(system.q)
    known = system.facts
    G = np.concatenate([system.speeds.Y, _completion(system)], axis=0)
    taken = {*system.model.coordinate_names, *system.model.parameter_values, *known.speed_names}
    letter = next(word for k in itertools.count(1) if not any(f"{(word := 's' * k)}{i + 1}" in taken for i in range(n)))
    s = algebra.symbols([f"{letter}{i + 1}" for i in range(n)])
    return Speeds(s, G, zeros(n), lu_solve(algebra, G, identity(n), known.square_order), zeros(n))


def _completion(system: System) -> Array:
    """The rows below the speeds: rates of coordinates, and q·q̇ for a part of a quaternion, which is regular everywhere."""
    rows = identity(len(system.q))[list(system.facts.completing)]
    for row, i in zip(rows, system.facts.completing, strict=True):
        if i in system.facts.norms:
            row[:] = 0
            for j in system.facts.norms[i]:
                row[j] = system.q[j]
    return rows


def reaction(system: System) -> Array:
    """Q_c = Gᵀ S_c with S_c = M_s ṡ − S: (3.8)."""
    speeds = _square(system)
    M_s, S = _unconstrained(system, speeds)
    s = speeds.Y @ system.qd  # (2.2)
    there = {str(x): value for x, value in zip(speeds.u, s, strict=True)}
    S_c = M_s @ system.derivative(s) - system.algebra.substitute(S, there)
    return speeds.Y.T @ S_c


def scaled_rows(algebra: Algebra, linear: LinearSystem) -> Array:
    """B = A M^(−1/2) (3.27), with the root L√D."""
    L, D = ldl(algebra, linear.M)
    root = np.array([algebra.sqrt(d) for d in D], dtype=object)
    return (lower_solve(algebra, L, linear.A.T) / root[:, None]).T


def graph(algebra: Algebra, linear: LinearSystem) -> tuple[Array, Array]:
    """ṡ by (3.35) and (3.47), with the root M = (L√D)(L√D)ᵀ and independent rows."""
    S, A, b, C = linear.f, linear.A, linear.beta, linear.C
    L, D = ldl(algebra, linear.M)
    root = np.array([algebra.sqrt(d) for d in D], dtype=object)
    a_s = ldl_apply(algebra, L, D, S)  # (3.22)
    B = (lower_solve(algebra, L, A.T) / root[:, None]).T  # (3.27)
    lam = ldl_solve(algebra, B @ B.T, b - A @ a_s)
    step = B.T @ lam  # B⁺(b − A a), (3.25)
    if C is not None:
        scaled = lower_solve(algebra, L, C) / root  # M^(−1/2) C
        step = step + scaled - B.T @ ldl_solve(algebra, B @ B.T, B @ scaled)  # (3.47)
    return a_s + upper_solve(algebra, L, step / root), lam  # (3.35)
