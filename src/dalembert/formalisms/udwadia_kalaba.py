"""The Udwadia–Kalaba equation: the free acceleration, corrected by the smallest force that keeps the constraints.

Source: papers/poincare (3.22), (3.27), (3.34), (3.35) with s = q̇. Where M is singular but regular together with the
constraints: Udwadia and Phohomsiri (2006).

| symbol | name | meaning |
|---|---|---|
| q̈₀ = M⁻¹ h | `qdd_free` | acceleration without constraints |
| B = A M^(−1/2) | `B` | constraint matrix in the metric of M |
| B⁺ | `B_plus` | Moore–Penrose inverse: dependent constraints are welcome |

    q̈ = q̈₀ + M^(−1/2) B⁺ (β − A q̈₀)

Any square root of M gives the same q̈; the graph takes M = (L√D)(L√D)ᵀ, the numbers take the symmetric root.
"""

from __future__ import annotations

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import show_bodies, shown_push, shown_rows, vanishing
from dalembert.formalisms.shared.free_motion import free_equations, held_form, unexplained_force
from dalembert.formalisms.shared.inverses import inverse, inverse_mass, inverse_root, with_symmetric_names
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.linear_system import LinearSystem, Numeric, Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, identity
from dalembert.symbolic.linear_algebra import ldl, ldl_apply, ldl_solve, lower_solve, upper_solve

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
    redundant="takes",
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M q̈ = h + Q_c, left to `Solver` to find Q_c."""
    show_bodies(system, show, ("(2.11)", "(2.11)"))
    M, h = free_equations(system, show, ("(2.12)", "(2.15)"))
    show.beside(lambda: (_show_equation if system.facts.regular_mass else _show_principle)(system, show, M, h))
    return held_form("udwadia_kalaba", system, (M, h), Solver(graph, Numeric.MOORE_PENROSE))


def _show_equation(system: System, show: Show, M: Array, h: Array) -> None:
    """q̈₀, B = A M^(−1/2) and the explicit q̈."""
    algebra, h = system.algebra, shown_push(system, show, show.named("h", h))
    M_inv = inverse_mass(algebra, show, M, "(2.12)")
    qdd_free = show("qdd_free", "(3.22)", "acceleration without constraints, M⁻¹ h", M_inv @ h)
    qdd_free = show.named("qdd_free", qdd_free)
    A, beta = shown_rows(system, show, "(3.5)", ("(3.1)", "(3.2)"))
    if not len(beta):
        return show.law("(3.22)", "q̈ = q̈₀", ("qdd_free",), lambda: (system.qdd, qdd_free))
    A, beta = show.named("A", A), show.named("beta", beta)
    root, which = inverse_root(algebra, show, with_symmetric_names(show, "M", M))
    show("B", "(3.27)", f"A {which}", A @ root)
    pull = M_inv @ A.T  # M^(−1/2) Bᵀ
    K = pull @ inverse(algebra, show, "BB_inv", "(3.35)", A @ pull)  # B⁺ = Bᵀ (B Bᵀ)⁻¹ for independent rows
    K = show.named("K", show("K", "(3.35)", "M^(−1/2) B⁺: from what the free motion misses to accelerations", K))
    words, uses = "q̈ = q̈₀ + M^(−1/2) B⁺ (β − A q̈₀)", ("qdd_free", "K", "beta", "A")
    return show.law("(3.35)", words, uses, lambda: (system.qdd, qdd_free + K @ (beta - A @ qdd_free)))


def _show_principle(system: System, show: Show, M: Array, h: Array) -> None:
    """Where M is singular there is no q̈₀: d'Alembert's principle for all directions that A admits, and A q̈ = β."""
    A, beta = shown_rows(system, show, "(3.5)", ("(3.1)", "(3.2)"))
    left = M @ system.qdd - shown_push(system, show, h)
    free = identity(len(h)) - A.T @ inverse(system.algebra, show, "AA_inv", "(3.19)", A @ A.T) @ A
    show.law("(3.19)", "(1 − A⁺A)(M q̈ − h) = 0", ("M", "h", "A"), lambda: vanishing(free @ left))
    show.law("(3.5)", "A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta))


# Q_c = M (q̈ − q̈₀) of (3.35): no multipliers, which are large where constraints are nearly dependent
reaction = unexplained_force


def graph(algebra: Algebra, linear: LinearSystem) -> tuple[Array, Array]:
    """q̈ and λ with M = S Sᵀ, S = L√D, in place of the symmetric root."""
    h, A, beta = linear.push, linear.A, linear.beta
    L, D = ldl(algebra, linear.M)
    root = np.array([algebra.sqrt(d) for d in D], dtype=object)
    qdd_free = ldl_apply(algebra, L, D, h)  # (3.22)
    B = (lower_solve(algebra, L, A.T) / root[:, None]).T  # (3.27)
    lam = ldl_solve(algebra, B @ B.T, beta - A @ qdd_free)
    step = B.T @ lam  # B⁺(β − A q̈₀) for independent rows
    return qdd_free + upper_solve(algebra, L, step / root), lam  # (3.35)
