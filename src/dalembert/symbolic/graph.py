"""Expression graphs: the differential algebra that every engine executes.

All traversals are loops over nodes in the order of their numbers, so their cost is proportional to the graph with shared parts
counted once, and depth does not matter.

A large linear system is a block of nodes: a factor, its solutions, and their entries. Expanded, the solution of n equations
needs about n³ nodes. A factor is a separate node, so the derivative of a solution, dx = A⁻¹(db − dA x), reuses it. In reverse
mode, with the derivatives x̄ with respect to the solution, w of Aᵀw = x̄ is the derivative by b, and −w xᵀ the one by A.

A node is identified by its residue at a point that depends only on the names of the symbols. Two nodes with the same residue
are the same function, with the error probability of `dalembert.symbolic.prime_field`. So 2 x y and x y 2, sin² + cos² and 1,
and an angular velocity in Euler angles and the speed chosen for it are found equal without special rules. Only arithmetic and
the addition theorems are used. Any other function, a `select`, a condition and a table are identified by the residues of their
arguments, so nothing is assumed about their values outside the real numbers or on a branch that is not taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from functools import partial, reduce
from hashlib import blake2b
from heapq import heapify, heappop, heappush

import numpy as np

from dalembert.symbolic import prime_field
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, vector, zeros
from dalembert.symbolic.lookup_tables import LookupTable
from dalembert.symbolic.nodes import (
    ONE,
    PI,
    TWO,
    ZERO,
    Constant,
    Leaf,
    Node,
    add,
    call,
    constant,
    factor,
    interpolate,
    less,
    logical,
    multiply,
    negative,
    node,
    ordered,
    rebuild_node,
    select,
    subtract,
    symbol,
    table_leaf,
)
from dalembert.symbolic.operations import BLOCKS, CONDITIONS, OPERATIONS, Slope
from dalembert.symbolic.prime_field import ZERO_ANGLE, Circle, P
from dalembert.symbolic.rolled_solve import order_of_symmetric

_HALF = P // 2
_MAX_PARTS = 1000  # terms of an angle; a longer sum is one symbol


def random_residue(*key: object) -> int:
    """A pseudorandom residue that depends only on the key; the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=20).digest(), "big") % P


def magnitude(residue: int) -> int:
    """The residue or its negative, whichever is smaller: equal for x and −x."""
    return residue if residue <= _HALF else P - residue


class Residues(dict[Node, int]):
    """The residues of nodes; a quotient by a function whose magnitude is in `preserved` is not simplified.

    >>> from dalembert.symbolic.nodes import ONE, call, symbol
    >>> from dalembert.symbolic.nodes import ordered
    >>> x = symbol("x")
    >>> s, c = call("sin", x), call("cos", x)
    >>> residues = Residues(ordered([s * s + c * c, ONE]))
    >>> residues[s * s + c * c] == residues[ONE]
    True
    """

    def __init__(self, order: Iterable[Node] = (), preserved: AbstractSet[int] = frozenset()) -> None:
        super().__init__()
        self._preserved = preserved
        self._inverses: dict[int, int] = {}
        self.extend(order)

    def extend(self, order: Iterable[Node]) -> None:
        """Add the residues of more nodes, arguments first."""
        for y in order:
            if y not in self:
                self[y] = self._residue(y)

    def _residue(self, y: Node) -> int:
        name = y.operation
        if name == "multiply":
            a, b = y.arguments
            return self[a] * self[b] % P
        if name == "add":
            a, b = y.arguments
            return (self[a] + self[b]) % P
        if name == "subtract":
            a, b = y.arguments
            return (self[a] - self[b]) % P
        if name == "negative":
            return -self[y.arguments[0]] % P
        if name == "divide" and (below := self._inverse(self[y.arguments[1]])):
            return self[y.arguments[0]] * below % P
        if name in ("sin", "cos") and (circle := self._circle(y.arguments[0])) is not None:
            return circle[name == "sin"]
        if isinstance(y, Constant) and isinstance(y.value, Fraction):
            return number_residue(y.value)
        if isinstance(y, Leaf):
            return random_residue(name, y.value)
        return random_residue(name, *(self[a] for a in y.arguments))

    def _inverse(self, a: int) -> int:
        """1 / a, or 0 where the quotient must be preserved."""
        if not a or magnitude(a) in self._preserved:
            return 0
        if a not in self._inverses:
            self._inverses[a] = prime_field.inverse(a)
        return self._inverses[a]

    def _circle(self, a: Node) -> Circle | None:
        """Cosine and sine of an angle by the addition theorems; None where it contains fractions of symbols."""
        out = ZERO_ANGLE
        for key, k in self._parts(a).items():
            if k.denominator != 1 or (k and k.numerator % (P + 1) == 0):
                return None
            out = prime_field.add_angles(out, prime_field.times(int(k), _point_of_angle(key)))
        return out

    def _parts(self, a: Node) -> dict[int, Fraction]:
        """An angle as Σ k x, with each x identified by its magnitude."""
        found: dict[int, Fraction] = {}
        waiting = [(Fraction(1), a)]
        for _ in range(_MAX_PARTS):
            if not waiting:
                return found
            k, y = waiting.pop()
            if y.operation in ("add", "subtract"):
                waiting += [(k, y.arguments[0]), (k if y.operation == "add" else -k, y.arguments[1])]
            elif (multiple := factor(y)) is not None:
                waiting.append((k * multiple[0], multiple[1]))
            elif value := self[y]:
                key = magnitude(value)
                found[key] = found.get(key, Fraction(0)) + (k if key == value else -k)
        return {magnitude(self[a]): Fraction(1 if self[a] <= _HALF else -1)}


