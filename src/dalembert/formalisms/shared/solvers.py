"""The solutions of M x = f + C + Aᵀλ, A x = β that papers give in closed form, over any algebra and with independent rows.

| formulation | solution |
|---|---|
| dalembert | mass-weighted inverse Φ̄ of the constraint matrix, papers/desapio (5.90)–(5.93) |
| udwadia_kalaba, poincare | the smallest force in the metric of M, papers/poincare (3.22)–(3.47) |
| nullspace | projection on a basis of the null space of A, papers/desapio (5.299)–(5.302) |
| phong | projection on directions by Gram and Schmidt, papers/phong (2.6), (2.7) |
| newton_euler | twists and joint wrenches eliminated first |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.formalisms.shared.linear_form import LinearSystem
from dalembert.formalisms.shared.quantities import Definitions
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, stack, zeros
from dalembert.symbolic.elimination import (
    CROSSED,
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
    """H (5.90), Φ̄ (5.91) and Θ in numbers, batch on the first axis."""
    MiPt = np.linalg.solve(M, np.swapaxes(Phi, 1, 2))
    H = np.linalg.inv(Phi @ MiPt)
    Phi_bar = MiPt @ H
    return H, Phi_bar, np.eye(M.shape[1]) - Phi_bar @ Phi


def gaussian(M: np.ndarray, h: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(q̈ − q̈₀)ᵀ M (q̈ − q̈₀), papers/poincare (3.36), in numbers, batch on the first axis."""
    gap = qdd - np.linalg.solve(M, h[..., None])[..., 0]
    return np.einsum("kn,knm,km->k", gap, M, gap)


def solve_udwadia_kalaba(algebra: Algebra, linear: LinearSystem) -> Solution:
    """q̈ and λ by (3.35), all that does not depend on the multipliers taken together."""
    return solve_poincare(algebra, replace(linear, f=linear.push, C=None))


def solve_poincare(algebra: Algebra, linear: LinearSystem) -> Solution:
    """ṡ by (3.35) and (3.47), with the root M = (L√D)(L√D)ᵀ in place of the symmetric one."""
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
    """(ṫ, q̈) and (w_C, λ) with ṫ, the first `size` unknowns, and w_C eliminated first: what a sparse elimination would do."""
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
    if is_crossed(A.shape[1], dependent):
        W, particular = cross_product(algebra, A)[:, None], least_solution(algebra, A, beta)
    else:
        W, particular = _by_partition(algebra, A, beta, dependent)
    z = ldl_solve(algebra, W.T @ M @ W, W.T @ (h - M @ particular))  # (5.302)
    return particular + W @ z, zeros(len(beta))


def is_crossed(n: int, dependent: tuple[int, ...]) -> bool:
    """True where W is the cross product of the rows of A: one column of few entries."""
    return 1 < n <= CROSSED and len(dependent) == n - 1


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


def least_solution(algebra: Algebra, A: Array, beta: Array) -> Array:
    """A⁺β, the smallest solution of A x = β, by orthogonal rows of A.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> least_solution(FLOATS, np.array([[1.0, 1.0], [0.0, 2.0]], dtype=object), np.array([3.0, 4.0], dtype=object)).tolist()
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


def trial_vectors(system: System, given: Sequence[Sequence[float]] | None = None) -> Array:
    """The x_i as columns (n×m): the user's, or unit vectors of the coordinates that the constraints are not solved for."""
    if given is None:
        return identity(len(system.q))[:, [i for i in range(len(system.q)) if i not in system.facts.dependent]]
    whole = [[int(entry) if float(entry).is_integer() else entry for entry in x] for x in given]
    return np.array(whole, dtype=object).reshape(len(whole), len(system.q)).T


def fewest_entries_first(system: System, x: Array) -> Array:
    """Trial vectors of coordinates that stand in few constraints first: they fail nowhere, and a cross product comes last."""
    zero = system.algebra.is_zero
    entries = [sum(not zero(row[i]) for row in system.A for i in np.flatnonzero(v)) for v in x.T]
    return x[:, sorted(range(x.shape[1]), key=lambda j: entries[j])]


def directions(algebra: Algebra, G: Array, x: Array) -> Array:
    """D (n×m) by the two-step Gram–Schmidt, over any algebra; the columns of `x` (n×m) are the trial vectors."""
    basis = gram_schmidt(algebra, list(G), [])  # step 1
    return columns(gram_schmidt(algebra, list(x.T), basis), G.shape[1])  # step 2


def gram_schmidt(
    algebra: Algebra, given: list[Array], basis: list[Array], define: Definitions | None = None, key: str = ""
) -> list[Array]:
    """The vectors, each less its parts along the basis and along those before it, which `define` may write by symbols."""
    found: list[Array] = []
    for x in given:
        if define is None:
            found.append(_orthogonal(algebra, x, [*basis, *found]))
            continue
        known = list(define.symbols(key, columns(found, len(x))).T)
        rest = _orthogonal(algebra, x, [*basis, *known], as_printed=define.notation.by_symbols)
        found.append(define.notation.direction(rest))
    return found


def _orthogonal(algebra: Algebra, x: Array, basis: list[Array], *, as_printed: bool = False) -> Array:
    """x less its parts along the basis: xᵀb_j b_j as papers/phong prints it, or with what is left of x, which rounds less."""
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
    """How large the rows of G are, as powers of two, where a cross product is the last column of D; None where it is not.

    It is one where there are few coordinates, and the rows and trial vectors are as many as these.
    """
    known, r = system.facts, len(system.facts.rows)
    if not (0 < r < len(system.q) <= CROSSED and x.shape[1] + r == len(system.q)):
        return None
    sizes = np.ones(r) if known.mix is not None else np.array(known.sizes)[list(known.rows)]
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
    everywhere = PivotOrder(tuple(range(n)), tuple(range(n)), 0, 1.0)
    return lu_solve(algebra, stack(D.T @ M, G), stack(D.T @ h, beta), everywhere), zeros(len(beta))
