"""Symbols, functions and numbers that a formula may contain, and formulas evaluated over the scalars of an algebra.

A formula is a SymEngine expression over symbols. SymEngine cannot differentiate `Abs`, `sign`, `Max` and `Min`,
so these four are built as `Piecewise`, which it can differentiate and compile.

A name chosen by a user is an identifier. The name of a symbol that the library adds is a kind followed by its element in
parentheses, such as dot(x). So the two never clash, and a coordinate may be named work, p or lam.
"""

from __future__ import annotations

import keyword
import math
import numbers
import operator
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import symengine as se
from symengine.lib.symengine_wrapper import Constant

from dalembert.errors import FormulaError, short_repr
from dalembert.symbolic.algebra_base import Algebra, Scalar
from dalembert.symbolic.lookup_tables import split_interpolation
from dalembert.symbolic.operations import exact

if TYPE_CHECKING:
    import sympy


Formula: TypeAlias = se.Basic  # an expression of symbols
Written: TypeAlias = "str | float | sympy.Basic | se.Basic"  # a number, a string or a SymPy expression
MAX_POWER = 64
MAX_BITS = 1023  # the largest double has 1024 bits
TIME = se.Symbol("t")
Node = TypeVar("Node", bound=Hashable)
Result = TypeVar("Result")


def coordinate(name: str) -> se.Symbol:
    """The symbol of a coordinate."""
    return se.Symbol(name)


def compare(relation: Callable[..., se.Basic], left: se.Basic, right: se.Basic) -> se.Basic:
    """The condition `relation(left, right)`, evaluated immediately if it contains no symbol.

    >>> compare(se.Lt, se.pi, 3), compare(se.Lt, se.Symbol("x"), 3)
    (False, x < 3)
    """
    result = relation(left, right)
    if result.args and not result.free_symbols:
        return relation(*(se.sympify(side).n(53, real=True) for side in (left, right)))
    return result


def absolute(value: se.Basic) -> se.Basic:
    """The magnitude of `value`, built with `Piecewise`.

    >>> absolute(se.Symbol("x"))
    Piecewise((x, 0 <= x), (-x, True))
    """
    return se.Piecewise((value, compare(se.Ge, value, 0)), (-value, True))


def signum(value: se.Basic) -> se.Basic:
    """1, 0 or -1 by the sign of `value`, built with `Piecewise`."""
    return se.Piecewise((1, compare(se.Gt, value, 0)), (-1, compare(se.Lt, value, 0)), (0, True))


def minimum(*values: se.Basic) -> se.Basic:
    """The smallest of `values`, built with `Piecewise`.

    >>> minimum(se.Symbol("x"), se.Symbol("y"))
    Piecewise((x, x <= y), (y, True))
    """
    return _extreme(se.Le, values)


def maximum(*values: se.Basic) -> se.Basic:
    """The largest of `values`, built with `Piecewise`."""
    return _extreme(se.Ge, values)


def _extreme(relation: Callable[..., se.Basic], values: tuple[se.Basic, ...]) -> se.Basic:
    # a value that precedes all later ones is the result; otherwise the result is among the later ones
    branches = [(v, se.And(*(compare(relation, v, w) for w in values[k + 1 :]))) for k, v in enumerate(values[:-1])]
    return se.Piecewise(*branches, (values[-1], True))


def piecewise(*parts: se.Basic) -> se.Basic:
    """The first value whose condition holds: value1, condition1, value2, condition2, ..., default.

    >>> x = se.Symbol("x")
    >>> piecewise(x, se.Lt(x, 1), se.Integer(2))
    Piecewise((x, x < 1), (2, True))
    """
    return se.Piecewise(*zip(parts[:-1:2], parts[1::2], strict=True), (parts[-1], True))


def tangent(value: se.Basic) -> se.Basic:
    """The tangent of `value`, never as the cotangent that SymEngine returns for tan(x + pi/2).

    >>> tangent(se.Symbol("x") + se.pi / 2)
    -1/tan(x)
    """
    result = se.tan(value)
    for part in (result, *result.args):
        if isinstance(part, se.cot):
            return result / part / se.tan(part.args[0])
    return result


def arctangent2(y: se.Basic, x: se.Basic) -> se.Basic:
    """The angle of the point (x, y), never with the `sign` that SymEngine returns for atan2(x, x).

    >>> x = se.Symbol("x")
    >>> arctangent2(x, x).atoms(se.sign)
    set()
    """
    result = se.atan2(y, x)
    if isinstance(result, se.atan2):
        return result
    return result.subs({s: signum(s.args[0]) for s in result.atoms(se.sign)})


