"""What reading from text and reading from SymPy share: plain numbers, walking a tree, quoting what the user wrote."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import symengine as se

from dalembert.arguments import shown
from dalembert.errors import FormulaError
from dalembert.symbolic.constant_folding import exact
from dalembert.symbolic.symbols import flaw

Node = TypeVar("Node", bound=Hashable)
Result = TypeVar("Result")


def number(value: object, where: str) -> se.Basic:
    """The SymEngine number of a Python number, exact: a decimal is the fraction it is written as.

    >>> number(3, "gravity"), number(9.81, "gravity")
    (3, 981/100)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        fact = f"the value {quote(shown(value))} is of type {type(value).__name__}."
        raise FormulaError(f"{where}: {fact} Expected a number or a formula; give one, such as 2.5.")
    whole = isinstance(value, numbers.Integral)
    try:
        result = se.Integer(int(value)) if whole else decimal(float(value))
    except OverflowError:
        result = se.RealDouble(math.inf)
    problem = flaw(result)
    if problem:
        what = "the integer" if whole else f"the value {float(result)}"
        raise FormulaError(f"{where}: {what} {problem}. Expected a finite number; give one between -1e308 and 1e308.")
    return result


_SMALLEST, _LARGEST = 1e-60, 1e60  # beyond these a fraction has too many digits, and a double stays a double


def decimal(value: float) -> se.Basic:
    """The fraction that a double is written as, so that formulas are never rounded; a double where it would be very long.

    >>> decimal(0.1) + decimal(0.2), decimal(2.0), decimal(1e-300)
    (3/10, 2, 1e-300)
    """
    if value != 0 and not _SMALLEST <= abs(value) < _LARGEST:  # also inf and nan
        return se.RealDouble(value)
    found = exact(value)
    return se.Rational(found.numerator, found.denominator)


def fold(
    root: Node, children: Callable[[Node], Sequence[Node]], build: Callable[[Node, list[Result]], Result]
) -> Result:
    """The value of a tree: `build(node, values of its children)` from the leaves up, without recursion.

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


def quote(text: str, length: int = 60) -> str:
    """`text` in quotation marks, shortened, with unprintable characters made visible.

    >>> quote("x" * 100, 10)
    "'xxxxxxx...'"
    """
    return repr(text if len(text) <= length else text[: length - 3] + "...")
