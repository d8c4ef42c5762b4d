"""Nodes of the expression graph: numbers, symbols and single operations, each created once.

A node is a number, a symbol or one operation on older nodes. Equal nodes are one object, so a common subexpression is
differentiated and computed once; arguments always have smaller numbers than the nodes that use them. Sums and products are
never flattened or sorted; only 0, 1 and operations on numbers are folded. Numbers are exact (`operations`), and π is a leaf.

One table of weak references stores the nodes of all derivations, so a symbol is the same node everywhere, and a node is
freed when nothing refers to it.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial, reduce
from math import isfinite
from threading import RLock
from typing import Any, ClassVar, Generic, SupportsFloat, TypeAlias, TypeVar
from weakref import KeyedRef

import numpy as np

from dalembert.symbolic.algebra_base import Operand, Scalar
from dalembert.symbolic.lookup_tables import LookupTable
from dalembert.symbolic.operations import BLOCKS, OPERATIONS, Exact, exact, folded, rational, value
from dalembert.symbolic.surds import Surd

_MAX_PRINT_DEPTH = 4
_WORDS = {name: i for i, name in enumerate(OPERATIONS)}


def _digest(content: str) -> int:
    """A hash of a string, the same in every process."""
    return int.from_bytes(hashlib.blake2b(content.encode(), digest_size=7).digest())


Content = TypeVar("Content")
AnyLeaf = TypeVar("AnyLeaf", bound="Leaf")


class Node:
    """A number, a symbol, or one operation on other nodes; immutable, and created only by the functions below.

    >>> x, y = symbol("x"), symbol("y")
    >>> x + y is y + x, (x + 0) * 1 is x
    (True, True)
    >>> 2 * x - y / x
    ((2 * x) - (y / x))
    """

    __slots__ = ("__weakref__", "arguments", "key", "number", "operation")

    def __init__(self, operation: str, arguments: tuple[Node, ...]) -> None:
        self.operation, self.arguments, self.number = operation, arguments, next(_NUMBERS)
        # content hash: orders commutative arguments; equal in every process, as hashes of int have no random salt
        self.key = hash((_WORDS.get(operation, -1), *[a.key for a in arguments])) if arguments else _digest(operation)

    def __add__(self, other: object) -> Node:
        return NotImplemented if (b := _operand(other)) is None else add(self, b)

    __radd__ = __add__

    def __sub__(self, other: object) -> Node:
        return NotImplemented if (b := _operand(other)) is None else subtract(self, b)

    def __rsub__(self, other: object) -> Node:
        return NotImplemented if (a := _operand(other)) is None else subtract(a, self)

    def __mul__(self, other: object) -> Node:
        return NotImplemented if (b := _operand(other)) is None else multiply(self, b)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Node:
        return NotImplemented if (b := _operand(other)) is None else divide(self, b)

    def __rtruediv__(self, other: object) -> Node:
        return NotImplemented if (a := _operand(other)) is None else divide(a, self)

    def __pow__(self, other: object) -> Node:
        return NotImplemented if (b := _operand(other)) is None else power(self, b)

    def __rpow__(self, other: object) -> Node:
        return NotImplemented if (a := _operand(other)) is None else power(a, self)

    def __neg__(self) -> Node:
        return negative(self)

    def __pos__(self) -> Node:
        return self

    def __reduce__(self) -> tuple[Callable[..., Node], tuple[object, ...]]:
        return rebuild_node, (self.operation, self.arguments)

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __repr__(self) -> str:
        return _formatted(self, _MAX_PRINT_DEPTH)


class Leaf(Node, Generic[Content]):
    """A node without arguments, identified by its value."""

    __slots__ = ("value",)
    kind: ClassVar[str]

    def __init__(self, value: Content) -> None:
        super().__init__(self.kind, ())
        self.value = value
        self.key = _digest(f"{self.kind} {value!r}")

    def __reduce__(self) -> tuple[Callable[..., Node], tuple[object, ...]]:
        return _leaf, (type(self), self.value)


class Constant(Leaf[Exact]):
    """A numeric leaf."""

    __slots__ = ()
    kind = "constant"


class Symbol(Leaf[str]):
    """A named quantity."""

    __slots__ = ()
    kind = "symbol"


class TableLeaf(Leaf[LookupTable]):
    """A table leaf, the first argument of an interpolation."""

    __slots__ = ()
    kind = "table"


def _formatted(node: Node, depth: int) -> str:
    """Format a node; deeper parts are elided, since a shared part may occur very often."""
    if not node.arguments:
        return str(node.value) if isinstance(node, Leaf) else node.operation
    if not depth:
        return "..."
    parts = [_formatted(a, depth - 1) for a in node.arguments]
    known = OPERATIONS[node.operation]
    if not known.llvm or known.arity == 3:
        return f"{node.operation}({', '.join(parts)})"
    return known.python.format(*parts) if known.arity == 1 else f"({known.python.format(*parts)})"


# lookup and creation of nodes

_Reference: TypeAlias = KeyedRef[Any, Any]  # to a node, with its key
_NODES: dict[tuple[object, ...], _Reference] = {}  # by operation, and arguments or value
_NUMBERS = itertools.count()
_LOCK = RLock()


def _forget(reference: _Reference, known: dict[tuple[object, ...], _Reference] = _NODES) -> None:
    if known.get(reference.key) is reference:
        del known[reference.key]


def _found(key: tuple[object, ...]) -> Node | None:
    """The node of a key; three times faster than `WeakValueDictionary`."""
    reference = _NODES.get(key)
    return None if reference is None else reference()


def _node(operation: str, *arguments: Node) -> Node:
    """The unique node of an operation on arguments."""
    key = (operation, *[a.number for a in arguments])
    if (found := _found(key)) is None:
        with _LOCK:
            if (found := _found(key)) is None:
                found = Node(operation, arguments)
                _NODES[key] = KeyedRef(found, _forget, key)
    return found


def _leaf(kind: type[AnyLeaf], value: object) -> AnyLeaf:
    """The unique leaf of a value."""
    key = (kind, value)
    if not isinstance(found := _found(key), kind):
        with _LOCK:
            if not isinstance(found := _found(key), kind):
                found = kind(value)
                _NODES[key] = KeyedRef(found, _forget, key)
    return found


def symbol(name: str) -> Symbol:
    """The symbol named `name`."""
    return _leaf(Symbol, name)


def table_leaf(table: LookupTable) -> TableLeaf:
    """A table as a node."""
    return _leaf(TableLeaf, table)


def constant(value: float | Fraction | Surd) -> Node:
    """A number as a node; -0.0 becomes 0.

    >>> constant(0.1) + constant(0.2) is constant(0.3)
    True
    """
    if isinstance(value, Surd):
        terms = (multiply(constant(c), call("sqrt", constant(radicand))) for radicand, c in value.terms.items())
        return reduce(add, terms, ZERO)
    if isinstance(value, float):
        return _leaf(Constant, exact(value) if isfinite(value) else value)
    return _leaf(Constant, Fraction(value))


def _operand(x: object) -> Node | None:
    """`x` as a node, or None if it is neither a node nor a number (an array then handles the operation)."""
    if isinstance(x, Node):
        return x
    if type(x) is int and x in _SMALL_INTEGERS:
        return _SMALL_INTEGERS[x]
    if isinstance(x, int | float | Fraction | Surd):
        return constant(x)
    return constant(x.item()) if isinstance(x, np.number) else None


def node(x: Scalar) -> Node:
    """`x` as a node."""
    found = _operand(x)
    if found is None and isinstance(x, SupportsFloat):
        found = constant(float(x))
    if found is None:
        raise TypeError(f"expected a node or a number, got '{x}'")
    return found


ZERO, ONE, MINUS_ONE, TWO = constant(0), constant(1), constant(-1), constant(2)
PI = _node("pi")
_SMALL_INTEGERS = {i: constant(i) for i in range(-16, 17)}  # cached, since most matrix entries are 0 or 1


# operations with constant folding


def _of_numbers(operation: str, a: Node, b: Node) -> Node | None:
    """Fold an operation on two numbers; None if they are not numbers or the fraction has too many bits."""
    if not isinstance(a, Constant) or not isinstance(b, Constant):
        return None
    value = folded(operation, a.value, b.value)
    return None if value is None else constant(value)


def add(a: Node, b: Node) -> Node:
    """a + b."""
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    if a.operation == "constant" and b.operation == "constant" and (number := _of_numbers("add", a, b)) is not None:
        return number
    if b.operation == "negative":
        return subtract(a, b.arguments[0])
    if a.operation == "negative":
        return subtract(b, a.arguments[0])
    return _node("add", a, b) if a.key <= b.key else _node("add", b, a)


def subtract(a: Node, b: Node) -> Node:
    """a − b."""
    if b is ZERO:
        return a
    if a is b:
        return ZERO
    if a.operation == "constant":
        if b.operation == "constant" and (number := _of_numbers("subtract", a, b)) is not None:
            return number
        if a is ZERO:
            return negative(b)
    if b.operation == "negative":
        return add(a, b.arguments[0])
    return _node("subtract", a, b)


def negative(a: Node) -> Node:
    """−a."""
    if isinstance(a, Constant):
        return constant(-a.value)
    if a.operation == "negative":
        return a.arguments[0]
    if a.operation == "subtract":
        return _node("subtract", a.arguments[1], a.arguments[0])
    return _node("negative", a)


def multiply(a: Node, b: Node) -> Node:
    """a × b; zero times anything except infinity is zero."""
    if a is ONE or b is ONE:
        return b if a is ONE else a
    if a is ZERO and (b is ZERO or b.operation != "constant"):
        return ZERO
    if a.operation == "constant":
        if b.operation == "constant" and (number := _of_numbers("multiply", a, b)) is not None:
            return number
        a, b = b, a
    if b.operation == "constant":
        if b is ZERO:
            return ZERO
        if b is MINUS_ONE:
            return negative(a)
    return _node("multiply", a, b) if a.key <= b.key else _node("multiply", b, a)


def divide(a: Node, b: Node) -> Node:
    """a ÷ b; zero divided by anything except a number is zero."""
    if b.operation == "constant":
        if a.operation == "constant" and (number := _of_numbers("divide", a, b)) is not None:
            return number
        if b is ONE or b is MINUS_ONE:
            return a if b is ONE else negative(a)
    elif a is ZERO:
        return ZERO
    return _node("divide", a, b)


def power(a: Node, b: Node) -> Node:
    """a to the power b; small integer exponents become products, an exponent of one half a square root."""
    if not isinstance(b, Constant) or not isinstance(b.value, Fraction):
        return _node("pow", a, b)
    exponent = b.value
    if exponent == 0:
        return ONE
    if exponent.denominator == 1 and abs(exponent) <= 64 and (number := _of_numbers("pow", a, b)) is not None:
        return number
    if abs(exponent) in (1, 2, 3, 4):
        product = a
        for _ in range(int(abs(exponent)) - 1):
            product = multiply(product, a)
        return product if exponent > 0 else divide(ONE, product)
    if abs(exponent) == Fraction(1, 2):
        return call("sqrt", a) if exponent > 0 else divide(ONE, call("sqrt", a))
    return _node("pow", a, b)


def factor(a: Node) -> tuple[Fraction, Node] | None:
    """k and x of a node k x, with k a number; None for a product of other factors.

    >>> factor(symbol("x") / 2), factor(symbol("x") * symbol("y"))
    ((Fraction(1, 2), x), None)
    """
    if a.operation == "negative":
        return Fraction(-1), a.arguments[0]
    if a.operation in ("multiply", "divide"):
        x, y = a.arguments
        if isinstance(y, Constant) and isinstance(y.value, Fraction) and y.value:
            return (y.value if a.operation == "multiply" else 1 / y.value), x
        if isinstance(x, Constant) and isinstance(x.value, Fraction) and a.operation == "multiply":
            return x.value, y
    return None


def multiple_of_pi(a: Node) -> Fraction | None:
    """k where a node has the form k π, else None."""
    if a is ZERO or a is PI:
        return Fraction(a is PI)
    if (found := factor(a)) is None or (k := multiple_of_pi(found[1])) is None:
        return None
    return found[0] * k


_QUARTERS = {"sin": (0, 1, 0, -1), "cos": (1, 0, -1, 0)}


def _at_number(name: str, a: Node) -> Node | None:
    """A function at a number if its value is rational, else None."""
    if name in _QUARTERS and (k := multiple_of_pi(a)) is not None and (2 * k).denominator == 1:
        return constant(_QUARTERS[name][int(2 * k) % 4])
    value = rational(name, a.value) if isinstance(a, Constant) else None
    return None if value is None else constant(value)


def call(name: str, *arguments: Node) -> Node:
    """A function of nodes by its name, one of `operations.FUNCTIONS`."""
    if name == "pow":
        return power(*arguments)
    if len(arguments) == 1 and (known := _at_number(name, *arguments)) is not None:
        return known
    return _node(name, *arguments)


def interpolate(leaf: TableLeaf, x: Node) -> Node:
    """Interpolate a table at x."""
    if isinstance(x, Constant):
        return constant(float(leaf.value.at(float(x.value))))
    return ZERO if leaf.value.order > 1 else _node("interpolate", leaf, x)


def less(a: Node, b: Node, *, or_equal: bool = False) -> Node:
    """The condition a < b or a ≤ b."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return constant(a.value <= b.value if or_equal else a.value < b.value)
    return _node("less_equal" if or_equal else "less", a, b)


