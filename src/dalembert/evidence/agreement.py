"""Do the formalisms agree? What was found at random consistent states, and by how many independent roads.

Formalisms that rest on the same shared facts, of the same lineage, are one road, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Protocol

import numpy as np

from dalembert.formalisms.shared.about import Fact, Lineage, grouped
from dalembert.mechanics.state_batch import States
from dalembert.model.scales import Scales
from dalembert.tables import Table, Tabular, short

RECURSION: Lineage = ("recursion",)
PRINCIPLE: Lineage = ("positions",)
_NOTHING = 1e-12  # of the model's own scales: what is smaller is rounding
# condition numbers of M: above the first it magnifies rounding, above the second it cannot be solved alone
_MAGNIFIED, _SINGULAR = 1e4, 1e8


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
    programs: Mapping[str, Verdict] = field(default_factory=dict)  # by name: what runs of all formalisms integrate

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
        pairs = [(verdict.acceleration_difference, verdict.reaction_difference) for verdict in self.verdicts.values()]
        return max((size for pair in pairs for size in pair if size is not None), default=0.0)

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
        rows = []
        for name in names:
            found = verdicts[name]
            sizes = short(found.acceleration_difference), short(found.reaction_difference)
            rows.append((name, found.status, *sizes, ", ".join(found.lineage), found.reason or ""))
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


class Road(Protocol):
    """Equations that give accelerations and reactions at a batch of states."""

    def accelerations(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """q̈, (n, batch)."""
        ...

    def reactions(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Aᵀλ + C, (n, batch)."""
        ...


@dataclass(frozen=True)
class Reference:
    """The values every road is compared with, and the sizes that make differences relative."""

    qdd: np.ndarray
    reaction: np.ndarray
    M: np.ndarray  # (n, n, batch)
    unit: np.ndarray  # (n, 1), the scales of the coordinates: lengths and angles count alike
    pace: np.ndarray  # size of the accelerations at each state, 1/time²; larger where M magnifies rounding
    energy: np.ndarray  # size of the forces at play at each state, times the scales of what they act on
    magnification: np.ndarray  # by how much more than usual M⁻¹ magnifies rounding at each state


def reference(road: Road, states: States, M: np.ndarray, scales: Scales) -> Reference:
    """Accelerations, reactions and their sizes by the first road; M is (n, n, batch).

    Where nothing happens, accelerations and forces are measured by the scales of the model. Near a singular position (Euler
    angles, say) every road loses the digits that the condition of M takes: accelerations count there by so much less.
    """
    qdd = road.accelerations(states.q, states.qd, states.t)
    reaction = road.reactions(states.q, states.qd, states.t)
    unit = scales.positions[:, None]
    inertia = (unit * np.einsum("ijs,js->is", np.abs(M), np.abs(qdd))).max(axis=0)
    energy = np.maximum(inertia, np.abs(unit * reaction).max(axis=0, initial=0.0))
    usual = scales.time**-2
    magnification = _magnification(M)
    pace = _or_usual(np.abs(qdd / unit).max(axis=0), usual) * magnification
    forces = _or_usual(energy, scales.mass * scales.length**2 * usual)
    return Reference(qdd, reaction, M, unit, pace, forces, magnification)


def _magnification(M: np.ndarray) -> np.ndarray:
    """How much more than usual M magnifies rounding at each state, from 1 to 10⁴; 1 where M is singular."""
    size = np.sqrt(np.abs(np.einsum("iis->si", M)))
    if not len(M) or not size.all():
        return np.ones(M.shape[-1])
    condition = np.linalg.cond(np.moveaxis(M, -1, 0) / (size[:, :, None] * size[:, None, :]))
    return np.where(condition < _SINGULAR, np.maximum(1.0, condition / _MAGNIFIED), 1.0)


def _or_usual(size: np.ndarray, usual: float) -> np.ndarray:
    """The size at each state, or the usual one where it is nothing beside that."""
    return np.where(size > _NOTHING * usual, size, usual)


def largest_differences(road: Road, states: States, known: Reference) -> tuple[float, float]:
    """The largest differences in q̈ and reactions over the states, relative to accelerations and forces of each state."""
    qdd = road.accelerations(states.q, states.qd, states.t)
    reaction = road.reactions(states.q, states.qd, states.t)
    gap = known.unit * (reaction - known.reaction)
    return difference_of_accelerations(qdd, known), largest_ratio(gap, known.energy)


def difference_of_accelerations(qdd: np.ndarray, known: Reference) -> float:
    """The largest difference in q̈ over the states, relative to the accelerations of each state."""
    return largest_ratio((qdd - known.qdd) / known.unit, known.pace)


def difference_of_momentum_rates(qdd: np.ndarray, qd: np.ndarray, known: Reference) -> float:
    """The largest difference in ṗ = M q̈ + Ṁ q̇ over the states, relative to the forces and the kinetic energy of each state.

    Formulations in momenta integrate ṗ(q, p). It depends on q̇ = M⁻¹ p, which loses the digits that the condition of M takes.
    Accelerations would be compared after a second solve with M, which loses them again and says nothing about ṗ.
    """
    gap = known.unit * np.einsum("ijs,js->is", known.M, qdd - known.qdd)
    kinetic = np.einsum("is,ijs,js->s", np.abs(qd), np.abs(known.M), np.abs(qd))
    return largest_ratio(gap, np.maximum(known.energy, kinetic) * known.magnification)


def largest_ratio(gap: np.ndarray, size: np.ndarray) -> float:
    """max |gap| / size; nan counts as infinite."""
    ratio = np.abs(gap).max(axis=0, initial=0.0) / size
    worst = float(ratio.max(initial=0.0))
    return worst if np.isfinite(worst) else float("inf")
