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
from dalembert.equations import About, LinearForm, Solver, in_velocities
from dalembert.equations.free_motion import free_motion, unexplained_force
from dalembert.structure import System, rank

ABOUT = About(
    key="phong",
    title="Phong's equations",
    source="papers/phong (2.4)–(2.10)",
    needs="energies",
    velocities="q̇",
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


def derive(system: System) -> LinearForm:
    """Dᵀ M q̈ = Dᵀ h, d equations, closed by the constraints themselves."""
    M, h = free_motion(system)
    trials = [i for i in range(len(system.q)) if i not in system.facts.dependent]
    solver = Solver(partial(graph, trials=trials), numbers, rank_revealing=True)
    return in_velocities("phong", system, M, h, rows="all", solver=solver, count=system.facts.d)


def reaction(system: System) -> Array:
    """r = M q̈ − h: (2.4)."""
    return unexplained_force(system)


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


def graph(
    algebra: Algebra, M: Array, f: Array, G: Array, beta: Array, C: Array, trials: list[int]
) -> tuple[Array, Array]:
    """[DᵀM; G] q̈ = [Dᵀh; β]."""
    h, n = (f + C if len(C) else f), len(f)
    D = directions(algebra, G, trials)
    everywhere = PivotOrder(tuple(range(n)), tuple(range(n)), 0, 1.0)
    return lu_solve(algebra, stack(D.T @ M, G), stack(D.T @ h, beta), everywhere), zeros(len(beta))  # (2.7)


def numbers(
    M: np.ndarray,
    f: np.ndarray,
    G: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    counts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The same in numbers, state by state: redundant rows are left out in step 1, trial vectors chosen anew in step 2."""
    h = f + C if C.shape[1] else f
    qdd, lam = np.empty_like(h), np.zeros_like(beta)
    unit = rank.inertia_scale(M, G)
    counts = rank.numeric_rank(G, unit) if counts is None else counts
    for k in range(len(h)):
        rows, D = _directions_in_numbers(G[k], unit[k], int(counts[k]))
        left = np.concatenate([D.T @ M[k], G[k][rows]])
        qdd[k] = np.linalg.solve(left, np.concatenate([D.T @ h[k], beta[k][rows]]))  # (2.7)
        lam[k] = rank.smallest_multipliers(G[k], M[k] @ qdd[k] - h[k], unit[k], int(counts[k]))
    return qdd, lam


def _directions_in_numbers(
    G: np.ndarray, unit: np.ndarray | None = None, count: int | None = None
) -> tuple[list[int], np.ndarray]:
    """Independent rows, and D at one state: orthonormal with coordinates in the given units."""
    n = G.shape[1]
    most = int(rank.numeric_rank(G, unit)) if count is None else count
    basis, rows = np.zeros((0, n)), []
    for i, row in enumerate(rank.leveled(G, unit)[0]):  # step 1
        b = row - basis.T @ (basis @ row)
        b = b - basis.T @ (basis @ b)
        if np.linalg.norm(b) > rank.TOLERANCE and len(rows) < most:
            basis, rows = np.vstack([basis, b / np.linalg.norm(b)]), [*rows, i]
    first = len(basis)
    while len(basis) < n:  # step 2, with the unit vector that is farthest from what is there
        rest = np.eye(n) - basis.T @ basis
        d = rest[:, int(np.argmax(np.diag(rest)))]
        d = d - basis.T @ (basis @ d)
        basis = np.vstack([basis, d / np.linalg.norm(d)])
    D = basis[first:].T
    return rows, D if unit is None else unit[:, None] * D
