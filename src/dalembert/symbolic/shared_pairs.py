"""Pairs that several sums or products share, each taken out as one of its own, the most shared first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from dalembert.symbolic.prime_field import P

Bag = dict[int, int]  # of a product: factor -> power; of a sum: term -> sign
Pair = tuple[int, int, int]  # two items, and 1 or −1 for terms of equal or opposite signs

_NEIGHBOURS = 24  # in a long bag, an item is paired with so many that follow


@dataclass(frozen=True)
class FactorPairs:
    """Pairs in products, whose bags hold powers."""

    def among(self, bag: Bag, residue: list[int]) -> list[Pair]:
        """The pairs in a bag."""
        items = sorted(bag, key=residue.__getitem__)
        twice = [(a, a, 1) for a in items if bag[a] > 1]
        return twice + [(a, b, 1) for i, a in enumerate(items) for b in items[i + 1 : i + 1 + _NEIGHBOURS]]

    def bag(self, pair: Pair) -> Bag:
        """The bag that holds the pair and nothing else."""
        a, b, _ = pair
        return {a: 2} if a == b else {a: 1, b: 1}

    def is_all(self, bag: Bag, pair: Pair) -> bool:
        """True for a bag that has the pair and nothing else."""
        return bag == self.bag(pair)

    def residue(self, pair: Pair, residue: list[int]) -> int:
        """The residue of the product."""
        return residue[pair[0]] * residue[pair[1]] % P

    def replace(self, bag: Bag, pair: Pair, new: int, whole: Bag) -> None:
        """Put the new item, which is `whole`, in the place of the pair."""
        for f in pair[:2]:
            bag[f] -= 1
            if not bag[f]:
                del bag[f]
        bag[new] = bag.get(new, 0) + 1


@dataclass(frozen=True)
class TermPairs:
    """Pairs in sums, whose bags hold signs."""

    def among(self, bag: Bag, residue: list[int]) -> list[Pair]:
        """The pairs in a bag."""
        items = sorted(bag, key=residue.__getitem__)
        return [(a, b, bag[a] * bag[b]) for i, a in enumerate(items) for b in items[i + 1 : i + 1 + _NEIGHBOURS]]

    def bag(self, pair: Pair) -> Bag:
        """The bag that holds the pair and nothing else."""
        a, b, sign = pair
        return {a: 1, b: sign}

    def is_all(self, bag: Bag, pair: Pair) -> bool:
        """True for a bag that has the pair and nothing else, or the opposite of it."""
        return len(bag) == 2

    def residue(self, pair: Pair, residue: list[int]) -> int:
        """The residue of the sum."""
        return (residue[pair[0]] + pair[2] * residue[pair[1]]) % P

    def replace(self, bag: Bag, pair: Pair, new: int, whole: Bag) -> None:
        """Put the new item, which is `whole`, in the place of the pair."""
        if new not in bag:  # twice a term would be no sign
            sign = bag.pop(pair[0]) * whole[pair[0]]
            del bag[pair[1]]
            bag[new] = sign


def share(bags: dict[int, Bag], residue: list[int], kind: FactorPairs | TermPairs) -> None:
    """Take pairs out of the bags until no two bags share one; new items get the places at the end of `residue`.

    >>> bags = {3: {0: 1, 1: 1, 2: 1}, 4: {0: 1, 1: 1}, 5: {0: 1, 1: 1, 3: 1}}
    >>> share(bags, [5, 7, 11, 385, 35, 13475], FactorPairs())
    >>> bags
    {3: {2: 1, 4: 1}, 4: {0: 1, 1: 1}, 5: {3: 1, 4: 1}}
    """
    holders: dict[Pair, set[int]] = defaultdict(set)
    for name, bag in bags.items():
        for pair in kind.among(bag, residue):
            holders[pair].add(name)

    def entry(pair: Pair) -> tuple[int, int, int, Pair]:
        return -len(holders[pair]), residue[pair[0]], residue[pair[1]], pair

    heap = [entry(pair) for pair, held in holders.items() if len(held) > 1]
    heapify(heap)
    while heap:
        count, _, _, pair = heappop(heap)
        held = holders[pair]
        if len(held) != -count:
            if len(held) > 1:
                heappush(heap, entry(pair))
            continue
        holders[pair] = set()
        names = sorted(held, key=lambda name: (residue[name], name))
        # a bag that is this pair and nothing else is what the others are made of
        new = next((name for name in names if kind.is_all(bags[name], pair)), None)
        if new is None:
            new = len(residue)
            residue.append(kind.residue(pair, residue))
            bags[new] = kind.bag(pair)
        fresh = dict.fromkeys(
            p for name in names if name != new for p in _exchanged(bags, name, pair, new, holders, residue, kind)
        )
        for other in fresh:
            if len(holders[other]) > 1:
                heappush(heap, entry(other))


def _exchanged(
    bags: dict[int, Bag],
    name: int,
    pair: Pair,
    new: int,
    holders: dict[Pair, set[int]],
    residue: list[int],
    kind: FactorPairs | TermPairs,
) -> list[Pair]:
    """Put the new item in the place of the pair in one bag; the pairs that this bag has now."""
    bag = bags[name]
    for old in kind.among(bag, residue):
        holders[old].discard(name)
    kind.replace(bag, pair, new, bags[new])
    now = [other for other in kind.among(bag, residue) if other != pair]
    for other in now:
        holders[other].add(name)
    return now
