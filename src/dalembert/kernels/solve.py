"""Solving the unsolved form inside the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.algebra.linear import kkt_solve, ldl_solve, lu_solve
from dalembert.equations import LinearForm, LinearSystem, Rows
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
