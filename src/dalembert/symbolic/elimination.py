"""Linear algebra on object arrays, unrolled, over any algebra.

Pivots cannot be chosen by value while a graph is being built. Symmetric positive definite systems are factored as LDLᵀ
without pivoting. General systems are factored by LU in an order of rows and columns that is fixed at sample states, as long
as the pivots are constant; the remaining block is solved by Gram–Schmidt orthogonalization.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalembert.errors import SingularError
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, scaled, zeros

_CONSTANT_PIVOT_TOLERANCE = 1e-9  # largest relative variation of a pivot that counts as constant
_SMALL_PIVOT = 1e-6  # relative to the largest entry: a smaller pivot loses too many digits
RANK_TOLERANCE = 1e-9  # the only rank tolerance, dimensionless; `mechanics/rank` defines how the rank is determined


def _dot(algebra: Algebra, pairs: list[tuple[Scalar, Scalar]]) -> Scalar:
    """Σ a b without the structurally zero terms."""
    total: Scalar = 0
    for a, b in pairs:
        if not (algebra.is_zero(a) or algebra.is_zero(b)):
            total = total + a * b
    return total


def _quotient(algebra: Algebra, a: Scalar, b: Scalar) -> Scalar:
    """a / b; for two integers exact where the algebra is exact."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if a % b == 0 else algebra.number(Fraction(a, b))
    return a / b


def _columns(b: Array) -> Array:
    """Copy a vector or matrix to a matrix of columns, which may be empty."""
    x = np.array(b, dtype=object)
    return x[:, None] if x.ndim == 1 else x


def ldl(algebra: Algebra, M: Array) -> tuple[Array, Array]:
    """L (unit lower triangular) and D (diagonal, as a vector) with M = L D Lᵀ, for a symmetric positive definite M."""
    n = len(M)
    L, D, LD = identity(n), zeros(n), zeros(n, n)
    for j in range(n):
        D[j] = M[j, j] - _dot(algebra, [(LD[j, k], L[j, k]) for k in range(j)])
        for i in range(j + 1, n):
            LD[i, j] = M[i, j] - _dot(algebra, [(LD[i, k], L[j, k]) for k in range(j)])
            L[i, j] = 0 if algebra.is_zero(LD[i, j]) else _quotient(algebra, LD[i, j], D[j])
    return L, D


def ldl_solve(algebra: Algebra, M: Array, b: Array) -> Array:
    """M⁻¹ b for a symmetric positive definite M; b is a vector or a matrix of columns."""
    return ldl_solver(algebra, M, _columns(b).shape[1])(b)


def ldl_solver(algebra: Algebra, M: Array, columns: int) -> Callable[[Array], Array]:
    """M⁻¹ as a function of vectors or matrices, for a symmetric positive definite M; `columns` is the expected column count."""
    if (rolled := algebra.solver("symmetric", M, columns)) is not None:
        return rolled
    L, D = ldl(algebra, M)
    return lambda b: ldl_apply(algebra, L, D, b)


def ldl_apply(algebra: Algebra, L: Array, D: Array, b: Array) -> Array:
    """(L D Lᵀ)⁻¹ b with known factors."""
    half = lower_solve(algebra, L, b)
    inner = _columns(half)
    for column in inner.T:
        for i in range(len(D)):
            column[i] = 0 if algebra.is_zero(column[i]) else _quotient(algebra, column[i], D[i])
    return upper_solve(algebra, L, inner.reshape(np.shape(b)))


def lower_solve(algebra: Algebra, L: Array, b: Array) -> Array:
    """L⁻¹ b for a unit lower triangular L; b is a vector or a matrix of columns."""
    return _substituted(algebra, L, b, [(i, range(i)) for i in range(len(L))])


def upper_solve(algebra: Algebra, L: Array, b: Array) -> Array:
    """L⁻ᵀ b for a unit lower triangular L; b is a vector or a matrix of columns."""
    n = len(L)
    return _substituted(algebra, L.T, b, [(i, range(i + 1, n)) for i in reversed(range(n))])


def _substituted(algebra: Algebra, T: Array, b: Array, order: list[tuple[int, range]]) -> Array:
    """T⁻¹ b row by row; each row is paired with the indices that are solved before it."""
    x = _columns(b)
    for column in x.T:
        for i, solved in order:
            column[i] = column[i] - _dot(algebra, [(T[i, k], column[k]) for k in solved])
    return x.reshape(np.shape(b))


def kkt_solve(
    algebra: Algebra, M: Array, A: Array, h: Array, beta: Array, J: Array | None = None
) -> tuple[Array, Array]:
    """x and λ of M x = h + Jᵀλ, A x = β by the Schur complement A M⁻¹ Jᵀ; J defaults to A."""
    solve = ldl_solver(algebra, M, 1 + len(A))
    free, MiJt = solve(h), solve((A if J is None else J).T)
    lam = ldl_solve(algebra, A @ MiJt, beta - A @ free)
    return free + MiJt @ lam, lam


