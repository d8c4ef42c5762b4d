"""Solving the unsolved form: fused into the graph, or assembled from numbers."""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.algebra.linear import kkt_solve, ldl_solve, lu_solve
from dalembert.equations import LinearForm
from dalembert.structure import rank


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
    vd, lam = form.solver.graph(form.system.algebra, form.M, form.f, form.A[rows], form.beta[rows], form.C)
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
    if form.solver is not None and form.solver.rank_revealing:
        return _of_any_rank(form, M, f, A, beta, C, W)
    if form.solver is not None:
        rows = list(form.system.facts.rows) if beta.shape[1] == len(form.system.facts.levels.names) else slice(None)
        vd, found = form.solver.numbers(M, f, A[:, rows], beta[:, rows], C)
        lam = np.zeros_like(beta)
        lam[:, rows] = found
        return vd, lam
    f = f + C if C.shape[1] else f
    n, r = f.shape[1], beta.shape[1]
    if not r:
        return np.linalg.solve(M, f[..., None])[..., 0], np.zeros((len(f), 0))
    matrix = np.zeros((len(f), n + r, n + r))
    matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = M, -np.swapaxes(J, 1, 2), A
    solved = np.linalg.solve(matrix, np.concatenate([f, beta], axis=1)[..., None])[..., 0]
    return solved[:, :n], solved[:, n:]


def _of_any_rank(
    form: LinearForm,
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    W: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ by the formalism's own solver, whatever the rank: it gets leveled rows of the rank they have on the manifold.

    A state that is off by the error of a step makes redundant constraints look independent, with a tiny singular value.
    """
    assert form.solver is not None
    known = form.system.facts
    finite = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(beta).all(axis=1)
    level, size = np.array([x or 1.0 for x in known.sizes]), np.ones_like(beta)
    A, beta = A.copy(), beta.copy()
    unit = np.linalg.norm(
        W[finite] / known.scales.positions[:, None], axis=1
    )  # of v: what moves a coordinate by its scale
    unit = 1 / np.where(unit > 0, unit, 1.0)
    even = known.dimensionless(A[finite], unit)
    counts = np.zeros(len(A), dtype=int)
    counts[finite] = rank.numeric_rank(even, unit, len(known.rows))
    A[finite], beta[finite], size[finite] = rank.nearest_of_rank(even, beta[finite] / level, unit, counts[finite])
    vd, lam = form.solver.numbers(M, f, A, beta, C, counts)
    return vd, lam / size / level
