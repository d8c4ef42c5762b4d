"""Do the formalisms agree? What was found at random consistent states, and by how many independent roads.

Formalisms that rest on the same shared facts, of the same lineage, are one road, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from dalembert.formalisms.shared.about import Fact, Lineage, grouped
from dalembert.tables import Table, Tabular, short

RECURSION: Lineage = ("recursion",)
PRINCIPLE: Lineage = ("positions",)


@dataclass(frozen=True)
class Verdict:
    """What was found of one formalism, or of another way to the same accelerations."""

    # agrees, differs, refused (it cannot treat the model), left out (the model is large); of programs: not installed, not used
    status: str
    reason: str | None
    acceleration_difference: float | None
    reaction_difference: float | None
    lineage: Lineage = ()  # the shared facts it rests on; none: it shares nothing that has a name

    @property
    def compared(self) -> bool:
        """True when numbers were compared."""
        return self.status in ("agrees", "differs")

    def to_dict(self) -> dict:
        """The finding as plain data."""
        return {**asdict(self), "lineage": list(self.lineage)}


@dataclass(frozen=True, repr=False)
class Agreement(Tabular):
    """The largest relative differences between the formalisms, and the reasons of those that do not apply."""

    model: str
    states: int  # states at which all were compared
    tolerance: float
    engines: tuple[str, ...]
    formalisms: Mapping[str, Verdict]
    notes: tuple[str, ...] = ()  # fewer states than asked for, what an engine could not do, what was too large
    others: Mapping[str, Verdict] = field(default_factory=dict)  # by name: what is no formalism, such as the recursion
    programs: Mapping[str, Verdict] = field(
        default_factory=dict
    )  # by name: what runs integrate, of all formalisms together

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Everything by name: the formalisms, the others, and the programs that runs integrate."""
        return {**self.formalisms, **self.others, **self.programs}

    @property
    def recursion(self) -> Verdict | None:
        """The recursion from body to body, for models made of bodies."""
        return self.others.get("recursion")

    @property
    def principle(self) -> Verdict | None:
        """D'Alembert's principle at the accelerations and reactions that were found, from positions and declarations alone."""
        return self.others.get("the principle")

    @property
    def lineages(self) -> dict[Lineage, tuple[str, ...]]:
        """What was compared, grouped by the shared facts it rests on; programs are the formalisms once more."""
        roads = {**self.formalisms, **self.others}
        return grouped({name: verdict.lineage for name, verdict in roads.items() if verdict.compared})

    @property
    def roads(self) -> int:
        """The number of independent roads that were compared: no two of them share a fact. See `lineages`."""
        return independent_roads(self.lineages)

    @property
    def max_difference(self) -> float:
        """The largest relative difference of all."""
        found = [
            difference
            for verdict in self.verdicts.values()
            for difference in (verdict.acceleration_difference, verdict.reaction_difference)
            if difference is not None
        ]
        return max(found, default=0.0)

    @property
    def agrees(self) -> bool:
        """True when at least two were compared, at one state or more, and all of them agree within the tolerance."""
        compared = [verdict for verdict in self.verdicts.values() if verdict.compared]
        roads = sum(verdict.compared for verdict in (*self.formalisms.values(), *self.others.values()))
        return self.states > 0 and roads > 1 and all(verdict.status == "agrees" for verdict in compared)

    def __bool__(self) -> bool:
        return self.agrees

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        compared = [verdict for verdict in self.formalisms.values() if verdict.compared]
        differing = [name for name, verdict in self.verdicts.items() if verdict.status == "differs"]
        roads = "1 road" if self.roads == 1 else f"{self.roads} independent roads"
        states = "1 state" if self.states == 1 else f"{self.states} states"
        if not differing:
            begin = f"{len(compared)} formalisms by {roads} agree at {states} of '{self.model}'"
        else:
            begin = f"The formalisms differ on '{self.model}' ({', '.join(differing)}), at {states}, by {roads}"
        return (
            f"{begin}: the largest relative difference is {self.max_difference:.2e} (tolerance "
            f"{self.tolerance:g}), engines {', '.join(self.engines)}."
        )

    def tables(self) -> tuple[Table, ...]:
        """One row for each formalism, by what it rests on."""
        verdicts = self.verdicts
        roads = {**self.formalisms, **self.others}
        names = [n for group in grouped({n: v.lineage for n, v in roads.items()}).values() for n in group]
        names += self.programs
        rows = [
            (
                n,
                v.status,
                short(v.acceleration_difference),
                short(v.reaction_difference),
                ", ".join(v.lineage),
                v.reason or "",
            )
            for n, v in ((name, verdicts[name]) for name in names)
        ]
        columns = ("formalism", "status", "accelerations", "reactions", "rests on", "reason")
        return (Table(columns, tuple(rows), self.sentence, tuple(f"Note: {note}" for note in self.notes)),)

    def __repr__(self) -> str:
        found = "agree" if self.agrees else "do not agree"
        return f"<Agreement on '{self.model}': {len(self.lineages)} lineages {found} at {self.states} states>"

    def to_dict(self) -> dict:
        """The findings as plain data."""
        recursion, principle = self.recursion, self.principle
        return {
            "model": self.model,
            "states": self.states,
            "tolerance": self.tolerance,
            "engines": list(self.engines),
            "formalisms": {key: verdict.to_dict() for key, verdict in self.formalisms.items()},
            "recursion": recursion.to_dict() if recursion else None,
            "principle": principle.to_dict() if principle else None,
            "others": {name: verdict.to_dict() for name, verdict in self.others.items()},
            "programs": {name: verdict.to_dict() for name, verdict in self.programs.items()},
            "roads": self.roads,
            "lineages": [{"facts": list(facts), "by": list(names)} for facts, names in self.lineages.items()],
            "max_difference": self.max_difference,
            "agrees": self.agrees,
            "notes": list(self.notes),
        }


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