MAX_CROSS_PRODUCT_DIMENSION = 6  # maximum dimension of a cross product, whose cost is about n 2ⁿ⁻¹ products


def cross_product(algebra: Algebra, rows: Array) -> Array:
    """The vector orthogonal to n − 1 rows (n−1, n): their minors, which all vanish only where the rows are dependent.

    Gram–Schmidt from a trial vector gives a multiple of it, which also vanishes where the trial vector lies in the row space.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> cross_product(FLOATS, np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], dtype=object)).tolist()
    [0, 0, 2.0]
    """
    n = rows.shape[1]
    minors: dict[tuple[int, ...], Scalar] = {(): 1}  # of the rows so far, by their columns
    for row in rows:
        minors = _expanded(algebra, row, minors)
    out = zeros(n)
    for j in range(n):
        minor = minors.get(tuple(i for i in range(n) if i != j), 0)
        out[j] = minor if (n - 1 - j) % 2 == 0 or algebra.is_zero(minor) else -minor
    return out


def _expanded(algebra: Algebra, row: Array, minors: dict[tuple[int, ...], Scalar]) -> dict[tuple[int, ...], Scalar]:
    """Extend the minors by one row."""
    terms: dict[tuple[int, ...], list[tuple[Scalar, Scalar]]] = {}
    for columns, minor in minors.items():
        for j, entry in enumerate(row):
            if j not in columns and not algebra.is_zero(entry):
                inversions = sum(1 for i in columns if i > j)
                terms.setdefault(tuple(sorted((*columns, j))), []).append((-entry if inversions % 2 else entry, minor))
    return {columns: _dot(algebra, pairs) for columns, pairs in terms.items()}


