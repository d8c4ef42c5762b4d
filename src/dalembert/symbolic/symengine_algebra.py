"""SymEngine expressions: what the user reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import symengine as se

from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector
from dalembert.symbolic.lookup_tables import Table, interpolation
from dalembert.symbolic.operations import FUNCTIONS

_FUNCTIONS = {name: getattr(se, name) for name in FUNCTIONS if name != "pow"}


class Symbolic(DifferentialAlgebra):
    """Expressions of SymEngine.

    >>> algebra = Symbolic()
    >>> x, y = algebra.symbols(["x", "y"])
    >>> algebra.gradient(x * y, vector([x, y]))
    array([y, x], dtype=object)
    """

    name = "symbolic"
    pi = se.pi

    def number(self, value: Fraction) -> Scalar:
        return se.Rational(value.numerator, value.denominator)

    def is_zero(self, x: Scalar) -> bool:
        return bool(x == 0)

    def function(self, name: str, *arguments: Scalar) -> Scalar:
        return se.sympify(arguments[0]) ** arguments[1] if name == "pow" else _FUNCTIONS[name](*arguments)

    def interpolate(self, table: Table, x: Scalar) -> Scalar:
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
