"""The table of operations: everything known about each operation of a graph or a program.

An operation defines its value on floats and arrays, its derivative, its notation in Python, C and LaTeX, its LLVM instruction
if it has one, and its cost. All code that runs, counts, prints or differentiates operations uses this table.

Numbers are exact: a decimal is the fraction it denotes (9.81 is 981/100), and sums, products and quotients are folded as
fractions. A function of a number, such as sin(1/2), is folded only if its value is rational.
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
Exact: TypeAlias = Fraction | float  # a float is infinite or NaN
_MAX_BITS = 512  # of a fraction; larger numbers are not folded


@dataclass(frozen=True)
class Operation:
    """One operation y = f(a, ...).

    `slope(algebra, y, a, ..., da, ...)` is dy; it is linear in the da, so it serves forward and reverse mode.
    """

    name: str
    arity: int  # 0 for the operations of blocks, whose arity varies
    array: OnArrays  # on NumPy arrays, batches of states
    slope: Slope | None  # None for conditions
    python: str
    c: str
    latex: str
    llvm: str = ""  # instruction; "" for a function call
    single: Callable[..., float | bool] | None = None  # on one state; None: same as `array`
    cost: Callable[[int], int] = lambda count: 1  # by the number of arguments


def _sign(name: str, array: OnArrays, slope: Slope | None, template: str, llvm: str, latex: str = "") -> Operation:
    """An operation written with an operator."""
    return Operation(name, template.count("{}"), array, slope, template, template, latex or template, llvm)


def _logical(name: str, array: OnArrays, single: Callable[..., bool], c: str, latex: str) -> Operation:
    return Operation(name, 2, array, None, f"{{}} {name} {{}}", f"{{}} {c} {{}}", f"{{}} {latex} {{}}", name, single)


def _function(name: str, array: OnArrays, slope: Slope, latex: str, arity: int = 1) -> Operation:
    """A function of one or two numbers with the same name in C's library and Python's `math`."""
    template = f"{name}({', '.join(['{}'] * arity)})"
    return Operation(name, arity, array, slope, template, template, latex, single=getattr(math, name))


def _block(name: str, cost: Callable[[int], int], latex: str) -> Operation:
    """An operation of a linear system; `symbolic.graph` differentiates it."""
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
    """The fraction that a float denotes, by its shortest decimal representation.

    >>> exact(9.81), exact(0.1) + exact(0.2)
    (Fraction(981, 100), Fraction(3, 10))
    """
    return Fraction(repr(float(value)))


def folded(operation: str, a: Exact, b: Exact) -> Exact | None:
    """An operation on two numbers: exact on fractions, with the infinities and NaNs of IEEE 754 otherwise.

    None if the fraction has too many bits.

    >>> folded("divide", Fraction(1), Fraction(3)), folded("divide", Fraction(1), Fraction(0))
    (Fraction(1, 3), inf)
    """
    try:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            out = Fraction(a ** int(b) if operation == "pow" else OPERATIONS[operation].array(a, b))
            return out if max(out.numerator.bit_length(), out.denominator.bit_length()) <= _MAX_BITS else None
    except ZeroDivisionError:
        pass  # handled as a float below: infinite or NaN
    with np.errstate(all="ignore"):
        return value(operation, float(a), float(b))


_RATIONAL = {("tan", 0): 0, ("asin", 0): 0, ("atan", 0): 0, ("exp", 0): 1, ("log", 1): 0}


def rational(name: str, a: Exact) -> Fraction | int | None:
    """A function at a number if its value is rational, else None.

    >>> rational("sqrt", Fraction(4, 9)), rational("sqrt", Fraction(2)), rational("exp", Fraction(0))
    (Fraction(2, 3), None, 1)
    """
    if name == "sqrt" and isinstance(a, Fraction) and a >= 0:
        root = Fraction(isqrt(a.numerator), isqrt(a.denominator))
        return root if root**2 == a else None
    return _RATIONAL.get((name, int(a))) if a in (0, 1) else None


def value(operation: str, *arguments: float) -> float:
    """Apply an operation to floats."""
    return float(OPERATIONS[operation].array(*map(np.float64, arguments)))