def logical(name: str, a: Node, b: Node) -> Node:
    """The condition a and b, or a or b, by operation name."""
    if isinstance(b, Constant):
        a, b = b, a
    if isinstance(a, Constant):
        return b if bool(a.value) == (name == "and") else constant(name == "or")
    return _node(name, a, b)


def select(condition: Node, yes: Node, no: Node) -> Node:
    """`yes` where the condition holds, `no` elsewhere."""
    if isinstance(condition, Constant):
        return yes if condition.value else no
    return yes if yes is no else _node("select", condition, yes, no)


_OPERATIONS: dict[str, Callable[..., Node]] = {
    "add": add,
    "subtract": subtract,
    "negative": negative,
    "multiply": multiply,
    "divide": divide,
    "less": less,
    "less_equal": partial(less, or_equal=True),
    "and": partial(logical, "and"),
    "or": partial(logical, "or"),
    "select": select,
    "interpolate": interpolate,
}


def rebuild_node(operation: str, arguments: Sequence[Node]) -> Node:
    """The same operation applied to other arguments."""
    if operation in BLOCKS:
        return _node(operation, *arguments)
    build = _OPERATIONS.get(operation)
    return build(*arguments) if build is not None else call(operation, *arguments)


def ordered(roots: Iterable[Node]) -> list[Node]:
    """The nodes below `roots` and the roots, arguments first, in an order determined by their content.

    >>> from dalembert.symbolic.nodes import symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> ordered([x * y + x])
    [x, y, (x * y), ((x * y) + x)]
    """
    found: set[Node] = set()
    order: list[Node] = []
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            y, ready = waiting.pop()
            if ready:
                order.append(y)
            elif y not in found:
                found.add(y)
                waiting.append((y, True))
                waiting += [(a, False) for a in reversed(y.arguments) if a not in found]
    return order


def numbers_in(order: Iterable[Node]) -> dict[Node, float]:
    """The values of all nodes that depend on no symbol, from a list with arguments first.

    >>> from dalembert.symbolic.nodes import call, constant, symbol
    >>> x = symbol("x")
    >>> {str(y): round(value, 3) for y, value in numbers_in(ordered([x * call("sin", constant(0.5))])).items()}
    {'pi': 3.142, '1/2': 0.5, 'sin(1/2)': 0.479}
    """
    known: dict[Node, float] = {PI: math.pi}
    blocks: dict[Node, Operand] = {}  # factors and solutions of linear systems
    with np.errstate(all="ignore"):
        for y in order:
            if isinstance(y, Constant):
                known[y] = float(y.value)
            elif not y.arguments or not all(a in known or a in blocks for a in y.arguments):
                continue
            elif y.operation not in BLOCKS:
                known[y] = value(y.operation, *(known[a] for a in y.arguments))
            else:
                found = OPERATIONS[y.operation].array(*(blocks.get(a, known.get(a)) for a in y.arguments))
                if y.operation == "entry":
                    known[y] = float(found)
                else:
                    blocks[y] = found
    return known
