"""The null space method: multipliers vanish when the equations are projected on a basis of the motions left free.

Source: papers/desapio (5.296)–(5.306).

| symbol | name | meaning |
|---|---|---|
| W | `W` | columns span ker Φ (5.299); orthonormal in numbers |
| M_p = WᵀM W | | (5.303) |
| z | `z` | minimal accelerations |

    q̈ = A⁺β + W z,   WᵀM W z = Wᵀ(h − M A⁺β)

Deviates: a basis from QR or SVD is not smooth in q, so W is never differentiated as (5.304) would; A⁺β takes its place.
The graph takes the basis of a partition of the coordinates, [−A_d⁻¹A_i; 1], which needs no square roots.
"""

from __future__ import annotations

from functools import partial

from dalembert.algebra import Algebra, Array, identity, zeros
from dalembert.algebra.linear import ldl_solve, orthogonal_solve
from dalembert.equations import About, LinearForm, LinearSystem, Numeric, Solver, Velocities
from dalembert.equations.free_motion import held_form, unexplained_force
from dalembert.equations.quantities import SILENT, Show
from dalembert.structure import System

ABOUT = About(
    key="nullspace",
    title="The null space method",
    source="papers/desapio (5.296)–(5.306)",
    needs="energies",
    velocities=Velocities.RATES,
    count="d",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    redundant="takes",
    compiles="large",
    citation="""@article{blajer1997,
  author = {Blajer, Wojciech},
  title = {A geometric unification of constrained system dynamics},
  journal = {Multibody System Dynamics},
  volume = {1},
  pages = {3--21},
  year = {1997}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M q̈ = h, projected by `Solver` on the null space of A."""
    solver = Solver(partial(graph, dependent=system.facts.dependent), Numeric.NULL_SPACE)
    return held_form("nullspace", system, solver, system.facts.d)


reaction = unexplained_force  # τ_C = M q̈ − h, which (5.83) makes orthogonal to every column of W


def graph(algebra: Algebra, linear: LinearSystem, dependent: tuple[int, ...]) -> tuple[Array, Array]:
    """q̈ with the basis of a partition: q_d are the dependent coordinates."""
    M, h, A, beta = linear.M, linear.push, linear.A, linear.beta
    n, r = len(h), len(beta)
    free = [i for i in range(n) if i not in dependent]
    W, particular = zeros(n, len(free)), zeros(n)
    W[free] = identity(len(free))
    if linear.constrained:
        right = zeros(r, len(free) + 1)
        right[:, :-1], right[:, -1] = -A[:, free], beta
        solved = orthogonal_solve(algebra, A[:, list(dependent)], right)
        W[list(dependent)], particular[list(dependent)] = solved[:, :-1], solved[:, -1]
    z = ldl_solve(algebra, W.T @ M @ W, W.T @ (h - M @ particular))  # (5.302)
    return particular + W @ z, zeros(r)
