"""The initial state, and numerical evaluation of formulas there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import symengine as se

from dalembert.errors import InputError, Problem, short_repr, suggest_name
from dalembert.model.values import is_sequence
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.floats import FLOATS, Number
from dalembert.symbolic.floats import number as as_number
from dalembert.symbolic.symbols import TIME, Formula, Lowering, Written, rate

if TYPE_CHECKING:
    from dalembert.model.description import Elements


Table = dict[str, float]
_STEP = 1e-50
# perturbations of symbols that start at 0, and magnitudes of velocities, for each trial: units are arbitrary
_TRIALS = ((0.1, 1.0), (0.1, 100.0), (1e-4, 1e-6), (1e-4, 1e6), (1e-8, 1e-3), (1e-8, 1e4))
_ZERO_TOLERANCE = 1e-9


def at_start(model: Elements) -> Table:
    """Values of all symbols: the initial state at t = 0 and the default parameters."""
    q, qd = model.initial
    names = model.coordinate_names
    velocities = {rate(name).name: float(v) for name, v in zip(names, qd, strict=True)}
    return {TIME.name: 0.0, **dict(zip(names, q.tolist(), strict=True)), **velocities, **model.parameter_values}


def value(formula: Formula, table: Table) -> float:
    """The value of a formula, nan if it is not finite and real.

    >>> x = se.Symbol("x")
    >>> value(1 + x, {"x": 2.0}), value(1 / x, {"x": 0.0})
    (3.0, nan)
    """
    number = _evaluate(formula, table)
    number = float(number) if isinstance(number, int) else number
    return math.nan if np.iscomplexobj(number) or not np.isfinite(number) else float(np.real(number))


def derivative_of(formula: Formula, table: Table, name: str) -> float:
    """The derivative of a formula with respect to one symbol, nan if it is not finite.

    >>> derivative_of(se.Symbol("x") ** 2, {"x": 3.0}, "x")
    6.0
    """
    number = np.imag(_evaluate(formula, {**table, name: table[name] + 1j * _STEP})) / _STEP
    return float(number) if np.isfinite(number) else math.nan


def size(formula: Formula, table: Table) -> float:
    """The magnitude of the terms of a formula, to which a residual is compared.

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
    """Whether a formula is affine in the velocities: f(a+b) − f(a) − f(b) + f(0) = 0 for random a and b."""
    return _vanish(_differences(formula, velocities, start, 2))


def is_quadratic(formula: Formula, velocities: set[Formula], start: Table) -> bool:
    """Whether a formula is at most quadratic in the velocities: its third difference is zero."""
    return _vanish(_differences(formula, velocities, start, 3))


def _differences(formula: Formula, velocities: set[Formula], start: Table, order: int) -> Iterator[list[float]]:
    """The signed terms of the finite difference of this order along random directions, near the initial state."""
    random = np.random.default_rng(1)
    symbols = sorted(s.name for s in formula.free_symbols if s.name in start)  # without table indices
    rates = sorted(s.name for s in formula.free_symbols & velocities)
    for shift, speed in _TRIALS if rates else ():
        table = {name: start[name] + (0.1 * start[name] or shift) * random.uniform(-1, 1) for name in symbols}
        directions = random.uniform(0.3, 1.7, (order, len(rates))) * random.choice([-1, 1], (order, len(rates)))
        directions *= speed
        terms = []
        for subset in range(2**order):
            chosen = [(subset >> i) & 1 for i in range(order)]
            table.update(zip(rates, (np.array(chosen) @ directions).tolist(), strict=True))
            terms.append((-1) ** sum(chosen) * value(formula, table))
        # the first term is the value at rest; if that is undefined, the degree is not tested
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


CONSTRAINT_TOLERANCE = 1e-8


def constraint_problems(
    path: str, letter: str, formula: Formula, unknowns: set[Formula], what: str, table: Table
) -> list[Problem]:
    """The problem of a constraint formula that is nonzero at the start, with a corrected value of `what`."""
    amount, terms = value(formula, table), size(formula, table)
    if not abs(amount) > CONSTRAINT_TOLERANCE * terms:
        return []
    return [violation(path, letter, amount, terms, f"Change the initial {what}{_solution(formula, unknowns, table)}.")]