@dataclass(frozen=True)
class FormulaFunction:
    """A function of a formula: its builder, its number of arguments, and how often it copies each argument.

    `max_arguments` is None if there is no limit; `copies` is 0 if each argument is copied as often as there are arguments.
    """

    build: Callable[..., se.Basic]
    min_arguments: int = 1
    max_arguments: int | None = 1
    copies: int = 1


FUNCTIONS: dict[str, FormulaFunction] = {
    "sin": FormulaFunction(se.sin),
    "cos": FormulaFunction(se.cos),
    "tan": FormulaFunction(tangent),
    "asin": FormulaFunction(se.asin),
    "acos": FormulaFunction(se.acos),
    "atan": FormulaFunction(se.atan),
    "atan2": FormulaFunction(arctangent2, 2, 2),
    "sqrt": FormulaFunction(se.sqrt),
    "exp": FormulaFunction(se.exp),
    "log": FormulaFunction(se.log),
    "abs": FormulaFunction(absolute, copies=3),
    "sign": FormulaFunction(signum, copies=2),
    "min": FormulaFunction(minimum, 2, 8, copies=0),
    "max": FormulaFunction(maximum, 2, 8, copies=0),
    "piecewise": FormulaFunction(piecewise, 3, None),
}
RESERVED: frozenset[str] = frozenset({"t", "pi", "dot", "ddot", *FUNCTIONS})


def is_identifier(name: str) -> bool:
    """True if `name` is a valid name of a coordinate or a parameter.

    >>> is_identifier("theta1"), is_identifier("2x"), is_identifier("sin"), is_identifier("lambda")
    (True, False, False, False)
    """
    shaped = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) is not None
    return shaped and name not in RESERVED and not keyword.iskeyword(name)


def flaw(expression: se.Basic, *, constant: bool = False) -> str | None:
    """The problem with the numbers at the top of `expression`, as the end of a sentence; None if there is none.

    A `constant` expression, one without symbols, is also checked by its value.

    >>> flaw(se.asin(2), constant=True)
    'is not a real number'
    >>> flaw(se.Integer(1) / 0), flaw(se.Symbol("x") / 3)
    ('has no finite value', None)
    """
    for part in (expression, *expression.args):
        if isinstance(part, se.Rational):
            if _bits(part) > MAX_BITS:
                return "produces a number with too many digits"
        elif isinstance(part, se.RealDouble):
            if not math.isfinite(float(part)):
                return "has no finite value"
        elif isinstance(part, se.Number):
            return "has no finite value" if part in (se.zoo, se.oo, -se.oo, se.nan) else "is not a real number"
    return _value_flaw(expression) if constant else None


def _value_flaw(expression: se.Basic) -> str | None:
    # complex arithmetic leaves a tiny imaginary part in cos(2)**2; real arithmetic fails or returns nan for asin(2)
    try:
        value = float(expression.n(53, real=True))
    except RuntimeError:
        value = math.nan
    if math.isnan(value):
        return "is not a real number"
    return "has no finite value" if math.isinf(value) else None


def power_flaw(base: se.Basic, exponent: se.Basic) -> str | None:
    """The problem with raising `base` to `exponent`, before a huge number is built; None if there is none.

    >>> power_flaw(se.Integer(9), se.Integer(9) ** 9)
    'has an exponent beyond 64'
    """
    if not isinstance(exponent, se.Rational):
        return "has the base 0 and no constant exponent" if base == 0 else None
    for factor in base.args if isinstance(base, se.Mul) else (base,):
        root, inner = factor.args if isinstance(factor, se.Pow) else (factor, se.Integer(1))
        reach = abs(float(exponent))
        if isinstance(inner, se.Rational) and root != se.E:
            reach *= abs(float(inner))
        if reach > MAX_POWER:
            return f"has an exponent beyond {MAX_POWER}"
        if isinstance(root, se.Rational) and _bits(root) * reach > MAX_BITS:
            return "produces a number with too many digits"
    return None


def _bits(number: se.Rational) -> int:
    return max(abs(int(number.p)) - 1, int(number.q) - 1).bit_length()


