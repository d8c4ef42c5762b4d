"""Rank: the number of independent constraints, determined everywhere by one method with one tolerance.

A constraint matrix mixes units: its rows are lengths, angles or user-defined expressions, its columns belong to meters and
radians. So columns are first scaled by the scale of their coordinate (`model/scales`: a radian, or the length of the
model), then rows by their norm. The resulting singular values are dimensionless and do not depend on the choice of units
or on mass ratios. A singular value counts as zero if it is below `TOLERANCE` times the largest.

If the scales are not available, inertia replaces them: with M_ii^(−1/2), equal energies have equal length. It is also the
metric in which solutions are minimal. If the rank on the constraints is known from `Facts`, it is an upper bound: at a
state slightly off the constraints redundant rows appear independent, and no tolerance distinguishes them from rows that
are independent.

The solver of every integration step is compiled for one state from this source (`simulation/_assembled`), so the
functions that it calls are written in the subset of Python that `codegen/llvm/loop_statements` compiles.
"""

from __future__ import annotations

import numpy as np

from dalembert.codegen.linear_algebra import inverse, leading, qr, svd
from dalembert.symbolic.elimination import RANK_TOLERANCE

TOLERANCE = RANK_TOLERANCE  # singular values below this fraction of the largest are zero
DOUBTFUL = 1e3  # a singular value within this factor of the tolerance makes the rank decision doubtful, which is noted
NEARLY_DEPENDENT = 1e-3  # below this rows are nearly dependent: their squares, as in A M⁻¹ Aᵀ, would lose most digits
ROUNDING = 1e-13  # rows shorter than this fraction of the longest are rounding
MASSLESS = 1e-26  # the square of it, for the diagonal of M, which contains squares
_SQUARED = 1e-6  # below this fraction of the largest, squared singular values have lost too many digits
DEFINITE = 1e-13  # eigenvalues of M with a unit diagonal below this are rounding


def inertia_scale(M: np.ndarray, A: np.ndarray | None = None) -> np.ndarray:
    """The unit of each coordinate (…, n): M_ii^(−1/2), or one over the norm of its column in A if M_ii vanishes.

    >>> inertia_scale(np.diag([4.0, 0.0]), np.array([[1.0, 10.0]])).tolist()
    [0.5, 0.05]
    """
    heavy = _heavy(M)
    scale = inverse(heavy, np.sqrt(np.where(heavy, np.diagonal(M, axis1=-2, axis2=-1), 1.0)), 0.0)
    if A is None or heavy.all():
        return np.where(scale > 0, scale, 1.0)
    for _ in range(scale.shape[-1]):  # scale rows by the columns with inertia, then the other columns by the rows
        size = np.linalg.norm(A * scale[..., None, :], axis=-1)
        column = np.linalg.norm((A * inverse(size > 0, size, 0.0)[..., :, None]).mT, axis=-1)
        known = np.count_nonzero(scale > 0)
        scale = np.where(scale > 0, scale, inverse(column > 0, column, 0.0))
        if np.count_nonzero(scale > 0) == known:
            break
    column = np.linalg.norm(A.mT, axis=-1)
    return np.where(scale > 0, scale, inverse(column > 0, column, 1.0))


def _heavy(M: np.ndarray) -> np.ndarray:
    return above(np.nan_to_num(np.diagonal(M, axis1=-2, axis2=-1)), MASSLESS)


def above(values: np.ndarray, share: float) -> np.ndarray:
    """Which of the nonnegative values (…, n) are larger than a fraction `share` of the largest.

    >>> above(np.array([1.0, 0.0, 3.0]), 0.5).tolist()
    [False, False, True]
    """
    return values > share * values.max(axis=-1, keepdims=True, initial=0.0)


def massless(M: np.ndarray) -> np.ndarray:
    """Which coordinates have no inertia (…, n)."""
    return ~_heavy(M)


def definite(M: np.ndarray) -> bool:
    """True if all symmetric matrices (…, n, n) are positive definite, whatever the units of their coordinates.

    >>> definite(np.diag([1.0, 1e-18])), definite(np.ones((2, 2)))
    (True, False)
    """
    if massless(M).any():
        return False
    return not M.size or bool(np.linalg.eigvalsh(_unit_diagonal(M)).min() > DEFINITE)


def _unit_diagonal(M: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.diagonal(M, axis1=-2, axis2=-1))
    return M / root[..., :, None] / root[..., None, :]


