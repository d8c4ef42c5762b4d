"""Expressions as a graph of our own: what the portable engine runs.

All walks are loops over nodes in the order of their numbers, so their cost is that of the graph with shared parts counted
once, and depth does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from dalembert.algebra.base import Array, DifferentialAlgebra, Scalar, vector, zeros
from dalembert.algebra.identities import merged
from dalembert.algebra.nodes import (
    ONE,
    PI,
    TWO,
    ZERO,
    HeldTable,
    Node,
    add,
    again,
    both,
    call,
    constant,
    divide,
    either,
    interpolate,
    less,
    less_equal,
    multiply,
    negative,
    node,
    power,
    select,
    subtract,
    symbol,
    table_leaf,
)
from dalembert.algebra.tables import Table
from dalembert.algebra.walks import ordered

# differentiation: dy as a linear function of the da, for y = operation(a, ...)


def _squares(a: Node, b: Node) -> Node:
    """a² + b²."""
    return add(multiply(a, a), multiply(b, b))


def _arc(a: Node) -> Node:
    """√(1 − a²)."""
    return call("sqrt", subtract(ONE, multiply(a, a)))


def _slope_of_power(y: Node, a: Node, b: Node, da: Node, db: Node) -> Node:
    by_base = ZERO if da is ZERO else multiply(multiply(b, power(a, subtract(b, ONE))), da)
    return by_base if db is ZERO else add(by_base, multiply(multiply(y, call("log", a)), db))


def _slope_of_table(held: HeldTable, x: Node) -> Node:
    return interpolate(table_leaf(held.value.slope), x)


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
    "atan2": lambda y, a, b, da, db: divide(subtract(multiply(b, da), multiply(a, db)), _squares(a, b)),
    "sqrt": lambda y, a, da: divide(da, multiply(TWO, y)),
    "exp": lambda y, a, da: multiply(y, da),
    "log": lambda y, a, da: divide(da, a),
    "pow": _slope_of_power,
    "select": lambda y, c, a, b, dc, da, db: select(c, da, db),
    "interpolate": lambda y, a, b, da, db: multiply(_slope_of_table(a, b), db),
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
    pi = PI

    def number(self, value: Fraction) -> Node:
        return constant(value)

    def is_zero(self, x: Scalar) -> bool:
        return x is ZERO if isinstance(x, Node) else bool(x == 0)

    def function(self, name: str, *arguments: Scalar) -> Node:
        return call(name, *map(node, arguments))

    def interpolate(self, table: Table, x: Scalar) -> Node:
        return interpolate(table_leaf(table), node(x))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Node:
        return select(node(condition), node(yes), node(no))

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Node:
        return (less_equal if or_equal else less)(node(a), node(b))

    def logical(self, name: str, *conditions: Scalar) -> Node:
        return reduce(both if name == "and" else either, map(node, conditions))

    def symbols(self, names: Sequence[str]) -> Array:
        return vector([symbol(name) for name in names])

    def jacobian(self, f: Array, x: Array) -> Array:
        out = zeros(*f.shape, len(x))
        flat, rows = [node(e) for e in f.ravel()], out.reshape(f.size, len(x))
        inputs: dict[Node, int] = {xj: j for j, xj in enumerate(x)}
        outputs = {y: i for i, y in enumerate(dict.fromkeys(flat))}
        order = ordered(outputs)
        active = _masks(order, inputs)
        # from the inputs up or from the outputs down, whichever forms fewer derivatives
        if backwards := _backwards_is_shorter(order, active, outputs):
            found = _reverse(order, active, outputs)
        else:
            found = _forward(order, {xj: {j: ONE} for xj, j in inputs.items()})
        for i, y in enumerate(flat):
            for j, xj in enumerate(x):
                moving, direction = (xj, outputs[y]) if backwards else (y, inputs[xj])
                rows[i, j] = found.get(moving, {}).get(direction, ZERO)
        return out

    def total_derivative(self, f: Array, *along: tuple[Array, Array]) -> Array:
        rates: dict[Node, Node] = {}
        for x, xd in along:
            for xj, xdj in zip(x, xd, strict=True):
                rates[xj] = add(rates.get(xj, ZERO), node(xdj))
        flat = [node(e) for e in f.ravel()]
        seeds: Tangents = {xj: {} if xdj is ZERO else {0: xdj} for xj, xdj in rates.items()}
        found = _forward(ordered(flat), seeds)
        return vector([found.get(y, {}).get(0, ZERO) for y in flat]).reshape(f.shape)

    def substitute(self, f: Array, values: Mapping[str, Scalar]) -> Array:
        table: dict[Node, Node] = {symbol(name): node(value) for name, value in values.items()}
        flat = [node(e) for e in f.ravel()]
        for y in ordered(flat):
            arguments = [table.get(a, a) for a in y.arguments]
            if any(new is not old for new, old in zip(arguments, y.arguments, strict=True)):
                table[y] = again(y.operation, arguments)
        return vector([table.get(y, y) for y in flat]).reshape(f.shape)

    def merged(self, *arrays: Array) -> list[Array]:
        found = iter(merged([node(e) for f in arrays for e in f.ravel()]))
        return [vector([next(found) for _ in range(f.size)]).reshape(f.shape) for f in arrays]


GRAPH = Graph()
