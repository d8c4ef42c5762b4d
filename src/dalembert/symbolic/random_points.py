"""Decide whether two formulas are the same function: evaluate graphs at random points of the prime field.

Every symbol is a random residue, every angle a random point on the circle.

An equation between two graphs that holds at such a point holds for all values of all symbols, with the error probability of
`dalembert.symbolic.prime_field`. Functions are evaluated as follows:

- sin and cos of Σ k θ + r π, with rational k: each θ is a random point on the circle, sums by the addition theorems;
- sqrt and rational powers by those of the field; a point where a root does not exist is replaced by another one (`NoRoot`);
- exp of Σ k x: each x is a random residue, sums become products; log, asin, acos, atan and atan2 are functions of the value
  of their argument, and sin(asin(x)) = x and similar identities follow from points on the circle;
- `select(c, a, b)` as a + r (b − a) with a random r for each condition c: functions that are equal for every r are equal on
  both branches.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeVar

import symengine as se

from dalembert.errors import DalembertError
from dalembert.symbolic import prime_field
from dalembert.symbolic.algebra_base import Operand
from dalembert.symbolic.formula_writer import with_exact_numbers
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Constant, Node, Symbol, TableLeaf, factor, multiple_of_pi, node, ordered, symbol
from dalembert.symbolic.operations import BLOCKS, OPERATIONS
from dalembert.symbolic.prime_field import EXACT, Circle, P, Residue, Undecidable, Value, narrow, root_of_number
from dalembert.symbolic.symbols import Formula, Lowering

Verdict = Literal["proved", "different", "undecided"]
Line = tuple[str, Formula]  # a name and its definition, in evaluation order
_POINTS = 2  # random points of the prime field; each one errs with a probability of degree / 2¹²⁷
_TRIES = 40  # candidates for each point; a quantity has a root at half of them
_MAX_TRIES = 4000


class NoRoot(ArithmeticError):
    """The point is a pole, or lacks a root or power that the graph needs: draw another point."""


Key = TypeVar("Key", bound=Hashable)
Root = Callable[[Value], Value]
Linear = tuple[dict[Key, Fraction], Fraction, Fraction]  # Σ k x by keys of x, + r π, + a number
ONE_PI, ONE_RADIAN = -1, -2  # keys of constants among the keys of values


class RandomPoint:
    """A random point: values of symbols, angles and exponentials, drawn on first use.

    >>> from dalembert.symbolic.graph import GRAPH
    >>> x, y = GRAPH.symbols(["x", "y"])
    >>> sine, cosine = GRAPH.sin, GRAPH.cos
    >>> f = sine(x + y) - sine(x) * cosine(y) - cosine(x) * sine(y)
    >>> RandomPoint(1, [f]).values([f])
    [0]
    """

    def __init__(self, seed: int, roots: Iterable[Node], symbols: Mapping[str, int] | None = None) -> None:
        self._random = random.Random(seed)
        self.part = _common_denominator(ordered(roots))  # angles and exponents are drawn for 1/part of a symbol
        self.symbols: dict[str, int] = dict(symbols or {})
        self.composite = False  # True: some angle or exponent is not a sum of symbols; equal ones may appear different
        self.radicands: set[int] = set()  # radicands: each has a root at half of the points
        self.circles: dict[int, Circle] = {}  # cosine and sine of inverse functions, by their values
        self.logs: dict[int, int] = {}  # x by the value of log x
        self._angles: dict[int, Circle] = {}
        self._bases: dict[int, int] = {}
        self._values: dict[tuple[object, ...], int] = {}

    def draw(self) -> int:
        """A random residue, not zero."""
        return self._random.randrange(1, P)

    def symbol(self, name: str) -> int:
        """The value of a symbol."""
        if name not in self.symbols:
            self.symbols[name] = self.draw()
        return self.symbols[name]

    def values(
        self, outputs: Sequence[Node], known: Mapping[Node, Value] | None = None, *, root: Root | None = None
    ) -> list[Value]:
        """The residues of the outputs, in GF(P²) if roots of numbers need it; `known` overrides values of nodes in this call.

        `root` replaces the square root of the field, which not every point has: see `any_root` and `root_beyond`.
        """
        evaluation = _Evaluation(self, known or {}, root)
        evaluation.evaluate(ordered(outputs))
        return [evaluation.value[y] for y in outputs]

    def any_root(self, x: Value) -> Value:
        """A random value for √x, determined by x: functions that are equal for any such function are equal for the root."""
        return self.free("root", x)

    def angle(self, key: int) -> Circle:
        """The point on the circle for the part of an angle whose value is `key`."""
        if key not in self._angles:
            self._angles[key] = prime_field.random_angle(self._random)
        return self._angles[key]

    def base(self, key: int) -> int:
        """exp of the part of an exponent whose value is `key`: a square, since exp is positive."""
        if key not in self._bases:
            self._bases[key] = pow(self.draw(), 2, P)
        return self._bases[key]

    def free(self, *key: object) -> int:
        """A random value for a function of these values."""
        if key not in self._values:
            self._values[key] = self.draw()
        return self._values[key]


def _common_denominator(order: Sequence[Node]) -> int:
    """The least common denominator of the coefficients in all angles and exponents of a graph."""
    done: dict[Node, Linear[Node]] = {}
    found = {1}
    for y in order:
        if y.operation in ("sin", "cos", "tan", "exp", "pow"):
            atoms, by_pi, number = _sum(y.arguments[-1], lambda a: {a: _number_in(a)}, done)
            found |= {
                k.denominator for k in (*atoms.values(), number, *([by_pi] if y.operation in ("exp", "pow") else []))
            }
    return math.lcm(*found)


def multiples_in(argument: Node, done: dict[Node, Linear[Node]]) -> int:
    """A bound for Σ|k| of an angle or exponent Σ k x + r π + c, by which its degree grows; `done` caches between calls."""
    atoms, by_pi, number = _sum(argument, lambda a: {a: _number_in(a)}, done)
    return max(1, math.ceil(sum(map(abs, (*atoms.values(), by_pi, number)))))


def root_beyond(x: Value) -> Value:
    """√x in GF(P²), which every element of GF(P) has; only its square is known."""
    element = narrow(x) if isinstance(x, Residue) else x
    if not isinstance(element, int):
        raise Undecidable("root of an argument that contains the root of a number")
    return narrow(EXACT.function("sqrt", Residue(element)))


def _inverse(a: int) -> int:
    if not a:
        raise NoRoot("the point is a pole")
    return prime_field.inverse(a)


def _quotient(a: Value, b: Value) -> Value:
    return a * _inverse(b) % P if isinstance(b, int) else a / b


_ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": lambda a, b: (a + b) % P,
    "subtract": lambda a, b: (a - b) % P,
    "negative": lambda a: -a % P,
    "multiply": lambda a, b: a * b % P,
    "divide": _quotient,
}


class _Evaluation:
    """One evaluation of a graph, arguments first."""

    def __init__(self, point: RandomPoint, known: Mapping[Node, Value], root: Root | None = None) -> None:
        self._point, self._root_function = point, root
        self.value: dict[Node, Value] = dict(known)
        self._linear: dict[Node, Linear[int]] = {}

    def evaluate(self, order: Sequence[Node]) -> None:
        value = self.value
        for y in order:
            if y not in value:
                rule = _ARITHMETIC.get(y.operation)
                value[y] = rule(*[value[a] for a in y.arguments]) if rule else self._function(y)

    def _prime_value(self, a: Node, quantity: str) -> int:
        """The value of a node that must be an element of GF(P)."""
        value = self.value[a]
        if isinstance(value, Residue) and not value.b:
            return value.a
        if not isinstance(value, int):
            raise Undecidable(f"{quantity} that contains the root of a number")
        return value

    def _function(self, y: Node) -> Value:
        name = y.operation
        if isinstance(y, Constant):
            if not isinstance(y.value, Fraction):
                raise Undecidable(f"the number {y.value}")
            return prime_field.residue(y.value)
        if isinstance(y, Symbol):
            return self._point.symbol(y.value)
        if name in ("sin", "cos", "tan"):
            c, s = self._cosine_and_sine(y.arguments[0])
            return s * _inverse(c) % P if name == "tan" else (s if name == "sin" else c)
        if name == "sqrt":
            (a,) = y.arguments
            if isinstance(a, Constant) and isinstance(a.value, Fraction) and a.value > 0:
                return root_of_number(a.value)  # in GF(P²) if it is not a square
            if self._root_function is not None:
                return self._root_function(self.value[a])
            return self._root(self._prime_value(a, "root of an argument"))
        if name == "pow":
            return self._power(*y.arguments)
        if name == "exp":
            return self._exponential(y.arguments[0])
        if name == "log":
            out = self._logarithm(y.arguments[0])
            x = self._prime_value(y.arguments[0], "log of an argument")
            self._point.logs[min(out, P - out)] = x if out <= P // 2 else _inverse(x)
            return out
        if name in ("asin", "acos", "atan", "atan2"):
            return self._inverse_function(name, [self._prime_value(a, f"{name} of an argument") for a in y.arguments])
        if name == "select":
            condition, a, b = y.arguments
            weight = self._point.free("condition", self._condition(condition))
            return (self.value[a] + weight * (self.value[b] - self.value[a])) % P
        if name in ("less", "less_equal", "and", "or"):
            return self._point.free("condition", self._condition(y))
        if name == "table":
            return 0  # only its digest matters
        if name == "interpolate" and isinstance(table := y.arguments[0], TableLeaf):
            return self._point.free("table", table.value, self.value[y.arguments[1]])
        if name == "pi":
            return self._point.free("pi")
        if name in BLOCKS:
            return self._block(y)
        raise Undecidable(name)

    def _block(self, y: Node) -> Operand:
        """A factor, a solution, or an entry of one, by the same loops as for numbers."""
        if y.operation == "entry":
            values, index = (self.value[a] for a in y.arguments)
            return narrow(OPERATIONS["entry"].array(values, index))
        arguments = [x if isinstance(x := self.value[a], list | tuple | Residue) else Residue(x) for a in y.arguments]
        return OPERATIONS[y.operation].array(*arguments)

    def _condition(self, y: Node) -> tuple[object, ...]:
        """A condition, identified by the values it compares."""
        if y.operation in ("and", "or"):
            return (y.operation, *(self._condition(a) for a in y.arguments))
        return (y.operation, *(self.value[a] for a in y.arguments))

    def _root(self, a: int) -> int:
        if not prime_field.is_square(a):
            raise NoRoot("the radicand is not a square at this point")
        self._point.radicands.add(a)
        return prime_field.root(a)

    def _power(self, base: Node, exponent: Node) -> int:
        """x^(Σ k y + c) = exp(Σ k y log x) x^c."""
        atoms, by_pi, number = self._sum(exponent)
        x = self._prime_value(base, "power of a base")
        if number and number.numerator % ((P - 1) // 2) == 0:
            raise Undecidable(f"the power {number}")
        out = prime_field.power(x, number)
        if out is None:
            raise NoRoot(f"the base has no power {number} at this point")
        if number.denominator % 2 == 0:
            self._point.radicands.add(x)
        for key, k in (*atoms.items(), *(((ONE_PI, by_pi),) if by_pi else ())):
            part = pow(self._point.free("power", x, key), 2, P)
            out = out * pow(part, self._multiple(k, P - 1, f"a power with the exponent {k} of a symbol"), P) % P
        return out

    def _exponential(self, a: Node) -> int:
        atoms, by_pi, number = self._sum(a)
        out = 1
        for key, k in (*atoms.items(), (ONE_PI, by_pi), (ONE_RADIAN, number)):
            if not k:
                continue
            if k.denominator == 1 and key in self._point.logs:
                out = out * pow(self._point.logs[key], int(k), P) % P  # exp(log x) = x
                continue
            out = out * pow(self._point.base(key), self._multiple(k, P - 1, f"exp of {k} times a symbol"), P) % P
        return out

    def _multiple(self, k: Fraction, order: int, quantity: str) -> int:
        """k as a multiple of the drawn part of a symbol; a multiple of the group order would look like zero."""
        multiple = k * self._point.part
        if multiple.denominator != 1 or (multiple and multiple.numerator % order == 0):
            raise Undecidable(quantity)
        return multiple.numerator

    def _logarithm(self, a: Node) -> int:
        """log of a product is the sum of the logs of its factors; each one is random, determined by its value."""
        if a.operation == "exp":
            return self._prime_value(a.arguments[0], "log of an argument")
        if a.operation in ("multiply", "divide"):
            first, second = (self._logarithm(b) for b in a.arguments)
            return (first + second if a.operation == "multiply" else first - second) % P
        if a.operation == "sqrt":
            return self._logarithm(a.arguments[0]) * prime_field.residue(Fraction(1, 2)) % P
        x = self._prime_value(a, "log of an argument")
        if not x:
            raise NoRoot("log of zero")
        return self._point.free("log", x)

    def _cosine_and_sine(self, a: Node) -> Circle:
        atoms, by_pi, number = self._sum(a)
        out = prime_field.ZERO_ANGLE
        if by_pi:
            known = prime_field.point_of_pi_fraction(by_pi)
            if known is None:
                raise Undecidable(f"the angle {by_pi} π")
            out = known
        for key, k in (*atoms.items(), (ONE_RADIAN, number)):
            if k:
                out = prime_field.add_angles(out, self._angle_multiple(key, k))
        return out

    def _angle_multiple(self, key: int, k: Fraction) -> Circle:
        """k times the angle whose value is `key`."""
        known, quantity = self._point.circles.get(key), f"an angle of {k} times a symbol"
        multiple = self._multiple(k, P + 1, quantity)
        if known is None:
            return prime_field.times(multiple, self._point.angle(key))
        if k.denominator != 1:
            raise Undecidable(quantity)
        return prime_field.times(int(k), known)

    def _inverse_function(self, name: str, x: list[int]) -> int:
        """A random value determined by the arguments; its cosine and sine are recorded."""
        out = self._point.free(name, *x)
        key = min(out, P - out)
        if key not in self._point.circles:
            c, s = self._known_circle(name, x)
            self._point.circles[key] = (c, s if key == out else -s % P)
        return out

    def _known_circle(self, name: str, x: list[int]) -> Circle:
        if name == "atan2":
            below = _inverse(self._root((x[0] * x[0] + x[1] * x[1]) % P))
            return x[1] * below % P, x[0] * below % P
        if name == "atan":
            below = _inverse(self._root((1 + x[0] * x[0]) % P))
            return below, x[0] * below % P
        other = self._root((1 - x[0] * x[0]) % P)
        return (other, x[0]) if name == "asin" else (x[0], other)

    def _sum(self, a: Node) -> Linear[int]:
        """A node as Σ k x + r π + c, with each x identified by its value, so that equal ones are combined."""
        return _sum(a, self._atom, self._linear)

    def _atom(self, a: Node) -> dict[int, Fraction]:
        value = self._prime_value(a, "angle")
        if not value:
            return {}
        if a.operation in ("multiply", "divide", "pow", "sqrt", "select"):
            self._point.composite = True
        k = _number_in(a)
        value = value * prime_field.residue(1 / k) % P
        return {value: k} if value <= P // 2 else {P - value: -k}  # x and −x share a key


def _sum(a: Node, atom: Callable[[Node], dict[Key, Fraction]], done: dict[Node, Linear[Key]]) -> Linear[Key]:
    """A node as Σ k x + r π + c, where `atom` gives the key of an x that is not a sum or multiple."""
    for y in _sums_below(a):
        if y not in done:
            done[y] = _split(y, atom, done)
    return done[a]


def _sums_below(a: Node) -> list[Node]:
    """The node and its nested summands and multiples, arguments first."""
    found, waiting = {a}, [a]
    while waiting:
        y = waiting.pop()
        if multiple_of_pi(y) is None and (y.operation in ("add", "subtract") or factor(y) is not None):
            new = [b for b in y.arguments if b not in found]
            found.update(new)
            waiting += new
    return sorted(found, key=lambda each: each.number)


def _split(a: Node, atom: Callable[[Node], dict[Key, Fraction]], done: dict[Node, Linear[Key]]) -> Linear[Key]:
    k = multiple_of_pi(a)
    if k is not None:
        return {}, k, Fraction(0)
    if isinstance(a, Constant) and isinstance(a.value, Fraction):
        return {}, Fraction(0), a.value
    if a.operation in ("add", "subtract"):
        (first, pi, number), (second, more_pi, more) = (done[b] for b in a.arguments)
        sign, atoms = 1 if a.operation == "add" else -1, dict(first)
        for key, k in second.items():
            atoms[key] = atoms.get(key, Fraction(0)) + sign * k
        return {key: k for key, k in atoms.items() if k}, pi + sign * more_pi, number + sign * more
    if (found := factor(a)) is not None:
        scale, (atoms, pi, number) = found[0], done[found[1]]
        return {key: scale * x for key, x in atoms.items()}, scale * pi, scale * number
    return atom(a), Fraction(0), Fraction(0)


def _number_in(a: Node) -> Fraction:
    """The number among the factors of a product: 2 of (2 t) w, which does not have the form of a sum or multiple.

    >>> from dalembert.symbolic.nodes import symbol
    >>> _number_in(symbol("t") * 2 * symbol("w") / (symbol("x") * 3))
    Fraction(2, 3)
    """
    if isinstance(a, Constant) and isinstance(a.value, Fraction) and a.value:
        return a.value
    if a.operation == "negative":
        return -_number_in(a.arguments[0])
    if a.operation not in ("multiply", "divide"):
        return Fraction(1)
    first, second = map(_number_in, a.arguments)
    return first * second if a.operation == "multiply" else first / second


def proved_equal(first: Sequence[Formula], second: Sequence[Formula], lines: Iterable[Line] = ()) -> Verdict:
    """Decide whether the formulas of two lists are pairwise the same functions; `lines` define names that they use.

    Doubles are replaced by the short decimals or fractions that they denote. "different" and "proved" are reliable: what the
    field cannot decide is "undecided".

    >>> x, y, z = se.symbols("x y z")
    >>> proved_equal([se.sin(x) * se.cos(y) - se.cos(x) * se.sin(y)], [se.sin(x - y)])
    'proved'
    >>> proved_equal([(x + y) ** 2], [z**2], [("z", x + y)]), proved_equal([x], [y])
    ('proved', 'different')
    """
    if len(first) != len(second):
        return "different"
    lines = list(lines)
    try:
        formulas = [*first, *second, *(value for _, value in lines)]
        table: dict[str, Node] = {s.name: symbol(s.name) for f in formulas for s in se.sympify(f).free_symbols}
        lowered = Lowering(GRAPH, table)
        for name, value in lines:
            table[name] = node(lowered(with_exact_numbers(value)))
        exact = [[node(lowered(with_exact_numbers(value))) for value in values] for values in (first, second)]
        return _compared(list(zip(*exact, strict=True)))
    except (Undecidable, DalembertError):
        return "undecided"


def _compared(pairs: Sequence[tuple[Node, Node]]) -> Verdict:
    pairs = [(a, b) for a, b in pairs if a is not b]
    if not pairs:
        return "proved"
    roots = [y for pair in pairs for y in pair]
    agreed = 0
    n_roots = sum(y.operation in ("sqrt", "pow") for y in ordered(roots))
    for seed in range(1, min(_TRIES * 2**n_roots, _MAX_TRIES)):
        point = RandomPoint(seed, roots)
        try:
            values = point.values(roots)
        except (NoRoot, ZeroDivisionError):
            continue
        if values[::2] != values[1::2]:
            # equal angles may appear different if they are not sums of symbols
            return "undecided" if point.composite else "different"
        agreed += 1
        if agreed == _POINTS:
            return "proved"
    return "undecided"
