"""Solving the unsolved form: fused into the graph, or assembled from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.algebra.linear import kkt_solve, ldl_solve, lu_solve
from dalembert.equations import LinearForm, LinearSystem, Numeric, Rows
from dalembert.kernels.numeric import WAYS
from dalembert.structure import Facts, rank
from dalembert.structure.constraint_rows import dimensionless
from dalembert.structure.system import combined


def fused(form: LinearForm) -> tuple[Array, Array]:
    """v̇ and λ as expressions, from independent rows; multipliers of the rows that are left out are zero."""
    known, rows = form.system.facts, form.rows.independent(form.system.facts)
    linear = form.independent
    # forms with independent rows have combined them already
    mixing = known.mix is not None and form.rows is Rows.ALL
    if mixing:
        linear = replace(linear, A=combined(known, linear.A), beta=combined(known, linear.beta))
    vd, lam = _in_graph(form, linear)
    full = zeros(len(form.linear.beta))
    full[rows] = np.array(known.mix, dtype=object).T @ lam if mixing else lam
    return vd, full


def _in_graph(form: LinearForm, linear: LinearSystem) -> tuple[Array, Array]:
    """By the formalism's own graph, or by LDLᵀ, Schur complement, or LU in a fixed order."""
    algebra = form.system.algebra
    if form.solver is not None and form.solver.graph is not None:
        return form.solver.graph(algebra, linear)
    if linear.constrained:
        return kkt_solve(algebra, linear.M, linear.A, linear.push, linear.beta, linear.J)
    if form.order is not None:
        return lu_solve(algebra, linear.M, linear.push, form.order), zeros(0)
    return ldl_solve(algebra, linear.M, linear.push), zeros(0)


def assembled(form: LinearForm, linear: LinearSystem, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ from numbers, batch on the first axis; W is (K, n, m).

    Where a formalism solves by its own way, v is measured in M_ii^(−1/2). Roots of M and orthogonal factors mix the
    velocities: with lengths in micrometres M has entries from 1e-12 to 1, and what is small drowns in the rounding of what is
    large. In units of equal energy the diagonal of M is 1.
    """
    if form.solver is None or form.behind is not None:
        return _assembled(form, linear, W)
    unit = rank.inertia_scale(linear.M, linear.A)
    vd, lam = _assembled(form, linear.in_units(unit), W * unit[:, None, :])
    return vd * unit, lam


def _assembled(form: LinearForm, linear: LinearSystem, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ in the units of the linear system, by combinations of the rows where these are (nearly) dependent."""
    known, way = form.system.facts, Numeric.WHOLE if form.solver is None else form.solver.numeric
    if way.takes_dependent_rows and linear.constrained:
        T, counts = _combinations(known, linear.A, W, range(len(known.levels.names)))
    elif known.nearly_dependent and known.mix is None and form.rows is Rows.INDEPENDENT:
        T, counts = _combinations(known, linear.A, W, known.rows)
    else:
        return WAYS[way](linear, np.full(len(linear.f), linear.beta.shape[1]))
    vd, lam = WAYS[way](linear.combined(T), counts)
    return vd, np.einsum("kmr,km->kr", T, lam)


def _combinations(known: Facts, A: np.ndarray, W: np.ndarray, names: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal combinations of the rows, no more of them than are independent on the manifold, and their number."""
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
