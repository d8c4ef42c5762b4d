"""Closed-form solutions of M x = f + C + Aᵀλ, A x = β from the papers, over any algebra and with independent rows.

| formulation | solution |
|---|---|
| dalembert | mass-weighted inverse Φ̄ of the constraint matrix, papers/desapio (5.90)–(5.93) |
| udwadia_kalaba, poincare | the smallest force in the metric of M, papers/poincare (3.22)–(3.47) |
| nullspace | projection on a basis of the null space of A, papers/desapio (5.299)–(5.302) |
| phong | projection on directions from a Gram–Schmidt process, papers/phong (2.6), (2.7) |
| newton_euler | twists and joint wrenches eliminated first |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dalembert.formalisms.shared.linear_form import LinearSystem
from dalembert.formalisms.shared.quantities import Definitions
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, DifferentialAlgebra, Scalar, identity, stack, vector, zeros
from dalembert.symbolic.elimination import (
    MAX_CROSS_PRODUCT_DIMENSION,
    PivotOrder,
    cross_product,
    kkt_solve,
    ldl,
    ldl_apply,
    ldl_solve,
    lower_solve,
    lu_solve,
    orthogonal_solve,
    upper_solve,
)

Solution = tuple[Array, Array]  # x and λ
_MAX_COFACTOR_ROWS = 3  # rows of a block whose cofactors are written out


def solve_in_constraint_space(algebra: Algebra, linear: LinearSystem) -> Solution:
    """q̈ = Φ̄ β + Θ M⁻¹(τ − b − g), λ = −Φ̄ᵀ(τ − b − g) + H β: (5.92)(5.93)."""
    h, Phi, beta = linear.push, linear.A, linear.beta
    L, D = ldl(algebra, linear.M)
    MiPt = ldl_apply(algebra, L, D, Phi.T)
    H = ldl_solve(algebra, Phi @ MiPt, identity(len(beta))) if linear.constrained else zeros(0, 0)  # (5.90)
    Phi_bar = MiPt @ H  # (5.91)
    free = ldl_apply(algebra, L, D, h)
    qdd = Phi_bar @ beta + free - Phi_bar @ (Phi @ free)  # (5.92)
    lam = H @ beta - Phi_bar.T @ h  # (5.93)
    return qdd, lam


def constraint_space(M: np.ndarray, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H (5.90), Φ̄ (5.91) and Θ numerically, batch on the first axis."""
    MiPt = np.linalg.solve(M, np.swapaxes(Phi, 1, 2))
    H = np.linalg.inv(Phi @ MiPt)
    Phi_bar = MiPt @ H
    return H, Phi_bar, np.eye(M.shape[1]) - Phi_bar @ Phi


