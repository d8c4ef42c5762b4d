"""Poincaré's equations under constraints: n quasi-velocities s = G(q,t) q̇, with ideal or non-ideal constraints.

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

G consists of the user's speeds (their homogeneous part) and of velocities that complete them: coordinate rates, and for a
quaternion components of ω and q·q̇.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.formalisms.shared.common_quantities import define_bodies, quasi_velocities, rates
from dalembert.formalisms.shared.linear_form import (
    AccelerationRows,
    LinearForm,
    LinearSystem,
    Numeric,
    Solver,
    VelocityMap,
)
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import scaled_rows, solve_poincare
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array

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
    dependent_rows="takes",
    citation="""@article{udwadia2007,
  author = {Udwadia, Firdaus E. and Phohomsiri, Phailaung},
  title = {Explicit {P}oincar\\'e equations of motion for general constrained systems. {P}art {I}. {A}nalytical results},
  journal = {Proceedings of the Royal Society A},
  volume = {463},
  pages = {1421--1434},
  year = {2007}
}""",
)


def derive(system: System) -> Derived:
    """M_s ṡ = S + S_c with A_s ṡ = b_s."""
    define, algebra = Definitions(system), system.algebra
    define_bodies(define, system, ("volterra (6)", "volterra (54)"))
    speeds = quasi_velocities(system)
    G = define("G", speeds.Y, "quasi-velocities s = G q̇", "(2.2)")
    H = define("H", speeds.W, "G⁻¹: q̇ = H s", "(2.3)")
    s, q, qd, clock = speeds.u, system.q, H @ speeds.u + speeds.X, system.clock
    T_s = kinetic(system.motion, qd)  # (2.4)
    T_ss = algebra.gradient(T_s, s)
    M_s = define("M_s", algebra.jacobian(T_ss, s), "mass matrix of the quasi-velocities, HᵀM H", "(2.13)")
    P_dot = algebra.total_derivative(G.T, (q, qd), clock)  # P = Gᵀ, (2.5)
    R = system.at_rates(algebra.jacobian(G @ system.qd, q).T, qd)  # (2.7)
    Q = system.at_rates(generalized_forces(system.motion), qd)  # (2.8)
    total = Q - algebra.gradient(potential(system.motion), q)
    inner = total - (P_dot - R) @ T_ss + algebra.gradient(T_s, q)
    S = H.T @ inner - algebra.total_derivative(T_ss, (q, qd), clock)  # P⁻¹ = Hᵀ
    S = define("S", S, "terms without ṡ: M_s ṡ = S without constraints", "(2.15)")
    A = system.at_rates(system.constraints.A, qd)
    beta = system.at_rates(system.constraints.beta, qd)
    bias = algebra.total_derivative(qd, (q, qd), clock)  # Ḣ s
    C = non_ideal_forces(system.motion)
    C_s = None if C is None else H.T @ system.at_rates(C, qd)  # (3.45)
    linear = LinearSystem(M_s, S, A @ H, beta - A @ bias, C_s)  # (3.5)
    _constrained(define, system, rates(system, s), linear)
    define.law("q̇ = H s", ("H",), lambda: (system.qd, qd), "(2.16)")
    return define.derived(
        LinearForm(
            formalism="poincare",
            system=system,
            velocity=VelocityMap(s, G @ system.qd, qd, H, bias),
            linear=linear,
            rows=AccelerationRows.ALL,
            solver=Solver(solve_poincare, Numeric.MOORE_PENROSE),
            reaction=reaction,
        )
    )


def _constrained(define: Definitions, system: System, sd: Array, linear: LinearSystem) -> None:
    """A_s, b_s, B_s and S_c, and M_s ṡ = S + S_c: (3.23) with (3.25), or with (3.47) for non-ideal constraints."""
    if not linear.constrained:
        return define.law("M_s ṡ = S", ("M_s", "S"), lambda: (linear.M @ sd, linear.f), "(2.14)")
    A_s = define("A_s", linear.A, "constraints on quasi-accelerations: A_s ṡ = b_s", "(3.5)")
    b_s = define("b_s", linear.beta, "right side of A_s ṡ = b_s", "(3.5)")
    known = replace(linear, A=A_s, beta=b_s)
    ideal = replace(known, C=None)

    def force(of: LinearSystem) -> Array:
        free = of.with_rows(list(system.facts.rows) if system.facts.dropped else slice(None))
        return of.M @ solve_poincare(system.algebra, free)[0] - of.f

    meaning = "A_s M_s^(−1/2), by the root L√D of M_s = L D Lᵀ"
    define("B_s", lambda: scaled_rows(system.algebra, known), meaning, "(3.27)")
    define("S_ideal", lambda: force(ideal), "M_s^(1/2) B_s⁺ (b_s − A_s a_s)", "(3.25)")
    words, number = "M_s ṡ = S + S_c with S_c = M_s^(1/2) B_s⁺ (b_s − A_s a_s)", "(3.35)"
    if known.C is not None:
        meaning = "M_s^(1/2) (1 − B_s⁺B_s) M_s^(−1/2) C_s"
        define("S_nonideal", lambda: force(known) - force(ideal), meaning, "(3.47)")
        words, number = f"{words} + {meaning}", "(3.47)"
    define("S_c", lambda: force(known), "constraint force", "(3.47)")
    S_c = system.algebra.symbols([f"S_c[{i + 1}]" for i in range(len(linear.f))])
    define.law(words, ("M_s", "S"), lambda: (linear.M @ sd, linear.f + S_c), number)
    return define.law("A_s ṡ = b_s", ("A_s", "b_s"), lambda: (A_s @ sd, b_s), "(3.5)")


def reaction(system: System) -> Array:
    """Q_c = Gᵀ S_c with S_c = M_s ṡ − S: (3.8)."""
    form = derive(system).form
    s = form.velocity.v_from_qd  # (2.2)
    at_state = {str(x): value for x, value in zip(form.velocity.v, s, strict=True)}
    S_c = form.linear.M @ system.derivative(s) - system.algebra.substitute(form.linear.f, at_state)
    return quasi_velocities(system).Y.T @ S_c
