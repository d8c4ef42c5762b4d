"""Inverses that are read: block by block, small blocks by cofactors, the entries of larger ones by symbols of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.formalisms.shared.quantities import Definitions
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, identity, vector, zeros
from dalembert.symbolic.elimination import ldl, ldl_solve, lower_solve, orthogonal_solve

_SMALL = 3  # rows of a block whose cofactors are written out


def inverse(algebra: DifferentialAlgebra, M: Array, *, symmetric: bool = True, symbols: str = "") -> Array:
    """M⁻¹; where `symbols` has a letter, the entries of blocks larger than 3×3 are symbols such as M_inv[1,2].

    >>> from dalembert.symbolic.symengine_algebra import SYMBOLIC
    >>> a, b = SYMBOLIC.symbols(["a", "b"])
    >>> inverse(SYMBOLIC, np.array([[a, 0], [0, b]], dtype=object)).tolist()
    [[a**(-1), 0], [0, b**(-1)]]
    """
    out = zeros(*M.shape)
    for rows, columns in blocks_of(algebra, M):
        part, place = M[np.ix_(rows, columns)], np.ix_(columns, rows)
        if len(rows) <= _SMALL:
            out[place] = _adjugate(algebra, part) / _determinant(algebra, part)
        elif symbols:
            out[place] = _symbols(algebra, symbols, columns, rows, symmetric=symmetric)
        else:
            out[place] = (ldl_solve if symmetric else orthogonal_solve)(algebra, part, identity(len(rows)))
    return out


def written_inverse(
    define: Definitions, algebra: DifferentialAlgebra, key: str, M: Array, equation: str, *, symmetric: bool = True
) -> Array:
    """M⁻¹; one that is too large to be written out is defined as such."""
    if _only_symbols(define, algebra, M):
        text = f"of a {len(M)}×{len(M)} matrix; its entries are not written out"
        define(key, lambda: np.array([text], dtype=object), "an inverse", equation)
    return inverse(algebra, M, symmetric=symmetric, symbols=key if define.notation.by_symbols else "")


def define_inverse(
    define: Definitions, algebra: DifferentialAlgebra, key: str, M: Array, meaning: str, equation: str
) -> Array:
    """M⁻¹ of a symmetric matrix, defined and by symbols of its long entries; where M is large it has only symbols."""
    out = written_inverse(define, algebra, key, M, equation)
    if _only_symbols(define, algebra, M):
        return out
    return symmetric_symbols(define, key, define(key, out, meaning, equation))


def _only_symbols(define: Definitions, algebra: DifferentialAlgebra, M: Array) -> bool:
    return define.notation.by_symbols and any(len(rows) > _SMALL for rows, _ in blocks_of(algebra, M))


def inverse_mass(define: Definitions, algebra: DifferentialAlgebra, M: Array, equation: str) -> Array:
    """M⁻¹ of a mass matrix by symbols of its entries, and of D, the determinants of its small blocks, which it defines."""
    named = symmetric_symbols(define, "M", M)
    out = written_inverse(define, algebra, "M_inv", named, equation)
    small = [rows for rows, _ in blocks_of(algebra, M) if 1 < len(rows) <= _SMALL]
    if small:
        D = vector([_determinant(algebra, named[np.ix_(rows, rows)]) for rows in small])
        words = "det M" if len(small[0]) == len(M) else "determinants of blocks of M, those of one entry left out"
        D = define.named("D", D if len(small) > 1 else D.reshape(()), words, equation)
        for rows, determinant in zip(small, D.ravel(), strict=True):
            place = np.ix_(rows, rows)
            out[place] = _adjugate(algebra, named[place]) / determinant
    return out


def inverse_root(define: Definitions, algebra: DifferentialAlgebra, M: Array) -> tuple[Array, str]:
    """R with R Rᵀ = M⁻¹, and which: M^(−1/2) of blocks up to 2×2, else (L√D)⁻ᵀ of M = L D Lᵀ, or symbols where M is large."""
    found = [rows for rows, _ in blocks_of(algebra, M)]
    if _only_symbols(define, algebra, M):
        everything = list(range(len(M)))
        return _symbols(algebra, "M_root", everything, everything, symmetric=True), "M^(−1/2), called M_root"
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


def symmetric_symbols(define: Definitions, key: str, M: Array) -> Array:
    """A symmetric matrix by symbols of its long entries, equal ones by one symbol."""
    out = define.symbols(key, M).copy()
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


def _symbols(algebra: DifferentialAlgebra, key: str, rows: list[int], columns: list[int], *, symmetric: bool) -> Array:
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
