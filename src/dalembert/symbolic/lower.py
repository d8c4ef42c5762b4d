"""Evaluate formulas over the scalars of an algebra."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

import symengine as se
from symengine.lib.symengine_wrapper import Constant

from dalembert.errors import FormulaError
from dalembert.symbolic.algebra_base import Algebra, Scalar
from dalembert.symbolic.lookup_tables import split_interpolation
from dalembert.symbolic.symbols import Formula

# SymEngine's functions by their names in formulas
NAMES: dict[type, str] = {
    getattr(se, name): name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "log")
}


class Lowering:
    """Evaluates formulas over one algebra, with a scalar for each symbol; shared parts are evaluated once.

    >>> from dalembert.symbolic.floats import FLOATS
    >>> x = se.Symbol("x")
    >>> Lowering(FLOATS, {"x": 3.0})(x**2 + 1)
    10.0
    """

    def __init__(self, algebra: Algebra, values: Mapping[str, Scalar]) -> None:
        self._algebra = algebra
        self._values = values
        self._done: dict[Formula, Scalar] = {}

    def __call__(self, formula: Formula) -> Scalar:
        """The scalar value of the formula."""
        formula = se.sympify(formula)
        if formula not in self._done:
            self._done[formula] = self._evaluate(formula)
        return self._done[formula]

    def with_values(self, more: Mapping[str, Scalar]) -> Lowering:
        """The same evaluator with values for further symbols."""
        return Lowering(self._algebra, {**self._values, **more})

    def _evaluate(self, formula: Formula) -> Scalar:
        if formula.is_Symbol:
            return self._values[formula.name]
        if formula.is_Integer and abs(int(formula)) < 2**53:
            return int(formula)
        if isinstance(formula, se.Rational):
            return self._algebra.number(Fraction(int(formula.p), int(formula.q)))
        if formula.is_Number:
            if not isinstance(
                formula, se.RealDouble
            ):  # SymEngine simplified a formula or its derivative to infinity or NaN
                raise FormulaError(
                    f"a formula or its derivative contains '{formula}', which is not a finite real number. "
                    "Expected formulas that can be differentiated; change powers such as 0**x."
                )
            return float(formula)
        if formula == se.pi:
            return self._algebra.pi
        if isinstance(formula, Constant):  # e, which a formula contains as exp(1), and SymPy's constants
            return self._algebra.function("exp", 1) if formula == se.E else float(formula)
        if isinstance(formula, se.Pow):
            return self._power(*formula.args)
        if isinstance(formula, se.Piecewise):
            return self._piecewise(formula.args)
        if (interpolated := split_interpolation(formula)) is not None:
            return self._algebra.interpolate(interpolated[0], self(interpolated[1]))
        arguments = [self(a) for a in formula.args]
        if isinstance(formula, se.Add):
            return reduce(operator.add, arguments)
        if isinstance(formula, se.Mul):
            return reduce(operator.mul, arguments)
        if isinstance(formula, se.cot):  # SymEngine rewrites tan(x + π/2) as cot
            return self._algebra.cos(arguments[0]) / self._algebra.sin(arguments[0])
        if type(formula) not in NAMES:
            fact = f"'{formula}' uses the unsupported function {type(formula).__name__}."
            raise FormulaError(f"{fact} Use the listed functions.")
        return self._algebra.function(NAMES[type(formula)], *arguments)

    def _power(self, base: Formula, exponent: Formula) -> Scalar:
        algebra = self._algebra
        if base == se.E:
            return algebra.function("exp", self(exponent))
        if exponent.is_Integer and 0 < abs(int(exponent)) <= 4:
            product = reduce(operator.mul, [self(base)] * abs(int(exponent)))
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
        if isinstance(condition, se.StrictLessThan | se.LessThan):
            a, b = map(self, condition.args)
            return self._algebra.less(a, b, or_equal=isinstance(condition, se.LessThan))
        name = "and" if isinstance(condition, se.And) else "or"
        return self._algebra.logical(name, *(self._condition(c) for c in condition.args))
