"""The numbers in a graph: which fraction a float is, and what operations on numbers alone come to.

Numbers are exact: a decimal is the fraction it is written as (9.81 is 981/100), and sums, products and quotients are folded as
fractions. A function of a number, such as sin(1/2), is folded only where its value is rational.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

import numpy as np

from dalembert.symbolic.operations import OPERATIONS

Exact: TypeAlias = Fraction | float  # a float is an infinity or NaN

_WIDEST = 512  # bits of a fraction beyond which numbers are no longer folded


@lru_cache(maxsize=4096)
def exact(value: float) -> Fraction:
    """The fraction that a float is written as, by the shortest decimals that stand for it.

    >>> exact(9.81), exact(0.1) + exact(0.2)
    (Fraction(981, 100), Fraction(3, 10))
    """
    return Fraction(repr(float(value)))


def folded(operation: str, a: Exact, b: Exact) -> Exact | None:
    """An operation on two numbers: exact on fractions, with the infinities and NaNs of IEEE 754 elsewhere.

    None where the fraction has grown too wide to be carried about.

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
