"""Random states that satisfy the constraints, in the scales and time span of the model.

Structural facts (rank, pivots, choice of speeds) are determined at several of these states, not at one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.errors import InconsistentStateError
from dalembert.mechanics import newton, rank
from dalembert.mechanics.applied_forces import active_forces, generalized_forces
from dalembert.mechanics.constraint_levels import Levels, levels
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.state_batch import (
    Parameters,
    States,
    concatenate,
    constraint_matrix,
    constraints_at,
    motion_at,
    one_state,
    random_guesses,
    row_sizes,
)
from dalembert.model.description import Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.algebra_base import identity, stack, vector
from dalembert.symbolic.floats import numbers

_SEED = 1743
_ROUNDS = 60
_WIDE_ROUNDS = 8  # rounds that draw over the full span before the draws contract toward the initial state
_RANK_STATES = 20  # states that determine the most frequent rank
_SINGULAR = 1e-3  # states with a smaller fraction of the median independence are near a singular position


def consistent_states(
    model: Elements, count: int, *, seed: int = _SEED, parameters: Parameters = None, include_initial: bool = False
) -> States:
    """`count` random states on the constraints, around the model's initial state, from a fixed seed.

    Coordinates are drawn within one scale of the initial state, times within the duration of the model. If the
    constraints cannot be satisfied there, states closer to the initial state are tried.

    >>> from dalembert.model.model import Model
    >>> model = Model("free").parameters(m=1.0).coordinates("x")
    >>> consistent_states(model, 3).q.shape
    (1, 3)
    """
    facts, scales = levels(model), scales_of(model)
    projector = Projector(model, facts, scales, parameters)
    accepted = [projector(one_state(*model.initial))] if include_initial else []
    for min_guesses in (0, _RANK_STATES):
        found = _draw_consistent(projector, count, min_guesses, np.random.default_rng(seed), accepted)
        if len(found) >= count:
            return found.where(np.arange(count))
    raise InconsistentStateError(
        f"model '{model.name}': only {len(found)} of {count} random states could be projected onto the constraints"
        f"{projector.failure_note}. Expected a neighborhood of the initial state in which the constraints can be satisfied. "
        "Start the model from a state that satisfies them."
    )


def _draw_consistent(
    projector: Projector, count: int, min_guesses: int, rng: np.random.Generator, accepted: Sequence[States]
) -> States:
    """Add states to `accepted` until there are `count`; each round draws the missing ones, at least `min_guesses`.

    A few states may all lie on a singular branch and give a wrong generic rank; many states reveal the generic branch.
    """
    model, facts, scales, parameters = projector.model, projector.facts, projector.scales, projector.parameters
    found = list(accepted)
    for round_ in range(_ROUNDS):
        missing = count - sum(len(s) for s in found)
        if missing <= 0:
            break
        width = 0.5 ** max(0, (round_ - _WIDE_ROUNDS) // 4)
        good = projector(random_guesses(model, rng, max(missing, min_guesses), scales, width))
        found.append(_regular(model, facts, _defined(model, good, parameters), found, scales, parameters))
    return concatenate(*found)


def _defined(model: Elements, states: States, parameters: Parameters) -> States:
    """The states at which energies and forces are finite, without roots of negative numbers."""
    with np.errstate(all="ignore"):
        motion = motion_at(model, states, parameters)
        energies = vector([kinetic(motion, motion.qd), potential(motion)])
        forces = stack(generalized_forces(motion), active_forces(motion, identity(motion.n)))
        good = np.isfinite(numbers(stack(energies, forces), len(states))).all(axis=0)
    return states.where(np.asarray(good))


def _regular(
    model: Elements, facts: Levels, states: States, accepted: list[States], scales: Scales, parameters: Parameters
) -> States:
    """The states without those near a singular position, where constraints are almost dependent."""
    if not facts.names or not len(states):
        return states
    all_states = concatenate(*accepted, states)
    with np.errstate(all="ignore"):
        A = np.nan_to_num(constraint_matrix(model, facts, all_states, parameters))
    found = rank.relative_singular_values(A, scales.positions)
    counted = found > rank.TOLERANCE
    # on a singular branch, such as a folded linkage, more constraints are dependent than elsewhere
    generic_rank = int(np.bincount(counted.sum(axis=1)).argmax())
    smallest = np.where(counted, found, np.inf).min(axis=1, initial=np.inf)
    smallest = np.where(np.isfinite(smallest), smallest, 0.0)
    good = (smallest >= _SINGULAR * np.median(smallest)) & (counted.sum(axis=1) == generic_rank)
    # and entire rows may vanish, as those of a flattened parallelogram
    lengths = np.linalg.norm(A * scales.positions, axis=2)
    good &= (lengths >= _SINGULAR * np.median(lengths, axis=0)).all(axis=1)
    return states.where(good[-len(states) :])


def project(model: Elements, facts: Levels, states: States, parameters: Parameters = None) -> States:
    """Project states onto the constraints by Newton's method; states that do not converge are removed."""
    return Projector(model, facts, scales_of(model), parameters)(states)


