"""Write formulas as source strings that the parser reads back unchanged, with exact or rounded numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import symengine as se
from symengine.lib.symengine_wrapper import BooleanFalse, BooleanTrue, Constant, FunctionSymbol

from dalembert.errors import FormulaError
from dalembert.symbolic.lookup_tables import split_interpolation
from dalembert.symbolic.parser import MAX_COPYING, MAX_LENGTH
from dalembert.symbolic.symbols import NAMES, Formula, SymbolKind, absolute, fold, kind_of, maximum, minimum, signum
from dalembert.symbolic.sympy_bridge import to_sympy

# precedence of the parts of an expression
_OR, _AND, _SUM, _PRODUCT, _POWER, _ATOM = range(6)
_MAX_RADICAND = 10_000


class _Fragment(NamedTuple):
    """Source of a part, its precedence, and the nesting depth of functions that copy their arguments."""

    source: str
    rank: int
    copying: int = 0


def write_formula(formula: Formula, where: str = "formula") -> int | float | str:
    """A formula as a number or as a string in the syntax of the parser; numbers are written with all digits.

    >>> x, k = se.Symbol("x"), se.Symbol("k")
    >>> write_formula(k * x**2 / 2 - se.RealDouble(0.1)), write_formula(se.Integer(3)), write_formula(absolute(x))
    ('k*x**2/2 - 0.1', 3, 'abs(x)')
    """
    formula = se.sympify(formula)
    if formula.is_Number and "/" not in (source := _constant(formula).source):
        return int(source) if source.removeprefix("-").isdigit() else float(source)

    def build(node: Formula, parts: list[_Fragment]) -> _Fragment:
        try:
            made = _node(node, parts)
        except FormulaError as error:
            raise FormulaError(f"{where}: {error}") from None
        if len(made.source) > MAX_LENGTH:
            raise FormulaError(
                f"{where}: the formula has more than {MAX_LENGTH} characters when written as a string. "
                "Expected a shorter formula; split it into several elements."
            )
        return made

    return fold(formula, lambda node: node.args, build).source


def _node(node: Formula, parts: list[_Fragment]) -> _Fragment:
    copying = max((part.copying for part in parts), default=0)
    if isinstance(node, se.Symbol):
        return _Fragment(node.name, _ATOM)
    if node.is_Number or isinstance(node, Constant | BooleanTrue | BooleanFalse):
        return _constant(node)
    if isinstance(node, se.Add):
        return _Fragment(_sum(parts), _SUM, copying)
    if isinstance(node, se.Mul):
        return _product(node, parts, copying)
    if isinstance(node, se.Pow):
        return _power(node, parts, copying)
    if isinstance(node, se.Piecewise):
        return _cases(node, parts, copying)
    if isinstance(node, se.StrictLessThan | se.LessThan):
        sign = "<" if isinstance(node, se.StrictLessThan) else "<="
        return _Fragment(f"{_parenthesized(parts[0], _SUM)} {sign} {_parenthesized(parts[1], _SUM)}", _SUM, copying)
    if isinstance(node, se.And):
        return _Fragment(" and ".join(sorted(_parenthesized(part, _SUM) for part in parts)), _AND, copying)
    if isinstance(node, se.Or):
        return _Fragment(" or ".join(sorted(_parenthesized(part, _AND) for part in parts)), _OR, copying)
    if isinstance(node, se.cot):
        return _Fragment(f"1/tan({parts[0].source})", _PRODUCT, copying)
    if type(node) in NAMES:
        return _call(NAMES[type(node)], parts, copying)
    if split_interpolation(node) is not None:
        raise FormulaError(
            "a table of points cannot be written inside a formula. Model files store tables as the motion of a drive, "
            "as torque_table and as wrench_table: use one of these, or a formula of t."
        )
    raise FormulaError(f"'{str(node)[:60]}' cannot be written: {type(node).__name__} is not supported in model files.")


def _constant(node: Formula) -> _Fragment:
    if isinstance(node, BooleanTrue | BooleanFalse):
        return _Fragment("0 < 1" if isinstance(node, BooleanTrue) else "1 < 0", _SUM)
    if node == se.pi:
        return _Fragment("pi", _ATOM)
    if node == se.E:
        return _Fragment("exp(1)", _ATOM)
    if isinstance(node, se.RealDouble):
        source = repr(float(node))
    elif isinstance(node, se.Rational):
        source = _fraction(int(node.p), int(node.q))
    else:
        raise FormulaError(f"the number {str(node)[:60]} cannot be written. Expected a finite real number.")
    if "/" in source:
        return _Fragment(source, _PRODUCT)
    return _Fragment(source, _PRODUCT if source.startswith("-") else _ATOM)


def _fraction(top: int, bottom: int) -> str:
    """A fraction as a decimal if that is shorter and exact, otherwise as a ratio.

    >>> _fraction(981, 100), _fraction(1, 3), _fraction(1, 2), _fraction(7, 1), _fraction(10**20, 1)
    ('9.81', '1/3', '1/2', '7', '1e+20')
    """
    ratio = f"{top}/{bottom}" if bottom > 1 else str(top)
    if bottom <= 2 and abs(top) < 2**53:
        return ratio
    source = repr(top / bottom)
    return source if Fraction(source) == Fraction(top, bottom) else ratio


def _parenthesized(part: _Fragment, rank: int) -> str:
    """The source in parentheses, unless its precedence is at least `rank`."""
    return part.source if part.rank >= rank else f"({part.source})"


def _call(name: str, parts: list[_Fragment], copying: int) -> _Fragment:
    return _Fragment(f"{name}({', '.join(part.source for part in parts)})", _ATOM, copying)


def _sum(parts: list[_Fragment]) -> str:
    """The terms, with negative terms last."""
    terms = sorted((_parenthesized(part, _PRODUCT) for part in parts), key=lambda term: (term.startswith("-"), term))
    return terms[0] + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in terms[1:])


def _product(node: Formula, parts: list[_Fragment], copying: int) -> _Fragment:
    """The numeric factor, then the other factors, then the divisors."""
    sign, front, above, below = "", [], [], []
    for factor, part in zip(node.args, parts, strict=True):
        if factor.is_Number:
            sign = "-" if part.source.startswith("-") else ""
            top, _, bottom = part.source.removeprefix("-").partition("/")
            front += [top] if top != "1" else []
            below += [f"/{bottom}"] if bottom else []
        elif isinstance(factor, se.Pow) and part.rank == _PRODUCT:
            below.append(part.source.removeprefix("1"))
        else:
            above.append((_factor_rank(factor), _parenthesized(part, _POWER)))
    top = "*".join([*front, *(source for _, source in sorted(above))]) or "1"
    return _Fragment(sign + top + "".join(sorted(below)), _PRODUCT, copying)


def _factor_rank(factor: Formula) -> int:
    """Sort key of a factor: names, then their powers, then all others, and velocities last."""
    base = factor.args[0] if isinstance(factor, se.Pow) else factor
    if not isinstance(base, se.Symbol):
        return 2
    return 3 if kind_of(base.name) is SymbolKind.RATE else int(base != factor)


def _power(node: Formula, parts: list[_Fragment], copying: int) -> _Fragment:
    """A power, or the reciprocal of a power, whose source begins with 1/."""
    (base, exponent), (below, above) = node.args, parts
    if base == se.E:
        return _Fragment(f"exp({above.source})", _ATOM, copying)
    if isinstance(exponent, se.Rational) and exponent < 0:
        reciprocal = _raised(below, -exponent, _constant(-exponent), copying)
        return _Fragment(f"1/{_parenthesized(reciprocal, _POWER)}", _PRODUCT, copying)
    return _raised(below, exponent, above, copying)


def _raised(base: _Fragment, exponent: Formula, source: _Fragment, copying: int) -> _Fragment:
    if exponent == 1:
        return base
    if exponent == se.Rational(1, 2):
        return _Fragment(f"sqrt({base.source})", _ATOM, copying)
    return _Fragment(f"{_parenthesized(base, _ATOM)}**{_parenthesized(source, _ATOM)}", _POWER, copying)


def _cases(node: Formula, parts: list[_Fragment], copying: int) -> _Fragment:
    """Cases, written as abs, sign, min or max where equivalent."""
    values, sources = node.args[::2], parts[::2]
    if copying < MAX_COPYING:
        if len(values) == 2 and absolute(values[0]) == node:
            return _call("abs", sources[:1], copying + 1)
        for name, meaning in (("min", minimum), ("max", maximum)):
            if len(values) <= 8 and meaning(*values) == node:
                return _call(name, sources, copying + 1)
        if len(values) == 3 and isinstance(node.args[1], se.StrictLessThan) and signum(node.args[1].args[1]) == node:
            return _Fragment(f"sign({parts[1].source.removeprefix('0 < ')})", _ATOM, copying + 1)
    if not isinstance(node.args[-1], BooleanTrue):
        raise FormulaError(f"'{str(node)[:60]}' cannot be written: it is undefined where no condition holds.")
    return _call("piecewise", parts[:-1], copying)


def saturation_limits(value: Formula) -> tuple[Formula, Formula, Formula] | None:
    """(effort, lowest, highest) of a formula that is an effort saturated at both ends, None for any other formula.

    >>> x = se.Symbol("x")
    >>> saturation_limits(maximum(se.Integer(-2), minimum(se.Integer(2), x))), saturation_limits(x)
    ((x, -2, 2), None)
    """
    if not isinstance(value, se.Piecewise) or len(value.args) != 4 or not isinstance(value.args[2], se.Piecewise):
        return None
    low, inner = value.args[0], value.args[2]
    high, effort = inner.args[0], inner.args[2]
    return (effort, low, high) if value == maximum(low, minimum(high, effort)) else None


Knots = list[tuple[float, float]]


def knots(formula: Formula) -> Knots | None:
    """The points (time, value) of a table of time, an empty list for a constant, and None for any other formula.

    >>> from dalembert.symbolic.lookup_tables import interpolation, table
    >>> knots(interpolation(table([0, 2], [1, 5]), se.Symbol("t")))
    [(0.0, 1.0), (2.0, 5.0)]
    """
    if formula.is_Number:
        return []
    found = split_interpolation(formula)
    return found and list(zip(found[0].times.tolist(), found[0].values.tolist(), strict=True))


def exact(value: float) -> Formula:
    """The exact number closest to a double: a small fraction within rounding error if there is one, else its decimals.

    >>> exact(0.5), exact(1 / 12), exact(9.81), exact(3.0)
    (1/2, 1/12, 981/100, 3)
    """
    if value != 0 and not 1e-9 <= abs(value) < 1e12:
        return se.RealDouble(value)
    near = Fraction(value).limit_denominator(1000)
    found = near if abs(near - Fraction(value)) <= abs(Fraction(value)) * Fraction(4, 10**16) else Fraction(repr(value))
    return se.Integer(found.numerator) / se.Integer(found.denominator)


def rebuild(node: Formula, parts: list[Formula]) -> Formula:
    """Build the same type of expression from other parts."""
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
    """True for the root of a long number, such as one from the decimals of an inclined axis, which is not printed as a root."""
    return (
        isinstance(node, se.Pow)
        and isinstance(node.args[1], se.Rational)
        and node.args[0].is_Integer
        and int(node.args[0]) > _MAX_RADICAND
    )


def with_exact_numbers(expression: Formula) -> Formula:
    """The expression with fractions instead of doubles."""
    return with_numbers(expression, _exact_number)


def _exact_number(number: Formula) -> Formula:
    return exact(float(number)) if isinstance(number, se.RealDouble) else number


def display_number(number: Formula) -> Formula:
    """A fraction for display: itself when it is short and not a finite decimal, else the nearest double.

    >>> display_number(se.Rational(1, 12)), display_number(se.Rational(981, 100)), display_number(se.Rational(1, 8))
    (1/12, 9.81, 1/8)
    """
    number = _exact_number(number)
    if not isinstance(number, se.Rational) or number.is_Integer:
        return number
    top, bottom = int(number.p), int(number.q)
    decimal = bottom > 10 and bottom % 5 == 0 and Fraction(repr(top / bottom)) == Fraction(top, bottom)
    return se.RealDouble(top / bottom) if decimal or max(abs(top), bottom) > 100_000 else number


def formula_string(formula: Formula) -> str:
    """A formula as a string, with numbers as decimals where these are finite."""
    return str(with_numbers(formula, display_number))


def readable(expression: Formula) -> Formula:
    """The SymPy expression with numbers for display, and every symbol under its name in formulas.

    >>> readable(0.5 * se.Symbol("dot(x)"))
    dot(x)/2
    """
    return to_sympy(with_numbers(expression, display_number), coordinates=())
