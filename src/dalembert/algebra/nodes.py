"""Nodes: numbers, symbols and single operations, each made once.

A node is a number, a symbol or one operation on older nodes. Equal nodes are one object, so whatever occurs twice is
derived, differentiated and computed once, and a node knows its place: arguments always have smaller numbers. Sums and
products are never flattened or sorted out; only 0, 1 and operations on numbers are folded.

Numbers are exact: a decimal is the fraction it is written as (9.81 is 981/100), π is a leaf of its own, and sums, products and
quotients are folded as fractions. A function of a number, such as sin(1/2), stays a node unless its value is rational; the
programs that are made of a graph compute it once. So an identity of the model is an identity of the graph.

Nodes are found again through a table of weak references. One table serves all derivations, so a symbol is the same node
wherever it is asked for, and a node is forgotten as soon as nothing is made of it any more. A table in each derivation
would not need weak references, but would keep every intermediate as long as the model's equations live.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite, isqrt
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from dalembert.algebra.base import Scalar
from dalembert.algebra.surds import Surd
from dalembert.algebra.tables import Table

_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "less_equal": "<=",
    "and": "&",
    "or": "|",
}
_DEEPEST_SHOWN = 4


class Node:
    """A number, a symbol, or one operation on other nodes; never changed, and made by the functions below only.

    >>> x, y = symbol("x"), symbol("y")
    >>> x + y is y + x, (x + 0) * 1 is x
    (True, True)
    >>> 2 * x - y / x
    ((2 * x) - (y / x))
    """

    __slots__ = ("__weakref__", "arguments", "number", "operation", "value")

    operation: str
    arguments: tuple[Node, ...]
    value: Scalar  # the name of a symbol; the value of a number, a Fraction (or an infinity or NaN); a table
    number: int

    def __add__(self, other: Scalar) -> Node:
        return NotImplemented if (b := _operand(other)) is None else add(self, b)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Node:
        return NotImplemented if (b := _operand(other)) is None else subtract(self, b)

    def __rsub__(self, other: Scalar) -> Node:
        return NotImplemented if (a := _operand(other)) is None else subtract(a, self)

    def __mul__(self, other: Scalar) -> Node:
        return NotImplemented if (b := _operand(other)) is None else multiply(self, b)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Node:
        return NotImplemented if (b := _operand(other)) is None else divide(self, b)

    def __rtruediv__(self, other: Scalar) -> Node:
        return NotImplemented if (a := _operand(other)) is None else divide(a, self)

    def __pow__(self, other: Scalar) -> Node:
        return NotImplemented if (b := _operand(other)) is None else power(self, b)

    def __rpow__(self, other: Scalar) -> Node:
        return NotImplemented if (a := _operand(other)) is None else power(a, self)

    def __neg__(self) -> Node:
        return negative(self)

    def __pos__(self) -> Node:
        return self

    def __reduce__(self) -> tuple[Scalar, ...]:
        return (again, (self.operation, self.arguments)) if self.arguments else (_leaf, (self.operation, self.value))

    def __deepcopy__(self, memo: Scalar) -> Node:
        return self

    def __repr__(self) -> str:
        return _text(self, _DEEPEST_SHOWN)


def _text(node: Node, depth: int) -> str:
    """The node in signs; parts that lie deeper are dots, since a shared part may occur without end."""
    if not node.arguments:
        return str(node.value)
    if not depth:
        return "..."
    parts = [_text(a, depth - 1) for a in node.arguments]
    if node.operation in _SIGNS:
        return f"({f' {_SIGNS[node.operation]} '.join(parts)})"
    return f"-{parts[0]}" if node.operation == "negative" else f"{node.operation}({', '.join(parts)})"


# finding and making nodes

_NODES: WeakValueDictionary[tuple[Scalar, ...], Node] = WeakValueDictionary()
_NUMBERS = itertools.count()
_MAKING = RLock()


def _node(operation: str, *arguments: Node) -> Node:
    """The one node of an operation on arguments."""
    key = (operation, *[a.number for a in arguments])
    return _NODES.get(key) or _made(key, operation, arguments, None)


def _leaf(operation: str, value: Scalar) -> Node:
    """The one node of a symbol or a number."""
    key = (operation, value)
    return _NODES.get(key) or _made(key, operation, (), value)


def _made(key: tuple[Scalar, ...], operation: str, arguments: tuple[Node, ...], value: Scalar) -> Node:
    with _MAKING:
        node = _NODES.get(key)
        if node is None:
            node = Node()
            node.operation, node.arguments, node.value, node.number = operation, arguments, value, next(_NUMBERS)
            _NODES[key] = node
        return node


def symbol(name: str) -> Node:
    """The symbol called `name`."""
    return _leaf("symbol", name)


@lru_cache(maxsize=4096)
def exact(value: float) -> Fraction:
    """The fraction that a float is written as, by the shortest decimals that stand for it.

    >>> exact(9.81), exact(0.1) + exact(0.2)
    (Fraction(981, 100), Fraction(3, 10))
    """
    return Fraction(repr(float(value)))


def constant(value: float | Fraction | Surd) -> Node:
    """A number as a node; there is one zero.

    >>> constant(0.1) + constant(0.2) is constant(0.3)
    True
    """
    if isinstance(value, Surd):
        return _surd(value)
    if isinstance(value, int | Fraction):
        return _leaf("constant", Fraction(value))
    return _leaf("constant", exact(value) if isfinite(value) else float(value))


def _surd(value: Surd) -> Node:
    """Σ c √r as nodes."""
    total = ZERO
    for radicand, factor in value.terms.items():
        total = add(total, multiply(constant(factor), call("sqrt", constant(radicand))))
    return total


def _operand(x: Scalar) -> Node | None:
    """`x` as a node, or None where it is neither a node nor a number (an array, which then takes over)."""
    if type(x) is Node:
        return x
    return constant(_plain(x)) if isinstance(x, int | float | Fraction | Surd | np.number) else None


def _plain(x: Scalar) -> Scalar:
    """A number of NumPy as one of Python's."""
    return x.item() if isinstance(x, np.number) else x


