"""Coordinates that are singular at a state, such as polar ones at r = 0: a rate moves nothing there, but does nearby."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.mechanics import rank
from dalembert.mechanics.constraint_levels import Levels
from dalembert.mechanics.state_batch import States, constraint_matrix, mass_matrices, one_state
from dalembert.model.description import Elements
from dalembert.model.scales import Scales

_NOTHING = 1e-13  # of the inertia at a neighbouring state: what is smaller is none
_ASIDE = 0.3  # scales of a coordinate to the neighbouring states
_SHARE = 1e-6  # of the largest part of a direction: what is smaller does not take part


def singular_coordinates(
    model: Elements,
    levels: Levels,
    scales: Scales,
    q: np.ndarray,
    t: float = 0.0,
    parameters: Mapping[str, float] | None = None,
) -> str | None:
    """A sentence that names the coordinates that are singular at a state, or None where they are regular.

    They are where a motion that the constraints admit has no inertia, although it has some at neighbouring states.
    """
    unit, state = scales.positions, one_state(q, t=t)
    with np.errstate(all="ignore"):
        A = np.nan_to_num(constraint_matrix(model, levels, state, parameters)[0])
        M = np.nan_to_num(mass_matrices(model, state, parameters)[0])
        _, free = rank.split(A, unit)
        if not free.size:
            return None
        energies, ways = np.linalg.eigh(free.T @ M @ free)
        direction = free @ ways[:, 0]
        aside = States(q[:, None] + _ASIDE * np.diag(unit), np.zeros((len(q), len(q))), np.full(len(q), t))
        near = np.einsum("i,kij,j->k", direction, np.nan_to_num(mass_matrices(model, aside, parameters)), direction)
    causes = np.flatnonzero(near > 0)
    if not len(causes) or energies[0] > _NOTHING * near.max():
        return None
    causes = np.flatnonzero(near > 1e-3 * near.max())
    taking_part = np.flatnonzero(np.abs(direction / unit) > _SHARE * np.abs(direction / unit).max())
    names = [model.coordinate_names[i] for i in sorted({*causes.tolist(), *taking_part.tolist()})]
    place = ", ".join(f"{model.coordinate_names[i]} = {q[i]:.6g}" for i in causes)
    many, are = ("coordinates", "are") if len(names) > 1 else ("coordinate", "is")
    rates = ", ".join(model.coordinate_names[i] for i in taking_part)
    return (
        f"the {many} {', '.join(names)} {are} singular at {place}: a rate of {rates} moves nothing there. Start next to this "
        "state, or describe the system by coordinates that are regular there, such as Cartesian ones or a quaternion"
    )
