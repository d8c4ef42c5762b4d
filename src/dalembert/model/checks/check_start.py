"""Does the initial state fulfil a formula, and if not, with which one change would it?"""

from __future__ import annotations

import math

from dalembert.errors import Problem
from dalembert.model.checks.check_values import Table, size, slope, value
from dalembert.symbolic.reserved_symbols import rate
from dalembert.symbolic.symbols import TIME, Formula

CLOSE = 1e-8


def unfulfilled(
    path: str, letter: str, formula: Formula, unknowns: set[Formula], what: str, table: Table
) -> list[Problem]:
    """The problem of a formula that does not vanish at the start, with a change of `what` that would do it."""
    amount, terms = value(formula, table), size(formula, table)
    if not abs(amount) > CLOSE * terms:
        return []
    return [_violation(path, letter, amount, terms, f"Change the initial {what}{_solution(formula, unknowns, table)}.")]


def open_rate(path: str, phi: Formula, q: set[Formula], table: Table) -> list[Problem]:
    """The problem of initial rates that violate φ̇ = ∂φ/∂t + (∂φ/∂q) q̇ = 0."""
    slopes = {x.name: slope(phi, table, x.name) for x in sorted(phi.free_symbols & q, key=str)}
    parts = [slopes[name] * table[rate(name).name] for name in slopes] + [slope(phi, table, TIME.name)]
    amount, terms = sum(parts), sum(map(abs, parts))
    if not abs(amount) > CLOSE * terms:
        return []
    name = max(slopes, key=lambda name: abs(slopes[name]))
    hint = ""
    if slopes[name]:
        old = table[rate(name).name]
        hint = _instead(rate(name).name, old - amount / slopes[name], old)
    return [_violation(path, "dφ/dt", amount, terms, f"Change the initial rates{hint}.")]


def _violation(path: str, letter: str, amount: float, terms: float, advice: str) -> Problem:
    shown = f"{letter} = {amount:.6g}, expected 0 (its terms are of size {terms:.3g})"
    return Problem(path, f"the initial state violates it: {shown}.", advice, blocking=False)


def _solution(formula: Formula, unknowns: set[Formula], table: Table) -> str:
    """One start value that would fulfil the constraint, all others left as they are, by Newton's method."""
    names = sorted(x.name for x in formula.free_symbols & unknowns)
    steepness = {name: abs(slope(formula, table, name)) for name in names}
    name = max(names, key=lambda name: -1.0 if math.isnan(steepness[name]) else steepness[name])
    trial = dict(table)
    for _ in range(30):
        amount, steep = value(formula, trial), slope(formula, trial, name)
        if amount == 0 or not abs(steep) > 0:
            break
        trial[name] -= amount / steep
    solved = abs(value(formula, trial)) <= CLOSE * size(formula, trial)
    return _instead(name, trial[name], table[name]) if solved else ""


def _instead(name: str, new: float, old: float) -> str:
    return f"; with {name} = {new:.10g} instead of {old:.10g} it would hold"
