"""The one table of operations: what a node or a line of a program may do, and all that is known of each.

An operation states its value on floats and arrays, its derivative, how it is written in Python, C and LaTeX, the instruction of
LLVM where it has one, and what it costs. All code that runs, counts, prints or differentiates operations reads it from here.

Numbers are exact: a decimal is the fraction it is written as (9.81 is 981/100), and sums, products and quotients are folded as
fractions. A function of a number, such as sin(1/2), is folded only where its value is rational.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

import numpy as np

from dalembert.symbolic import rolled_solve
from dalembert.symbolic.algebra_base import Algebra, Operand

Slope = Callable[..., Operand]
OnArrays = Callable[..., Operand]
Exact: TypeAlias = Fraction | float  # a float is an infinity or NaN
_WIDEST = 512  # bits of a fraction beyond which numbers are no longer folded


@dataclass(frozen=True)
class Operation:
    """One operation y = f(a, ...).

    `slope(algebra, y, a, ..., da, ...)` is dy; it is linear in the da, so it serves forwards and backwards.
    """

    name: str
    arity: int  # 0 where it varies: the operations of blocks
    array: OnArrays  # on NumPy arrays, batches of states
    slope: Slope | None  # None for conditions, which have none
    python: str
    c: str
    latex: str
    llvm: str = ""  # an instruction; "" where it is a function that has to be called
    single: Callable[..., float | bool] | None = None  # on one state; None: as on arrays
    cost: Callable[[int], int] = lambda count: 1  # by the number of arguments


def _sign(name: str, array: OnArrays, slope: Slope | None, text: str, llvm: str, latex: str = "") -> Operation:
    """An operation written with a sign."""
    return Operation(name, text.count("{}"), array, slope, text, text, latex or text, llvm)


def _logical(name: str, array: OnArrays, single: Callable[..., bool], c: str, latex: str) -> Operation:
    return Operation(name, 2, array, None, f"{{}} {name} {{}}", f"{{}} {c} {{}}", f"{{}} {latex} {{}}", name, single)


def _function(name: str, array: OnArrays, slope: Slope, latex: str, arity: int = 1) -> Operation:
    """A function of one or two numbers, which C's library and Python's `math` know by the same name."""
    text = f"{name}({', '.join(['{}'] * arity)})"
    return Operation(name, arity, array, slope, text, text, latex, single=getattr(math, name))


def _block(name: str, cost: Callable[[int], int], latex: str) -> Operation:
    """A part of a linear system; `symbolic.graph` differentiates it."""
    return Operation(name, 0, getattr(rolled_solve, name), None, name, name, latex, cost=cost)


def _quotient_slope(A: Algebra, y: Operand, a: Operand, b: Operand, da: Operand, db: Operand) -> Operand:
    return (da - y * db) / b


def _angle_slope(A: Algebra, y: Operand, a: Operand, b: Operand, da: Operand, db: Operand) -> Operand:
    return (b * da - a * db) / (a * a + b * b)


def _power_slope(A: Algebra, y: Operand, a: Operand, b: Operand, da: Operand, db: Operand) -> Operand:
    by_base = 0 if A.is_zero(da) else b * A.function("pow", a, b - 1) * da
    return by_base if A.is_zero(db) else by_base + y * A.function("log", a) * db


OPERATIONS: dict[str, Operation] = {
    each.name: each
    for each in (
        _sign("add", operator.add, lambda A, y, a, b, da, db: da + db, "{} + {}", "fadd"),
        _sign("subtract", operator.sub, lambda A, y, a, b, da, db: da - db, "{} - {}", "fsub"),
        _sign("negative", operator.neg, lambda A, y, a, da: -da, "-{}", "fneg"),
        _sign("multiply", operator.mul, lambda A, y, a, b, da, db: da * b + a * db, "{} * {}", "fmul", r"{} \, {}"),
        _sign("divide", operator.truediv, _quotient_slope, "{} / {}", "fdiv", r"\frac{{{}}}{{{}}}"),
        _function("sin", np.sin, lambda A, y, a, da: A.cos(a) * da, r"\sin {}"),
        _function("cos", np.cos, lambda A, y, a, da: -(A.sin(a) * da), r"\cos {}"),
        _function("tan", np.tan, lambda A, y, a, da: (1 + y * y) * da, r"\tan {}"),
        _function("asin", np.arcsin, lambda A, y, a, da: da / A.sqrt(1 - a * a), r"\arcsin {}"),
        _function("acos", np.arccos, lambda A, y, a, da: -(da / A.sqrt(1 - a * a)), r"\arccos {}"),
        _function("atan", np.arctan, lambda A, y, a, da: da / (1 + a * a), r"\arctan {}"),
        _function("atan2", np.arctan2, _angle_slope, r"\operatorname{{atan2}}({}, {})", arity=2),
        _function("sqrt", np.sqrt, lambda A, y, a, da: da / (2 * y), r"\sqrt{{{}}}"),
        _function("exp", np.exp, lambda A, y, a, da: y * da, r"\exp {}"),
        _function("log", np.log, lambda A, y, a, da: da / a, r"\ln {}"),
        _function("pow", np.power, _power_slope, "{}^{{{}}}", arity=2),
        _sign("less", operator.lt, None, "{} < {}", "fcmp olt"),
        _sign("less_equal", operator.le, None, "{} <= {}", "fcmp ole", r"{} \le {}"),
        _logical("and", np.logical_and, lambda a, b: bool(a) and bool(b), "&&", r"\land"),
        _logical("or", np.logical_or, lambda a, b: bool(a) or bool(b), "||", r"\lor"),
        Operation(
            "select",
            3,
            np.where,
            lambda A, y, c, a, b, dc, da, db: A.select(c, da, db),
            "{1} if {0} else {2}",
            "{} ? {} : {}",
            r"\begin{{cases}} {1} & {0} \\ {2} & \text{{else}} \end{{cases}}",
            "select",
            lambda condition, yes, no: yes if condition else no,
        ),
        Operation(
            "interpolate",
            2,
            lambda table, x: table(x),
            lambda A, y, table, x, dtable, dx: A.interpolate(table.value.slope, x) * dx,
            "{}({})",
            "interpolated({}, {})",
            r"\operatorname{{{}}}({})",
        ),
        _block("symmetric_factor", rolled_solve.symmetric_factor_cost, r"L D L^T"),
        _block("symmetric_solve", rolled_solve.symmetric_solve_cost, r"(L D L^T)^{{-1}} b"),
        _block("general_factor", rolled_solve.general_factor_cost, r"Q R"),
        _block("general_solve", rolled_solve.general_solve_cost, r"(Q R)^{{-1}} b"),
        _block("entry", lambda count: 0, r"x_{{i}}"),
    )
}
BLOCKS = frozenset(name for name, each in OPERATIONS.items() if each.arity == 0)
CONDITIONS = frozenset(name for name, each in OPERATIONS.items() if each.slope is None) - BLOCKS
FUNCTIONS: tuple[str, ...] = tuple(
    name for name, each in OPERATIONS.items() if each.slope is not None and not each.llvm and name != "interpolate"
)


@lru_cache(maxsize=4096)
def exact(value: float) -> Fraction:
    """The fraction that a float is written as, by the shortest decimals that stand for it.

    >>> exact(9.81), exact(0.1) + exact(0.2)
    (Fraction(981, 100), Fraction(3, 10))
    """
    return Fraction(repr(float(value)))


def folded(operation: str, a: Exact, b: Exact) -> Exact | None:
    """An operation on two numbers: exact on fractions, with the infinities and NaNs of IEEE 754 elsewhere.

    None where the fraction has too many digits.

    >>> folded("divide", Fraction(1), Fraction(3)), folded("divide", Fraction(1), Fraction(0))
    (Fraction(1, 3), inf)
    """
    try:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            out = Fraction(a ** int(b) if operation == "pow" else OPERATIONS[operation].array(a, b))
            return out if max(out.numerator.bit_length(), out.denominator.bit_length()) <= _WIDEST else None
    except ZeroDivisionError:
        pass  # as a float below: an infinity or NaN
    with np.errstate(all="ignore"):
        return value(operation, float(a), float(b))


_RATIONAL = {("tan", 0): 0, ("asin", 0): 0, ("atan", 0): 0, ("exp", 0): 1, ("log", 1): 0}


def rational(name: str, a: Exact) -> Fraction | int | None:
    """A function at a number where its value is rational, None elsewhere.

    >>> rational("sqrt", Fraction(4, 9)), rational("sqrt", Fraction(2)), rational("exp", Fraction(0))
    (Fraction(2, 3), None, 1)
    """
    if name == "sqrt" and isinstance(a, Fraction) and a >= 0:
        root = Fraction(isqrt(a.numerator), isqrt(a.denominator))
        return root if root**2 == a else None
    return _RATIONAL.get((name, int(a))) if a in (0, 1) else None


def value(operation: str, *arguments: float) -> float:
    """An operation on numbers as floats."""
    return float(OPERATIONS[operation].array(*map(np.float64, arguments)))
