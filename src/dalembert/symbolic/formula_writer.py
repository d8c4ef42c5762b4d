"""Formulas as text that the parser reads back to the same formula, with their numbers exact or as they are best read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import symengine as se
from symengine.lib.symengine_wrapper import BooleanFalse, BooleanTrue, Constant, FunctionSymbol

from dalembert.errors import FormulaError
from dalembert.symbolic.lookup_tables import split_interpolation
from dalembert.symbolic.lower import NAMES
from dalembert.symbolic.parser import MAX_COPYING, MAX_LENGTH
from dalembert.symbolic.symbols import Formula, Kind, absolute, fold, kind_of, maximum, minimum, signum
from dalembert.symbolic.sympy_bridge import to_sympy

# how strongly the parts of a text bind
_OR, _AND, _SUM, _PRODUCT, _POWER, _ATOM = range(6)
_LONGEST_RADICAND = 10_000


class _Text(NamedTuple):
    """A part as text, how strongly it binds, and how deep functions that copy their arguments nest in it."""

    text: str
    rank: int
    copying: int = 0


def written(formula: Formula, where: str = "formula") -> int | float | str:
    """A formula as a number or as text in the syntax of the parser; numbers keep all their digits.

    >>> x, k = se.Symbol("x"), se.Symbol("k")
    >>> written(k * x**2 / 2 - se.RealDouble(0.1)), written(se.Integer(3)), written(absolute(x))
    ('k*x**2/2 - 0.1', 3, 'abs(x)')
    """
    formula = se.sympify(formula)
    if formula.is_Number and "/" not in (text := _constant(formula).text):
        return int(text) if text.removeprefix("-").isdigit() else float(text)

    def build(node: Formula, parts: list[_Text]) -> _Text:
        try:
            made = _node(node, parts)
        except FormulaError as error:
            raise FormulaError(f"{where}: {error}") from None
        if len(made.text) > MAX_LENGTH:
            raise FormulaError(
                f"{where}: the formula needs more than {MAX_LENGTH} characters as text. "
                "Expected a shorter one; split it into several elements."
            )
        return made

    return fold(formula, lambda node: node.args, build).text


def _node(node: Formula, parts: list[_Text]) -> _Text:
    copying = max((part.copying for part in parts), default=0)
    if isinstance(node, se.Symbol):
        return _Text(node.name, _ATOM)
    if node.is_Number or isinstance(node, Constant | BooleanTrue | BooleanFalse):
        return _constant(node)
    if isinstance(node, se.Add):
        return _Text(_sum(parts), _SUM, copying)
    if isinstance(node, se.Mul):
        return _product(node, parts, copying)
    if isinstance(node, se.Pow):
        return _power(node, parts, copying)
    if isinstance(node, se.Piecewise):
        return _cases(node, parts, copying)
    if isinstance(node, se.StrictLessThan | se.LessThan):
        sign = "<" if isinstance(node, se.StrictLessThan) else "<="
        return _Text(f"{_held(parts[0], _SUM)} {sign} {_held(parts[1], _SUM)}", _SUM, copying)
    if isinstance(node, se.And):
        return _Text(" and ".join(sorted(_held(part, _SUM) for part in parts)), _AND, copying)
    if isinstance(node, se.Or):
        return _Text(" or ".join(sorted(_held(part, _AND) for part in parts)), _OR, copying)
    if isinstance(node, se.cot):
        return _Text(f"1/tan({parts[0].text})", _PRODUCT, copying)
    if type(node) in NAMES:
        return _call(NAMES[type(node)], parts, copying)
    if split_interpolation(node) is not None:
        raise FormulaError(
            "a table of points cannot be written inside a formula. Model files hold tables as the motion of a drive, "
            "as torque_table and as wrench_table: use one of these, or a formula of t."
        )
    raise FormulaError(f"'{str(node)[:60]}' cannot be written: {type(node).__name__} is no function of a model file.")


def _constant(node: Formula) -> _Text:
    if isinstance(node, BooleanTrue | BooleanFalse):
        return _Text("0 < 1" if isinstance(node, BooleanTrue) else "1 < 0", _SUM)
    if node == se.pi:
        return _Text("pi", _ATOM)
    if node == se.E:
        return _Text("exp(1)", _ATOM)
    if isinstance(node, se.RealDouble):
        text = repr(float(node))
    elif isinstance(node, se.Rational):
        text = _fraction(int(node.p), int(node.q))
    else:
        raise FormulaError(f"the number {str(node)[:60]} cannot be written. Expected a finite real number.")
    if "/" in text:
        return _Text(text, _PRODUCT)
    return _Text(text, _PRODUCT if text.startswith("-") else _ATOM)


def _fraction(top: int, bottom: int) -> str:
    """A fraction as a decimal where that is shorter to read and says the same, else as it is.

    >>> _fraction(981, 100), _fraction(1, 3), _fraction(1, 2), _fraction(7, 1), _fraction(10**20, 1)
    ('9.81', '1/3', '1/2', '7', '1e+20')
    """
    whole = f"{top}/{bottom}" if bottom > 1 else str(top)
    if bottom <= 2 and abs(top) < 2**53:
        return whole
    text = repr(top / bottom)
    return text if Fraction(text) == Fraction(top, bottom) else whole


def _held(part: _Text, rank: int) -> str:
    """The text in brackets, unless it binds at least as strongly as `rank`."""
    return part.text if part.rank >= rank else f"({part.text})"


def _call(name: str, parts: list[_Text], copying: int) -> _Text:
    return _Text(f"{name}({', '.join(part.text for part in parts)})", _ATOM, copying)


def _sum(parts: list[_Text]) -> str:
    """The terms, those with a minus last."""
    terms = sorted((_held(part, _PRODUCT) for part in parts), key=lambda term: (term.startswith("-"), term))
    return terms[0] + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in terms[1:])


def _product(node: Formula, parts: list[_Text], copying: int) -> _Text:
    """A number in front, then the factors, then what they are divided by."""
    sign, front, above, below = "", [], [], []
    for factor, part in zip(node.args, parts, strict=True):
        if factor.is_Number:
            sign = "-" if part.text.startswith("-") else ""
            top, _, bottom = part.text.removeprefix("-").partition("/")
            front += [top] if top != "1" else []
            below += [f"/{bottom}"] if bottom else []
        elif isinstance(factor, se.Pow) and part.rank == _PRODUCT:
            below.append(part.text.removeprefix("1"))
        else:
            above.append((_place(factor), _held(part, _POWER)))
    top = "*".join([*front, *(text for _, text in sorted(above))]) or "1"
    return _Text(sign + top + "".join(sorted(below)), _PRODUCT, copying)


def _place(factor: Formula) -> int:
    """Names stand in front, then their powers, then everything else, and velocities last."""
    base = factor.args[0] if isinstance(factor, se.Pow) else factor
    if not isinstance(base, se.Symbol):
        return 2
    return 3 if kind_of(base.name) is Kind.RATE else int(base != factor)


def _power(node: Formula, parts: list[_Text], copying: int) -> _Text:
    """A power, or one over a power, whose text then begins with 1/."""
    (base, exponent), (below, above) = node.args, parts
    if base == se.E:
        return _Text(f"exp({above.text})", _ATOM, copying)
    if isinstance(exponent, se.Rational) and exponent < 0:
        turned = _raised(below, -exponent, _constant(-exponent), copying)
        return _Text(f"1/{_held(turned, _POWER)}", _PRODUCT, copying)
    return _raised(below, exponent, above, copying)


def _raised(base: _Text, exponent: Formula, text: _Text, copying: int) -> _Text:
    if exponent == 1:
        return base
    if exponent == se.Rational(1, 2):
        return _Text(f"sqrt({base.text})", _ATOM, copying)
    return _Text(f"{_held(base, _ATOM)}**{_held(text, _ATOM)}", _POWER, copying)


def _cases(node: Formula, parts: list[_Text], copying: int) -> _Text:
    """Cases, in the words abs, sign, min and max where they mean these."""
    values, texts = node.args[::2], parts[::2]
    if copying < MAX_COPYING:
        if len(values) == 2 and absolute(values[0]) == node:
            return _call("abs", texts[:1], copying + 1)
        for name, meaning in (("min", minimum), ("max", maximum)):
            if len(values) <= 8 and meaning(*values) == node:
                return _call(name, texts, copying + 1)
        if len(values) == 3 and isinstance(node.args[1], se.StrictLessThan) and signum(node.args[1].args[1]) == node:
            return _Text(f"sign({parts[1].text.removeprefix('0 < ')})", _ATOM, copying + 1)
    if not isinstance(node.args[-1], BooleanTrue):
        raise FormulaError(f"'{str(node)[:60]}' cannot be written: it has no value where no condition holds.")
    return _call("piecewise", parts[:-1], copying)


def limited(value: Formula) -> tuple[Formula, Formula, Formula] | None:
    """(effort, lowest, highest) of a formula that is an effort cut off at both ends, None for every other one.

    >>> x = se.Symbol("x")
    >>> limited(maximum(se.Integer(-2), minimum(se.Integer(2), x))), limited(x)
    ((x, -2, 2), None)
    """
    if not isinstance(value, se.Piecewise) or len(value.args) != 4 or not isinstance(value.args[2], se.Piecewise):
        return None
    low, inner = value.args[0], value.args[2]
    high, effort = inner.args[0], inner.args[2]
    return (effort, low, high) if value == maximum(low, minimum(high, effort)) else None


Knots = list[tuple[float, float]]


def knots(formula: Formula) -> Knots | None:
    """The points (time, value) of a table of time, none for a constant, and None for every other formula.

    >>> from dalembert.symbolic.lookup_tables import interpolation, table
    >>> knots(interpolation(table([0, 2], [1, 5]), se.Symbol("t")))
    [(0.0, 1.0), (2.0, 5.0)]
    """
    if formula.is_Number:
        return []
    found = split_interpolation(formula)
    return found and list(zip(found[0].times.tolist(), found[0].values.tolist(), strict=True))


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
    """The expression with fractions in place of doubles."""
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
    """A formula as text, its numbers as decimals where they are such."""
    return str(with_numbers(formula, for_reading))


def readable(expression: Formula) -> Formula:
    """The SymPy expression with numbers as they are best read, and every symbol plain, under its name in formulas.

    >>> readable(0.5 * se.Symbol("dot(x)"))
    dot(x)/2
    """
    return to_sympy(with_numbers(expression, for_reading), coordinates=())
