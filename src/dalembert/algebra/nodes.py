"""Nodes: numbers, symbols and single operations, each made once.

A node is a number, a symbol or one operation on older nodes. Equal nodes are one object, so whatever occurs twice is
derived, differentiated and computed once, and a node knows its place: arguments always have smaller numbers. Sums and
products are never flattened or sorted out; only 0, 1 and operations on numbers are folded.

Nodes are found again through a table of weak references. One table serves all derivations, so a symbol is the same node
wherever it is asked for, and a node is forgotten as soon as nothing is made of it any more. A table in each derivation
would not need weak references, but would keep every intermediate as long as the model's equations live.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from dalembert.algebra.base import Scalar

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
    ((2.0 * x) - (y / x))
    """

    __slots__ = ("__weakref__", "arguments", "number", "operation", "value")

    operation: str
    arguments: tuple[Node, ...]
    value: Any  # the name of a symbol, the value of a number
    number: int

    def __add__(self, other: Any) -> Node:
        return NotImplemented if (b := _operand(other)) is None else add(self, b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Node:
        return NotImplemented if (b := _operand(other)) is None else subtract(self, b)

    def __rsub__(self, other: Any) -> Node:
        return NotImplemented if (a := _operand(other)) is None else subtract(a, self)

    def __mul__(self, other: Any) -> Node:
        return NotImplemented if (b := _operand(other)) is None else multiply(self, b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Node:
        return NotImplemented if (b := _operand(other)) is None else divide(self, b)

    def __rtruediv__(self, other: Any) -> Node:
        return NotImplemented if (a := _operand(other)) is None else divide(a, self)

    def __pow__(self, other: Any) -> Node:
        return NotImplemented if (b := _operand(other)) is None else power(self, b)

    def __rpow__(self, other: Any) -> Node:
        return NotImplemented if (a := _operand(other)) is None else power(a, self)

    def __neg__(self) -> Node:
        return negative(self)

    def __pos__(self) -> Node:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (again, (self.operation, self.arguments)) if self.arguments else (_leaf, (self.operation, self.value))

    def __deepcopy__(self, memo: Any) -> Node:
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

_NODES: WeakValueDictionary[tuple[Any, ...], Node] = WeakValueDictionary()
_NUMBERS = itertools.count()
_MAKING = RLock()


def _node(operation: str, *arguments: Node) -> Node:
    """The one node of an operation on arguments."""
    key = (operation, *[a.number for a in arguments])
    return _NODES.get(key) or _made(key, operation, arguments, None)


def _leaf(operation: str, value: Any) -> Node:
    """The one node of a symbol or a number."""
    key = (operation, value)
    return _NODES.get(key) or _made(key, operation, (), value)


def _made(key: tuple[Any, ...], operation: str, arguments: tuple[Node, ...], value: Any) -> Node:
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


def constant(value: float) -> Node:
    """A number as a node; there is one zero."""
    return _leaf("constant", float(value) + 0.0)


def _operand(x: Any) -> Node | None:
    """`x` as a node, or None where it is neither a node nor a number (an array, which then takes over)."""
    if type(x) is Node:
        return x
    return constant(float(x)) if isinstance(x, int | float | np.number) else None


def node(x: Scalar) -> Node:
    """`x` as a node.

    >>> node(2)
    2.0
    """
    return x if type(x) is Node else constant(float(x))


ZERO, ONE, MINUS_ONE, TWO = constant(0.0), constant(1.0), constant(-1.0), constant(2.0)


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


def _folded(function: Callable[..., Any], *arguments: Node) -> Node:
    """A function of numbers, with the infinities and NaNs of IEEE 754."""
    with np.errstate(all="ignore"):
        return constant(float(function(*(np.float64(a.value) for a in arguments))))


def add(a: Node, b: Node) -> Node:
    """a + b."""
    if a.operation == "constant":
        if b.operation == "constant":
            return constant(a.value + b.value)
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
        if b.operation == "constant":
            return constant(a.value - b.value)
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
        if b.operation == "constant":
            return constant(a.value * b.value)
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
        if a.operation == "constant":
            return _folded(np.divide, a, b)
        if b is ONE or b is MINUS_ONE:
            return a if b is ONE else negative(a)
    elif a is ZERO:
        return ZERO
    return _node("divide", a, b)


def power(a: Node, b: Node) -> Node:
    """a to the power b; small whole exponents are products, a half is a root."""
    if b.operation != "constant":
        return _node("pow", a, b)
    if a.operation == "constant":
        return _folded(np.power, a, b)
    exponent = b.value
    if exponent == 0:
        return ONE
    if abs(exponent) in (1.0, 2.0, 3.0, 4.0):
        product = a
        for _ in range(int(abs(exponent)) - 1):
            product = multiply(product, a)
        return product if exponent > 0 else divide(ONE, product)
    if abs(exponent) == 0.5:
        return call("sqrt", a) if exponent > 0 else divide(ONE, call("sqrt", a))
    return _node("pow", a, b)


def call(name: str, *arguments: Node) -> Node:
    """A function of nodes by its name, one of `FUNCTIONS`."""
    if name == "pow":
        return power(*arguments)
    if all(a.operation == "constant" for a in arguments):
        return _folded(FUNCTIONS[name], *arguments)
    return _node(name, *arguments)


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
