"""The size of the differences: accelerations and reactions of one road against those of another, state by state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.structure.samples import States


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
    force: np.ndarray  # size of the forces at play at each state


def reference(road: Road, states: States, M: np.ndarray) -> Reference:
    """Accelerations, reactions and force sizes of the first road; M is (n, n, batch)."""
    qdd = road.accelerations(states.q, states.qd, states.t)
    reaction = road.reactions(states.q, states.qd, states.t)
    inertia = np.einsum("ijs,js->is", np.abs(M), np.abs(qdd)).max(axis=0)
    return Reference(qdd, reaction, np.maximum(inertia, np.abs(reaction).max(axis=0, initial=0.0)))


def largest_differences(road: Road, states: States, known: Reference) -> tuple[float, float]:
    """The largest differences in q̈ and reactions over the states, relative to accelerations and forces of each state."""
    qdd = road.accelerations(states.q, states.qd, states.t)
    reaction = road.reactions(states.q, states.qd, states.t)
    return difference_of_accelerations(qdd, known), _relative(reaction - known.reaction, known.force)


def difference_of_accelerations(qdd: np.ndarray, known: Reference) -> float:
    """The largest difference in q̈ over the states, relative to the accelerations of each state."""
    return _relative(qdd - known.qdd, np.abs(known.qdd).max(axis=0))


def _relative(gap: np.ndarray, size: np.ndarray) -> float:
    """max |gap| / size, where states at which nothing happens count absolutely; nan counts as infinite."""
    ratio = np.abs(gap).max(axis=0, initial=0.0) / np.where(size > 1e-12, size, 1.0)
    worst = float(ratio.max(initial=0.0))
    return worst if np.isfinite(worst) else float("inf")
