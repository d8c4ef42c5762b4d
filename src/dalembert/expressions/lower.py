"""From formulas to the scalars of an algebra."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import symengine as se
from symengine.lib.symengine_wrapper import Constant

from dalembert.algebra import Algebra, Scalar
from dalembert.algebra.tables import split_interpolation
from dalembert.errors import FormulaError
from dalembert.expressions.formula import Formula

NAMES: dict[type, str] = {  # SymEngine's functions by the names that formulas have for them
    se.sin: "sin",
    se.cos: "cos",
    se.tan: "tan",
    se.asin: "asin",
    se.acos: "acos",
    se.atan: "atan",
    se.atan2: "atan2",
    se.log: "log",
}
_RELATIONS: dict[type, bool] = {se.StrictLessThan: False, se.LessThan: True}


class Lowering:
    """Turns formulas into scalars of one algebra, given a scalar for each symbol; shared parts are turned once.

    >>> from dalembert.algebra import FLOATS
    >>> x = se.Symbol("x")
    >>> Lowering(FLOATS, {"x": 3.0})(x**2 + 1)
    10.0
    """

    def __init__(self, algebra: Algebra, values: Mapping[str, Scalar]) -> None:
        self._algebra = algebra
        self._values = values
        self._done: dict[Formula, Scalar] = {}

    def __call__(self, formula: Formula) -> Scalar:
        """The scalar that the formula stands for."""
        formula = se.sympify(formula)
        if formula not in self._done:
            self._done[formula] = self._turn(formula)
        return self._done[formula]

    def _turn(self, formula: Formula) -> Scalar:
        if formula.is_Symbol:
            return self._values[formula.name]
        if formula.is_Integer and abs(int(formula)) < 2**53:
            return int(formula)
        if isinstance(formula, se.Rational):
            return self._algebra.number(Fraction(int(formula.p), int(formula.q)))
        if formula.is_Number:
            return float(formula)
        if isinstance(formula, Constant):
            return self._algebra.pi if formula == se.pi else self._constant(formula)
        if isinstance(formula, se.Pow):
            return self._power(*formula.args)
        if isinstance(formula, se.Piecewise):
            return self._piecewise(formula.args)
        if (held := split_interpolation(formula)) is not None:
            return self._algebra.interpolate(held[0], self(held[1]))
        arguments = [self(a) for a in formula.args]
        if isinstance(formula, se.Add):
            return sum(arguments[1:], start=arguments[0])
        if isinstance(formula, se.Mul):
            product = arguments[0]
            for factor in arguments[1:]:
                product = product * factor
            return product
        if isinstance(formula, se.cot):  # tan(x + π/2) turns into it
            return self._algebra.cos(arguments[0]) / self._algebra.sin(arguments[0])
        return self._algebra.function(self._name(formula), *arguments)

    def _constant(self, formula: Formula) -> Scalar:
        """e, which a formula can hold as exp(1), and the constants that SymPy brings along."""
        return self._algebra.function("exp", 1) if formula == se.E else float(formula)

    def _power(self, base: Formula, exponent: Formula) -> Scalar:
        algebra = self._algebra
        if base == se.E:
            return algebra.function("exp", self(exponent))
        if exponent.is_Integer and 0 < abs(int(exponent)) <= 4:
            factor = product = self(base)
            for _ in range(abs(int(exponent)) - 1):
                product = product * factor
            return product if int(exponent) > 0 else 1 / product
        if exponent == se.Rational(1, 2):
            return algebra.sqrt(self(base))
        if exponent == se.Rational(-1, 2):
            return 1 / algebra.sqrt(self(base))
        return algebra.function("pow", self(base), self(exponent))

    def _piecewise(self, arguments: tuple[Formula, ...]) -> Scalar:
        values, conditions = arguments[::2], arguments[1::2]
        out = self(values[-1])
        for value, condition in reversed(list(zip(values[:-1], conditions[:-1], strict=True))):
            out = self._algebra.select(self._condition(condition), self(value), out)
        return out

    def _condition(self, condition: Formula) -> Scalar:
        for kind, or_equal in _RELATIONS.items():
            if isinstance(condition, kind):
                a, b = condition.args
                return self._algebra.less(self(a), self(b), or_equal=or_equal)
        name = "and" if isinstance(condition, se.And) else "or"
        return self._algebra.logical(name, *(self._condition(c) for c in condition.args))

    @staticmethod
    def _name(formula: Formula) -> str:
        for kind, name in NAMES.items():
            if isinstance(formula, kind):
                return name
        raise FormulaError(
            f"'{formula}' uses {type(formula).__name__}, which cannot be computed. Use the listed functions."
        )
