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

import numpy as np

from dalembert.algebra import Algebra, Array, identity, zeros
from dalembert.algebra.linear import ldl_solve, orthogonal_solve
from dalembert.equations import About, LinearForm, Solver, in_velocities
from dalembert.equations.free_motion import free_motion, unexplained_force
from dalembert.structure import System, rank

ABOUT = About(
    key="nullspace",
    title="The null space method",
    source="papers/desapio (5.296)–(5.306)",
    needs="energies",
    velocities="q̇",
    count="d",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    redundant="takes",
    citation="""@article{blajer1997,
  author = {Blajer, Wojciech},
  title = {A geometric unification of constrained system dynamics},
  journal = {Multibody System Dynamics},
  volume = {1},
  pages = {3--21},
  year = {1997}
}""",
)


def derive(system: System) -> LinearForm:
    """M q̈ = h, projected by `Solver` on the null space of A."""
    M, h = free_motion(system)
    solver = Solver(partial(graph, dependent=system.facts.dependent), numbers, rank_revealing=True)
    return in_velocities("nullspace", system, M, h, rows="all", solver=solver, count=system.facts.d)


def reaction(system: System) -> Array:
    """τ_C = M q̈ − h, which (5.83) makes orthogonal to every column of W."""
    return unexplained_force(system)


def graph(
    algebra: Algebra, M: Array, f: Array, A: Array, beta: Array, C: Array, dependent: tuple[int, ...]
) -> tuple[Array, Array]:
    """q̈ with the basis of a partition: q_d are the dependent coordinates."""
    h, n, r = (f + C if len(C) else f), len(f), len(beta)
    free = [i for i in range(n) if i not in dependent]
    W, particular = zeros(n, len(free)), zeros(n)
    W[free] = identity(len(free))
    if r:
        right = zeros(r, len(free) + 1)
        right[:, :-1], right[:, -1] = -A[:, free], beta
        solved = orthogonal_solve(algebra, A[:, list(dependent)], right)
        W[list(dependent)], particular[list(dependent)] = solved[:, :-1], solved[:, -1]
    z = ldl_solve(algebra, W.T @ M @ W, W.T @ (h - M @ particular))  # (5.302)
    return particular + W @ z, zeros(r)


def numbers(
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    counts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """q̈ with the basis of an SVD, orthonormal in units of equal energy, and A⁺, state by state; `counts` are ranks of A."""
    h = f + C if C.shape[1] else f
    qdd, lam = np.empty_like(h), np.zeros_like(beta)
    unit = rank.inertia_scale(M, A)
    for k in range(len(h)):
        A_plus, W = rank.split(A[k], unit[k], None if counts is None else int(counts[k]))  # (5.299)
        particular = A_plus @ beta[k]
        z = np.linalg.solve(W.T @ M[k] @ W, W.T @ (h[k] - M[k] @ particular))  # (5.302)
        qdd[k] = particular + W @ z
        lam[k] = A_plus.T @ (M[k] @ qdd[k] - h[k])
    return qdd, lam
