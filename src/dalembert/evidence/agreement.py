"""Agreement of the formulations at random consistent states, and the number of independent derivation lineages.

Formulations that depend on the same shared facts have the same lineage and count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Protocol

import numpy as np

from dalembert.arguments import documented_class
from dalembert.formalisms.shared.quantities import Fact, Lineage, group_by_lineage
from dalembert.mechanics.state_batch import States
from dalembert.model.scales import Scales
from dalembert.tables import Table, Tabular, format_cell

RECURSION: Lineage = ("recursion",)
PRINCIPLE: Lineage = ("positions",)
_ROUNDING = 1e-12  # relative to the model's scales: smaller values are rounding errors
# condition numbers of M: above the first it amplifies rounding errors, above the second M alone cannot be inverted
_MAGNIFIED, _SINGULAR = 1e4, 1e8


@dataclass(frozen=True)
class Verdict:
    """Result of the comparison for one formulation or another method for the same accelerations."""

    # agrees, differs, refused (not applicable), left out (the model is large); for programs also: not used
    status: str
    reason: str | None
    acceleration_difference: float | None
    reaction_difference: float | None
    lineage: Lineage = ()  # the shared facts it depends on; empty: no named fact

    @property
    def compared(self) -> bool:
        """True if numbers were compared."""
        return self.status in ("agrees", "differs")

    def to_dict(self) -> dict:
        """Return the result as a JSON-compatible dict."""
        return {**asdict(self), "lineage": list(self.lineage)}


@documented_class
@dataclass(frozen=True, repr=False)
class Agreement(Tabular):
    """Largest relative differences between the formulations, and reasons for those that do not apply.

    It is true if all agree.

    Attributes
    ----------
    model : str
        Name of the model.
    states : int
        Number of states at which all were compared.
    tolerance : float
        Largest relative difference that counts as agreement.
    engines : tuple of str
        The engines that evaluated the formulations.
    formalisms : mapping of str to Verdict
        Results by formulation.
    notes : tuple of str
        Remarks on fewer states than requested, limits of an engine, or omitted formulations.
    other_methods : mapping of str to Verdict
        Results of other methods by name, such as the recursion.
    programs : mapping of str to Verdict
        Results of the programs that runs integrate, by name.

    Examples
    --------
    >>> import dalembert as dl
    >>> agreement = dl.verify("simple-pendulum", states=5, engines=["python"])
    >>> bool(agreement), agreement.max_difference < 1e-10, agreement.formalisms["kane"].status
    (True, True, 'agrees')
    """

    model: str
    states: int  # states at which all were compared
    tolerance: float
    engines: tuple[str, ...]
    formalisms: Mapping[str, Verdict]
    notes: tuple[str, ...] = ()  # fewer states than requested, limits of an engine, models that are too large
    other_methods: Mapping[str, Verdict] = field(default_factory=dict)  # by name: other methods, such as the recursion
    programs: Mapping[str, Verdict] = field(default_factory=dict)  # by name: the programs that runs integrate

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """All results by name: formulations, other methods, and the programs that runs integrate."""
        return {**self.formalisms, **self.other_methods, **self.programs}

    @property
    def recursion(self) -> Verdict | None:
        """Result of the recursion from body to body; None for a model without bodies."""
        return self.other_methods.get("recursion")

    @property
    def principle(self) -> Verdict | None:
        """Result of d'Alembert's principle at the reference accelerations and reactions, from positions and declarations only."""
        return self.other_methods.get("d'Alembert's principle")

    @property
    def lineages(self) -> dict[Lineage, tuple[str, ...]]:
        """The compared methods grouped by the shared facts they depend on; programs are not listed."""
        methods = {**self.formalisms, **self.other_methods}
        return group_by_lineage({name: verdict.lineage for name, verdict in methods.items() if verdict.compared})

    @property
    def n_lineages(self) -> int:
        """Number of independent lineages that were compared: no two of them share a fact. See `lineages`."""
        return count_independent_lineages(self.lineages)

    @property
    def max_difference(self) -> float:
        """The largest relative difference."""
        pairs = [(verdict.acceleration_difference, verdict.reaction_difference) for verdict in self.verdicts.values()]
        return max((size for pair in pairs for size in pair if size is not None), default=0.0)

    @property
    def agrees(self) -> bool:
        """True if at least two methods were compared, at one state or more, and all agree within the tolerance."""
        compared = [verdict for verdict in self.verdicts.values() if verdict.compared]
        count = sum(verdict.compared for verdict in (*self.formalisms.values(), *self.other_methods.values()))
        return self.states > 0 and count > 1 and all(verdict.status == "agrees" for verdict in compared)

    def __bool__(self) -> bool:
        return self.agrees

    @property
    def sentence(self) -> str:
        """Summary in one sentence."""
        compared = [verdict for verdict in self.formalisms.values() if verdict.compared]
        differing = [name for name, verdict in self.verdicts.items() if verdict.status == "differs"]
        lineages = "1 lineage" if self.n_lineages == 1 else f"{self.n_lineages} independent lineages"
        states = "1 state" if self.states == 1 else f"{self.states} states"
        if not differing:
            begin = f"{len(compared)} formalisms of {lineages} agree at {states} of '{self.model}'"
        else:
            begin = f"The formalisms differ on '{self.model}' ({', '.join(differing)}), at {states}, {lineages}"
        return (
            f"{begin}: the largest relative difference is {self.max_difference:.2e} (tolerance "
            f"{self.tolerance:g}), engines {', '.join(self.engines)}."
        )

    def tables(self) -> tuple[Table, ...]:
        """Return a table with one row per method, grouped by lineage."""
        verdicts = self.verdicts
        methods = {**self.formalisms, **self.other_methods}
        names = [n for group in group_by_lineage({n: v.lineage for n, v in methods.items()}).values() for n in group]
        names += self.programs
        rows = []
        for name in names:
            found = verdicts[name]
            sizes = format_cell(found.acceleration_difference), format_cell(found.reaction_difference)
            rows.append((name, found.status, *sizes, ", ".join(found.lineage), found.reason or ""))
        columns = ("formalism", "status", "accelerations", "reactions", "lineage", "reason")
        return (Table(columns, tuple(rows), self.sentence, tuple(f"Note: {note}" for note in self.notes)),)

    def __repr__(self) -> str:
        found = "agree" if self.agrees else "do not agree"
        return f"<Agreement on '{self.model}': {len(self.lineages)} lineages {found} at {self.states} states>"

    def to_dict(self) -> dict:
        """Return the results as a JSON-compatible dict."""
        recursion, principle = self.recursion, self.principle
        return {
            "model": self.model,
            "states": self.states,
            "tolerance": self.tolerance,
            "engines": list(self.engines),
            "formalisms": {key: verdict.to_dict() for key, verdict in self.formalisms.items()},
            "recursion": recursion.to_dict() if recursion else None,
            "principle": principle.to_dict() if principle else None,
            "other_methods": {name: verdict.to_dict() for name, verdict in self.other_methods.items()},
            "programs": {name: verdict.to_dict() for name, verdict in self.programs.items()},
            "n_lineages": self.n_lineages,
            "lineages": [{"facts": list(facts), "by": list(names)} for facts, names in self.lineages.items()],
            "max_difference": self.max_difference,
            "agrees": self.agrees,
            "notes": list(self.notes),
        }


def count_independent_lineages(lineages: Iterable[Lineage]) -> int:
    """Return the largest number of lineages no two of which share a fact.

    Volterra's equations use T and sums over bodies, so they are not independent of one lineage of each:

    >>> count_independent_lineages([("T",), ("bodies",), ("T", "bodies")])
    2
    """
    different = sorted({frozenset(lineage) for lineage in lineages}, key=lambda facts: (len(facts), sorted(facts)))
    # if one lineage contains another, the smaller one excludes fewer lineages
    smallest = [facts for facts in different if not any(other < facts for other in different)]
    return _max_disjoint(smallest, frozenset())


def _max_disjoint(lineages: list[frozenset[Fact]], used: frozenset[Fact]) -> int:
    """Return the largest number of lineages that are disjoint from each other and from the used facts."""
    if not lineages:
        return 0
    first, *rest = lineages
    without = _max_disjoint(rest, used)
    return without if first & used else max(without, 1 + _max_disjoint(rest, used | first))


class Solvable(Protocol):
    """Equations that can be solved for accelerations and reactions at a batch of states."""

    def accelerations(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return q̈, (n, batch)."""
        ...

    def reactions(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return Aᵀλ + C, (n, batch)."""
        ...


@dataclass(frozen=True)
class Reference:
    """Reference values of the comparison, and the sizes that make differences relative."""

    qdd: np.ndarray
    reaction: np.ndarray
    M: np.ndarray  # (n, n, batch)
    unit: np.ndarray  # (n, 1), the scales of the coordinates: lengths and angles have equal weight
    acceleration_scale: np.ndarray  # at each state, 1/time²; larger if M amplifies rounding errors
    force_scale: np.ndarray  # at each state, times the scales of the coordinates
    magnification: np.ndarray  # factor by which M⁻¹ amplifies rounding errors at each state, beyond the usual


def reference(equations: Solvable, states: States, M: np.ndarray, scales: Scales) -> Reference:
    """Return the accelerations, reactions and sizes of the reference formulation; M is (n, n, batch).

    Where they vanish, accelerations and forces are relative to the scales of the model. Near a singular configuration (of
    Euler angles, for example) every formulation loses digits with the condition of M: accelerations are weighted less there.
    """
    qdd = equations.accelerations(states.q, states.qd, states.t)
    reaction = equations.reactions(states.q, states.qd, states.t)
    unit = scales.positions[:, None]
    inertia = (unit * np.einsum("ijs,js->is", np.abs(M), np.abs(qdd))).max(axis=0)
    force_scale = np.maximum(inertia, np.abs(unit * reaction).max(axis=0, initial=0.0))
    usual = scales.time**-2
    magnification = _magnification(M)
    acceleration_scale = _or_usual(np.abs(qdd / unit).max(axis=0), usual) * magnification
    force_scale = _or_usual(force_scale, scales.mass * scales.length**2 * usual)
    return Reference(qdd, reaction, M, unit, acceleration_scale, force_scale, magnification)


def _magnification(M: np.ndarray) -> np.ndarray:
    """Return the amplification of rounding errors by M⁻¹ at each state, from 1 to 10⁴; 1 if M is singular."""
    size = np.sqrt(np.abs(np.einsum("iis->si", M)))
    if not len(M) or not size.all():
        return np.ones(M.shape[-1])
    condition = np.linalg.cond(np.moveaxis(M, -1, 0) / (size[:, :, None] * size[:, None, :]))
    return np.where(condition < _SINGULAR, np.maximum(1.0, condition / _MAGNIFIED), 1.0)


def _or_usual(size: np.ndarray, usual: float) -> np.ndarray:
    """Return the size at each state, or the usual size where it is only rounding."""
    return np.where(size > _ROUNDING * usual, size, usual)


def largest_differences(equations: Solvable, states: States, known: Reference) -> tuple[float, float]:
    """Return the largest differences in q̈ and reactions, relative to the accelerations and forces of each state."""
    qdd = equations.accelerations(states.q, states.qd, states.t)
    reaction = equations.reactions(states.q, states.qd, states.t)
    gap = known.unit * (reaction - known.reaction)
    return difference_of_accelerations(qdd, known), largest_ratio(gap, known.force_scale)


def difference_of_accelerations(qdd: np.ndarray, known: Reference) -> float:
    """Return the largest difference in q̈ over the states, relative to the accelerations of each state."""
    return largest_ratio((qdd - known.qdd) / known.unit, known.acceleration_scale)


def difference_of_momentum_rates(qdd: np.ndarray, qd: np.ndarray, known: Reference) -> float:
    """Return the largest difference in ṗ = M q̈ + Ṁ q̇, relative to the forces and the kinetic energy of each state.

    Formulations in momenta integrate ṗ(q, p). It depends on q̇ = M⁻¹ p, which loses digits with the condition of M.
    Accelerations would require a second solve with M, which loses them again and is no measure of ṗ.
    """
    gap = known.unit * np.einsum("ijs,js->is", known.M, qdd - known.qdd)
    kinetic = np.einsum("is,ijs,js->s", np.abs(qd), np.abs(known.M), np.abs(qd))
    return largest_ratio(gap, np.maximum(known.force_scale, kinetic) * known.magnification)


def largest_ratio(gap: np.ndarray, size: np.ndarray) -> float:
    """Return max |gap| / size; NaN counts as infinite."""
    ratio = np.abs(gap).max(axis=0, initial=0.0) / size
    worst = float(ratio.max(initial=0.0))
    return worst if np.isfinite(worst) else float("inf")
