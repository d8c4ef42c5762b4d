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

from dalembert.algebra import Algebra, Array
from dalembert.algebra.linear import ldl, ldl_apply, ldl_solve, lower_solve, upper_solve
from dalembert.equations import About, LinearForm, LinearSystem, Numeric, Solver, Velocities
from dalembert.equations.free_motion import held_form, unexplained_force
from dalembert.equations.quantities import SILENT, Show
from dalembert.structure import System

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
    return held_form("udwadia_kalaba", system, Solver(graph, Numeric.MOORE_PENROSE))


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