@dataclass(frozen=True)
class PivotOrder:
    """Order of elimination of rows and columns, fixed at sample states.

    `rows` are independent rows; the first columns are the unknowns. The first `n_constant_pivots` pivots have the same value at
    all states, so eliminating with them is safe everywhere; later pivots may vanish along a motion. `quality` is the smallest
    pivot relative to the largest entry.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    n_constant_pivots: int
    quality: float

    @property
    def rank(self) -> int:
        """The number of independent rows."""
        return len(self.rows)


def pivot_order(samples: Array, *, rank: int | None = None) -> PivotOrder:
    """An elimination order that is well conditioned at all samples; `samples` is one matrix at K states, (K, r, n).

    Constant pivots come first, those with the fewest neighbors ahead. The others are ranked by the geometric mean of their
    magnitudes, in which the first state has the largest weight. Entries are compared with each other, so rows and columns
    should have comparable units. `rank` is the number of independent rows, if known.
    """
    A = np.array(samples, dtype=float)
    _, r, n = A.shape
    scale = np.abs(A).max(initial=0.0)
    A = A / (scale or 1.0)
    rows, columns, quality, steady, done = list(range(r)), list(range(n)), 1.0, 0, 0
    while done < min(r, n) if rank is None else done < rank:
        block = A[:, done:, done:]
        i, j, score, is_constant = _best_pivot(block)
        if score <= RANK_TOLERANCE and rank is None:
            break
        quality = min(quality, score)
        steady += int(is_constant and steady == done)
        i, j = i + done, j + done
        A[:, [done, i]] = A[:, [i, done]]
        A[:, :, [done, j]] = A[:, :, [j, done]]
        rows[done], rows[i] = rows[i], rows[done]
        columns[done], columns[j] = columns[j], columns[done]
        pivot = A[:, done, done]
        factor = A[:, done + 1 :, done] / np.where(np.abs(pivot) > 1e-300, pivot, 1.0)[:, None]
        A[:, done + 1 :, :] -= factor[:, :, None] * A[:, None, done, :]
        done += 1
    return PivotOrder(tuple(rows[:done]), tuple(columns), steady, quality)


def pivots_stay_constant(order: PivotOrder, samples: np.ndarray) -> bool:
    """True when the constant pivots of an order are also constant at other samples, such as those of other parameter values.

    >>> known = pivot_order(np.array([[[1.0, 0.5]], [[1.0, 0.7]]]))
    >>> constant, varying = np.array([[[2.0, 0.5]], [[2.0, 0.7]]]), np.array([[[1.0, 0.5]], [[0.0, 0.7]]])
    >>> pivots_stay_constant(known, constant), pivots_stay_constant(known, varying)
    (True, False)
    """
    A = np.array(samples, dtype=float)[:, order.rows][:, :, order.columns]
    A = A / (np.abs(A).max(initial=0.0) or 1.0)
    for k in range(order.n_constant_pivots):
        pivot = A[:, k, k]
        if np.ptp(pivot) > _CONSTANT_PIVOT_TOLERANCE * np.abs(pivot).max() or np.abs(pivot).min() <= _SMALL_PIVOT:
            return False
        A[:, k + 1 :, :] -= (A[:, k + 1 :, k] / pivot[:, None])[:, :, None] * A[:, None, k, :]
    return True


def _best_pivot(block: np.ndarray) -> tuple[int, int, float, bool]:
    """Indices and score of the best pivot in a block (K, r, n), and whether it is constant over all states."""
    magnitude = np.abs(block)
    logarithms = np.log(np.maximum(magnitude, 1e-12))
    logarithm = 0.3 * logarithms[0] + 0.7 * logarithms.mean(axis=0)
    score = np.exp(logarithm)
    constant = (np.ptp(block, axis=0) <= 1e-13 * magnitude.max(axis=0)) & (score > 1e-3)
    if constant.any():
        filled = magnitude.max(axis=0) > 1e-14
        neighbors = filled.sum(axis=1)[:, None] * filled.sum(axis=0)[None, :]
        i, j = np.unravel_index(np.argmin(np.where(constant, neighbors, np.inf)), score.shape)
    else:
        i, j = np.unravel_index(np.argmax(np.round(logarithm, 6)), score.shape)  # the first of equal scores
    return int(i), int(j), float(score[i, j]), bool(constant[i, j])


def lu_solve(algebra: Algebra, A: Array, b: Array, order: PivotOrder) -> Array:
    """A⁻¹ b for a square A, in this order; b is a vector or a matrix of columns.

    LU elimination uses the constant pivots. The remaining block has pivots that may vanish somewhere although A is regular
    there, so it is solved with orthogonal columns (Gram–Schmidt), which need no pivots.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> A = np.array([[0.0, 2.0], [1.0, 0.0]], dtype=object)
    >>> lu_solve(FLOATS, A, np.array([4.0, 3.0], dtype=object), pivot_order(A[None].astype(float)))
    array([3.0, 2.0], dtype=object)
    """
    n, m = len(A), order.n_constant_pivots
    if order.rank < n:
        raise SingularError(
            f"a {n}x{n} matrix has rank {order.rank} at the sample states. "
            "Expected an invertible matrix. Check that the speeds and constraints are independent."
        )
    U = np.array(A, dtype=object)[np.ix_(order.rows, order.columns)]
    x = _columns(b)[list(order.rows)]
    for j in range(m):
        for i in range(j + 1, n):
            if algebra.is_zero(U[i, j]):
                continue
            factor = _quotient(algebra, U[i, j], U[j, j])
            for rows, first in ((U, j + 1), (x, 0)):
                for k in range(first, rows.shape[1]):
                    if not algebra.is_zero(rows[j, k]):
                        rows[i, k] = rows[i, k] - factor * rows[j, k]
    x[m:] = orthogonal_solve(algebra, U[m:, m:], x[m:])
    for i in reversed(range(m)):
        for column in x.T:
            rest = column[i] - _dot(algebra, [(U[i, k], column[k]) for k in range(i + 1, n)])
            column[i] = 0 if algebra.is_zero(rest) else _quotient(algebra, rest, U[i, i])
    out = np.empty_like(x)
    out[list(order.columns)] = x
    return out.reshape(np.shape(b))


def orthogonal_solve(algebra: Algebra, A: Array, b: Array) -> Array:
    """A⁻¹ b for a square A (b a matrix of columns) by A = Q R with orthogonal, not normalized, columns of Q."""
    n = len(A)
    if (rolled := algebra.solver("general", A, b.shape[1])) is not None:
        return rolled(b)
    Q, R, x = A.copy(), identity(n), b.copy()
    lengths = zeros(n)
    for k in range(n):
        lengths[k] = _dot(algebra, [(e, e) for e in Q[:, k]])
        for j in range(k + 1, n):
            along = _dot(algebra, list(zip(Q[:, k], Q[:, j], strict=True)))
            if not algebra.is_zero(along):
                R[k, j] = _quotient(algebra, along, lengths[k])
                Q[:, j] = Q[:, j] - scaled(R[k, j], Q[:, k])
    for column in x.T:
        rest = column.copy()
        for k in range(n):
            along = _dot(algebra, list(zip(Q[:, k], rest, strict=True)))
            column[k] = 0 if algebra.is_zero(along) else _quotient(algebra, along, lengths[k])
            if not algebra.is_zero(along):
                rest = rest - scaled(column[k], Q[:, k])
        for k in reversed(range(n)):
            column[k] = column[k] - _dot(algebra, [(R[k, j], column[j]) for j in range(k + 1, n)])
    return x
