"""Formulas in numbers: values at the start of a motion, and what a start leaves unfulfilled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import symengine as se

from dalembert.errors import Problem
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.floats import FLOATS, Number
from dalembert.symbolic.floats import number as as_number
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula, rate

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Table = dict[str, float]
_STEP = 1e-50
# how far symbols that start at 0 are moved, and how large velocities are, trial by trial: a model may have any units
_TRIALS = ((0.1, 1.0), (0.1, 100.0), (1e-4, 1e-6), (1e-4, 1e6), (1e-8, 1e-3), (1e-8, 1e4))
_ZERO_TOLERANCE = 1e-9


def at_start(model: Elements) -> Table:
    """A number for every symbol: the initial state at t = 0 and the default parameters."""
    q, qd = model.initial
    names = model.coordinate_names
    velocities = {rate(name).name: float(v) for name, v in zip(names, qd, strict=True)}
    return {TIME.name: 0.0, **dict(zip(names, q.tolist(), strict=True)), **velocities, **model.parameter_values}


def value(formula: Formula, table: Table) -> float:
    """The value of a formula, nan where it has no real one.

    >>> x = se.Symbol("x")
    >>> value(1 + x, {"x": 2.0}), value(1 / x, {"x": 0.0})
    (3.0, nan)
    """
    number = _evaluate(formula, table)
    number = float(number) if isinstance(number, int) else number
    return math.nan if np.iscomplexobj(number) or not np.isfinite(number) else float(np.real(number))


def slope(formula: Formula, table: Table, name: str) -> float:
    """The derivative of a formula by one of its symbols, nan where it has none.

    >>> slope(se.Symbol("x") ** 2, {"x": 3.0}, "x")
    6.0
    """
    number = np.imag(_evaluate(formula, {**table, name: table[name] + 1j * _STEP})) / _STEP
    return float(number) if np.isfinite(number) else math.nan


def size(formula: Formula, table: Table) -> float:
    """How large the terms of a formula are, so that their sum can be called small or not.

    >>> x = se.Symbol("x")
    >>> size(x - 5, {"x": 5.0})
    10.0
    """
    if isinstance(formula, se.Add):
        return sum(size(term, table) for term in formula.args)
    if isinstance(formula, se.Mul):
        return math.prod(size(factor, table) for factor in formula.args)
    return abs(value(formula, table))


def is_affine(formula: Formula, velocities: set[Formula], start: Table) -> bool:
    """Whether a formula is of first degree in the velocities: f(a+b) − f(a) − f(b) + f(0) = 0 for random a and b."""
    return _vanish(_differences(formula, velocities, start, 2))


def is_quadratic(formula: Formula, velocities: set[Formula], start: Table) -> bool:
    """Whether a formula is of second degree in the velocities at most: its third difference is zero."""
    return _vanish(_differences(formula, velocities, start, 3))


def _differences(formula: Formula, velocities: set[Formula], start: Table, order: int) -> Iterator[list[float]]:
    """The signed terms of the difference of this order along random directions, near the initial state."""
    random = np.random.default_rng(1)
    symbols = sorted(s.name for s in formula.free_symbols if s.name in start)  # not the places of tables
    rates = sorted(s.name for s in formula.free_symbols & velocities)
    for move, pace in _TRIALS if rates else ():
        table = {name: start[name] + (0.1 * start[name] or move) * random.uniform(-1, 1) for name in symbols}
        directions = random.uniform(0.3, 1.7, (order, len(rates))) * random.choice([-1, 1], (order, len(rates)))
        directions *= pace
        terms = []
        for subset in range(2**order):
            chosen = [(subset >> i) & 1 for i in range(order)]
            table.update(zip(rates, (np.array(chosen) @ directions).tolist(), strict=True))
            terms.append((-1) ** sum(chosen) * value(formula, table))
        # the first term is the value at rest; where even that is undefined, nothing can be said about velocities
        if math.isfinite(terms[0]):
            yield terms


def _vanish(differences: Iterator[list[float]]) -> bool:
    return all(abs(sum(terms)) <= _ZERO_TOLERANCE * sum(map(abs, terms)) for terms in differences)


def _evaluate(formula: Formula, table: Mapping[str, Scalar]) -> Number:
    try:
        with np.errstate(all="ignore"):
            return as_number(Lowering(FLOATS, table)(formula))
    except (ArithmeticError, ValueError):
        return math.nan


CLOSE = 1e-8


def unfulfilled(
    path: str, letter: str, formula: Formula, unknowns: set[Formula], what: str, table: Table
) -> list[Problem]:
    """The problem of a formula that does not vanish at the start, with a change of `what` that would do it."""
    amount, terms = value(formula, table), size(formula, table)
    if not abs(amount) > CLOSE * terms:
        return []
    return [violation(path, letter, amount, terms, f"Change the initial {what}{_solution(formula, unknowns, table)}.")]


def open_rate(path: str, phi: Formula, q: set[Formula], table: Table) -> list[Problem]:
    """The problem of initial rates that violate φ̇ = ∂φ/∂t + (∂φ/∂q) q̇ = 0."""
    slopes = {x.name: slope(phi, table, x.name) for x in sorted(phi.free_symbols & q, key=str)}
    parts = [slopes[name] * table[rate(name).name] for name in slopes] + [slope(phi, table, TIME.name)]
    amount, terms = sum(parts), sum(map(abs, parts))
    if not abs(amount) > CLOSE * terms:
        return []
    name = max(slopes, key=lambda name: abs(slopes[name]))
    old = table[rate(name).name]
    hint = _instead(rate(name).name, old - amount / slopes[name], old) if slopes[name] else ""
    return [violation(path, "dφ/dt", amount, terms, f"Change the initial rates{hint}.")]


def violation(path: str, letter: str, amount: float, terms: float, advice: str) -> Problem:
    """The problem of a constraint that the start violates."""
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
