"""Gauss's principle of least constraint: of all admitted accelerations nature takes the one nearest to the free one.

Source: papers/poincare (3.36), (3.37), with s = q̇.

| symbol | name | meaning |
|---|---|---|
| q̈₀ = M⁻¹ h | `qdd_free` | acceleration without constraints |
| G(q̈) | `gaussian` | (q̈ − q̈₀)ᵀ M (q̈ − q̈₀), (3.36) |
| A q̈ = β | | the admitted accelerations |

The minimisation itself is done: in numbers by LAPACK's solver for least squares under linear equations, in the graph by the
condition that the gradient of G is a combination of the rows of A.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, get_lapack_funcs

from dalembert.algebra import Algebra, Array
from dalembert.algebra.linear import kkt_solve, ldl_solve
from dalembert.equations import About, LinearForm, Solver, in_velocities
from dalembert.equations.free_motion import free_motion, unexplained_force
from dalembert.structure import System, rank

ABOUT = About(
    key="gauss",
    title="Gauss's principle of least constraint",
    source="papers/poincare (3.36)(3.37)",
    needs="energies",
    velocities="q̇",
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    redundant="takes",
    citation="""@article{gauss1829,
  author = {Gauss, Carl Friedrich},
  title = {{\\"U}ber ein neues allgemeines {G}rundgesetz der {M}echanik},
  journal = {Journal f{\\"u}r die reine und angewandte Mathematik},
  volume = {4},
  pages = {232--235},
  year = {1829}
}""",
)


def derive(system: System) -> LinearForm:
    """M and h of the Gaussian, and the rows A q̈ = β of the admitted accelerations."""
    M, h = free_motion(system)
    return in_velocities("gauss", system, M, h, rows="all", solver=Solver(graph, numbers, rank_revealing=True))


def reaction(system: System) -> Array:
    """M (q̈ − q̈₀): half the gradient of the Gaussian."""
    return unexplained_force(system)


def gaussian(M: np.ndarray, h: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(q̈ − q̈₀)ᵀ M (q̈ − q̈₀) of (3.36), batch on the first axis."""
    gap = qdd - np.linalg.solve(M, h[..., None])[..., 0]
    return np.einsum("kn,knm,km->k", gap, M, gap)


def graph(algebra: Algebra, M: Array, f: Array, A: Array, beta: Array, C: Array) -> tuple[Array, Array]:
    """The stationary point of ½G − λ·(A q̈ − β): M (q̈ − q̈₀) = Aᵀλ."""
    h = f + C if len(C) else f
    if not len(beta):
        return ldl_solve(algebra, M, h), beta
    return kkt_solve(algebra, M, A, h, beta)


def numbers(
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    counts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """min ‖Rᵀ(q̈ − q̈₀)‖ over A q̈ = β, state by state, with M = R Rᵀ; `counts` are ranks of A."""
    h = f + C if C.shape[1] else f
    qdd, lam = np.empty_like(h), np.zeros_like(beta)
    (least_squares,) = get_lapack_funcs(("gglse",), (M, A))
    unit = rank.inertia_scale(M, A)  # coordinates in units of equal energy
    M, h, A = M * unit[:, :, None] * unit[:, None, :], h * unit, A * unit[:, None, :]
    counts = rank.numeric_rank(A) if counts is None else counts
    for k in range(len(h)):
        R = cholesky(M[k], lower=True)
        target = np.linalg.solve(R, h[k])  # Rᵀ q̈₀
        rows = list(rank.independent_rows(A[k], None, int(counts[k])))
        if rows:
            _, _, _, qdd[k], info = least_squares(R.T, A[k][rows], target, beta[k][rows])
            if info:
                qdd[k] = np.nan
        else:
            qdd[k] = np.linalg.solve(R.T, target)
        lam[k] = rank.smallest_multipliers(A[k], M[k] @ qdd[k] - h[k], np.ones(len(h[k])), int(counts[k]))
    return unit * qdd, lam