def number_residue(x: Fraction) -> int:
    """The residue of a number; one divisible by P is a separate symbol, since the field cannot distinguish it from zero."""
    if prime_field.is_divisible(x):
        return random_residue("number", abs(x)) if x > 0 else P - random_residue("number", abs(x))
    return prime_field.residue(x)


def _point_of_angle(key: int) -> Circle:
    """The point on the circle for the angle whose magnitude is `key`."""
    t = random_residue("angle", key)
    below = prime_field.inverse(1 + t * t)
    return (1 - t * t) * below % P, 2 * t * below % P


def merged(outputs: Sequence[Node], residues: Residues | None = None) -> list[Node]:
    """The same functions with each function computed once, in its shortest known form, up to sign.

    Forms are visited in order of length (Knuth's generalization of Dijkstra's search), those of equal length by content.

    >>> from dalembert.symbolic.nodes import call, symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> s, c = call("sin", x), call("cos", x)
    >>> merged([s * (s * y) + c * (y * c), x * y - y * x])
    [y, 0]
    """
    order = list(dict.fromkeys((ONE, TWO, *ordered(outputs))))
    residues = Residues() if residues is None else residues
    residues.extend(order)
    name = {y: magnitude(residues[y]) for y in order}
    users, missing = defaultdict[int, list[Node]](list), dict[Node, int]()
    heap: list[tuple[int, str, tuple[int, ...], int, int, Node]] = []
    for y in order:
        below = {name[a] for a in y.arguments}
        missing[y] = len(below)
        for key in below:
            users[key].append(y)
        if not below:
            heap.append((0, y.operation, (), residues[y], y.number, y))
    heapify(heap)
    length, found = dict[int, int](), {0: (0, ZERO)}  # by magnitude; `found` stores residue and node
    while heap:
        steps, *_, y = heappop(heap)
        key = name[y]
        if key in length:
            continue
        length[key] = steps
        if key:
            found[key] = residues[y], _rebuilt(y, found, name, residues)
        for user in users[key]:
            missing[user] -= 1
            if not missing[user]:
                parts = tuple(sorted(name[a] for a in user.arguments))
                steps = (user.operation != "negative") + sum(length[name[a]] for a in user.arguments)
                heappush(heap, (steps, user.operation, parts, residues[user], user.number, user))
    return [_signed(found[name[y]], residues[y]) for y in outputs]


def _signed(found: tuple[int, Node], residue: int) -> Node:
    return found[1] if found[0] == residue else negative(found[1])


def _rebuilt(y: Node, found: dict[int, tuple[int, Node]], name: dict[Node, int], residues: Residues) -> Node:
    if not y.arguments:
        return y
    return rebuild_node(y.operation, [_signed(found[name[a]], residues[a]) for a in y.arguments])


Tangents = dict[Node, dict[int, Node]]  # for each active node, its derivative in each direction in which it varies
SOLUTIONS = frozenset(("symmetric_solve", "general_solve"))
_LARGE = 700  # maximum number of products in an expanded solution: larger ones become blocks


def _rule(y: Node) -> Slope:
    """The derivative rule of the operation of a node."""
    rule = OPERATIONS[y.operation].slope
    assert rule is not None
    return rule


