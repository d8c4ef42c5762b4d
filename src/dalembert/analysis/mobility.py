"""Mobility: how many ways a system can move, which constraints say nothing new, and where it is singular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import numbers
from dalembert.model import Model
from dalembert.structure import Facts, samples
from dalembert.structure.samples import States


@dataclass(frozen=True)
class Mobility:
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

    def __str__(self) -> str:
        lines = [
            f"{self.degrees_of_freedom} degrees of freedom: {self.coordinates} coordinates, "
            f"{len(self.independent)} independent of {self.constraints} constraints"
        ]
        if self.redundant:
            lines.append(f"redundant constraints: {', '.join(self.redundant)}")
        if self.ignorable:
            lines.append(f"ignorable coordinates: {', '.join(self.ignorable)}")
        return "\n".join([*lines, *self.warnings])


def mobility(model: Model, known: Facts) -> Mobility:
    """The mobility report of a model whose structure is known; contacts must be written as formulas already."""
    names = known.levels.names
    rank, weakest = _at_start(model, known)
    warnings = []
    if rank < len(known.rows):
        warnings.append(
            f"singular configuration: at the initial state only {rank} of {len(known.rows)} independent constraints act, "
            f"so the system can move in {len(model.coordinate_list) - rank} ways at this instant"
        )
    elif weakest < 1e-6:
        warnings.append(f"nearly singular configuration at the initial state: smallest singular value {weakest:.2g}")
    if not known.regular_mass:
        warnings.append("the mass matrix is singular; only formalisms that do not invert it apply")
    warnings += [
        f"the constraint '{c.name}' contains momenta: it restricts states, not ways to move, and is not counted here"
        for c in model.canonical_list
    ]
    return Mobility(
        len(model.coordinate_list),
        len(names),
        known.d,
        tuple(names[i] for i in known.rows),
        known.dropped,
        tuple(model.coordinate_names[i] for i in known.ignorable),
        known.regular_mass,
        rank,
        tuple(warnings),
    )


def _at_start(model: Model, known: Facts) -> tuple[int, float]:
    """The rank of A at the initial state, and its smallest relative singular value."""
    if not known.rows:
        return 0, 1.0
    q, qd = model.initial
    around = samples.consistent(model, 6)
    states = States(
        *(
            np.concatenate([a, b], axis=-1)
            for a, b in ((q[:, None], around.q), (qd[:, None], around.qd), ([0.0], around.t))
        )
    )
    A = numbers(samples.constraints_at(model, known.levels, states).A, len(states))[list(known.rows)]
    # rows are measured by their usual size, not by what is left of them at the start
    usual = np.linalg.norm(A, axis=1).mean(axis=1)
    A = A[:, :, 0] / usual[:, None]
    sizes = np.linalg.svd(A, compute_uv=False)
    return int((sizes > 1e-9).sum()), float(sizes.min())
