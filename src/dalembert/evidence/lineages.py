"""How many roads really agree? Formalisms that rest on the same shared facts are one road, however many they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dalembert.equations.about import FACTS, Fact

Lineage = tuple[Fact, ...]
RECURSION: Lineage = ("recursion",)
PRINCIPLE: Lineage = ("positions",)


def independent_roads(lineages: Iterable[Lineage]) -> int:
    """The largest number of lineages no two of which share a fact.

    Volterra's equations, with T and sums over bodies, are no third road beside one of each:

    >>> independent_roads([("T",), ("bodies",), ("T", "bodies")])
    2
    """
    different = sorted({frozenset(lineage) for lineage in lineages}, key=lambda facts: (len(facts), sorted(facts)))
    # of two lineages, one inside the other, the smaller one leaves more room
    smallest = [facts for facts in different if not any(other < facts for other in different)]
    return _most(smallest, frozenset())


def _most(lineages: list[frozenset[Fact]], taken: frozenset[Fact]) -> int:
    """How many of the lineages can be chosen so that each is disjoint from the others and from what is taken."""
    if not lineages:
        return 0
    first, *rest = lineages
    without = _most(rest, taken)
    return without if first & taken else max(without, 1 + _most(rest, taken | first))


def grouped(lineages: Mapping[str, Lineage]) -> dict[Lineage, tuple[str, ...]]:
    """The names by lineage, related lineages next to each other.

    >>> grouped({"recursion": RECURSION, "lagrange": ("T", "V"), "kane": ("bodies",), "routh": ("T", "V")})
    {('T', 'V'): ('lagrange', 'routh'), ('bodies',): ('kane',), ('recursion',): ('recursion',)}
    """
    place = list(FACTS).index
    order = sorted(set(lineages.values()), key=lambda lineage: [place(fact) for fact in lineage])
    return {lineage: tuple(name for name, its in lineages.items() if its == lineage) for lineage in order}
