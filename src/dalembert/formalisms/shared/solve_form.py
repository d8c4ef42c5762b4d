"""Solving the unsolved form inside the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.formalisms.shared.linear_form import LinearForm, LinearSystem, Rows
from dalembert.mechanics.system import combined
from dalembert.symbolic.algebra_base import Array, stack, zeros
from dalembert.symbolic.block_nodes import solver as block_solver
from dalembert.symbolic.elimination import kkt_solve, ldl_solve, lu_solve


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
    if linear.constrained and not form.system.facts.regular_mass:
        return _whole(linear)
    if form.solver is not None and form.solver.graph is not None:
        return form.solver.graph(algebra, linear)
    if linear.constrained:
        return kkt_solve(algebra, linear.M, linear.A, linear.push, linear.beta, linear.J)
    if form.order is not None:
        return lu_solve(algebra, linear.M, linear.push, form.order), zeros(0)
    return ldl_solve(algebra, linear.M, linear.push), zeros(0)


def _whole(linear: LinearSystem) -> tuple[Array, Array]:
    """x and λ of [M −Jᵀ; A 0] (x, λ) = (h, β) by orthogonal columns, which take a singular M."""
    n, r = len(linear.push), len(linear.beta)
    matrix = np.block([[linear.M, -linear.directions.T], [linear.A, zeros(r, r)]])
    found = block_solver("general", matrix)(stack(linear.push, linear.beta))
    return found[:n], found[n:]