def node(x: Scalar) -> Node:
    """`x` as a node.

    >>> node(2), node(0.5)
    (2, 1/2)
    """
    return x if type(x) is Node else constant(_plain(x))


ZERO, ONE, MINUS_ONE, TWO = constant(0), constant(1), constant(-1), constant(2)
PI = _leaf("pi", "pi")


# operations, with what is folded

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "pow": np.power,
}


_WIDEST = 512  # bits of a fraction beyond which numbers are no longer folded


def _kept(value: Scalar) -> Node | None:
    """A folded number, or None where the fraction has grown too wide to be carried about."""
    if isinstance(value, Fraction) and max(value.numerator.bit_length(), value.denominator.bit_length()) > _WIDEST:
        return None
    return constant(value)


def _of_numbers(function: Callable[..., Any], a: Node, b: Node) -> Node | None:
    """A function of two numbers: exact on fractions, with the infinities and NaNs of IEEE 754 elsewhere."""
    try:
        if isinstance(a.value, Fraction) and isinstance(b.value, Fraction):
            return _kept(function(a.value, b.value))
    except ZeroDivisionError:
        pass  # as a float below: an infinity or NaN
    with np.errstate(all="ignore"):
        return constant(float(function(np.float64(float(a.value)), np.float64(float(b.value)))))


def add(a: Node, b: Node) -> Node:
    """a + b."""
    if a.operation == "constant":
        if b.operation == "constant" and (folded := _of_numbers(operator.add, a, b)) is not None:
            return folded
        if a is ZERO:
            return b
    elif b is ZERO:
        return a
    if b.operation == "negative":
        return subtract(a, b.arguments[0])
    if a.operation == "negative":
        return subtract(b, a.arguments[0])
    return _node("add", a, b) if a.number <= b.number else _node("add", b, a)