class SymbolKind(StrEnum):
    """The kind of a symbol that the library adds; the value is its notation.

    >>> SymbolKind.RATE.of("theta1"), SymbolKind.WORK.of()
    ('dot(theta1)', 'work()')
    """

    RATE = "dot"
    ACCELERATION = "ddot"
    MOMENTUM = "p"
    CONSTANT = "G"  # the constant momentum of an ignorable coordinate
    CONSTRAINED = "w"  # a quasi-velocity that vanishes on the constraints
    MULTIPLIER = "lambda"
    TANGENT = "rate"  # the rate of an unknown in a differential-algebraic system, or of an input of a program
    FORCE = "force"  # generalized force along a speed
    WORK = "work"  # the integral of the power
    WEIGHT = "weight"  # of an output of a program
    FROZEN = "held"  # a condition, or a segment of a table, that is frozen between two events
    NORMAL_FORCE = "press"  # the normal force of a rigid contact
    FRICTION_FORCE = "rub"  # friction force of a sticking contact
    SLIP_DIRECTION = "slide"  # slip direction (sign) of a sliding contact
    INPUT = "u"  # output of a Python force law, input of a load
    MEASURE = "measure"  # argument of the force law of a load, such as the length of a strut
    VX, VY, VZ, WX, WY, WZ = "vx", "vy", "vz", "wx", "wy", "wz"  # the components of a twist

    def of(self, name: object = "") -> str:
        """The name of the symbol of this kind for the element `name`."""
        return f"{self.value}({name})"


_KINDS = {kind.value: kind for kind in SymbolKind}
TWIST = (SymbolKind.VX, SymbolKind.VY, SymbolKind.VZ, SymbolKind.WX, SymbolKind.WY, SymbolKind.WZ)


def split_symbol(name: str) -> tuple[SymbolKind | None, str]:
    """The kind and element of a symbol of the library; None and the name itself for a user-defined name.

    >>> split_symbol("dot(x)"), split_symbol("x")
    ((<SymbolKind.RATE: 'dot'>, 'x'), (None, 'x'))
    """
    match = re.fullmatch(r"(\w+)\((.*)\)", name)
    kind = _KINDS.get(match[1]) if match else None
    return (kind, match[2]) if match and kind else (None, name)


def kind_of(name: str) -> SymbolKind | None:
    """The kind of a symbol of the library; None for a user-defined name."""
    return split_symbol(name)[0]


def rate(name: str) -> se.Symbol:
    """The symbol of the velocity of a coordinate."""
    return se.Symbol(SymbolKind.RATE.of(name))


def momentum(name: str) -> se.Symbol:
    """The symbol of the momentum ∂L/∂q̇ of a coordinate."""
    return se.Symbol(SymbolKind.MOMENTUM.of(name))


def number(value: object, where: str) -> se.Basic:
    """The exact SymEngine number of a Python number: a decimal is the fraction it denotes.

    >>> number(3, "gravity"), number(9.81, "gravity")
    (3, 981/100)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        fact = f"the value {quote(short_repr(value))} is of type {type(value).__name__}."
        raise FormulaError(f"{where}: {fact} Expected a number or a formula, such as 2.5.")
    is_integer = isinstance(value, numbers.Integral)
    try:
        result = se.Integer(int(value)) if is_integer else decimal(float(value))
    except OverflowError:
        result = se.RealDouble(math.inf)
    problem = flaw(result)
    if problem:
        subject = "the integer" if is_integer else f"the value {float(result)}"
        raise FormulaError(f"{where}: {subject} {problem}. Expected a finite number between -1e308 and 1e308.")
    return result


_SMALLEST, _LARGEST = 1e-60, 1e60  # outside this range a fraction has too many digits, and a double is used


def decimal(value: float) -> se.Basic:
    """The fraction that a double denotes, so that formulas are never rounded; a double if the fraction would be very long.

    >>> decimal(0.1) + decimal(0.2), decimal(2.0), decimal(1e-300)
    (3/10, 2, 1e-300)
    """
    if value != 0 and not _SMALLEST <= abs(value) < _LARGEST:  # includes inf and nan
        return se.RealDouble(value)
    found = exact(value)
    return se.Rational(found.numerator, found.denominator)


def fold(
    root: Node, children: Callable[[Node], Sequence[Node]], build: Callable[[Node, list[Result]], Result]
) -> Result:
    """Evaluate a tree: `build(node, values of its children)` from the leaves up, without recursion.

    >>> fold((1, (2, 3)), lambda n: n if isinstance(n, tuple) else (), lambda n, v: sum(v) if v else n)
    6
    """
    values: dict[Node, Result] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if node in values:
            continue
        below = children(node)
        if ready:
            values[node] = build(node, [values[child] for child in below])
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(below))
    return values[root]


def quote(string: str, length: int = 60) -> str:
    """`string` in quotation marks, shortened, with unprintable characters escaped."""
    return repr(string if len(string) <= length else string[: length - 3] + "...")


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
