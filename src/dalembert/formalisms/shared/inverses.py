"""Inverses that people read: block by block, small blocks by cofactors, the entries of larger ones by names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.formalisms.shared.quantities import Show
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, identity, vector, zeros
from dalembert.symbolic.linear_algebra import ldl, ldl_solve, lower_solve, orthogonal_solve

_SMALL = 3  # rows of a block whose cofactors are written out


def inverse(
    algebra: DifferentialAlgebra, show: Show, key: str, number: str, M: Array, *, symmetric: bool = True
) -> Array:
    """M⁻¹; where names are in use, the entries of blocks larger than 3×3 are symbols called after `key`: M_inv[1,2].

    >>> from dalembert.symbolic.symengine_algebra import SYMBOLIC
    >>> a, b = SYMBOLIC.symbols(["a", "b"])
    >>> inverse(SYMBOLIC, Show(), "M_inv", "(1)", np.array([[a, 0], [0, b]], dtype=object)).tolist()
    [[a**(-1), 0], [0, b**(-1)]]
    """
    out = zeros(*M.shape)
    if _only_names(algebra, show, M):
        text = f"of a {len(M)}×{len(M)} matrix; its entries are not written out"
        show.also(key, number, "an inverse", lambda: np.array([text], dtype=object))
    for rows, columns in blocks_of(algebra, M):
        part, place = M[np.ix_(rows, columns)], np.ix_(columns, rows)
        if len(rows) <= _SMALL:
            out[place] = _adjugate(algebra, part) / _determinant(algebra, part)
        elif show.by_names:
            out[place] = _names(algebra, key, columns, rows, symmetric=symmetric)
        else:
            out[place] = (ldl_solve if symmetric else orthogonal_solve)(algebra, part, identity(len(rows)))
    return out


def shown_inverse(algebra: DifferentialAlgebra, show: Show, key: str, number: str, meaning: str, M: Array) -> Array:
    """M⁻¹ of a symmetric matrix, shown and by the names of its long entries; where M is large it has only names."""
    out = inverse(algebra, show, key, number, M)
    return out if _only_names(algebra, show, M) else with_symmetric_names(show, key, show(key, number, meaning, out))


def _only_names(algebra: DifferentialAlgebra, show: Show, M: Array) -> bool:
    return show.by_names and any(len(rows) > _SMALL for rows, _ in blocks_of(algebra, M))


def inverse_mass(algebra: DifferentialAlgebra, show: Show, M: Array, number: str) -> Array:
    """M⁻¹ of a mass matrix by the names of its entries; D, the determinants of its small blocks, is shown and called so."""
    named = with_symmetric_names(show, "M", M)
    out = inverse(algebra, show, "M_inv", number, named)
    small = [rows for rows, _ in blocks_of(algebra, M) if 1 < len(rows) <= _SMALL]
    if small:
        D = vector([_determinant(algebra, named[np.ix_(rows, rows)]) for rows in small])
        words = "det M" if len(small[0]) == len(M) else "determinants of blocks of M, those of one entry left out"
        D = show.named("D", show("D", number, words, D if len(small) > 1 else D.reshape(())))
        for rows, determinant in zip(small, D.ravel(), strict=True):
            place = np.ix_(rows, rows)
            out[place] = _adjugate(algebra, named[place]) / determinant
    return out


def inverse_root(algebra: DifferentialAlgebra, show: Show, M: Array) -> tuple[Array, str]:
    """R with R Rᵀ = M⁻¹, and which: M^(−1/2) of blocks up to 2×2, else (L√D)⁻ᵀ of M = L D Lᵀ, or names where M is large."""
    found = [rows for rows, _ in blocks_of(algebra, M)]
    if _only_names(algebra, show, M):
        everything = list(range(len(M)))
        return _names(algebra, "M_root", everything, everything, symmetric=True), "M^(−1/2), called M_root"
    if max(map(len, found)) > 2:
        L, D = ldl(algebra, M)
        root = vector([algebra.sqrt(d) for d in D])
        return (lower_solve(algebra, L, identity(len(M))) / root[:, None]).T, "M^(−1/2), by the root L√D of M = L D Lᵀ"
    out = zeros(*M.shape)
    for rows in found:
        place = np.ix_(rows, rows)
        part = M[place]
        if len(rows) == 1:
            out[place] = 1 / algebra.sqrt(part[0, 0])
        else:  # by Cayley and Hamilton
            s = algebra.sqrt(_determinant(algebra, part))
            t = algebra.sqrt(part[0, 0] + part[1, 1] + 2 * s)
            out[place] = (_adjugate(algebra, part) + s * identity(2)) / (s * t)
    return out, "M^(−1/2)"


def with_symmetric_names(show: Show, key: str, M: Array) -> Array:
    """A symmetric matrix by the names of its long entries, equal ones by one name."""
    out = show.named(key, M).copy()
    for i, j in zip(*np.tril_indices(len(M), -1), strict=True):
        out[i, j] = out[j, i]
    return out


def blocks_of(algebra: DifferentialAlgebra, M: Array) -> Iterator[tuple[list[int], list[int]]]:
    """Rows and columns of the blocks into which a regular matrix falls by its zeros."""
    filled = np.array([[not algebra.is_zero(x) for x in row] for row in M], dtype=bool).reshape(M.shape)
    left = list(range(len(M)))
    while left:
        rows, columns = [left[0]], list[int]()
        while (more := np.flatnonzero(filled[rows].any(axis=0)).tolist()) != columns:
            columns = more
            rows = np.flatnonzero(filled[:, columns].any(axis=1)).tolist()
        left = [i for i in left if i not in rows]
        yield rows, columns


def _names(algebra: DifferentialAlgebra, key: str, rows: list[int], columns: list[int], *, symmetric: bool) -> Array:
    """Symbols for the entries of an inverse."""
    places = [sorted((i, j)) if symmetric else (i, j) for i in rows for j in columns]
    return algebra.symbols([f"{key}[{i + 1},{j + 1}]" for i, j in places]).reshape(len(rows), len(columns))


def _determinant(algebra: DifferentialAlgebra, M: Array) -> Scalar:
    """By the first row."""
    if not len(M):
        return 1
    total: Scalar = 0
    for j, entry in enumerate(M[0]):
        if not algebra.is_zero(entry):
            term = entry * _determinant(algebra, np.delete(M[1:], j, axis=1))
            total = total + term if j % 2 == 0 else total - term
    return total


def _adjugate(algebra: DifferentialAlgebra, M: Array) -> Array:
    out = zeros(*M.shape)
    for i, j in np.ndindex(*M.shape):
        minor = _determinant(algebra, np.delete(np.delete(M, j, axis=0), i, axis=1))
        out[i, j] = minor if (i + j) % 2 == 0 else -minor
    return out
