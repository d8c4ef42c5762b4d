"""Phong's equations: reactions of ideal constraints are orthogonal to D, and D comes from Gram–Schmidt in two steps.

Source: papers/phong (2.1)–(2.10) and the two-step algorithm of section 2.

| symbol | name | meaning |
|---|---|---|
| G | `G` | Jacobian of the constraints (2.6) |
| b_i | `b` | step 1: the rows of G made orthogonal; a row that vanishes is redundant |
| x_i | | trial vectors: unit vectors, chosen at sample states |
| D | `D` | step 2: columns orthogonal to every b and to each other, G D = 0 (2.6) |
| r | `reaction` | generalized reactions, r = M q̈ − h afterwards (2.4) |

    Dᵀ(M q̈ − h) = 0 (2.7)   with   G q̈ = β

Deviates: (2.7) is closed by G q̈ = β, the constraints on acceleration level, where the paper takes g(q, t) = 0
itself; the columns are not normalized, since (2.6) does not ask for it and square roots only make D longer; our h has
the opposite sign. Example 2 prints ℓ/√… as the first entry of B where 1/√… is meant. Constraints on velocities enter
by their rows A in the same way.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.algebra import Algebra, Array, identity, stack, zeros
from dalembert.algebra.linear import PivotOrder, lu_solve
from dalembert.equations import About, LinearForm, LinearSystem, Numeric, Solver, Velocities
from dalembert.equations.free_motion import held_form, unexplained_force
from dalembert.equations.quantities import SILENT, Show
from dalembert.structure import System

ABOUT = About(
    key="phong",
    title="Phong's equations",
    source="papers/phong (2.4)–(2.10)",
    needs="energies",
    velocities=Velocities.RATES,
    count="d",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    redundant="takes",
    citation="""@article{phong1999,
  author = {Dinh Van Phong},
  title = {An algorithm for deriving equations of motion of constrained mechanical system},
  journal = {Vietnam Journal of Mechanics},
  volume = {21},
  number = {1},
  pages = {36--44},
  year = {1999}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """Dᵀ M q̈ = Dᵀ h, d equations, closed by the constraints themselves."""
    trials = [i for i in range(len(system.q)) if i not in system.facts.dependent]
    return held_form("phong", system, Solver(partial(graph, trials=trials), Numeric.GRAM_SCHMIDT), system.facts.d)


reaction = unexplained_force  # r = M q̈ − h: (2.4)


def directions(algebra: Algebra, G: Array, trials: list[int]) -> Array:
    """D (n×m) by the two-step Gram–Schmidt, over any algebra; `trials` are the indices of the unit vectors x_i."""
    n = G.shape[1]
    basis: list[Array] = []
    for row in G:  # step 1
        basis.append(_orthogonal(algebra, row, basis))
    found = []
    for i in trials:  # step 2
        found.append(_orthogonal(algebra, identity(n)[i], [*basis, *found]))
    return np.array(found, dtype=object).reshape(len(found), n).T


def _orthogonal(algebra: Algebra, x: Array, basis: list[Array]) -> Array:
    """x less its parts along the basis."""
    out = x
    for b in basis:
        along = out @ b
        if not algebra.is_zero(along):
            out = out - along / (b @ b) * b
    return out


def graph(algebra: Algebra, linear: LinearSystem, trials: list[int]) -> tuple[Array, Array]:
    """[DᵀM; G] q̈ = [Dᵀh; β]."""
    M, h, G, beta = linear.M, linear.push, linear.A, linear.beta
    n = len(h)
    D = directions(algebra, G, trials)
    everywhere = PivotOrder(tuple(range(n)), tuple(range(n)), 0, 1.0)
    return lu_solve(algebra, stack(D.T @ M, G), stack(D.T @ h, beta), everywhere), zeros(len(beta))  # (2.7)