def _forward(order: Sequence[Node], seeds: Tangents) -> Tangents:
    """Forward mode: the derivatives of all nodes from the seeds, arguments first."""
    moving = dict(seeds)
    solved: dict[Node, dict[int, Node]] = {}
    for y in order:
        if y in moving or y.operation in CONDITIONS:
            continue
        if y.operation in SOLUTIONS and (found := _solution_slopes(y, moving)):
            solved[y] = found
        elif y.operation == "entry" and y.arguments[0] in solved:
            moving[y] = {j: rebuild_node("entry", [each, y.arguments[1]]) for j, each in solved[y.arguments[0]].items()}
        if y.operation in BLOCKS:
            continue
        slopes = [moving.get(a) for a in y.arguments]
        directions = {j: None for slope in slopes if slope for j in slope}
        if not directions:
            continue
        rule = _rule(y)
        found = {j: rule(GRAPH, y, *y.arguments, *[s.get(j, ZERO) if s else ZERO for s in slopes]) for j in directions}
        moving[y] = {j: dy for j, dy in found.items() if dy is not ZERO}
    return moving


def _reverse(order: Sequence[Node], active: Mapping[Node, int], outputs: Mapping[Node, int]) -> Tangents:
    """Reverse mode: the derivatives of the outputs by the active nodes, outputs first; each rule is linear in the tangents."""
    by: Tangents = {y: {i: ONE} for y, i in outputs.items()}
    for y in reversed(order):
        if not y.arguments or not active[y]:
            continue
        for a, i, term in _solution_backwards(y, by) if y.operation in SOLUTIONS else _backwards(y, active, by):
            if active[a]:
                into = by.setdefault(a, {})
                into[i] = add(into[i], term) if i in into else term
    return by


def _backwards(y: Node, active: Mapping[Node, int], by: Tangents) -> Iterator[tuple[Node, int, Node]]:
    """Contributions of the derivatives by a node to those by its arguments: argument, output and term."""
    if y not in by or y.operation in BLOCKS:  # a solution is handled through its entries
        return
    rule, zero_tangents = _rule(y), [ZERO] * len(y.arguments)
    for k, a in enumerate(y.arguments):
        if active[a]:
            for i, dy in by[y].items():
                yield a, i, rule(GRAPH, y, *y.arguments, *zero_tangents[:k], dy, *zero_tangents[k + 1 :])


def _masks(order: Sequence[Node], inputs: Mapping[Node, int]) -> dict[Node, int]:
    """For each node the inputs it depends on, as a bit mask."""
    masks: dict[Node, int] = {}
    for y in order:
        mask = 1 << inputs[y] if y in inputs else 0
        if y not in inputs and y.operation not in CONDITIONS:
            for a in y.arguments:
                mask |= masks[a]
        masks[y] = mask
    return masks


