"""The size of the differences: accelerations and reactions of one road against those of another, state by state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.mechanics.state_batch import States
from dalembert.model.scales import Scales

_NOTHING = 1e-12  # of the model's own scales: what is smaller is rounding
_MAGNIFIED, _SINGULAR = (
    1e4,
    1e8,
)  # condition numbers of M: above the first it magnifies rounding, above the second it cannot be solved alone


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
