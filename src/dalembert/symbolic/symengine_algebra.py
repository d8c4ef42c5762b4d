"""SymEngine expressions for display: their algebra, derivatives and antiderivatives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from operator import mul

import numpy as np
import symengine as se

from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector
from dalembert.symbolic.lookup_tables import LookupTable, interpolation
from dalembert.symbolic.operations import FUNCTIONS
from dalembert.symbolic.symbols import Formula

_FUNCTIONS = {name: getattr(se, name) for name in FUNCTIONS if name != "pow"}
_MAX_TERMS = 200  # of an expanded product


class Symbolic(DifferentialAlgebra):
    """Algebra of SymEngine expressions."""

    name = "symbolic"
    pi = se.pi

    def number(self, value: Fraction) -> Scalar:
        return se.Rational(value.numerator, value.denominator)

    def is_zero(self, x: Scalar) -> bool:
        return bool(x == 0)

    def function(self, name: str, *arguments: Scalar) -> Scalar:
        return se.sympify(arguments[0]) ** arguments[1] if name == "pow" else _FUNCTIONS[name](*arguments)

    def interpolate(self, table: LookupTable, x: Scalar) -> Scalar:
        return interpolation(table, x)

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        return se.Piecewise((yes, condition), (no, True))

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Scalar:
        return se.Le(a, b) if or_equal else se.Lt(a, b)

    def logical(self, name: str, *conditions: Scalar) -> Scalar:
        return (se.And if name == "and" else se.Or)(*conditions)

    def symbols(self, names: Sequence[str]) -> Array:
        return vector([se.Symbol(name) for name in names])

    def jacobian(self, f: Array, x: Array) -> Array:
        out = np.empty((*f.shape, len(x)), dtype=object)
        for index in np.ndindex(*f.shape):
            entry = se.sympify(f[index])
            present = entry.free_symbols
            for j, xj in enumerate(x):
                out[(*index, j)] = entry.diff(xj) if xj in present else 0
        return out

    def total_derivative(self, f: Array, *along: tuple[Array, Array]) -> Array:
        out = np.empty(f.shape, dtype=object)
        pairs = [(xj, xdj) for x, xd in along for xj, xdj in zip(x, xd, strict=True) if not self.is_zero(xdj)]
        for index in np.ndindex(*f.shape):
            entry = se.sympify(f[index])
            present = entry.free_symbols
            out[index] = sum((entry.diff(xj) * xdj for xj, xdj in pairs if xj in present), start=0)
        return out

    def substitute(self, f: Array, values: Mapping[str, Scalar]) -> Array:
        table = {se.Symbol(name): se.sympify(value) for name, value in values.items()}
        out = np.empty(f.shape, dtype=object)
        for index in np.ndindex(*f.shape):
            out[index] = se.sympify(f[index]).subs(table)
        return out


SYMBOLIC = Symbolic()


def antiderivative(formula: Formula, x: Formula, moving: Collection[Formula] = ()) -> tuple[Formula, Formula]:
    """(F, rest) with ∂F/∂x + rest = formula: F has the terms that are integrated exactly and contain no `moving` symbol but x.

    Powers except −1, sine, cosine and exponential of a x + b are integrated for a number a, with any factor free of x.

    >>> x, k, v = se.symbols("x k v")
    >>> antiderivative(k * (x - 1) ** 3 + 2 * v, x, [v])
    ((1/4)*k*(-1 + x)**4, 2*v)
    """
    integrated, rest = se.Integer(0), se.Integer(0)
    for term in _terms(formula):
        found = None if term.free_symbols & {*moving} else _of_term(term, x)
        parts = [term] if found is not None or not 1 < _count(term) <= _MAX_TERMS else _terms(se.expand(term))
        for part in parts:
            integral = found if part is term else None if part.free_symbols & {*moving} else _of_term(part, x)
            integrated, rest = (integrated, rest + part) if integral is None else (integrated + integral, rest)
    return integrated, rest


def _terms(formula: Formula) -> tuple[Formula, ...]:
    return formula.args if isinstance(formula, se.Add) else (formula,)


def _count(formula: Formula) -> int:
    """An upper bound for the number of terms of the expanded formula; the count stops when it is too large."""
    if isinstance(formula, se.Add):
        count = sum(map(_count, formula.args))
    elif isinstance(formula, se.Mul):
        count = reduce(lambda a, b: min(a * b, _MAX_TERMS + 1), map(_count, formula.args), 1)
    elif isinstance(formula, se.Pow) and formula.args[1].is_Integer and int(formula.args[1]) > 0:
        base = _count(formula.args[0])
        count = base ** min(int(formula.args[1]), 64) if base < 16 else _MAX_TERMS + 1
    else:
        count = 1
    return min(count, _MAX_TERMS + 1)


def _of_term(term: Formula, x: Formula) -> Formula | None:
    """The antiderivative of c f(a x + b), None for a term of another form."""
    factors = term.args if isinstance(term, se.Mul) else (term,)
    dependent = [factor for factor in factors if x in factor.free_symbols]
    if not dependent:
        return term * x
    if len(dependent) > 1:
        return None
    (inner,) = dependent
    integral = _of_factor(inner, x)
    return integral and reduce(mul, (factor for factor in factors if factor is not inner), integral)


def _of_factor(factor: Formula, x: Formula) -> Formula | None:
    base, exponent = factor.args if isinstance(factor, se.Pow) else (factor, se.Integer(1))
    if base == se.E:
        slope = _slope(exponent, x)
        return slope and factor / slope
    if isinstance(exponent, se.Rational) and exponent != -1 and (slope := _slope(base, x)) is not None:
        return base ** (exponent + 1) / (slope * (exponent + 1))
    if isinstance(factor, se.sin | se.cos) and (slope := _slope(factor.args[0], x)) is not None:
        inner = factor.args[0]
        return -se.cos(inner) / slope if isinstance(factor, se.sin) else se.sin(inner) / slope
    return None


def _slope(formula: Formula, x: Formula) -> Formula | None:
    """a of a x + b, where a is a nonzero number."""
    if not formula.is_Symbol and not isinstance(formula, se.Add | se.Mul):
        return None
    slope = se.diff(formula, x)
    return slope if slope.is_Number and slope != 0 else None


def slope(f: Formula, x: Formula) -> Formula:
    """∂f/∂x, zero where f does not contain x.

    SymEngine's derivative of atan2(y, x) divides by x if the arguments are not symbols, so that it is undefined at x = 0. Here it
    is (x y′ − y x′)/(x² + y²), which is defined everywhere except at the origin.

    >>> a = se.Symbol("a")
    >>> slope(se.atan2(se.cos(a), se.sin(a)), a).subs({a: 0})
    -1
    """
    if x not in f.free_symbols:
        return se.Integer(0)
    angle = next((each for each in _angles(f) if x in each.free_symbols), None)
    if angle is None:
        return se.diff(f, x)
    (v, u), placeholder = angle.args, se.Symbol("[angle]")
    rest = f.subs({angle: placeholder})
    rate = (u * slope(v, x) - v * slope(u, x)) / (u * u + v * v)
    return (slope(rest, x) + slope(rest, placeholder) * rate).subs({placeholder: angle})


@lru_cache(maxsize=256)
def _angles(f: Formula) -> tuple[Formula, ...]:
    """The atan2 terms in a formula; cached, since it is differentiated by many symbols."""
    return tuple(sorted(f.atoms(se.atan2), key=str))
