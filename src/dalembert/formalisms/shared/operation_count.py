"""Counting arithmetic: how many operations one evaluation of the right-hand side takes, shared parts counted once."""

from __future__ import annotations

from dalembert.codegen.function import nodes
from dalembert.codegen.program import program_of
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.solve_form import fused
from dalembert.symbolic.algebra_base import stack
from dalembert.symbolic.optimize import shortened


def count(form: LinearForm) -> int:
    """Operations for q̇ and v̇ at one state, the linear solve included."""
    system, (x, _) = form.system, fused(form)
    k, qd, own = len(form.velocity.v), form.velocity.qd, form.own_multipliers
    outputs = stack(qd, x) if own is None else stack(qd + own.S @ x[k:], x[:k])
    names = [str(y) for y in (*system.q, *form.velocity.v, system.t)]
    constants = [*system.model.parameter_values, *(str(c) for c in form.constants.symbols)]
    return program_of(shortened(nodes(system.algebra, outputs)), names, constants).operations
