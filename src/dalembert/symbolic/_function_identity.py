"""Identify nodes of a graph that are the same function: evaluate each at one random point of the prime field.

A node is identified by its residue at a point that depends only on the names of the symbols. Two nodes with the same residue
are the same function, with the error probability of `dalembert.symbolic.prime_field`. So 2 x y and x y 2, sin² + cos² and 1,
and an angular velocity in Euler angles and the speed chosen for it are found equal without special rules. Only arithmetic and
the addition theorems are used. Any other function, a `select`, a condition and a table are identified by the residues of their
arguments, so nothing is assumed about their values outside the real numbers or on a branch that is not taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from hashlib import blake2b
from heapq import heapify, heappop, heappush

from dalembert.symbolic import prime_field
from dalembert.symbolic.nodes import ONE, TWO, ZERO, Constant, Leaf, Node, factor, negative, ordered, rebuild_node
from dalembert.symbolic.prime_field import ZERO_ANGLE, Circle, P

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
