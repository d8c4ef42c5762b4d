"""Factor sums and products so that they need fewer operations.

A sum is a set of terms, a term is a number times factors, and a factor is a symbol, a function or another sum. Each of the
three steps is greedy and deterministic, since ties are decided by residues (`dalembert.symbolic.graph`), which
depend only on content:

1. equal terms are collected, and the factor shared by most terms is factored out: x y + x z = x (y + z), repeatedly;
2. the pair of factors shared by most products becomes a separate product;
3. the pair of terms shared by most sums becomes a separate sum; a − b and b − a count as one pair.

Nothing is expanded, so no new cancellation is introduced.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from heapq import heapify, heappop, heappush
from math import prod
from typing import TypeAlias

from dalembert.symbolic.graph import Residues, magnitude, number_residue
from dalembert.symbolic.nodes import (
    ONE,
    Constant,
    Node,
    add,
    constant,
    multiply,
    negative,
    ordered,
    rebuild_node,
    subtract,
)
from dalembert.symbolic.prime_field import P

Factors = tuple[int, ...]  # indices of atoms, sorted
Exact = int | Fraction
Term = tuple[Exact, Factors]
Meaning: TypeAlias = "Node | Fraction | _Sum | tuple[Node, tuple[Term, ...]]"  # a function has its arguments
_SUMS = frozenset(("add", "subtract", "negative"))
_MAX_BITS = 512  # of a number; larger numbers are not multiplied together
_MAX_FACTORS = 32  # of a product that is represented by its factors
Bag = dict[int, int]  # of a product: factor -> power; of a sum: term -> sign
Pair = tuple[int, int, int]  # two items, and 1 or −1 for terms of equal or opposite signs
_MAX_NEIGHBORS = 24  # in a long bag, an item is paired with this many following items


@dataclass(frozen=True)
class _Sum:
    """Σ ± products."""

    terms: tuple[tuple[int, Factors], ...]


class _Atoms:
    """The elements of terms, each with an index and a residue: nodes, numbers and sums."""

    def __init__(self) -> None:
        self.residue: list[int] = []
        self.meaning: list[Meaning] = []
        self._indices: dict[object, int] = {}
        self._by_residue: dict[int, int] = {}

    def index(self, key: object, meaning: Meaning, residue: int) -> int:
        """The index of an atom; new atoms are appended."""
        if key not in self._indices:
            self._indices[key] = len(self.residue)
            self._by_residue.setdefault(magnitude(residue), len(self.residue))
            self.residue.append(residue)
            self.meaning.append(meaning)
        return self._indices[key]

    def number(self, value: Fraction) -> int:
        return self.index(value, value, number_residue(value))

    def found(self, residue: int) -> tuple[int, int] | None:
        """Sign and index of an atom with this residue, if there is one."""
        index = self._by_residue.get(magnitude(residue))
        return None if index is None else (1 if self.residue[index] == residue else -1, index)

    def of(self, factors: Iterable[int]) -> int:
        """The residue of a product."""
        out = 1
        for f in factors:
            out = out * self.residue[f] % P
        return out

    def in_order(self, factors: Iterable[int]) -> Factors:
        return tuple(sorted(factors, key=self.residue.__getitem__))


def factor_terms(outputs: Sequence[Node], residues: Residues | None = None) -> list[Node]:
    """The outputs with factored sums and products.

    >>> from dalembert.symbolic.nodes import symbol
    >>> x, y, z = symbol("x"), symbol("y"), symbol("z")
    >>> factor_terms([x * y + z * x + x])
    [((y + (z + 1)) * x)]
    """
    parts = _Parts(outputs, Residues() if residues is None else residues)
    return _NodeBuilder(parts.atoms, parts.outputs).nodes()


class _Parts:
    """The outputs of a graph, decomposed into terms."""

    def __init__(self, outputs: Sequence[Node], residues: Residues) -> None:
        order = ordered(outputs)
        residues.extend(order)
        order = _by_content(order, residues)
        self._residues = residues
        self.atoms = _Atoms()
        self._uses = Counter(a for y in order for a in y.arguments)
        self._uses.update(outputs)
        self._product: dict[Node, Term] = {}  # the node as one product
        self._sum: dict[Node, list[Term]] = {}  # sums that are used once
        for y in order:
            self._decompose(y)
        self.outputs = [self._factors_of(y) for y in outputs]

    def _decompose(self, y: Node) -> None:
        if isinstance(y, Constant) and isinstance(y.value, Fraction):
            self._product[y] = (_reduced(y.value), ())
        elif y.operation in _SUMS:
            signs = (-1,) if y.operation == "negative" else (1, 1 if y.operation == "add" else -1)
            terms: list[Term] = []
            for sign, a in zip(signs, y.arguments, strict=True):
                found = self._sum.pop(a, None) or [self._product[a]]
                if sign < 0:
                    found = [(-k, factors) for k, factors in found]
                longer, shorter = (found, terms) if len(found) > len(terms) else (terms, found)
                longer += shorter
                terms = longer
            self._sum[y] = terms
            if self._uses[y] > 1:
                self._product[y] = self._factors_of(y)
        elif y.operation == "multiply" or (y.operation == "divide" and _is_number(y.arguments[1])):
            self._product[y] = self._multiplied(y)
        else:
            self._product[y] = 1, (self._function(y),)

    def _function(self, y: Node) -> int:
        arguments = tuple(self._factors_of(a) for a in y.arguments)
        return self.atoms.index((y.operation, arguments) if arguments else y, (y, arguments), self._residues[y])

    def _multiplied(self, y: Node) -> Term:
        first, second = (self._factors_of(a) for a in y.arguments)
        if y.operation == "divide":
            second = (_reduced(Fraction(1) / second[0]), ())
        k = first[0] * second[0]
        if k not in (1, -1) and max(k.numerator.bit_length(), k.denominator.bit_length()) > _MAX_BITS:
            return 1, (self._function(y),)
        factors = self.atoms.in_order(first[1] + second[1])
        return (k, factors) if len(factors) <= _MAX_FACTORS else self._made(k, [(1, factors)])

    def _factors_of(self, y: Node) -> Term:
        """A node as a number times factors; a sum becomes an atom."""
        if (terms := self._sum.pop(y, None)) is not None:
            self._product[y] = self._summed(terms)
        return self._product[y]

    # step 1: sums

    def _summed(self, terms: Sequence[Term]) -> Term:
        """A sum as a number times factors, with common factors factored out."""
        collected: dict[Factors, Exact] = {}
        for k, factors in terms:
            collected[factors] = collected.get(factors, 0) + k
        found = [(k, factors) for factors, k in collected.items() if k]
        if not found:
            return 0, ()
        if len(found) == 1:
            return found[0]
        scale = abs(found[0][0])
        if scale == 1 or any(abs(k) != scale for k, _ in found):
            return self._made(1, found)
        return self._made(scale, [(1 if k > 0 else -1, factors) for k, factors in found])

    def _made(self, scale: Exact, terms: list[Term]) -> Term:
        atoms = self.atoms
        weighted = [(k if isinstance(k, int) and abs(k) < P else number_residue(Fraction(k)), f) for k, f in terms]
        residue = sum(k * atoms.of(factors) for k, factors in weighted) % P
        if (known := atoms.found(residue)) is not None:
            return scale * known[0], (known[1],)
        with_numbers = [self._with_number(k, factors) for k, factors in terms]
        grouped = self._factored(with_numbers)
        if len(grouped) == 1 and len(terms) > 1:
            sign, factors = grouped[0]
            numbers = [atoms.meaning[f] for f in factors]
            k = scale * sign * prod(_reduced(n) for n in numbers if isinstance(n, Fraction))
            return k, tuple(f for f, n in zip(factors, numbers, strict=True) if not isinstance(n, Fraction))
        grouped.sort(key=lambda term: [atoms.residue[f] for f in term[1]])
        sign = grouped[0][0]
        key = _Sum(tuple((s * sign, factors) for s, factors in grouped))
        return scale * sign, (atoms.index(key, key, residue * sign % P),)

    def _with_number(self, k: Exact, factors: Factors) -> tuple[int, Factors]:
        """A sign and factors, with the number as one of the factors."""
        if abs(k) != 1 or not factors:
            factors = self.atoms.in_order((*factors, self.atoms.number(Fraction(abs(k)))))
        return (1 if k > 0 else -1), factors

    def _factored(self, terms: list[tuple[int, Factors]]) -> list[tuple[int, Factors]]:
        """Factor out the factor shared by most terms, until none is shared."""
        holders: dict[int, set[int]] = defaultdict(set)
        for i, (_, factors) in enumerate(terms):
            for f in factors:
                holders[f].add(i)
        residue = self.atoms.residue
        heap = [(-len(members), residue[f], f) for f, members in holders.items() if len(members) > 1]
        heapq.heapify(heap)
        out, left = [], set(range(len(terms)))
        while heap:
            count, _, f = heapq.heappop(heap)
            members = holders[f]
            if len(members) < 2:
                continue
            if len(members) != -count:
                heapq.heappush(heap, (-len(members), residue[f], f))
                continue
            inner = []
            for i in sorted(members):
                sign, factors = terms[i]
                k = factors.index(f)
                inner.append((sign, factors[:k] + factors[k + 1 :]))
                for g in set(factors) - {f}:
                    holders[g].discard(i)
            left -= members
            holders[f] = set()
            k, rest = self._summed([self._number_apart(term) for term in inner])
            if k:
                out.append(self._with_number(k, self.atoms.in_order((*rest, f))))
        return out + [terms[i] for i in sorted(left)]

    def _number_apart(self, term: Term) -> Term:
        k, factors = term
        for f in factors:
            if isinstance(value := self.atoms.meaning[f], Fraction):
                k *= _reduced(value)
        return k, tuple(f for f in factors if not isinstance(self.atoms.meaning[f], Fraction))


def _by_content(order: Sequence[Node], residues: Residues) -> list[Node]:
    """The nodes with arguments first, in an order independent of when they were created."""
    depth: dict[Node, int] = {}
    for y in order:
        depth[y] = 1 + max((depth[a] for a in y.arguments), default=0)
    return sorted(order, key=lambda y: (depth[y], residues[y]))


def _reduced(k: Fraction) -> Exact:
    """Convert an integer-valued fraction to int, which is faster."""
    return k.numerator if k.denominator == 1 else k


def _is_number(y: Node) -> bool:
    return isinstance(y, Constant) and isinstance(y.value, Fraction) and y.value != 0


class _NodeBuilder:
    """Build nodes from sums and products, sharing their common pairs."""

    def __init__(self, atoms: _Atoms, outputs: list[Term]) -> None:
        self._atoms, self._outputs = atoms, outputs
        self._reached = self._reachable()
        # every product in a sum, an argument or an output
        products = dict.fromkeys(factors for factors in self._products() if len(factors) > 1)
        self._items = list(atoms.residue)  # residues of atoms, then of products, then of shared pairs
        self._indices: dict[Factors, int] = {factors: len(self._items) + i for i, factors in enumerate(products)}
        self._items += [atoms.of(factors) for factors in products]
        self._bags: dict[int, Bag] = {index: Counter(factors) for factors, index in self._indices.items()}
        share(self._bags, self._items, products=True)
        self._sums: dict[int, Bag] = {
            f: {self._index(factors): sign for sign, factors in meaning.terms}
            for f in self._reached
            if isinstance(meaning := atoms.meaning[f], _Sum)
        }
        share(self._sums, self._items, products=False)

    def _reachable(self) -> list[int]:
        found: set[int] = set()
        waiting = [f for _, factors in self._outputs for f in factors]
        while waiting:
            f = waiting.pop()
            if f not in found:
                found.add(f)
                waiting += self._below(f)
        return sorted(found)

    def _below(self, f: int) -> list[int]:
        meaning = self._atoms.meaning[f]
        if isinstance(meaning, _Sum):
            return [g for _, factors in meaning.terms for g in factors]
        return [g for _, factors in meaning[1] for g in factors] if isinstance(meaning, tuple) else []

    def _products(self) -> Iterable[Factors]:
        for f in self._reached:
            meaning = self._atoms.meaning[f]
            if isinstance(meaning, _Sum):
                yield from (factors for _, factors in meaning.terms)
            elif isinstance(meaning, tuple):
                yield from (self._reduced(term) for term in meaning[1])
        yield from (self._reduced(term) for term in self._outputs)

    def _reduced(self, term: Term) -> Factors:
        k, factors = term
        return factors if abs(k) in (0, 1) else self._atoms.in_order((*factors, self._atoms.number(Fraction(abs(k)))))

    def _index(self, factors: Factors) -> int:
        return factors[0] if len(factors) == 1 else self._indices[factors]

    def nodes(self) -> list[Node]:
        self._made: dict[int, Node] = {}
        return [self._signed(term) for term in self._outputs]

    def _signed(self, term: Term) -> Node:
        if not term[0]:
            return constant(0)
        factors = self._reduced(term)
        y = self._node(self._index(factors)) if factors else ONE
        return negative(y) if term[0] < 0 else y

    def _node(self, item: int) -> Node:
        """The node of an atom, a product or a sum, without recursion."""
        waiting = [item]
        while waiting:
            f = waiting[-1]
            if f not in self._made:
                needed = [g for g in self._needed(f) if g not in self._made]
                if needed:
                    waiting += needed
                    continue
                self._made[f] = self._build(f)
            waiting.pop()
        return self._made[item]

    def _needed(self, f: int) -> list[int]:
        if f in self._bags or f in self._sums:
            return list(self._bags.get(f) or self._sums[f])
        meaning = self._atoms.meaning[f]
        return [self._index(p) for t in meaning[1] if (p := self._reduced(t))] if isinstance(meaning, tuple) else []

    def _build(self, f: int) -> Node:
        key = self._items.__getitem__
        if f in self._bags:
            bag = self._bags[f]
            return reduce(multiply, [self._made[g] for g in sorted(bag, key=key) for _ in range(bag[g])])
        if f in self._sums:
            bag = self._sums[f]
            plus = [self._made[g] for g in sorted(bag, key=key) if bag[g] > 0]
            minus = [self._made[g] for g in sorted(bag, key=key) if bag[g] < 0]
            return reduce(subtract, minus, reduce(add, plus)) if plus else negative(reduce(add, minus))
        meaning = self._atoms.meaning[f]
        if isinstance(meaning, Fraction):
            return constant(meaning)
        assert isinstance(meaning, tuple)
        node, arguments = meaning
        return rebuild_node(node.operation, [self._signed(t) for t in arguments]) if arguments else node


def _pairs(bag: Bag, residue: list[int], products: bool) -> list[Pair]:
    """The candidate pairs of a bag."""
    items = sorted(bag, key=residue.__getitem__)
    twice = [(a, a, 1) for a in items if bag[a] > 1] if products else []
    near = [(a, b) for i, a in enumerate(items) for b in items[i + 1 : i + 1 + _MAX_NEIGHBORS]]
    return twice + [(a, b, 1 if products else bag[a] * bag[b]) for a, b in near]


def _replace(bag: Bag, pair: Pair, new: int, content: Bag, products: bool) -> None:
    """Replace the pair by the new item, whose bag is `content`."""
    a, b, _ = pair
    if products:
        for f in (a, b):
            bag[f] -= 1
            if not bag[f]:
                del bag[f]
        bag[new] = bag.get(new, 0) + 1
    elif new not in bag:  # a coefficient of two would not be a sign
        sign = bag.pop(a) * content[a]
        del bag[b]
        bag[new] = sign


def share(bags: dict[int, Bag], residue: list[int], *, products: bool) -> None:
    """Extract pairs from the bags until no two bags share one; new items are appended to `residue`."""
    holders: dict[Pair, set[int]] = defaultdict(set)
    for name, bag in bags.items():
        for pair in _pairs(bag, residue, products):
            holders[pair].add(name)

    def entry(pair: Pair) -> tuple[int, int, int, Pair]:
        return -len(holders[pair]), residue[pair[0]], residue[pair[1]], pair

    def exchange(name: int, pair: Pair, new: int) -> list[Pair]:
        """Replace the pair by the new item in one bag; return the pairs of this bag."""
        for old in _pairs(bags[name], residue, products):
            holders[old].discard(name)
        _replace(bags[name], pair, new, bags[new], products)
        now = [other for other in _pairs(bags[name], residue, products) if other != pair]
        for other in now:
            holders[other].add(name)
        return now

    heap = [entry(pair) for pair, members in holders.items() if len(members) > 1]
    heapify(heap)
    while heap:
        count, _, _, pair = heappop(heap)
        members = holders[pair]
        if len(members) != -count:
            if len(members) > 1:
                heappush(heap, entry(pair))
            continue
        holders[pair] = set()
        names = sorted(members, key=lambda name: (residue[name], name))
        # a bag that equals this pair, or in a sum its negative, becomes the shared item
        a, b, sign = pair
        pair_bag: Bag = {a: 2} if a == b else {a: 1, b: sign}
        new = next((name for name in names if (bags[name] == pair_bag if products else len(bags[name]) == 2)), None)
        if new is None:
            new = len(residue)
            residue.append((residue[a] * residue[b] if products else residue[a] + sign * residue[b]) % P)
            bags[new] = pair_bag
        for other in dict.fromkeys(p for name in names if name != new for p in exchange(name, pair, new)):
            if len(holders[other]) > 1:
                heappush(heap, entry(other))