def subtract(a: Node, b: Node) -> Node:
    """a − b."""
    if b is ZERO:
        return a
    if a is b:
        return ZERO
    if a.operation == "constant":
        if b.operation == "constant" and (folded := _of_numbers(operator.sub, a, b)) is not None:
            return folded
        if a is ZERO:
            return negative(b)
    if b.operation == "negative":
        return add(a, b.arguments[0])
    return _node("subtract", a, b)


def negative(a: Node) -> Node:
    """−a."""
    if a.operation == "constant":
        return constant(-a.value)
    if a.operation == "negative":
        return a.arguments[0]
    if a.operation == "subtract":
        return _node("subtract", a.arguments[1], a.arguments[0])
    return _node("negative", a)


def multiply(a: Node, b: Node) -> Node:
    """a × b; zero times anything is zero."""
    if a.operation == "constant":
        if b.operation == "constant" and (folded := _of_numbers(operator.mul, a, b)) is not None:
            return folded
        a, b = b, a
    if b.operation == "constant":
        if b is ZERO or b is ONE:
            return a if b is ONE else ZERO
        if b is MINUS_ONE:
            return negative(a)
    return _node("multiply", a, b) if a.number <= b.number else _node("multiply", b, a)


def divide(a: Node, b: Node) -> Node:
    """a ÷ b; zero divided by anything but a number is zero."""
    if b.operation == "constant":
        if a.operation == "constant" and (folded := _of_numbers(operator.truediv, a, b)) is not None:
            return folded
        if b is ONE or b is MINUS_ONE:
            return a if b is ONE else negative(a)
    elif a is ZERO:
        return ZERO
    return _node("divide", a, b)


def power(a: Node, b: Node) -> Node:
    """a to the power b; small whole exponents are products, a half is a root."""
    if b.operation != "constant":
        return _node("pow", a, b)
    exponent = b.value
    if exponent == 0:
        return ONE
    if a.operation == "constant" and exponent == int(exponent) and abs(exponent) <= 64:
        folded = _of_numbers(lambda x, y: x ** int(y), a, b)
        if folded is not None:
            return folded
    if abs(exponent) in (1, 2, 3, 4):
        product = a
        for _ in range(int(abs(exponent)) - 1):
            product = multiply(product, a)
        return product if exponent > 0 else divide(ONE, product)
    if abs(exponent) == Fraction(1, 2):
        return call("sqrt", a) if exponent > 0 else divide(ONE, call("sqrt", a))
    return _node("pow", a, b)


def turns(a: Node) -> Fraction | None:
    """k where a node is k π by its form, None elsewhere.

    >>> turns(PI / 2), turns(symbol("x"))
    (Fraction(1, 2), None)
    """
    if a is ZERO or a is PI:
        return Fraction(a is PI)
    if a.operation == "negative":
        return None if (k := turns(a.arguments[0])) is None else -k
    if a.operation in ("multiply", "divide"):
        x, y = a.arguments
        if x is PI and y.operation == "constant":
            return y.value if a.operation == "multiply" else 1 / y.value
        if y is PI and x.operation == "constant" and a.operation == "multiply":
            return x.value
        if a.operation == "divide" and y.operation == "constant":
            return None if (k := turns(x)) is None else k / y.value
    return None


_QUARTERS = {"sin": (0, 1, 0, -1), "cos": (1, 0, -1, 0)}


def _at_number(name: str, a: Node) -> Node | None:
    """A function at a number where its value is rational, None elsewhere."""
    if name in _QUARTERS and (k := turns(a)) is not None and (2 * k).denominator == 1:
        return constant(_QUARTERS[name][int(2 * k) % 4])
    if a.operation != "constant" or not isinstance(a.value, Fraction):
        return None
    if name == "sqrt" and a.value >= 0:
        top, bottom = isqrt(a.value.numerator), isqrt(a.value.denominator)
        return constant(Fraction(top, bottom)) if Fraction(top, bottom) ** 2 == a.value else None
    if a is ZERO and name in ("tan", "asin", "atan"):
        return ZERO
    if (a is ZERO and name == "exp") or (a is ONE and name == "log"):
        return ONE if name == "exp" else ZERO
    return None