def _backwards_is_shorter(order: Sequence[Node], active: Mapping[Node, int], outputs: Mapping[Node, int]) -> bool:
    """True where reverse mode forms fewer derivatives than forward mode.

    Never with an active `select`: a branch that is not taken may have an infinite slope, and zero times infinity is not zero.
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
    """Expressions as nodes of a graph."""

    name = "graph"
    pi = PI

    def __init__(self, rolled: bool = False) -> None:
        self._rolled = rolled  # large linear systems are single nodes

    def solver(self, kind: str, A: Array, columns: int) -> Callable[[Array], Array] | None:
        if not self._rolled:
            return None
        pattern = np.array([[not self.is_zero(x) for x in row] for row in A], dtype=bool).reshape(A.shape)
        return block_solver(kind, A) if is_large(kind, pattern, columns) else None

    def number(self, value: Fraction) -> Node:
        return constant(value)

    def is_zero(self, x: Scalar) -> bool:
        return x is ZERO if isinstance(x, Node) else bool(x == 0)

    def function(self, name: str, *arguments: Scalar) -> Node:
        return call(name, *map(node, arguments))

    def interpolate(self, table: LookupTable, x: Scalar) -> Node:
        return interpolate(table_leaf(table), node(x))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Node:
        return select(node(condition), node(yes), node(no))

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Node:
        return less(node(a), node(b), or_equal=or_equal)

    def logical(self, name: str, *conditions: Scalar) -> Node:
        return reduce(partial(logical, name), map(node, conditions))

    def symbols(self, names: Sequence[str]) -> Array:
        return vector([symbol(name) for name in names])

    def jacobian(self, f: Array, x: Array) -> Array:
        out = zeros(*f.shape, len(x))
        flat, rows = [node(e) for e in f.ravel()], out.reshape(f.size, len(x))
        inputs: dict[Node, int] = {xj: j for j, xj in enumerate(x)}
        outputs = {y: i for i, y in enumerate(dict.fromkeys(flat))}
        order = ordered(outputs)
        active = _masks(order, inputs)
        # forward or reverse mode, whichever forms fewer derivatives
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
                table[y] = rebuild_node(y.operation, arguments)
        return vector([table.get(y, y) for y in flat]).reshape(f.shape)

    def merged(self, *arrays: Array) -> list[Array]:
        found = iter(merged([node(e) for f in arrays for e in f.ravel()]))
        return [vector([next(found) for _ in range(f.size)]).reshape(f.shape) for f in arrays]


GRAPH, ROLLED = Graph(), Graph(rolled=True)


def block_solver(kind: str, A: Array) -> Callable[[Array], Array]:
    """A⁻¹ as a function of vectors or matrices of columns; `kind` is symmetric or general."""
    n = len(A)
    indices = [(i, j) for i in range(n) for j in range(i + 1 if kind == "symmetric" else n)]
    factor = rebuild_node(f"{kind}_factor", [node(A[index]) for index in indices])

    def solved(b: Array) -> Array:
        columns = np.asarray(b, dtype=object).reshape(n, -1)
        out = np.empty(columns.shape, dtype=object)
        for j, column in enumerate(columns.T):
            right_side = [node(x) for x in column]
            if all(x is ZERO for x in right_side):
                out[:, j] = 0
                continue
            out[:, j] = vector(_entries(rebuild_node(f"{kind}_solve", [factor, *right_side])))
        return out.reshape(np.shape(b))

    return solved


def _entries(solution: Node) -> list[Node]:
    return [rebuild_node("entry", [solution, constant(i)]) for i in range(len(solution.arguments) - 1)]


def _solution_slopes(solution: Node, moving: Mapping[Node, Mapping[int, Node]]) -> dict[int, Node]:
    """The solution dx of A dx = db − dA x for every direction."""
    factor, *b = solution.arguments
    x, n = _entries(solution), len(b)
    right: dict[int, list[Node]] = {}
    for i, each in enumerate(b):
        for j, db in moving.get(each, {}).items():
            row = right.setdefault(j, [ZERO] * n)
            row[i] = add(row[i], db)
    for a, i, k in _entries_of_matrix(factor, n):
        for j, dA in moving.get(a, {}).items():
            row = right.setdefault(j, [ZERO] * n)
            row[i] = subtract(row[i], multiply(dA, x[k]))
    return {j: rebuild_node(solution.operation, [factor, *rows]) for j, rows in right.items()}


def _solution_backwards(solution: Node, by: Mapping[Node, Mapping[int, Node]]) -> Iterator[tuple[Node, int, Node]]:
    """Contributions of the derivatives by the entries of a solution to those by A and b: node, output and term."""
    factor, *b = solution.arguments
    x, n = _entries(solution), len(b)
    transposed = factor
    if factor.operation == "general_factor":  # factor of the transposed matrix; a symmetric factor is its own transpose
        transposed = rebuild_node(factor.operation, [a for k in range(n) for a in factor.arguments[k::n]])
    for j in dict.fromkeys(j for each in x for j in by.get(each, {})):
        w = _entries(rebuild_node(solution.operation, [transposed, *(by.get(each, {}).get(j, ZERO) for each in x)]))
        yield from ((each, j, wi) for each, wi in zip(b, w, strict=True))
        yield from ((a, j, negative(multiply(w[i], x[k]))) for a, i, k in _entries_of_matrix(factor, n))


def _entries_of_matrix(factor: Node, n: int) -> Iterator[tuple[Node, int, int]]:
    """The entries of a factored matrix with row and column; for a symmetric one also those above the diagonal."""
    for index, a in enumerate(factor.arguments):
        if factor.operation == "general_factor":
            yield a, *divmod(index, n)
            continue
        i, k = lower_triangle_index(index)
        yield a, i, k
        if i != k:
            yield a, k, i


def lower_triangle_index(index: int) -> tuple[int, int]:
    """Row and column of an entry on or below the diagonal, from its index."""
    i = order_of_symmetric(index + 1)
    i -= i * (i + 1) // 2 > index
    return i, index - i * (i + 1) // 2


def is_large(kind: str, pattern: np.ndarray, columns: int) -> bool:
    """True when an expanded solution would have too many products of nonzero entries, including fill-in."""
    filled, products = np.array(pattern, dtype=bool), 0
    for k in range(len(filled)):
        below = filled[k + 1 :, k]
        many = int(below.sum())
        if kind == "symmetric":
            filled[k + 1 :, k + 1 :] |= np.outer(below, below)
            products += many * (many + 1) // 2 + 2 * many * columns
        else:
            products += len(filled) * (len(filled) - k + columns)
    return products > _LARGE
