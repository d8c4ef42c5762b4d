"""Mobility: how many ways a system can move, which constraints say nothing new, and where it is singular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.api.load import accepts_source
from dalembert.mechanics import random_states, rank
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.mechanics.facts import Facts, facts_of
from dalembert.mechanics.state_batch import constraint_matrix, joined, one_state
from dalembert.model.description import Elements
from dalembert.tables import Table, Tabular

_AROUND = 6  # states that the initial one is compared with
_NEARLY = 1e-6  # told when the constraints are so much less independent at the start than elsewhere


@dataclass(frozen=True, repr=False)
class Mobility(Tabular):
    """The counts of a model, and what to beware of."""

    coordinates: int
    constraints: int
    degrees_of_freedom: int
    independent: tuple[str, ...]
    redundant: tuple[str, ...]
    ignorable: tuple[str, ...]
    regular_mass: bool
    rank_at_start: int
    warnings: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """The counts, and the names behind them."""
        rows = [
            ("degrees of freedom", str(self.degrees_of_freedom), ""),
            ("coordinates", str(self.coordinates), ""),
            ("ignorable coordinates", str(len(self.ignorable)), ", ".join(self.ignorable)),
            ("constraints", str(self.constraints), ""),
            ("independent constraints", str(len(self.independent)), "; ".join(self.independent)),
            ("redundant constraints", str(len(self.redundant)), "; ".join(self.redundant)),
        ]
        return (Table(("mobility", "count", "names"), tuple(rows), "", self.warnings),)

    def __repr__(self) -> str:
        return f"<Mobility: {self.degrees_of_freedom} degrees of freedom, {self.coordinates} coordinates>"


@accepts_source
def mobility(model: Elements) -> Mobility:
    """Degrees of freedom, redundant constraints by name, and singular configurations.

    >>> import dalembert as dl
    >>> mobility(dl.load("cart-pendulum")).degrees_of_freedom
    2
    """
    model.require_sound()
    written = with_contacts(model)
    return report(written, facts_of(written))


def report(model: Elements, known: Facts) -> Mobility:
    """The mobility report of a model whose structure is known; contacts must be written as formulas already."""
    names = known.levels.names
    rank, weakest = _at_start(model, known)
    warnings = []
    if rank < len(known.rows):
        warnings.append(
            f"singular configuration: at the initial state only {rank} of {len(known.rows)} independent constraints act, "
            f"so the system can move in {len(model.generalized_coordinates) - rank} ways at this instant"
        )
    elif weakest < _NEARLY:
        warnings.append(
            f"nearly singular configuration at the initial state: the constraints are {weakest:.2g} times as independent as "
            "elsewhere"
        )
    if known.rank_note:
        warnings.append(known.rank_note)
    if known.nearly_dependent:
        warnings.append(
            f"the constraints are nearly dependent everywhere: by {known.independence:.2g}, where 1 is independent"
        )
    if not known.regular_mass:
        warnings.append("the mass matrix is singular; only formalisms that do not invert it apply")
    warnings += [
        f"the constraint '{c.name}' contains momenta: it restricts states, not ways to move, and is not counted here"
        for c in model.canonical_constraints
    ]
    return Mobility(
        len(model.generalized_coordinates),
        len(names),
        known.d,
        tuple(names[i] for i in known.rows),
        known.dropped,
        tuple(model.coordinate_names[i] for i in known.ignorable),
        known.regular_mass,
        rank,
        tuple(warnings),
    )


def _at_start(model: Elements, known: Facts) -> tuple[int, float]:
    """The rank of A at the initial state, and how independent its rows are there compared with elsewhere."""
    if not known.rows:
        return 0, 1.0
    states = joined(one_state(*model.initial), random_states.consistent(model, _AROUND))
    A = known.dimensionless(constraint_matrix(model, known.levels, states))[:, known.rows]
    unit = known.scales.positions
    # rows are measured by their usual size, not by what is left of them at the start
    lengths = np.linalg.norm(A * unit, axis=2)
    left = lengths[0] / np.median(lengths[1:], axis=0)
    found = rank.independence(A, unit)
    told = rank.numeric_rank(A[0] * (left > rank.TOLERANCE)[:, None], unit)
    return int(told), float(min(left.min(), found[0] / np.median(found[1:])))
