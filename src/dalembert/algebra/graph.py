"""Expressions as a graph of our own: what the portable engine runs.

A node is a number, a symbol or one operation on older nodes. Equal nodes are one object, so whatever occurs twice is
derived, differentiated and computed once, and a node knows its place: arguments always have smaller numbers. Sums and
products are never flattened or sorted out; only 0, 1 and operations on numbers are folded. All walks are loops over
nodes in the order of their numbers, so their cost is that of the graph, and depth does not matter.

Nodes are found again through weak references: one table serves all derivations, symbols of one name are the same
everywhere, and what a derivation no longer needs is forgotten by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from dalembert.algebra.base import Array, DifferentialAlgebra, Scalar, vector, zeros

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "and": "&", "or": "|"}
_DEEPEST_SHOWN = 4


class Node:
    """A number, a symbol, or one operation on other nodes; never changed, and made by the functions below only.

    >>> x, y = Graph().symbols(["x", "y"])
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
_MAKING = Lock()


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

_FUNCTIONS: dict[str, Callable[..., Any]] = {
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
    """A function of nodes by its name."""
    if name == "pow":
        return power(*arguments)
    if all(a.operation == "constant" for a in arguments):
        return _folded(_FUNCTIONS[name], *arguments)
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


def _again(operation: str, arguments: Sequence[Node]) -> Node:
    """The same operation on other arguments."""
    make = _OPERATIONS.get(operation)
    return make(*arguments) if make is not None else call(operation, *arguments)


def ordered(roots: Iterable[Node]) -> list[Node]:
    """The nodes below `roots` and themselves, arguments first.

    >>> x, y = Graph().symbols(["x", "y"])
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


# differentiation: dy as a linear function of the da, for y = operation(a, ...)


def _root_sum(a: Node, b: Node) -> Node:
    return add(multiply(a, a), multiply(b, b))


def _arc(a: Node) -> Node:
    """√(1 − a²)."""
    return call("sqrt", subtract(ONE, multiply(a, a)))


def _slope_of_power(y: Node, a: Node, b: Node, da: Node, db: Node) -> Node:
    by_base = ZERO if da is ZERO else multiply(multiply(b, power(a, subtract(b, ONE))), da)
    return by_base if db is ZERO else add(by_base, multiply(multiply(y, call("log", a)), db))


_SLOPES: dict[str, Callable[..., Node]] = {
    "add": lambda y, a, b, da, db: add(da, db),
    "subtract": lambda y, a, b, da, db: subtract(da, db),
    "negative": lambda y, a, da: negative(da),
    "multiply": lambda y, a, b, da, db: add(multiply(da, b), multiply(a, db)),
    "divide": lambda y, a, b, da, db: divide(subtract(da, multiply(y, db)), b),
    "sin": lambda y, a, da: multiply(call("cos", a), da),
    "cos": lambda y, a, da: negative(multiply(call("sin", a), da)),
    "tan": lambda y, a, da: multiply(add(ONE, multiply(y, y)), da),
    "asin": lambda y, a, da: divide(da, _arc(a)),
    "acos": lambda y, a, da: negative(divide(da, _arc(a))),
    "atan": lambda y, a, da: divide(da, add(ONE, multiply(a, a))),
    "atan2": lambda y, a, b, da, db: divide(subtract(multiply(b, da), multiply(a, db)), _root_sum(a, b)),
    "sqrt": lambda y, a, da: divide(da, multiply(TWO, y)),
    "exp": lambda y, a, da: multiply(y, da),
    "log": lambda y, a, da: divide(da, a),
    "pow": _slope_of_power,
    "select": lambda y, c, a, b, dc, da, db: select(c, da, db),
}
_CONDITIONS = frozenset(("less", "less_equal", "and", "or"))

Tangents = dict[Node, dict[int, Node]]  # for each node that moves, its derivative in each direction in which it does


def _forward(order: Sequence[Node], seeds: Tangents) -> Tangents:
    """The derivatives of all nodes from those of some, arguments first."""
    moving = dict(seeds)
    for y in order:
        if y in moving or y.operation in _CONDITIONS:
            continue
        slopes = [moving.get(a) for a in y.arguments]
        directions = {j: None for slope in slopes if slope for j in slope}
        if not directions:
            continue
        rule = _SLOPES[y.operation]
        found = {j: rule(y, *y.arguments, *[s.get(j, ZERO) if s else ZERO for s in slopes]) for j in directions}
        moving[y] = {j: dy for j, dy in found.items() if dy is not ZERO}
    return moving


def _reverse(order: Sequence[Node], active: Mapping[Node, int], outputs: Mapping[Node, int]) -> Tangents:
    """The derivatives of the outputs by the active nodes, outputs first: each rule is linear, so it also runs backwards."""
    by: Tangents = {y: {i: ONE} for y, i in outputs.items()}
    for y in reversed(order):
        if not y.arguments or not active[y] or y not in by:
            continue
        rule, still = _SLOPES[y.operation], [ZERO] * len(y.arguments)
        for k, a in enumerate(y.arguments):
            if not active[a]:
                continue
            into = by.setdefault(a, {})
            for i, dy in by[y].items():
                term = rule(y, *y.arguments, *still[:k], dy, *still[k + 1 :])
                into[i] = add(into[i], term) if i in into else term
    return by


def _masks(order: Sequence[Node], inputs: Mapping[Node, int]) -> dict[Node, int]:
    """For each node the inputs it depends on, as bits."""
    masks: dict[Node, int] = {}
    for y in order:
        mask = 1 << inputs[y] if y in inputs else 0
        if y not in inputs and y.operation not in _CONDITIONS:
            for a in y.arguments:
                mask |= masks[a]
        masks[y] = mask
    return masks


def _backwards_is_shorter(order: Sequence[Node], active: Mapping[Node, int], outputs: Mapping[Node, int]) -> bool:
    """True where fewer derivatives are formed from the outputs down than from the inputs up.

    Never with a `select` on the way: a branch that is not taken may have an infinite slope, and zero times that is not zero.
    """
    moving = [y for y in order if active[y]]
    if any(y.operation == "select" for y in moving):
        return False
    reached = {y: 1 << i for y, i in outputs.items()}
    for y in reversed(moving):
        mask = reached.get(y, 0)
        for a in y.arguments:
            if active[a]:
                reached[a] = reached.get(a, 0) | mask
    return sum(reached.get(y, 0).bit_count() for y in moving) < sum(active[y].bit_count() for y in moving)


class Graph(DifferentialAlgebra):
    """Expressions as nodes of a graph.

    >>> algebra = Graph()
    >>> x, y = algebra.symbols(["x", "y"])
    >>> algebra.gradient(x * y, vector([x, y]))
    array([y, x], dtype=object)
    """

    name = "graph"

    def is_zero(self, x: Scalar) -> bool:
        """True for the number zero."""
        return x is ZERO if type(x) is Node else bool(x == 0)

    def function(self, name: str, *arguments: Scalar) -> Scalar:
        """A function by its name."""
        return call(name, *map(node, arguments))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        """One of two scalars by a condition."""
        return select(node(condition), node(yes), node(no))

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Scalar:
        """The condition a < b or a ≤ b."""
        return (less_equal if or_equal else less)(node(a), node(b))

    def logical(self, name: str, *conditions: Scalar) -> Scalar:
        """Conditions joined by `and` or `or`."""
        join = both if name == "and" else either
        out = node(conditions[0])
        for condition in conditions[1:]:
            out = join(out, node(condition))
        return out

    def symbols(self, names: Sequence[str]) -> Array:
        """One symbol for each name."""
        return vector([symbol(name) for name in names])

    def jacobian(self, f: Array, x: Array) -> Array:
        """∂f/∂x, from the inputs up or from the outputs down, whichever forms fewer derivatives."""
        out = zeros(*f.shape, len(x))
        flat, rows = [node(e) for e in f.ravel()], out.reshape(f.size, len(x))
        inputs: dict[Node, int] = {xj: j for j, xj in enumerate(x)}
        outputs = {y: i for i, y in enumerate(dict.fromkeys(flat))}
        order = ordered(outputs)
        active = _masks(order, inputs)
        if _backwards_is_shorter(order, active, outputs):
            found = _reverse(order, active, outputs)
            for i, y in enumerate(flat):
                for j, xj in enumerate(x):
                    rows[i, j] = found.get(xj, {}).get(outputs[y], ZERO)
        else:
            found = _forward(order, {xj: {j: ONE} for xj, j in inputs.items()})
            for i, y in enumerate(flat):
                for j, xj in enumerate(x):
                    rows[i, j] = found.get(y, {}).get(inputs[xj], ZERO)
        return out

    def total_derivative(self, f: Array, *along: tuple[Array, Array]) -> Array:
        """The derivative along a motion, in one walk."""
        rates: dict[Node, Node] = {}
        for x, xd in along:
            for xj, xdj in zip(x, xd, strict=True):
                rates[xj] = add(rates.get(xj, ZERO), node(xdj))
        flat = [node(e) for e in f.ravel()]
        seeds: Tangents = {xj: {} if xdj is ZERO else {0: xdj} for xj, xdj in rates.items()}
        found = _forward(ordered(flat), seeds)
        return vector([found.get(y, {}).get(0, ZERO) for y in flat]).reshape(f.shape)

    def substitute(self, f: Array, values: Mapping[str, Scalar]) -> Array:
        """`f` with symbols replaced, all at once; what does not contain them stays the same nodes."""
        table: dict[Node, Node] = {symbol(name): node(value) for name, value in values.items()}
        flat = [node(e) for e in f.ravel()]
        for y in ordered(flat):
            arguments = [table.get(a, a) for a in y.arguments]
            if any(new is not old for new, old in zip(arguments, y.arguments, strict=True)):
                table[y] = _again(y.operation, arguments)
        return vector([table.get(y, y) for y in flat]).reshape(f.shape)


GRAPH = Graph()
