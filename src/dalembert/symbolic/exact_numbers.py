"""The numbers in an expression, exact and written shortly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import symengine as se
from symengine.lib.symengine_wrapper import FunctionSymbol

from dalembert.symbolic.expression_reading import fold
from dalembert.symbolic.symbols import Formula
from dalembert.symbolic.sympy_bridge import to_sympy

_LONGEST_RADICAND = 10_000


def exact(value: float) -> Formula:
    """The number a double stands for: a small fraction where one is as near as doubles can tell, else its decimals.

    >>> exact(0.5), exact(1 / 12), exact(9.81), exact(3.0)
    (1/2, 1/12, 981/100, 3)
    """
    if value != 0 and not 1e-9 <= abs(value) < 1e12:
        return se.RealDouble(value)
    near = Fraction(value).limit_denominator(1000)
    found = near if abs(near - Fraction(value)) <= abs(Fraction(value)) * Fraction(4, 10**16) else Fraction(repr(value))
    return se.Integer(found.numerator) / se.Integer(found.denominator)


def rebuild(node: Formula, parts: list[Formula]) -> Formula:
    """The same kind of expression with other parts."""
    if isinstance(node, se.Piecewise):
        return se.Piecewise(*zip(parts[::2], parts[1::2], strict=True))
    return node.func(*parts) if isinstance(node, FunctionSymbol) else type(node)(*parts)


def with_numbers(expression: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The expression with every number replaced by `change(number)`.

    >>> with_numbers(0.5 * se.Symbol("x") ** 2, lambda number: exact(float(number)))
    (1/2)*x**2
    """

    def build(node: Formula, parts: list[Formula]) -> Formula:
        if _is_long_root(node):
            return change(se.RealDouble(float(node.n(53, real=True))))
        if parts:
            return rebuild(node, parts)
        return change(node) if node.is_Number else node

    return fold(se.sympify(expression), lambda node: node.args, build)


def _is_long_root(node: Formula) -> bool:
    """True for the root of a number that nobody would write as a root, such as one in a slanted axis given by decimals."""
    return (
        isinstance(node, se.Pow)
        and isinstance(node.args[1], se.Rational)
        and node.args[0].is_Integer
        and int(node.args[0]) > _LONGEST_RADICAND
    )


def with_exact_numbers(expression: Formula) -> Formula:
    """The expression with fractions in place of doubles.

    >>> with_exact_numbers(1.0 * se.Symbol("x"))
    x
    """
    return with_numbers(expression, _exact_number)


def _exact_number(number: Formula) -> Formula:
    return exact(float(number)) if isinstance(number, se.RealDouble) else number


def for_reading(number: Formula) -> Formula:
    """A fraction as it is best read: itself when it is short and no finite decimal, else the nearest double.

    >>> for_reading(se.Rational(1, 12)), for_reading(se.Rational(981, 100)), for_reading(se.Rational(1, 8))
    (1/12, 9.81, 1/8)
    """
    number = _exact_number(number)
    if not isinstance(number, se.Rational) or number.is_Integer:
        return number
    top, bottom = int(number.p), int(number.q)
    decimal = bottom > 10 and bottom % 5 == 0 and Fraction(repr(top / bottom)) == Fraction(top, bottom)
    return se.RealDouble(top / bottom) if decimal or max(abs(top), bottom) > 100_000 else number


def written_out(formula: Formula) -> str:
    """A formula as text, its numbers as decimals where they are such.

    >>> written_out(se.Rational(981, 100) * se.Symbol("m"))
    '9.81*m'
    """
    return str(with_numbers(formula, for_reading))


def readable(expression: Formula) -> Formula:
    """The SymPy expression with numbers as they are best read, and every symbol plain, under its name in formulas.

    >>> readable(0.5 * se.Symbol("dot(x)"))
    dot(x)/2
    """
    return to_sympy(with_numbers(expression, for_reading), coordinates=())
