"""The principle itself: accelerations put into d'Alembert's principle, with nothing but positions and declarations.

    Σ (F − m r̈)·δr + w·C = 0     for all virtual displacements δr that the constraints admit

r̈ and δr come from numerical differentiation of positions (`watch`), positions from a walk of its own (`places`), forces and
constraints from the words of the declarations (`declared_forces`, `declared_constraints`). Nothing but the reading of formulas is
shared with `kinematics`, the formalisms or the recursion, so a wrong Jacobian, load, contact or sign there shows here.

What is left over of Σ (F − m r̈)·δr on the forbidden displacements is the reaction of the constraints, with the sign reversed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.evidence.numeric_differentiation import watch
from dalembert.evidence.reference_constraints import declared_conditions, declared_work, inertias, non_ideal_work
from dalembert.mechanics.rank import TOLERANCE
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Elements
from dalembert.model.reference_model import Condition, Level

# Differentiation is exact to rounding, and equations that were solved are fulfilled to rounding also where they are badly
# conditioned: 2e-14 is the largest residual over the gallery, at 200 states each. A force that is wrong by 1e-9 shows. States
# are asked to fulfil the constraints to 1e-9 in their own units, and accelerations on curved constraints inherit a part of it.
TOLERANCES = {"motion": 1e-11, "position": 1e-7, "velocity": 1e-7, "acceleration": 1e-10, "reaction": 1e-11}


@dataclass(frozen=True)
class Residual:
    """What is left over at every state (K,), relative to the size of what cancels. None: it was not asked."""

    motion: np.ndarray  # virtual work on the displacements that the constraints admit
    position: np.ndarray  # the declared constraints at q
    velocity: np.ndarray  # and at q̇
    acceleration: np.ndarray  # and at q̈
    reaction: np.ndarray | None

    @property
    def worst(self) -> float:
        """The largest of all; infinite where something has no value."""
        return max(self.largest.values())

    @property
    def broken(self) -> tuple[str, ...]:
        """The kinds that are beyond their tolerance, the worst first; none when the principle is fulfilled."""
        excess = {kind: size / TOLERANCES[kind] for kind, size in self.largest.items()}
        return tuple(sorted((kind for kind in excess if excess[kind] > 1), key=lambda kind: -excess[kind]))

    @property
    def largest(self) -> Mapping[str, float]:
        """The largest residual of every kind."""
        parts = {kind: getattr(self, kind) for kind in TOLERANCES}
        return {kind: float(part.max(initial=0.0)) for kind, part in parts.items() if part is not None}


def residual(
    model: Elements,
    states: States,
    qdd: np.ndarray,
    reactions: np.ndarray | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
) -> Residual:
    """How far accelerations q̈ (n, K), and the reactions Aᵀλ + C where given, are from fulfilling the principle.

    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum")
    >>> eom = dl.derive(model, "kane", engine="python")
    >>> states = States(np.array([[0.3]]), np.array([[1.2]]), np.zeros(1))
    >>> qdd = eom.accelerations(states.q, states.qd, states.t)
    >>> residual(model, states, qdd).worst < 1e-14
    True
    >>> residual(model, states, 1.001 * qdd).worst > 1e-4
    True
    """
    with np.errstate(all="ignore"):
        seen = watch(model, states, np.asarray(qdd, dtype=float), parameters)
        works, C = declared_work(seen), non_ideal_work(seen)
        conditions = declared_conditions(seen)
        slopes = _stacked([c.slopes for c in conditions], seen.n, seen.K)
        scale = _scale(inertias(seen), slopes)
        left = sum((work.value for work in works), start=np.zeros_like(qdd))
        force = scale * sum((work.size for work in works), start=np.abs(C))
        size = np.sqrt(np.sum(force**2, axis=0))
        admitted = _admitted(slopes * scale, scale * (left + C))
        reaction = None if reactions is None else _ratio(np.abs(scale * (reactions + left)).max(axis=0), size)
        return Residual(
            _ratio(np.sqrt(np.sum(admitted**2, axis=0)), size),
            _broken(conditions, "position", scale, states.q),
            _broken(conditions, "velocity", scale, states.qd),
            _broken(conditions, "acceleration", scale, seen.qdd, size),
            reaction,
        )


def _stacked(parts: Sequence[np.ndarray], n: int, K: int) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros((0, n, K))


def _scale(inertia: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """A unit for every coordinate (n, K) in which all have the inertia one: units of length and angle drop out.

    A coordinate without inertia gets a unit in which the constraints weigh it like the others.
    """
    heavy = inertia > 1e-28 * inertia.max(axis=0, initial=0.0)  # only rounding is below: units of 1e-9 are not
    scale = np.where(heavy, 1 / np.sqrt(np.where(heavy, inertia, 1.0)), 0.0)
    weighed = np.abs(slopes * scale).max(axis=1, initial=0.0)
    shares = np.abs(slopes) / np.where(weighed > 0, weighed, 1.0)[:, None]
    share = shares.max(axis=0, initial=0.0)
    return np.where(heavy, scale, 1 / np.where(share > 0, share, 1.0))


def _admitted(rows: np.ndarray, force: np.ndarray) -> np.ndarray:
    """The part of a force (n, K) that works on displacements with rows · δq = 0; all in units of equal inertia."""
    if not len(rows):
        return force
    lengths = np.sqrt(np.sum(rows**2, axis=1))
    level = np.moveaxis(rows / np.where(lengths > 0, lengths, 1.0)[:, None], -1, 0)
    level = np.where(np.isfinite(level), level, 0.0)
    _, sigma, Vt = np.linalg.svd(level, full_matrices=False)
    kept = sigma > TOLERANCE * sigma.max(axis=1, initial=0.0, keepdims=True)
    forbidden = Vt * kept[:, :, None]
    return force - np.einsum("Krn,Krm,mK->nK", forbidden, forbidden, force)


def _broken(
    conditions: Sequence[Condition], level: str, scale: np.ndarray, x: np.ndarray, force: np.ndarray | float = 0.0
) -> np.ndarray:
    """The largest relative violation of the constraints on one level, where x is q, q̇ or q̈.

    `force` is the size of the forces, which in units of equal inertia is that of the accelerations they could cause: where
    constraints leave no motion, the accelerations are its rounding errors.
    """
    reach = np.sqrt(np.sum((x / scale) ** 2, axis=0)) + force
    out = np.zeros(x.shape[1])
    for condition in conditions:
        asked: Level | None = getattr(condition, level)
        if asked is not None:
            weight = np.sqrt(np.sum((condition.slopes * scale) ** 2, axis=1))
            rest = np.abs(asked.value - np.einsum("mnk,nk->mk", condition.slopes, x))
            ratios = _ratio(np.abs(asked.value), asked.size + weight * reach + rest)
            out = np.maximum(out, ratios.max(axis=0, initial=0.0))
    return out


def _ratio(value: np.ndarray, size: np.ndarray) -> np.ndarray:
    """value / size, zero where the value is; infinite where there is no number."""
    ratio = np.where(value == 0, 0.0, value / np.where(size > 0, size, np.finfo(float).tiny))
    return np.where(np.isfinite(ratio), ratio, np.inf)
