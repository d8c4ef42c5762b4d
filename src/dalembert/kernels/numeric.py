"""How a linear system is solved in numbers: at once, or in the ways that take dependent rows. The batch is on the first axis.

`counts` are the ranks of A at each state, None where they have to be found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cholesky, get_lapack_funcs

from dalembert.equations import LinearSystem, Numeric
from dalembert.structure import rank

Counts = np.ndarray | None
Solution = tuple[np.ndarray, np.ndarray]


def whole(linear: LinearSystem, counts: Counts = None) -> Solution:
    """x and λ of [M −Jᵀ; A 0] (x, λ) = (f + C, β)."""
    h, n = linear.push, linear.push.shape[1]
    if not linear.constrained:
        return np.linalg.solve(linear.M, h[..., None])[..., 0], np.zeros_like(linear.beta)
    size = n + linear.beta.shape[1]
    matrix = np.zeros((len(h), size, size))
    matrix[:, :n, :n], matrix[:, :n, n:] = linear.M, -np.swapaxes(linear.directions, 1, 2)
    matrix[:, n:, :n] = linear.A
    solved = np.linalg.solve(matrix, np.concatenate([h, linear.beta], axis=1)[..., None])[..., 0]
    return solved[:, :n], solved[:, n:]


def smallest_force(linear: LinearSystem, counts: Counts = None) -> Solution:
    """x = x₀ + M^(−1/2) B⁺(β − A x₀) with B = A M^(−1/2): (3.22)–(3.35) of papers/poincare, by the symmetric root of M."""
    M, h, A, beta = linear.M, linear.push, linear.A, linear.beta
    if not rank.definite(M):
        return _where_mass_is_singular(linear, counts)
    values, vectors = np.linalg.eigh(M)
    root = vectors / np.sqrt(values)[:, None, :] @ np.swapaxes(vectors, 1, 2)  # M^(−1/2)
    free = np.linalg.solve(M, h[..., None])[..., 0]  # (3.22)
    B_plus = rank.pseudo_inverse(A @ root, count=counts)  # (3.27)
    gap = beta - np.einsum("krn,kn->kr", A, free)
    x = free + np.einsum("knm,kmr,kr->kn", root, B_plus, gap)  # (3.35)
    return x, np.einsum("kmr,kms,ks->kr", B_plus, B_plus, gap)


def _where_mass_is_singular(linear: LinearSystem, counts: Counts) -> Solution:
    """x = [(1 − A⁺A) M; A]⁺ [(1 − A⁺A) h; β], with coordinates in units of equal energy: Udwadia and Phohomsiri (2006)."""
    unit = rank.inertia_scale(linear.M, linear.A)
    even = linear.in_units(unit)
    M, h, A = even.M, even.push, even.A
    A_plus = rank.pseudo_inverse(A, count=counts)
    P = np.eye(M.shape[1]) - A_plus @ A
    left = np.concatenate([P @ M, A], axis=1)
    right = np.concatenate([np.einsum("knm,km->kn", P, h), even.beta], axis=1)
    x = np.einsum("knr,kr->kn", rank.pseudo_inverse(left), right)
    force = np.einsum("knm,km->kn", M, x) - h
    return unit * x, np.einsum("knr,kn->kr", A_plus, force)


def least_gaussian(linear: LinearSystem, counts: Counts = None) -> Solution:
    """min ‖Rᵀ(x − x₀)‖ over A x = β, state by state, with M = R Rᵀ: (3.36)(3.37) of papers/poincare."""
    unit = rank.inertia_scale(linear.M, linear.A)
    even = linear.in_units(unit)
    M, h, A, beta = even.M, even.push, even.A, even.beta
    x, lam = np.empty_like(h), np.zeros_like(beta)
    (least_squares,) = get_lapack_funcs(("gglse",), (M, A))
    counts = rank.numeric_rank(A) if counts is None else counts
    for k in range(len(h)):
        R = cholesky(M[k], lower=True)
        target = np.linalg.solve(R, h[k])  # Rᵀ x₀
        rows = list(rank.independent_rows(A[k], None, int(counts[k])))
        if rows:
            _, _, _, x[k], info = least_squares(R.T, A[k][rows], target, beta[k][rows])
            if info:
                x[k] = np.nan
        else:
            x[k] = np.linalg.solve(R.T, target)
        lam[k] = rank.smallest_multipliers(A[k], M[k] @ x[k] - h[k], np.ones(len(h[k])), int(counts[k]))
    return unit * x, lam


def in_null_space(linear: LinearSystem, counts: Counts = None) -> Solution:
    """x with a basis W that is orthonormal in units of equal energy, and A⁺: (5.299)–(5.302) of papers/desapio."""
    M, h, A, beta = linear.M, linear.push, linear.A, linear.beta
    x, lam = np.empty_like(h), np.zeros_like(beta)
    unit = rank.inertia_scale(M, A)
    for k in range(len(h)):
        A_plus, W = rank.split(A[k], unit[k], None if counts is None else int(counts[k]))  # (5.299)
        particular = A_plus @ beta[k]
        z = np.linalg.solve(W.T @ M[k] @ W, W.T @ (h[k] - M[k] @ particular))  # (5.302)
        x[k] = particular + W @ z
        lam[k] = A_plus.T @ (M[k] @ x[k] - h[k])
    return x, lam


def along_directions(linear: LinearSystem, counts: Counts = None) -> Solution:
    """[DᵀM; G] x = [Dᵀh; β], (2.7) of papers/phong: redundant rows left out in step 1, trial vectors chosen in step 2."""
    M, h, G, beta = linear.M, linear.push, linear.A, linear.beta
    x, lam = np.empty_like(h), np.zeros_like(beta)
    unit = rank.inertia_scale(M, G)
    counts = rank.numeric_rank(G, unit) if counts is None else counts
    for k in range(len(h)):
        rows, D = free_directions(G[k], unit[k], int(counts[k]))
        left = np.concatenate([D.T @ M[k], G[k][rows]])
        x[k] = np.linalg.solve(left, np.concatenate([D.T @ h[k], beta[k][rows]]))  # (2.7)
        lam[k] = rank.smallest_multipliers(G[k], M[k] @ x[k] - h[k], unit[k], int(counts[k]))
    return x, lam


def free_directions(
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


WAYS: dict[Numeric, Callable[[LinearSystem, Counts], Solution]] = {
    Numeric.WHOLE: whole,
    Numeric.MOORE_PENROSE: smallest_force,
    Numeric.LEAST_SQUARES: least_gaussian,
    Numeric.NULL_SPACE: in_null_space,
    Numeric.GRAM_SCHMIDT: along_directions,
}
