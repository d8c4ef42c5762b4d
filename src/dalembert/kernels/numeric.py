"""How a linear system is solved in numbers at one state: at once, or in the ways that take dependent rows.

Plain functions on arrays of floats. Numba compiles them (`kernels/assembled`), and where it is missing they run as they stand.
The ways are written in units of equal energy, in which the diagonal of M is 1, for rows that are independent: `unknowns` sees
to both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.equations import Numeric
from dalembert.structure import rank
from dalembert.structure.constraint_rows import dimensionless
from dalembert.structure.rowwise import chosen, lengths, turned

Solution = tuple[np.ndarray, np.ndarray]

MOORE_PENROSE = list(Numeric).index(Numeric.MOORE_PENROSE)
LEAST_SQUARES = list(Numeric).index(Numeric.LEAST_SQUARES)
NULL_SPACE = list(Numeric).index(Numeric.NULL_SPACE)
GRAM_SCHMIDT = list(Numeric).index(Numeric.GRAM_SCHMIDT)


class Rules(NamedTuple):
    """How the system of a form is solved."""

    way: int  # the place among `Numeric`
    even: bool  # in units of equal energy
    most: int  # rows are combined, into no more than these; −1: they are taken as they are
    positions: np.ndarray  # (n,) by how much coordinates move
    sizes: np.ndarray  # (r,) how large the rows are by nature


def unknowns(
    rules: Rules, M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray, W: np.ndarray
) -> Solution:
    """x and λ of M x = h + Jᵀλ, A x = β with q̇ = W v: by combinations of the rows where these are (nearly) dependent.

    Where a formalism solves by its own way, v is measured in M_ii^(−1/2). Roots of M and orthogonal factors mix the
    velocities: with lengths in micrometres M has entries from 1e-12 to 1, and what is small drowns in the rounding of what is
    large. In units of equal energy the diagonal of M is 1.
    """
    unit = rank.inertia_scale(M, A) if rules.even else np.ones(len(h))
    M, h, A, J = unit[:, None] * M * unit, h * unit, A * unit, J * unit
    if rules.most < 0:
        x, lam = by(rules.way, M, h, A, beta, J)
        return x * unit, lam
    T = combinations(rules, A, W * unit)
    x, lam = by(rules.way, M, h, T @ A, T @ beta, T @ J)
    return x * unit, T.T @ lam


def combinations(rules: Rules, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """T, orthonormal combinations T A of the rows, no more of them than are independent on the manifold."""
    move = lengths(turned(W / rules.positions[:, None]))
    unit = 1 / chosen(move > 0, move, 1.0)  # of v: what moves the coordinates by their scales
    return rank.combined(dimensionless(A, unit, rules.sizes), unit, rules.most) / rules.sizes


def by(way: int, M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x and λ by one of the ways."""
    if not len(beta):
        return np.linalg.solve(M, h), np.zeros(0)
    if way == MOORE_PENROSE:
        return smallest_force(M, h, A, beta)
    if way == LEAST_SQUARES:
        return least_gaussian(M, h, A, beta)
    if way == NULL_SPACE:
        return in_null_space(M, h, A, beta)
    if way == GRAM_SCHMIDT:
        return along_directions(M, h, A, beta)
    return whole(M, h, A, beta, J)


def whole(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray, J: np.ndarray) -> Solution:
    """x and λ of [M −Jᵀ; A 0] (x, λ) = (h, β)."""
    n, r = len(h), len(beta)
    matrix, right = np.zeros((n + r, n + r)), np.empty(n + r)
    matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = M, -J.T, A
    right[:n], right[n:] = h, beta
    found = np.linalg.solve(matrix, right)
    return found[:n], found[n:]


