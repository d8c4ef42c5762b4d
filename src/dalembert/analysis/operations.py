"""Counting arithmetic: how many operations one evaluation of the right-hand side takes, shared parts counted once."""

from __future__ import annotations

from dalembert.algebra import Array, stack, vector
from dalembert.algebra.walks import ordered
from dalembert.equations import LinearForm
from dalembert.kernels.compile import nodes
from dalembert.kernels.solve import fused


def count(form: LinearForm) -> int:
    """Operations for q̇ and v̇ at one state, the linear solve included."""
    x, _ = fused(form)
    k, qd, own = len(form.velocity.v), form.velocity.qd, form.own_multipliers
    outputs = stack(qd, x) if own is None else stack(qd + own.S @ x[k:], x[:k])
    if form.system.algebra.name == "fast":
        return _in_decomposition(form, outputs)
    return _in_graph(form, outputs)


def _in_decomposition(form: LinearForm, outputs: Array) -> int:
    """Counted in heyoka's straight-line program: a sum of k terms is k − 1 operations, anything else is one."""
    import heyoka as hy

    from dalembert.algebra.fast import expression

    system = form.system
    constants = system.algebra.symbols([*system.model.parameter_values, *(str(c) for c in form.constants.symbols)])
    inputs = stack(system.q, form.velocity.v, vector([system.t]), constants)
    options = {"opt_level": 0, "compact_mode": False, "batch_size": 1}
    program = hy.cfunc([expression(e) for e in outputs], vars=list(inputs), **options).dc
    lines = [str(line) for line in program[len(inputs) : len(program) - len(outputs)]]
    return sum(max(1, line.count(" + "), line.count(" * ")) for line in lines)


def _in_graph(form: LinearForm, outputs: Array) -> int:
    """Counted in the graph: every node that is neither a number nor a symbol is one operation."""
    return sum(1 for y in ordered(nodes(form.system.algebra, outputs)) if y.arguments)
