"""How a linear system is solved in numbers at one state: at once, or in the ways that take dependent rows.

Plain functions on arrays of floats, which `simulation/assembled` compiles; on the engine `python` they run as they stand.
The ways are written in units of equal energy, in which the diagonal of M is 1, for rows that are independent: `independent`
sees to both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.codegen.linear_algebra import bordered, cholesky, inverse, qr, solve, svd
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_rows import dimensionless

Solution = tuple[np.ndarray, np.ndarray]


class Rules(NamedTuple):
    """How the rows of a form are taken."""

    even: bool  # v is measured in units of equal energy
    most: int  # rows are combined, into no more than these; −1: they are taken as they are
    positions: np.ndarray  # (n,) by how much coordinates move
    sizes: np.ndarray  # (r,) how large the rows are by nature


def independent(rules: Rules, M: np.ndarray, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The units of v and combinations T of the rows, in which M x = h + Jᵀλ, A x = β is solved; q̇ = W v.

    Where a formalism solves by its own way, v is measured in M_ii^(−1/2). Roots of M and orthogonal factors mix the
    velocities: with lengths in micrometres M has entries from 1e-12 to 1, and what is small drowns in the rounding of what is
    large. In units of equal energy the diagonal of M is 1.
    """
    unit = rank.inertia_scale(M, A) if rules.even else np.ones(len(M))
    if rules.most < 0:
        return unit, np.eye(len(A))
    move = np.linalg.norm((W * unit).T * (1 / rules.positions), axis=-1)
    step = inverse(move > 0, move, 1.0)  # of v: what moves the coordinates by their scales
    rows = dimensionless(A * unit, step, rules.sizes)
    return unit, rank.combined(rows, step, rules.most) * (1 / rules.sizes)


def whole(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x and λ of [M −Jᵀ; A 0] (x, λ) = (h, β)."""
    found = solve(bordered(M, J, A), np.concatenate((h, beta)))
    return found[: len(h)], found[len(h) :]


def smallest_force(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x = x₀ + M^(−1/2) B⁺(β − A x₀) with B = A M^(−1/2): (3.22)–(3.35) of papers/poincare, by the symmetric root of M."""
    V, values, _ = svd(M)  # M = V values Vᵀ, for M is symmetric and has no negative values
    if not rank.above(values, rank.DEFINITE).all():
        return where_mass_is_singular(M, h, A, beta, J)
    half = (V * (1 / np.sqrt(values))) @ V.T  # M^(−1/2)
    free = solve(M, h)  # (3.22)
    B_plus = rank.pseudo_inverse(A @ half, None, len(beta))  # (3.27)
    pull = B_plus @ (beta - A @ free)
    return free + half @ pull, B_plus.T @ pull  # (3.35)


def where_mass_is_singular(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x = [(1 − A⁺A) M; A]⁺ [(1 − A⁺A) h; β]: Udwadia and Phohomsiri (2006)."""
    A_plus = rank.pseudo_inverse(A, None, len(beta))
    P = np.eye(len(h)) - A_plus @ A
    x = rank.pseudo_inverse(np.concatenate((P @ M, A)), None, None) @ np.concatenate((P @ h, beta))
    return x, A_plus.T @ (M @ x - h)


def least_gaussian(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """min ‖Rᵀ(x − x₀)‖ over A x = β with M = R Rᵀ: (3.36)(3.37) of papers/poincare, by orthogonal factors of Aᵀ and RᵀN."""
    n, r = len(h), len(beta)
    R = cholesky(M)
    target = solve(R, h)  # Rᵀ x₀
    Q, S = qr(A.T)
    Y, N, S = Q[:, :r], Q[:, r:], S[:r]  # Aᵀ = Y S, A N = 0
    x = Y @ solve(S.T, beta)
    if r < n:
        P, L = qr(R.T @ N)
        gap = P.T @ (target - R.T @ x)
        x = x + N @ solve(L[: n - r], gap[: n - r])
    return x, solve(S, Y.T @ (M @ x - h))


def in_null_space(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x with an orthonormal basis N of the null space, and A⁺: (5.299)–(5.302) of papers/desapio."""
    A_plus, N = rank.split(A, None, len(beta))  # (5.299)
    x = A_plus @ beta
    if N.shape[1]:
        z = solve(N.T @ (M @ N), N.T @ (h - M @ x))  # (5.302)
        x = x + N @ z
    return x, A_plus.T @ (M @ x - h)


def along_directions(M: np.ndarray, h: np.ndarray, G: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """[DᵀM; G] x = [Dᵀh; β], (2.7) of papers/phong: redundant rows left out in step 1, trial vectors chosen in step 2."""
    rows, D = free_directions(G)
    left = np.concatenate((D.T @ M, G[rows]))
    x = solve(left, np.concatenate((D.T @ h, beta[rows])))  # (2.7)
    Q, S = qr(G.T)
    return x, solve(S[: len(beta)], (Q.T @ (M @ x - h))[: len(beta)])


def free_directions(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Independent rows, and D at one state, with orthonormal columns.

    >>> rows, D = free_directions(np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> rows.tolist(), D.shape
    ([0], (3, 2))
    """
    n, even = G.shape[1], rank.leveled(G, None)[0]
    basis, rows, count = np.zeros((n, n)), np.zeros(len(G), dtype=np.int64), 0
    for i in range(len(G)):  # step 1
        b = apart(basis, even[i])
        length = np.sqrt(np.sum(b * b))
        if length > rank.TOLERANCE and count < n:
            rows[count] = i
            basis[count] = b / length
            count += 1
    for k in range(count, n):  # step 2, with the unit vector that is farthest from what is there
        rest = np.eye(n) - basis.T @ basis
        d = apart(basis, rest[np.argmax(np.diagonal(rest))])
        basis[k] = d / np.sqrt(np.sum(d * d))
    return rows[:count], basis[count:].T


def apart(basis: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What is left of b without its part along orthonormal rows; twice, for rounding."""
    b = b - basis.T @ (basis @ b)
    return b - basis.T @ (basis @ b)