def smallest_force(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray) -> Solution:
    """x = x₀ + M^(−1/2) B⁺(β − A x₀) with B = A M^(−1/2): (3.22)–(3.35) of papers/poincare, by the symmetric root of M."""
    values, vectors = np.linalg.eigh(M)
    if not (values > rank.DEFINITE).all():
        return where_mass_is_singular(M, h, A, beta)
    root = (vectors / np.sqrt(values)) @ vectors.T  # M^(−1/2)
    free = np.linalg.solve(M, h)  # (3.22)
    B_plus = rank.pseudo_inverse(A @ root, None, len(beta))  # (3.27)
    pull = B_plus @ (beta - A @ free)
    return free + root @ pull, B_plus.T @ pull  # (3.35)


def where_mass_is_singular(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray) -> Solution:
    """x = [(1 − A⁺A) M; A]⁺ [(1 − A⁺A) h; β]: Udwadia and Phohomsiri (2006)."""
    A_plus = rank.pseudo_inverse(A, None, len(beta))
    P = np.eye(len(h)) - A_plus @ A
    x = rank.pseudo_inverse(np.concatenate((P @ M, A)), None, None) @ np.concatenate((P @ h, beta))
    return x, A_plus.T @ (M @ x - h)


def least_gaussian(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray) -> Solution:
    """min ‖Rᵀ(x − x₀)‖ over A x = β with M = R Rᵀ: (3.36)(3.37) of papers/poincare, by orthogonal factors of Aᵀ and RᵀN."""
    n, r = len(h), len(beta)
    R = np.linalg.cholesky(M)
    target = np.linalg.solve(R, h)  # Rᵀ x₀
    Q, S = np.linalg.qr(np.concatenate((A.T, np.eye(n)), axis=1))
    held, N, S = Q[:, :r].copy(), Q[:, r:].copy(), S[:r, :r].copy()  # Aᵀ = held S, A N = 0
    x = held @ np.linalg.solve(S.T, beta)
    if r < n:
        P, L = np.linalg.qr(R.T @ N)
        x = x + N @ np.linalg.solve(L, P.T @ (target - R.T @ x))
    return x, np.linalg.solve(S, held.T @ (M @ x - h))


def in_null_space(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray) -> Solution:
    """x with an orthonormal basis N of the null space, and A⁺: (5.299)–(5.302) of papers/desapio."""
    A_plus, N = rank.split(A, None, len(beta))  # (5.299)
    x = A_plus @ beta
    if N.shape[1]:
        x = x + N @ np.linalg.solve(N.T @ M @ N, N.T @ (h - M @ x))  # (5.302)
    return x, A_plus.T @ (M @ x - h)


def along_directions(M: np.ndarray, h: np.ndarray, G: np.ndarray, beta: np.ndarray) -> Solution:
    """[DᵀM; G] x = [Dᵀh; β], (2.7) of papers/phong: redundant rows left out in step 1, trial vectors chosen in step 2."""
    rows, D = free_directions(G)
    left = np.concatenate((D.T @ M, G[rows]))
    x = np.linalg.solve(left, np.concatenate((D.T @ h, beta[rows])))  # (2.7)
    Q, S = np.linalg.qr(G.T)
    return x, np.linalg.solve(S, Q.T @ (M @ x - h))


def free_directions(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Independent rows, and D at one state, with orthonormal columns.

    >>> rows, D = free_directions(np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> rows.tolist(), D.shape
    ([0], (3, 2))
    """
    n, even = G.shape[1], rank.leveled(G, None)[0]
    basis, rows, count = np.zeros((n, n)), np.zeros(len(G), dtype=np.int64), 0
    for i in range(len(G)):  # step 1
        b = even[i] - basis.T @ (basis @ even[i])
        b = b - basis.T @ (basis @ b)
        length = np.linalg.norm(b)
        if length > rank.TOLERANCE and count < n:
            basis[count], rows[count] = b / length, i
            count += 1
    for k in range(count, n):  # step 2, with the unit vector that is farthest from what is there
        rest = np.eye(n) - basis.T @ basis
        d = rest[np.argmax(np.diag(rest))]
        d = d - basis.T @ (basis @ d)
        basis[k] = d / np.linalg.norm(d)
    return rows[:count], basis[count:].T.copy()
