"""Solving the unsolved form: fused into the graph, or assembled from numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.algebra.linear import kkt_solve, ldl_solve, lu_solve
from dalembert.equations import LinearForm
from dalembert.structure import rank
from dalembert.structure.constraint_rows import dimensionless
from dalembert.structure.system import combined


def fused(form: LinearForm) -> tuple[Array, Array]:
    """v̇ and λ as expressions: by the formalism's own graph, or by LDLᵀ, Schur complement, or LU in a fixed order."""
    algebra = form.system.algebra
    if form.solver is not None:
        return _own_graph(form)
    f = form.f + form.C if len(form.C) else form.f
    if len(form.beta):
        return kkt_solve(algebra, form.M, form.A, f, form.beta, form.J)
    if form.order is not None:
        return lu_solve(algebra, form.M, f, form.order), zeros(0)
    return ldl_solve(algebra, form.M, f), zeros(0)


def _own_graph(form: LinearForm) -> tuple[Array, Array]:
    """The formalism's own graph on independent rows; multipliers of dropped rows are zero."""
    assert form.solver is not None
    k = len(form.system.facts.levels.names)
    rows = list(form.system.facts.rows) if len(form.beta) == k else list(range(len(form.beta)))
    known, A, beta = form.system.facts, form.A[rows], form.beta[rows]
    mixing = known.mix is not None and form.solver.rank_revealing  # others have combined rows already
    if mixing:
        A, beta = combined(known, A), combined(known, beta)
    vd, lam = form.solver.graph(form.system.algebra, form.M, form.f, A, beta, form.C)
    if mixing:
        lam = np.array(known.mix, dtype=object).T @ lam
    full = zeros(len(form.beta))
    full[rows] = lam
    return vd, full


def assembled(
    form: LinearForm,
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    J: np.ndarray,
    W: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ from numbers, batch on the first axis: M (K, n, n), f (K, n), A (K, r, n), β (K, r), C (K, n), W (K, n, m)."""
    known = form.system.facts
    k, revealing = beta.shape[1], form.solver is not None and form.solver.rank_revealing
    T, counts = np.repeat(np.eye(k)[None], len(beta), axis=0), np.full(len(beta), k)
    if revealing and k:
        T, counts = _combinations(form, A, W, range(k))
    elif known.nearly_dependent and known.mix is None and k == len(known.rows):
        T, counts = _combinations(form, A, W, known.rows)
    A, beta, J = T @ A, (T @ beta[..., None])[..., 0], T @ J if J.shape[1] == k else J
    vd, lam = _solved(form, M, f, A, beta, C, J, counts)
    return vd, np.einsum("kmr,km->kr", T, lam)


def _solved(
    form: LinearForm,
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    J: np.ndarray,
    counts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """By the formalism's own solver, or all at once."""
    if form.solver is not None:
        return form.solver.numbers(M, f, A, beta, C, *((counts,) if form.solver.rank_revealing else ()))
    f = f + C if C.shape[1] else f
    n, r = f.shape[1], beta.shape[1]
    if not r:
        return np.linalg.solve(M, f[..., None])[..., 0], np.zeros((len(f), 0))
    matrix = np.zeros((len(f), n + r, n + r))
    matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = M, -np.swapaxes(J, 1, 2), A
    solved = np.linalg.solve(matrix, np.concatenate([f, beta], axis=1)[..., None])[..., 0]
    return solved[:, :n], solved[:, n:]


def _combinations(
    form: LinearForm, A: np.ndarray, W: np.ndarray, names: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal combinations of the rows, no more of them than are independent on the manifold, and their number."""
    known = form.system.facts
    finite = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(W).all(axis=(1, 2))
    T, counts = np.full((len(A), len(names), len(names)), np.nan), np.zeros(len(A), dtype=int)
    move = np.linalg.norm(W[finite] / known.scales.positions[:, None], axis=1)
    unit = 1 / np.where(move > 0, move, 1.0)  # of v: what moves the coordinates by their scales
    level = np.array([known.sizes[i] or 1.0 for i in names])
    even = dimensionless(A[finite], unit, level)
    counts[finite] = rank.numeric_rank(even, unit, len(known.rows))
    found = np.zeros((len(even), len(names), len(names)))
    part = rank.combined(even, unit, counts[finite]) / level
    found[:, : part.shape[1]] = part
    T[finite] = found
    return T, counts
