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
from dalembert.equations import About, LinearForm, Solver, in_velocities
from dalembert.equations.free_motion import free_motion, unexplained_force
from dalembert.structure import System, rank

ABOUT = About(
    key="udwadia_kalaba",
    title="The Udwadia–Kalaba equation",
    source="papers/poincare (3.22)–(3.35) with s = q̇",
    needs="energies",
    velocities="q̇",
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    redundant="takes",
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


def derive(system: System) -> LinearForm:
    """M q̈ = h + Q_c, left to `Solver` to find Q_c."""
    M, h = free_motion(system)
    return in_velocities("udwadia_kalaba", system, M, h, rows="all", solver=Solver(graph, numbers, rank_revealing=True))


def reaction(system: System) -> Array:
    """Q_c = M (q̈ − q̈₀) of (3.35): no multipliers, which are large where constraints are nearly dependent."""
    return unexplained_force(system)


def graph(algebra: Algebra, M: Array, f: Array, A: Array, beta: Array, C: Array) -> tuple[Array, Array]:
    """q̈ and λ with M = S Sᵀ, S = L√D, in place of the symmetric root."""
    h = f + C if len(C) else f
    L, D = ldl(algebra, M)
    root = np.array([algebra.sqrt(d) for d in D], dtype=object)
    qdd_free = ldl_apply(algebra, L, D, h)  # (3.22)
    B = (lower_solve(algebra, L, A.T) / root[:, None]).T  # (3.27)
    lam = ldl_solve(algebra, B @ B.T, beta - A @ qdd_free)
    step = B.T @ lam  # B⁺(β − A q̈₀) for independent rows
    return qdd_free + upper_solve(algebra, L, step / root), lam  # (3.35)


def numbers(
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    counts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """q̈ and λ with the symmetric root of M and the Moore–Penrose inverse, batch on the first axis; `counts` are ranks of A."""
    h = f + C if C.shape[1] else f
    if not rank.definite(M):
        return _singular(M, h, A, beta, counts)
    values, vectors = np.linalg.eigh(M)
    root = vectors / np.sqrt(values)[:, None, :] @ np.swapaxes(vectors, 1, 2)  # M^(−1/2)
    qdd_free = np.linalg.solve(M, h[..., None])[..., 0]  # (3.22)
    B_plus = rank.pseudo_inverse(A @ root, count=counts)  # (3.27)
    gap = beta - np.einsum("krn,kn->kr", A, qdd_free)
    qdd = qdd_free + np.einsum("knm,kmr,kr->kn", root, B_plus, gap)  # (3.35)
    return qdd, np.einsum("kmr,kms,ks->kr", B_plus, B_plus, gap)


def _singular(
    M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, counts: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """q̈ = [(1 − A⁺A) M; A]⁺ [(1 − A⁺A) h; β] where M is singular, with coordinates in units of equal energy."""
    unit = rank.inertia_scale(M, A)
    M_u, h_u, A_u = M * unit[:, :, None] * unit[:, None, :], h * unit, A * unit[:, None, :]
    A_plus = rank.pseudo_inverse(A_u, count=counts)
    P = np.eye(M.shape[1]) - A_plus @ A_u
    left = np.concatenate([P @ M_u, A_u], axis=1)
    right = np.concatenate([np.einsum("knm,km->kn", P, h_u), beta], axis=1)
    qdd = np.einsum("knr,kr->kn", rank.pseudo_inverse(left), right)
    force = np.einsum("knm,km->kn", M_u, qdd) - h_u
    return unit * qdd, np.einsum("knr,kn->kr", A_plus, force)