def call(name: str, *arguments: Node) -> Node:
    """A function of nodes by its name, one of `FUNCTIONS`."""
    if name == "pow":
        return power(*arguments)
    if len(arguments) == 1 and (known := _at_number(name, *arguments)) is not None:
        return known
    return _node(name, *arguments)


def table_leaf(table: Table) -> Node:
    """A table as a node."""
    return _leaf("table", table)


def interpolate(table: Node, x: Node) -> Node:
    """A table at x."""
    if x.operation == "constant":
        return constant(float(table.value.at(float(x.value))))
    return ZERO if table.value.order > 1 else _node("interpolate", table, x)


def less(a: Node, b: Node) -> Node:
    """The condition a < b."""
    both = a.operation == b.operation == "constant"
    return constant(a.value < b.value) if both else _node("less", a, b)


def less_equal(a: Node, b: Node) -> Node:
    """The condition a ≤ b."""
    both = a.operation == b.operation == "constant"
    return constant(a.value <= b.value) if both else _node("less_equal", a, b)


def both(a: Node, b: Node) -> Node:
    """The condition that a and b hold."""
    if a.operation == "constant":
        return b if a.value else ZERO
    if b.operation == "constant":
        return a if b.value else ZERO
    return _node("and", a, b)


def either(a: Node, b: Node) -> Node:
    """The condition that a or b holds."""
    if a.operation == "constant":
        return ONE if a.value else b
    if b.operation == "constant":
        return ONE if b.value else a
    return _node("or", a, b)


def select(condition: Node, yes: Node, no: Node) -> Node:
    """`yes` where the condition holds, `no` elsewhere."""
    if condition.operation == "constant":
        return yes if condition.value else no
    return yes if yes is no else _node("select", condition, yes, no)


_OPERATIONS: dict[str, Callable[..., Node]] = {
    "add": add,
    "subtract": subtract,
    "negative": negative,
    "multiply": multiply,
    "divide": divide,
    "less": less,
    "less_equal": less_equal,
    "and": both,
    "or": either,
    "select": select,
    "interpolate": interpolate,
}


def again(operation: str, arguments: Sequence[Node]) -> Node:
    """The same operation on other arguments."""
    make = _OPERATIONS.get(operation)
    return make(*arguments) if make is not None else call(operation, *arguments)


def ordered(roots: Iterable[Node]) -> list[Node]:
    """The nodes below `roots` and themselves, arguments first.

    >>> x, y = symbol("x"), symbol("y")
    >>> ordered([x * y + x])
    [x, y, (x * y), (x + (x * y))]
    """
    found = set(roots)
    waiting = list(found)
    while waiting:
        for a in waiting.pop().arguments:
            if a not in found:
                found.add(a)
                waiting.append(a)
    return sorted(found, key=lambda each: each.number)


def numbers_in(order: Iterable[Node]) -> dict[Node, float]:
    """The values of all nodes that no symbol moves, of a list with arguments first.

    >>> x = symbol("x")
    >>> {str(y): round(value, 3) for y, value in numbers_in(ordered([x * call("sin", constant(0.5))])).items()}
    {'pi': 3.142, '1/2': 0.5, 'sin(1/2)': 0.479}
    """
    known: dict[Node, float] = {PI: float(np.pi)}
    with np.errstate(all="ignore"):
        for y in order:
            if y.operation == "constant":
                known[y] = float(y.value)
            elif y.arguments and all(a in known for a in y.arguments):
                known[y] = float(_VALUES[y.operation](*(np.float64(known[a]) for a in y.arguments)))
    return known


_VALUES: dict[str, Callable[..., Any]] = FUNCTIONS | {
    "add": operator.add,
    "subtract": operator.sub,
    "negative": operator.neg,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "less": operator.lt,
    "less_equal": operator.le,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "select": lambda condition, yes, no: yes if condition else no,
}
