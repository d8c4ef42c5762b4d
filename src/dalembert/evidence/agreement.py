"""Do the formalisms agree? The same accelerations and reactions at random consistent states, by roads that share nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from dalembert.analysis import dynamics
from dalembert.evidence import principle
from dalembert.model import Model
from dalembert.structure.samples import States


class Road(Protocol):
    """Equations that give accelerations and reactions at a batch of states."""

    def accelerations(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """q̈, (n, batch)."""
        ...

    def reactions(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Aᵀλ, (n, batch)."""
        ...


@dataclass(frozen=True)
class Verdict:
    """What was found of one formalism."""

    status: str  # agrees, differs, refused (it cannot treat the model) or left out (the model is large)
    reason: str | None
    acceleration_difference: float | None
    reaction_difference: float | None


@dataclass(frozen=True)
class Agreement:
    """The largest relative differences between the formalisms, and the reasons of those that do not apply."""

    model: str
    states: int
    tolerance: float
    engines: tuple[str, ...]
    formalisms: Mapping[str, Verdict]
    notes: tuple[str, ...] = ()  # what an engine could not do, and what was left out as too large
    recursion: Verdict | None = None  # the O(n) recursion, for models made of bodies
    principle: Verdict | None = None  # d'Alembert's principle at the accelerations and reactions that were found

    @property
    def max_difference(self) -> float:
        """The largest relative difference of all."""
        found = [
            difference
            for verdict in self._verdicts
            for difference in (verdict.acceleration_difference, verdict.reaction_difference)
            if difference is not None
        ]
        return max(found, default=0.0)

    @property
    def agrees(self) -> bool:
        """True when every formalism that applies agrees within the tolerance."""
        return all(verdict.status != "differs" for verdict in self._verdicts)

    @property
    def _verdicts(self) -> list[Verdict]:
        return [*self.formalisms.values(), *(v for v in (self.recursion, self.principle) if v is not None)]

    def __bool__(self) -> bool:
        return self.agrees

    def to_dict(self) -> dict:
        """The findings as plain data."""
        return {
            "model": self.model,
            "states": self.states,
            "tolerance": self.tolerance,
            "engines": list(self.engines),
            "formalisms": {key: asdict(verdict) for key, verdict in self.formalisms.items()},
            "recursion": asdict(self.recursion) if self.recursion else None,
            "principle": asdict(self.principle) if self.principle else None,
            "max_difference": self.max_difference,
            "agrees": self.agrees,
            "notes": list(self.notes),
        }


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


def differences(road: Road, states: States, known: Reference) -> tuple[float, float]:
    """The largest differences in q̈ and Aᵀλ over the states, relative to accelerations and forces of each state."""
    qdd = road.accelerations(states.q, states.qd, states.t)
    reaction = road.reactions(states.q, states.qd, states.t)
    pace = np.abs(known.qdd).max(axis=0)
    return _relative(qdd - known.qdd, pace), _relative(reaction - known.reaction, known.force)


def compare_recursion(model: Model, states: States, known: Reference, tolerance: float) -> Verdict:
    """The accelerations by recursion from body to body against those of the formalisms."""
    qdd = dynamics.forward_dynamics(model, states.q, states.qd, None, states.t, friction=True)
    found = _relative(qdd - known.qdd, np.abs(known.qdd).max(axis=0))
    return Verdict("agrees" if found <= tolerance else "differs", None, found, None)


def check_principle(model: Model, states: States, known: Reference) -> Verdict:
    """The accelerations and reactions put into d'Alembert's principle, with positions and declarations alone."""
    found = principle.residual(model, states, known.qdd, known.reaction)
    sizes = found.largest
    differences = (max(sizes["motion"], sizes["acceleration"]), sizes["reaction"])
    if not found.broken:
        return Verdict("agrees", None, *differences)
    return Verdict("differs", _MEANING[found.broken[0]], *differences)


_MEANING = {
    "motion": "the forces do virtual work on displacements that the constraints admit",
    "position": "the states do not fulfil the declared constraints on position level",
    "velocity": "the states do not fulfil the declared constraints on velocity level",
    "acceleration": "the accelerations do not fulfil the declared constraints",
    "reaction": "the reactions are not what applied and inertia forces leave over",
}


def _relative(gap: np.ndarray, size: np.ndarray) -> float:
    """max |gap| / size, where states at which nothing happens count absolutely; nan counts as infinite."""
    ratio = np.abs(gap).max(axis=0, initial=0.0) / np.where(size > 1e-12, size, 1.0)
    worst = float(ratio.max(initial=0.0))
    return worst if np.isfinite(worst) else float("inf")
