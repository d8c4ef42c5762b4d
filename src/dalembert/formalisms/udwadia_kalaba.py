"""The Udwadia–Kalaba equation: the free acceleration, corrected by the smallest force that satisfies the constraints.

Source: papers/poincare (3.22), (3.27), (3.34), (3.35) with s = q̇. Where M is singular but regular together with the
constraints: Udwadia and Phohomsiri (2006).

| symbol | name | meaning |
|---|---|---|
| q̈₀ = M⁻¹ h | `qdd_free` | acceleration without constraints |
| B = A M^(−1/2) | `B` | constraint matrix in the metric of M |
| B⁺ | `B_plus` | Moore–Penrose inverse; supports dependent constraints |

    q̈ = q̈₀ + M^(−1/2) B⁺ (β − A q̈₀)

Any square root of M gives the same q̈; the expression graph uses M = (L√D)(L√D)ᵀ, the numerical code the symmetric root.
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import (
    constrained_form,
    define_bodies,
    define_push,
    define_rows,
    free_equations,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import Numeric, Solver
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import (
    inverse_mass,
    inverse_root,
    printable_inverse,
    solve_udwadia_kalaba,
    symmetric_symbols,
)
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity

ABOUT = About(
    key="udwadia_kalaba",
    title="The Udwadia–Kalaba equation",
    source="papers/poincare (3.22)–(3.35) with s = q̇",
    needs="energies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    dependent_rows="takes",
    compiles="large",
    citation="""@article{udwadia1992,
  author = {Udwadia, Firdaus E. and Kalaba, Robert E.},
  title = {A new perspective on constrained motion},
  journal = {Proceedings of the Royal Society A},
  volume = {439},
  pages = {407--410},
  year = {1992},
  doi = {10.1098/rspa.1992.0158}
}""",
)


def derive(system: System) -> Derived:
    """M q̈ = h + Q_c; Q_c = M (q̈ − q̈₀) of (3.35) needs no multipliers, which are large for nearly dependent constraints."""
    define = Definitions(system)
    define_bodies(define, system, ("(2.11)", "(2.11)"))
    M, h = free_equations(system, define, ("(2.12)", "(2.15)"))
    define.later(lambda: (_equation if system.facts.regular_mass else _principle)(define, system, M, h))
    solver = Solver(solve_udwadia_kalaba, Numeric.MOORE_PENROSE)
    return define.derived(constrained_form("udwadia_kalaba", system, (M, h), solver))


def _equation(define: Definitions, system: System, M: Array, h: Array) -> None:
    """q̈₀, B = A M^(−1/2) and the explicit q̈."""
    algebra, h = system.algebra, define_push(define, system, define.symbols("h", h))
    M_inv = inverse_mass(define, algebra, M, "(2.12)")
    qdd_free = define.named("qdd_free", M_inv @ h, "acceleration without constraints, M⁻¹ h", "(3.22)")
    A, beta = define_rows(define, system, "(3.5)", ("(3.1)", "(3.2)"))
    if not len(beta):
        return define.law("q̈ = q̈₀", ("qdd_free",), lambda: (system.qdd, qdd_free), "(3.22)")
    A, beta = define.symbols("A", A), define.symbols("beta", beta)
    root, which = inverse_root(define, algebra, symmetric_symbols(define, "M", M))
    define("B", A @ root, f"A {which}", "(3.27)")
    pull = M_inv @ A.T  # M^(−1/2) Bᵀ
    K = pull @ printable_inverse(define, algebra, "BB_inv", A @ pull, "(3.35)")  # B⁺ = Bᵀ (B Bᵀ)⁻¹ for independent rows
    K = define.named("K", K, "M^(−1/2) B⁺: maps the constraint residual to accelerations", "(3.35)")
    words, uses = "q̈ = q̈₀ + M^(−1/2) B⁺ (β − A q̈₀)", ("qdd_free", "K", "beta", "A")
    return define.law(words, uses, lambda: (system.qdd, qdd_free + K @ (beta - A @ qdd_free)), "(3.35)")


def _principle(define: Definitions, system: System, M: Array, h: Array) -> None:
    """Without q̈₀, for a singular M: d'Alembert's principle for all admissible directions, and A q̈ = β."""
    A, beta = define_rows(define, system, "(3.5)", ("(3.1)", "(3.2)"))
    left = M @ system.qdd - define_push(define, system, h)
    free = identity(len(h)) - A.T @ printable_inverse(define, system.algebra, "AA_inv", A @ A.T, "(3.19)") @ A
    define.law("(1 − A⁺A)(M q̈ − h) = 0", ("M", "h", "A"), lambda: vanishing(free @ left), "(3.19)")
    define.law("A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta), "(3.5)")