def gaussian(M: np.ndarray, h: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(q̈ − q̈₀)ᵀ M (q̈ − q̈₀), papers/poincare (3.36), numerically, batch on the first axis."""
    gap = qdd - np.linalg.solve(M, h[..., None])[..., 0]
    return np.einsum("kn,knm,km->k", gap, M, gap)


def solve_udwadia_kalaba(algebra: Algebra, linear: LinearSystem) -> Solution:
    """q̈ and λ by (3.35), with the terms without multipliers combined."""
    return solve_poincare(algebra, replace(linear, f=linear.push, C=None))


def solve_poincare(algebra: Algebra, linear: LinearSystem) -> Solution:
    """ṡ by (3.35) and (3.47), with the root M = (L√D)(L√D)ᵀ instead of the symmetric one."""
    A, b, C = linear.A, linear.beta, linear.C
    L, D = ldl(algebra, linear.M)
    root = np.array([algebra.sqrt(d) for d in D], dtype=object)
    a = ldl_apply(algebra, L, D, linear.f)  # (3.22)
    B = (lower_solve(algebra, L, A.T) / root[:, None]).T  # (3.27)
    lam = ldl_solve(algebra, B @ B.T, b - A @ a)
    step = B.T @ lam  # B⁺(b − A a), (3.25)
    if C is not None:
        scaled = lower_solve(algebra, L, C) / root  # M^(−1/2) C
        step = step + scaled - B.T @ ldl_solve(algebra, B @ B.T, B @ scaled)  # (3.47)
    return a + upper_solve(algebra, L, step / root), lam  # (3.35)


def scaled_rows(algebra: Algebra, linear: LinearSystem) -> Array:
    """B = A M^(−1/2) (3.27), with the root L√D."""
    L, D = ldl(algebra, linear.M)
    root = np.array([algebra.sqrt(d) for d in D], dtype=object)
    return (lower_solve(algebra, L, linear.A.T) / root[:, None]).T


def solve_body_by_body(algebra: Algebra, linear: LinearSystem, size: int) -> Solution:
    """(ṫ, q̈) and (w_C, λ) with ṫ, the first `size` unknowns, and w_C eliminated first, as in a sparse elimination."""
    h, A, beta = linear.push, linear.A, linear.beta
    N, drift, Mass = -A[:size, size:], beta[:size], linear.M[:size, :size]
    rows, b = A[size:, size:], beta[size:]
    pull = N.T @ (h[:size] - Mass @ drift) + h[size:]
    if len(b):
        qdd, lam = kkt_solve(algebra, N.T @ Mass @ N, rows, pull, b)
    else:
        qdd, lam = ldl_solve(algebra, N.T @ Mass @ N, pull), zeros(0)
    td = N @ qdd + drift
    return stack(td, qdd), stack(Mass @ td - h[:size], lam)


def solve_in_null_space(algebra: Algebra, linear: LinearSystem, dependent: tuple[int, ...]) -> Solution:
    """q̈ = x + W z with any solution x of A x = β."""
    M, h, A, beta = linear.M, linear.push, linear.A, linear.beta
    if uses_cross_product(A.shape[1], dependent):
        W, particular = cross_product(algebra, A)[:, None], minimum_norm_solution(algebra, A, beta)
    else:
        W, particular = _by_partition(algebra, A, beta, dependent)
    z = ldl_solve(algebra, W.T @ M @ W, W.T @ (h - M @ particular))  # (5.302)
    return particular + W @ z, zeros(len(beta))


def uses_cross_product(n: int, dependent: tuple[int, ...]) -> bool:
    """True if W is the cross product of the rows of A: one column with few entries."""
    return 1 < n <= MAX_CROSS_PRODUCT_DIMENSION and len(dependent) == n - 1


def _by_partition(algebra: Algebra, A: Array, beta: Array, dependent: tuple[int, ...]) -> tuple[Array, Array]:
    """W = [−A_d⁻¹A_i; 1] and the solution [A_d⁻¹β; 0]."""
    n, solved_for = A.shape[1], list(dependent)
    free = [i for i in range(n) if i not in dependent]
    W, particular = zeros(n, len(free)), zeros(n)
    W[free] = identity(len(free))
    if dependent:
        right = np.column_stack([-A[:, free], beta])
        found = orthogonal_solve(algebra, A[:, solved_for], right)
        W[solved_for], particular[solved_for] = found[:, :-1], found[:, -1]
    return W, particular


def minimum_norm_solution(algebra: Algebra, A: Array, beta: Array) -> Array:
    """A⁺β, the minimum-norm solution of A x = β, by orthogonalized rows of A.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> J, b = np.array([[1.0, 1.0], [0.0, 2.0]], dtype=object), np.array([3.0, 4.0], dtype=object)
    >>> minimum_norm_solution(FLOATS, J, b).tolist()
    [1.0, 2.0]
    """
    x, found = zeros(A.shape[1]), list[tuple[Array, Scalar]]()
    for row, right in zip(A, beta, strict=True):
        for known, its in found:
            along = row @ known
            if not algebra.is_zero(along):
                share = along / (known @ known)
                row, right = row - share * known, right - share * its
        found.append((row, right))
    for row, right in found:
        x = x + (right if algebra.is_zero(right) else right / (row @ row)) * row
    return x


def trial_vectors(system: System, user_vectors: Sequence[Sequence[float]] | None = None) -> Array:
    """The x_i as columns (n×m): those of the user, or unit vectors of the independent coordinates."""
    if user_vectors is None:
        return identity(len(system.q))[:, [i for i in range(len(system.q)) if i not in system.facts.dependent]]
    vectors = [[int(entry) if float(entry).is_integer() else entry for entry in x] for x in user_vectors]
    return np.array(vectors, dtype=object).reshape(len(vectors), len(system.q)).T


def fewest_entries_first(system: System, x: Array) -> Array:
    """Sort trial vectors by the number of constraints on their coordinates; the cross product is last."""
    zero = system.algebra.is_zero
    entries = [sum(not zero(row[i]) for row in system.A for i in np.flatnonzero(v)) for v in x.T]
    return x[:, sorted(range(x.shape[1]), key=lambda j: entries[j])]


def directions(algebra: Algebra, G: Array, x: Array) -> Array:
    """D (n×m) by the two-step Gram–Schmidt process, over any algebra; the columns of `x` (n×m) are the trial vectors."""
    basis = gram_schmidt(algebra, list(G), [])  # step 1
    return columns(gram_schmidt(algebra, list(x.T), basis), G.shape[1])  # step 2


def gram_schmidt(
    algebra: Algebra, vectors: list[Array], basis: list[Array], define: Definitions | None = None, key: str = ""
) -> list[Array]:
    """Orthogonalize vectors against the basis and the preceding ones, which `define` may replace by symbols."""
    found: list[Array] = []
    for x in vectors:
        if define is None:
            found.append(_orthogonal(algebra, x, [*basis, *found]))
            continue
        known = list(define.symbols(key, columns(found, len(x))).T)
        rest = _orthogonal(algebra, x, [*basis, *known], as_printed=define.notation.by_symbols)
        found.append(define.notation.direction(rest))
    return found


def _orthogonal(algebra: Algebra, x: Array, basis: list[Array], *, as_printed: bool = False) -> Array:
    """x minus its parts along the basis: xᵀb_j b_j as printed in papers/phong, or by the modified process, which rounds less."""
    out = x
    for b in basis:
        along = (x if as_printed else out) @ b
        if not algebra.is_zero(along):
            out = out - along / (b @ b) * b
    return out


def columns(vectors: list[Array], n: int) -> Array:
    """Vectors of n entries as the columns of a matrix."""
    return np.array(vectors, dtype=object).reshape(len(vectors), n).T


def cross_units(system: System, x: Array) -> Array | None:
    """Return the magnitudes of the rows of G as powers of two if the last column of D is a cross product, else None.

    It is one for few coordinates, if their number is that of the rows and trial vectors.
    """
    known, r = system.facts, len(system.facts.rows)
    if not (0 < r < len(system.q) <= MAX_CROSS_PRODUCT_DIMENSION and x.shape[1] + r == len(system.q)):
        return None
    sizes = np.ones(r) if known.row_combinations is not None else np.array(known.sizes)[list(known.rows)]
    return np.exp2(np.round(np.log2(sizes / known.scales.positions.min()))).astype(object)


def compiled_directions(algebra: Algebra, G: Array, x: Array, units: Array | None) -> Array:
    """D (n×m) by Gram–Schmidt; with `units` the last column is the cross product of the rows of G and of the others."""
    if units is None:
        return directions(algebra, G, x)
    D = directions(algebra, G, x[:, :-1])
    rows = [row if unit == 1 else row / unit for row, unit in zip(G, units, strict=True)]
    return np.column_stack([D, cross_product(algebra, np.array([*rows, *D.T], dtype=object))])


def solve_along_directions(algebra: Algebra, linear: LinearSystem, x: Array, units: Array | None) -> Solution:
    """[DᵀM; G] q̈ = [Dᵀh; β], papers/phong (2.7)."""
    M, h, G, beta = linear.M, linear.push, linear.A, linear.beta
    D, n = compiled_directions(algebra, G, x, units), len(h)
    natural_order = PivotOrder(tuple(range(n)), tuple(range(n)), 0, 1.0)
    return lu_solve(algebra, stack(D.T @ M, G), stack(D.T @ h, beta), natural_order), zeros(len(beta))


def inverse(algebra: DifferentialAlgebra, M: Array, *, symmetric: bool = True, symbols: str = "") -> Array:
    """M⁻¹; with a letter `symbols`, the entries of blocks larger than 3×3 are symbols such as M_inv[1,2].

    >>> from dalembert.symbolic.symengine_algebra import SYMBOLIC
    >>> a, b = SYMBOLIC.symbols(["a", "b"])
    >>> inverse(SYMBOLIC, np.array([[a, 0], [0, b]], dtype=object)).tolist()
    [[a**(-1), 0], [0, b**(-1)]]
    """
    out = zeros(*M.shape)
    for rows, columns in blocks_of(algebra, M):
        part, block = M[np.ix_(rows, columns)], np.ix_(columns, rows)
        if len(rows) <= _MAX_COFACTOR_ROWS:
            out[block] = _adjugate(algebra, part) / _determinant(algebra, part)
        elif symbols:
            out[block] = _symbols(algebra, symbols, columns, rows, symmetric=symmetric)
        else:
            out[block] = (ldl_solve if symmetric else orthogonal_solve)(algebra, part, identity(len(rows)))
    return out


def printable_inverse(
    define: Definitions, algebra: DifferentialAlgebra, key: str, M: Array, equation: str, *, symmetric: bool = True
) -> Array:
    """M⁻¹; if it is too large to print, define it without entries."""
    if _only_symbols(define, algebra, M):
        note = f"of a {len(M)}×{len(M)} matrix; entries omitted"
        define(key, lambda: np.array([note], dtype=object), "an inverse", equation)
    return inverse(algebra, M, symmetric=symmetric, symbols=key if define.notation.by_symbols else "")


def define_inverse(
    define: Definitions, algebra: DifferentialAlgebra, key: str, M: Array, meaning: str, equation: str
) -> Array:
    """M⁻¹ of a symmetric matrix, defined, with symbols for its long entries, or only symbols if M is large."""
    out = printable_inverse(define, algebra, key, M, equation)
    if _only_symbols(define, algebra, M):
        return out
    return symmetric_symbols(define, key, define(key, out, meaning, equation))


def _only_symbols(define: Definitions, algebra: DifferentialAlgebra, M: Array) -> bool:
    return define.notation.by_symbols and any(len(rows) > _MAX_COFACTOR_ROWS for rows, _ in blocks_of(algebra, M))


def inverse_mass(define: Definitions, algebra: DifferentialAlgebra, M: Array, equation: str) -> Array:
    """M⁻¹ of a mass matrix, in symbols of its entries and of D, the determinants of its small blocks; defines D."""
    named = symmetric_symbols(define, "M", M)
    out = printable_inverse(define, algebra, "M_inv", named, equation)
    small = [rows for rows, _ in blocks_of(algebra, M) if 1 < len(rows) <= _MAX_COFACTOR_ROWS]
    if small:
        D = vector([_determinant(algebra, named[np.ix_(rows, rows)]) for rows in small])
        words = "det M" if len(small[0]) == len(M) else "determinants of blocks of M with several entries"
        D = define.named("D", D if len(small) > 1 else D.reshape(()), words, equation)
        for rows, determinant in zip(small, D.ravel(), strict=True):
            block = np.ix_(rows, rows)
            out[block] = _adjugate(algebra, named[block]) / determinant
    return out


def inverse_root(define: Definitions, algebra: DifferentialAlgebra, M: Array) -> tuple[Array, str]:
    """R with R Rᵀ = M⁻¹, and its formula: M^(−1/2) of blocks up to 2×2, else (L√D)⁻ᵀ of M = L D Lᵀ, or symbols if M is large."""
    found = [rows for rows, _ in blocks_of(algebra, M)]
    if _only_symbols(define, algebra, M):
        indices = list(range(len(M)))
        return _symbols(algebra, "M_root", indices, indices, symmetric=True), "M^(−1/2), as M_root"
    if max(map(len, found)) > 2:
        L, D = ldl(algebra, M)
        root = vector([algebra.sqrt(d) for d in D])
        return (lower_solve(algebra, L, identity(len(M))) / root[:, None]).T, "M^(−1/2), by the root L√D of M = L D Lᵀ"
    out = zeros(*M.shape)
    for rows in found:
        block = np.ix_(rows, rows)
        part = M[block]
        if len(rows) == 1:
            out[block] = 1 / algebra.sqrt(part[0, 0])
        else:  # by Cayley and Hamilton
            s = algebra.sqrt(_determinant(algebra, part))
            t = algebra.sqrt(part[0, 0] + part[1, 1] + 2 * s)
            out[block] = (_adjugate(algebra, part) + s * identity(2)) / (s * t)
    return out, "M^(−1/2)"


def symmetric_symbols(define: Definitions, key: str, M: Array) -> Array:
    """Return a symmetric matrix with symbols for its long entries, one symbol for equal entries."""
    out = define.symbols(key, M).copy()
    for i, j in zip(*np.tril_indices(len(M), -1), strict=True):
        out[i, j] = out[j, i]
    return out


def blocks_of(algebra: DifferentialAlgebra, M: Array) -> Iterator[tuple[list[int], list[int]]]:
    """Yield rows and columns of the diagonal blocks of a regular matrix, after permutation."""
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
    """Return symbols for the entries of an inverse."""
    indices = [sorted((i, j)) if symmetric else (i, j) for i in rows for j in columns]
    return algebra.symbols([f"{key}[{i + 1},{j + 1}]" for i, j in indices]).reshape(len(rows), len(columns))


def _determinant(algebra: DifferentialAlgebra, M: Array) -> Scalar:
    """Determinant by expansion along the first row."""
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
