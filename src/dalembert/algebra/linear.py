"""Linear algebra on object arrays, unrolled, over any algebra.

Pivots cannot be chosen by value while a graph is being built, so symmetric positive definite systems are factored as
LDLᵀ without pivots, and general ones by LU in an order of rows and columns that was fixed at sample states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra.base import Algebra, Array, Scalar, identity, zeros
from dalembert.errors import SingularError


def _dot(algebra: Algebra, pairs: list[tuple[Scalar, Scalar]]) -> Scalar:
    """Σ a b without the terms that are zero by structure."""
    total: Scalar = 0
    for a, b in pairs:
        if not (algebra.is_zero(a) or algebra.is_zero(b)):
            total = total + a * b
    return total


def ldl(algebra: Algebra, M: Array) -> tuple[Array, Array]:
    """L (unit lower triangular) and D (diagonal, as a vector) with M = L D Lᵀ, for a symmetric positive definite M."""
    n = len(M)
    L, D, LD = identity(n), zeros(n), zeros(n, n)
    for j in range(n):
        D[j] = M[j, j] - _dot(algebra, [(LD[j, k], L[j, k]) for k in range(j)])
        for i in range(j + 1, n):
            LD[i, j] = M[i, j] - _dot(algebra, [(LD[i, k], L[j, k]) for k in range(j)])
            L[i, j] = 0 if algebra.is_zero(LD[i, j]) else LD[i, j] / D[j]
    return L, D


def ldl_solve(algebra: Algebra, M: Array, b: Array) -> Array:
    """M⁻¹ b for a symmetric positive definite M; b is a vector or a matrix of columns.

    >>> from dalembert.algebra import FLOATS
    >>> ldl_solve(FLOATS, np.array([[2.0, 0.0], [0.0, 4.0]], dtype=object), np.array([2.0, 2.0], dtype=object))
    array([1.0, 0.5], dtype=object)
    """
    return ldl_apply(algebra, *ldl(algebra, M), b)


def ldl_apply(algebra: Algebra, L: Array, D: Array, b: Array) -> Array:
    """(L D Lᵀ)⁻¹ b with factors already at hand."""
    n = len(D)
    x = np.array(b, dtype=object).reshape(n, -1)
    for column in x.T:
        for i in range(n):
            column[i] = column[i] - _dot(algebra, [(L[i, k], column[k]) for k in range(i)])
        for i in range(n):
            column[i] = 0 if algebra.is_zero(column[i]) else column[i] / D[i]
        for i in reversed(range(n)):
            column[i] = column[i] - _dot(algebra, [(L[k, i], column[k]) for k in range(i + 1, n)])
    return x.reshape(np.shape(b))


def kkt_solve(algebra: Algebra, M: Array, A: Array, h: Array, beta: Array) -> tuple[Array, Array]:
    """x and λ of M x = h + Aᵀλ, A x = β by the Schur complement A M⁻¹ Aᵀ."""
    L, D = ldl(algebra, M)
    free = ldl_apply(algebra, L, D, h)
    MiAt = ldl_apply(algebra, L, D, A.T)
    lam = ldl_solve(algebra, A @ MiAt, beta - A @ free)
    return free + MiAt @ lam, lam


@dataclass(frozen=True)
class PivotOrder:
    """The order in which rows and columns are eliminated, and how small the pivots got at the sample states."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    quality: float

    @property
    def rank(self) -> int:
        """The number of independent rows."""
        return len(self.rows)


def pivot_order(samples: Array, *, threshold: float = 1e-9) -> PivotOrder:
    """The elimination order, by complete pivoting, that is good at all samples at once.

    `samples` has shape (K, r, n): the same matrix at K states, the first of which matters most. A pivot is worth the
    smaller of its size at the first state and the geometric mean of its sizes, each relative to its own matrix.
    The first `rank` rows are independent, and the columns listed first are the ones to solve for.
    """
    A = np.array(samples, dtype=float)
    K, r, n = A.shape
    scale = np.abs(A).reshape(K, -1).max(axis=1, initial=0.0) if r and n else np.zeros(K)
    A = A / np.where(scale > 0, scale, 1.0)[:, None, None]
    rows, columns, quality = list(range(r)), list(range(n)), 1.0
    done = 0
    while done < min(r, n):
        size = np.abs(A[:, done:, done:])
        worth = np.minimum(size[0], np.exp(np.mean(np.log(np.maximum(size, 1e-300)), axis=0)))
        i, j = np.unravel_index(np.argmax(worth > 0.5 * worth.max()), worth.shape)
        if worth[i, j] <= threshold:
            break
        quality = min(quality, float(worth[i, j]))
        i, j = int(i) + done, int(j) + done
        A[:, [done, i]] = A[:, [i, done]]
        A[:, :, [done, j]] = A[:, :, [j, done]]
        rows[done], rows[i] = rows[i], rows[done]
        columns[done], columns[j] = columns[j], columns[done]
        pivot = A[:, done, done]
        factor = A[:, done + 1 :, done] / np.where(np.abs(pivot) > 1e-300, pivot, 1.0)[:, None]
        A[:, done + 1 :, :] -= factor[:, :, None] * A[:, None, done, :]
        done += 1
    return PivotOrder(tuple(rows[:done]), tuple(columns), quality)


def lu_solve(algebra: Algebra, A: Array, b: Array, order: PivotOrder) -> Array:
    """A⁻¹ b for a square A by elimination in the given order; b is a vector or a matrix of columns.

    >>> from dalembert.algebra import FLOATS
    >>> A = np.array([[0.0, 2.0], [1.0, 0.0]], dtype=object)
    >>> lu_solve(FLOATS, A, np.array([4.0, 3.0], dtype=object), pivot_order(A[None].astype(float)))
    array([3.0, 2.0], dtype=object)
    """
    n = len(A)
    if order.rank < n:
        raise SingularError(
            f"a {n}x{n} matrix has rank {order.rank} at the sample states. "
            "Expected an invertible matrix. Check that speeds and constraints are independent."
        )
    U = np.array(A, dtype=object)[np.ix_(order.rows, order.columns)]
    x = np.array(b, dtype=object).reshape(n, -1)[list(order.rows)]
    for j in range(n):
        for i in range(j + 1, n):
            if algebra.is_zero(U[i, j]):
                continue
            factor = U[i, j] / U[j, j]
            for row in (U, x):
                for k in range(row.shape[1]):
                    if not algebra.is_zero(row[j, k]) and (row is x or k > j):
                        row[i, k] = row[i, k] - factor * row[j, k]
    for i in reversed(range(n)):
        for column in x.T:
            rest = column[i] - _dot(algebra, [(U[i, k], column[k]) for k in range(i + 1, n)])
            column[i] = 0 if algebra.is_zero(rest) else rest / U[i, i]
    out = np.empty_like(x)
    out[list(order.columns)] = x
    return out.reshape(np.shape(b))


def inverse(algebra: Algebra, A: Array, order: PivotOrder) -> Array:
    """A⁻¹ by elimination in the given order, as (5) and (44) of papers/volterra need it for [Y; a]."""
    return lu_solve(algebra, A, identity(len(A)), order)
