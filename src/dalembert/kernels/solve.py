"""Solving the unsolved form: fused into the graph, or assembled from numbers."""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.algebra.linear import kkt_solve, ldl_solve, lu_solve
from dalembert.equations import LinearForm


def fused(form: LinearForm) -> tuple[Array, Array]:
    """v̇ and λ as expressions: LDLᵀ, Schur complement, or LU in a fixed order."""
    algebra = form.system.algebra
    if len(form.beta):
        return kkt_solve(algebra, form.M, form.A, form.f, form.beta)
    if form.order is not None:
        return lu_solve(algebra, form.M, form.f, form.order), zeros(0)
    return ldl_solve(algebra, form.M, form.f), zeros(0)


def assembled(M: np.ndarray, f: np.ndarray, A: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ from numbers, batch on the first axis: M (K, n, n), f (K, n), A (K, r, n), β (K, r)."""
    n, r = f.shape[1], beta.shape[1]
    if not r:
        return np.linalg.solve(M, f[..., None])[..., 0], np.zeros((len(f), 0))
    matrix = np.zeros((len(f), n + r, n + r))
    matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = M, -np.swapaxes(A, 1, 2), A
    solved = np.linalg.solve(matrix, np.concatenate([f, beta], axis=1)[..., None])[..., 0]
    return solved[:, :n], solved[:, n:]