def open_rate(path: str, phi: Formula, q: set[Formula], table: Table) -> list[Problem]:
    """The problem of initial rates that violate φ̇ = ∂φ/∂t + (∂φ/∂q) q̇ = 0."""
    slopes = {x.name: derivative_of(phi, table, x.name) for x in sorted(phi.free_symbols & q, key=str)}
    parts = [slopes[name] * table[rate(name).name] for name in slopes] + [derivative_of(phi, table, TIME.name)]
    amount, terms = sum(parts), sum(map(abs, parts))
    if not abs(amount) > CONSTRAINT_TOLERANCE * terms:
        return []
    name = max(slopes, key=lambda name: abs(slopes[name]))
    old = table[rate(name).name]
    hint = _suggestion(rate(name).name, old - amount / slopes[name], old) if slopes[name] else ""
    return [violation(path, "dφ/dt", amount, terms, f"Change the initial rates{hint}.")]


def violation(path: str, letter: str, amount: float, terms: float, advice: str) -> Problem:
    """The problem of a constraint that the initial state violates."""
    residual = f"{letter} = {amount:.6g}, expected 0 (its terms are of size {terms:.3g})"
    return Problem(path, f"the initial state violates it: {residual}.", advice, blocking=False)


def _solution(formula: Formula, unknowns: set[Formula], table: Table) -> str:
    """One initial value that satisfies the constraint with all others unchanged, by Newton's method."""
    names = sorted(x.name for x in formula.free_symbols & unknowns)
    slopes = {name: abs(derivative_of(formula, table, name)) for name in names}
    name = max(names, key=lambda name: -1.0 if math.isnan(slopes[name]) else slopes[name])
    trial = dict(table)
    for _ in range(30):
        amount, derivative = value(formula, trial), derivative_of(formula, trial, name)
        if amount == 0 or not abs(derivative) > 0:
            break
        trial[name] -= amount / derivative
    solved = abs(value(formula, trial)) <= CONSTRAINT_TOLERANCE * size(formula, trial)
    return _suggestion(name, trial[name], table[name]) if solved else ""


def _suggestion(name: str, new: float, old: float) -> str:
    return f"; {name} = {new:.10g} instead of {old:.10g} satisfies it"


ByCoordinate: TypeAlias = "Mapping[Any, Written] | Sequence[Written] | np.ndarray"  # by name, or in order
Start: TypeAlias = "ByCoordinate | None"


def start_state(
    model: Elements, q0: Start, qd0: Start, where: str = "simulate", names: tuple[str, str] = ("q0", "qd0")
) -> tuple[np.ndarray, np.ndarray]:
    """Initial positions and velocities from values in order or by name; the model has the defaults.

    Values may be formulas of parameters, and names SymPy symbols.

    >>> from dalembert.model.model import Model
    >>> q, _ = start_state(Model("m").coordinates("x", "y"), {"y": "pi/2"}, None)
    >>> q.round(3).tolist()
    [0.0, 1.571]
    """
    q, qd = model.initial
    return _read(model, q0, q, f"{where}, {names[0]}"), _read(model, qd0, qd, f"{where}, {names[1]}")


def _read(model: Elements, state: Start, default: np.ndarray, where: str) -> np.ndarray:
    if state is None:
        return default
    found = by_coordinate(model.coordinate_names, state, where)
    numbers = {name: model.number(value, f"{where}, '{name}'") for name, value in found.items()}
    return np.array([numbers.get(name, old) for name, old in zip(model.coordinate_names, default, strict=True)])


def by_coordinate(names: Sequence[str], state: ByCoordinate, where: str) -> dict[str, Written]:
    """Values by coordinate name, from values in order or by name or SymPy symbol."""
    if isinstance(state, Mapping):
        found = {coordinate_name(key): value for key, value in state.items()}
        for name in found:
            if name not in names:
                raise InputError(f"{where}: there is no coordinate '{name}'. {suggest_name(name, names)}")
        return found
    if not is_sequence(state, len(names)) or any(is_sequence(x) for x in state):
        raise InputError(f"{where}: got {_shape(state)}. Expected {len(names)} values, for {', '.join(names)}.")
    return dict(zip(names, state, strict=True))


def _shape(state: object) -> str:
    """The shape of an array, or the repr of another value."""
    try:
        return f"shape {np.shape(np.asarray(state, dtype=float))}" if is_sequence(state) else short_repr(state)
    except (TypeError, ValueError, OverflowError):  # not numbers, or rows of different lengths
        return short_repr(state)


def coordinate_name(key: object) -> str:
    """The name of a key: a str or a dynamicsymbol."""
    return key if isinstance(key, str) else str(getattr(key, "func", key))