def normalized_rows(A: np.ndarray, scale: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A (…, r, n) with scaled columns and rows of unit norm, and the norms; zero rows stay zero, with norm one."""
    rows = A if scale is None else A * scale[..., None, :]
    size = np.linalg.norm(rows, axis=-1)
    long = above(size, ROUNDING)
    unit = np.where(long[..., None], rows * inverse(long, size, 1.0)[..., :, None], 0.0)
    return unit, np.where(long, size, 1.0)


def relative_singular_values(A: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """The singular values of the normalized rows in descending order, relative to the largest: (…, min(r, n))."""
    sigma = np.linalg.svd(normalized_rows(A, scale)[0], compute_uv=False)
    return sigma / np.maximum(sigma.max(axis=-1, keepdims=True, initial=0.0), 1e-300)


def singular_value(A: np.ndarray, index: int) -> np.ndarray:
    """The singular value at index `index`, in descending order, of each matrix (K, r, n) of a batch.

    The eigenvalues of A Aᵀ cost half as much and are accurate enough for all but the small ones.

    >>> singular_value(np.array([[[3.0, 0.0], [0.0, 1e-9]], [[3.0, 4.0], [0.0, 1.0]]]), 1).round(12).tolist()
    [1e-09, 0.592359147246]
    """
    wide = A if A.shape[1] <= A.shape[2] else np.swapaxes(A, 1, 2)
    squares = np.linalg.eigvalsh(wide @ np.swapaxes(wide, 1, 2))
    found, small = squares[:, -1 - index], squares[:, -1 - index] <= _SQUARED * squares[:, -1]
    out = np.sqrt(np.where(small, 0.0, found))
    if small.any():
        out[small] = np.linalg.svd(A[small], compute_uv=False)[:, index]
    return out


def numeric_rank(A: np.ndarray, scale: np.ndarray | None = None, max_rank: int | None = None) -> np.ndarray:
    """The number of independent rows at one state, or at each of a batch (…, r, n).

    >>> int(numeric_rank(np.array([[1.0, 0.0], [1.0, 1e-7], [2.0, 0.0]])))
    2
    >>> int(numeric_rank(np.array([[1.0, 0.0], [1.0, 1e-11]])))
    1
    """
    found = (relative_singular_values(A, scale) > TOLERANCE).sum(axis=-1)
    return found if max_rank is None else np.minimum(found, max_rank)


def doubtful_singular_value(A: np.ndarray, scale: np.ndarray | None = None) -> float | None:
    """The median relative singular value of rows (K, r, n) nearest to the tolerance, if it is within three decades of it.

    >>> [doubtful_singular_value(np.array([[[1.0, 0.0], [1.0, x]]])) is None for x in (1e-9, 0.1)]
    [False, True]
    """
    if not A.size:
        return None
    found = np.median(relative_singular_values(A, scale), axis=0)
    near = found[(found > TOLERANCE / DOUBTFUL) & (found < TOLERANCE * DOUBTFUL)]
    return float(min(near, key=lambda x: abs(np.log(x / TOLERANCE)))) if len(near) else None


def generic_rank(A: np.ndarray, scale: np.ndarray | None = None) -> int:
    """The most frequent rank of A (K, r, n) over the states; at a singular position the rank is smaller."""
    return int(np.bincount(numeric_rank(A, scale)).argmax()) if len(A) else 0


def independence(A: np.ndarray, scale: np.ndarray | None = None, max_rank: int | None = None) -> np.ndarray:
    """How independent the rows are, from 1 down to 0: the smallest relative singular value, or the `max_rank`-th one.

    >>> round(float(independence(np.array([[1.0, 0.0], [1.0, 0.02]]))), 4)
    0.01
    """
    sigma = relative_singular_values(A, scale)
    count = A.shape[-2] if max_rank is None else max_rank
    if count > sigma.shape[-1]:
        return np.zeros(A.shape[:-2])
    return sigma[..., count - 1] if count else np.ones(A.shape[:-2])


def pseudo_inverse(A: np.ndarray, scale: np.ndarray | None = None, count: int | np.ndarray | None = None) -> np.ndarray:
    """A⁺ (…, n, r): A⁺ b is the minimum-norm x, in the metric of `scale`, that satisfies the independent rows of A x = b.

    `count` is the rank if known, one number or one for each state; otherwise it is determined in this metric.
    """
    rows, size = normalized_rows(A, scale)
    U, sigma, Vt = svd(rows)
    found = Vt.mT @ (U.mT * _inverted(sigma, count)[..., :, None] * (1 / size)[..., None, :])
    return found if scale is None else found * scale[..., :, None]


def pseudo_inverse_and_null_space(
    A: np.ndarray, scale: np.ndarray | None = None, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A⁺ and a basis N of the null space of A (r×n) at one state, both in the metric of `scale`; `count` is the rank if known.

    >>> pseudo, N = pseudo_inverse_and_null_space(np.array([[1.0, 0.0], [2.0, 0.0]]))
    >>> pseudo.shape, np.abs(N).tolist()
    ((2, 2), [[0.0], [1.0]])
    """
    rows, size = normalized_rows(A, scale)
    U, sigma, Vt = svd(rows)
    inner = _inverted(sigma, count)
    rank, V = np.count_nonzero(inner > 0), Vt.T
    pseudo = V @ (U.T * inner[:, None] * (1 / size)[None, :])
    free = qr(V[:, :rank])[0][:, rank:]
    if scale is None:
        return pseudo, free
    return pseudo * scale[:, None], free * scale[:, None]


def _inverted(sigma: np.ndarray, count: int | np.ndarray | None) -> np.ndarray:
    """1/σ where σ counts as nonzero, else 0."""
    if count is None:
        return inverse(above(sigma, TOLERANCE), sigma, 0.0)
    return inverse(leading(sigma, count), sigma, 0.0)


def combined(A: np.ndarray, scale: np.ndarray, max_rank: int) -> np.ndarray:
    """T (m, r), such that the combined rows T A at one state are orthonormal in the metric of `scale`.

    T b are the corresponding right-hand sides, Tᵀ λ the multipliers of the original rows. There are at most as many combinations
    as independent rows, and at most `max_rank`: redundant rows, which appear independent at a state off the constraints, are
    removed.

    >>> A = np.array([[1.0, 0.0], [1.0, 1e-7], [2.0, 0.0]])
    >>> np.abs(combined(A, np.ones(2), 2) @ A).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows, size = normalized_rows(A, scale)
    U, sigma, _ = svd(rows)
    count = min(np.count_nonzero(above(sigma, TOLERANCE)), max_rank)
    return U[:, :count].T * (1 / sigma[:count])[:, None] * (1 / size)[None, :]


def independent_rows(A: np.ndarray, scale: np.ndarray | None = None, count: int | None = None) -> tuple[int, ...]:
    """The best-conditioned independent rows of A, (r, n) or (K, r, n), over all states; all rows if none is dependent.

    >>> independent_rows(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    (0, 2)
    """
    batch = A if A.ndim == 3 else A[None]
    wanted = generic_rank(batch, scale) if count is None else count
    if wanted == A.shape[-2]:
        return tuple(range(wanted))
    return best_rows(normalized_rows(batch, scale)[0], wanted)


def best_rows(rows: np.ndarray, count: int) -> tuple[int, ...]:
    """`count` of the rows (r, n) or (K, r, n) of norm one or zero, each as far from the span of the others as possible."""
    left = np.array(rows if rows.ndim == 3 else rows[None], dtype=float)
    chosen: list[int] = []
    for _ in range(count):
        share = np.linalg.norm(left, axis=2)
        share[:, chosen] = -1.0
        chosen.append(int(np.argmax(np.round(share.min(axis=0), 9))))  # the first of equal ones
        along = left[:, chosen[-1]] / np.maximum(share[:, chosen[-1]], 1e-300)[:, None]
        left = left - np.einsum("krn,kn->kr", left, along)[:, :, None] * along[:, None, :]
    return tuple(sorted(chosen))


def smallest_multipliers(
    A: np.ndarray, force: np.ndarray, scale: np.ndarray, max_rank: int | None = None
) -> np.ndarray:
    """The minimum-norm λ (…, r) with Aᵀλ = force; A (…, r, n), force (…, n).

    >>> smallest_multipliers(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([5.0, 0.0]), np.ones(2)).round(9).tolist()
    [1.0, 2.0]
    """
    if not A.shape[-2]:
        return np.zeros(A.shape[:-1])
    U, sigma, Vt = svd(A * scale[..., None, :])
    inner = _inverted(sigma, numeric_rank(A, scale, max_rank))
    return np.einsum("...ri,...i,...in,...n->...r", U, inner, Vt, scale * force)