@dataclass
class Projector:
    """Projects states onto the constraints, positions first, then velocities, and records the nearest failure."""

    model: Elements
    facts: Levels
    scales: Scales
    parameters: Parameters
    smallest_failure: float = np.inf
    failure_note: str = ""

    @cached_property
    def sizes(self) -> np.ndarray:
        """Characteristic size of each row."""
        return row_sizes(self.model, self.facts, self.scales, parameters=self.parameters)

    @cached_property
    def rows(self) -> list[int]:
        """The rows to satisfy, without servo constraints: feedback acts only off the target."""
        return [i for i, driven in enumerate(self.facts.servo) if not driven]

    @cached_property
    def position_rows(self) -> list[int]:
        """Those of them that constrain positions."""
        return [i for i in self.rows if i < self.facts.n_holonomic]

    def __call__(self, states: States) -> States:
        """The states on the constraints, without those that do not converge."""
        if self.position_rows:
            found = self.level(states, position=True)
            self._remember(found, self.position_rows, "position")
            states = States(found.x.T, states.qd, states.t).where(found.converged)
        if self.rows and len(states):
            found = self.level(states, position=False)
            self._remember(found, self.rows, "velocity")
            states = States(states.q, found.x.T, states.t).where(found.converged)
        return states

    def level(
        self, states: States, *, position: bool, root: newton.Root | None = None, max_evaluations: float = np.inf
    ) -> newton.Projected:
        """Project positions on the position rows, or velocities on all rows; the options are those of `newton.project`."""
        rows = self.position_rows if position else self.rows

        def evaluate(x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            here = States(x.T, states.qd[:, which], states.t[which]) if position else states.where(which)
            here = here if position else States(here.q, x.T, here.t)
            known = constraints_at(self.model, self.facts, here, self.parameters)
            A = np.moveaxis(numbers(known.A, len(here)), -1, 0)
            return numbers(known.phi if position else known.velocity, len(here)).T[:, rows], A[:, rows]

        start, scale = (states.q, self.scales.positions) if position else (states.qd, self.scales.velocities)
        sizes = self.sizes[rows] / (1.0 if position else self.scales.time)
        return newton.project(evaluate, start.T, scale, sizes, root, max_evaluations=max_evaluations)

    def _remember(self, found: newton.Projected, rows: list[int], level: str) -> None:
        worst = found.relative_residual.max(axis=1, initial=0.0)
        failed = np.flatnonzero(~found.converged & (worst < self.smallest_failure))
        if len(failed):
            k = failed[int(np.argmin(worst[failed]))]
            i = int(np.argmax(found.relative_residual[k]))
            self.smallest_failure = float(worst[k])
            name = self.facts.names[rows[i]]
            self.failure_note = (
                f"; the nearest has a residual of {found.residual[k, i]:.6g} in '{name}' at {level} level"
            )
