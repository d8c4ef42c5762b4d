"""A model evaluated numerically at a batch of states: motion, mass matrix, constraint rows; random consistent states.

Structural facts (rank, pivots, choice of speeds) are determined at several of these states, not at one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.codegen.linear_algebra import inverse
from dalembert.errors import InconsistentStateError
from dalembert.mechanics import newton, rank
from dalembert.mechanics.constraint_levels import Constraints, Levels, levels
from dalembert.mechanics.energies import active_forces, generalized_forces, kinetic, mass_matrix, potential
from dalembert.mechanics.motion import Motion, move, values
from dalembert.model.description import Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, stack, vector
from dalembert.symbolic.floats import FLOATS, ONE_STATE, number, numbers
from dalembert.symbolic.symbols import Formula, Lowering, rate

Parameters = Mapping[str, float] | None  # None: the default values
_TIME_PAST_SWITCH = 1.5  # times are drawn up to this multiple of the last switching time
_SEED = 0
_NEARBY_STATES = 4


@dataclass(frozen=True)
class States:
    """A batch of states: q and qd of shape (n, K), t of shape (K,)."""

    q: np.ndarray
    qd: np.ndarray
    t: np.ndarray

    def __len__(self) -> int:
        return len(self.t)

    def where(self, good: np.ndarray) -> States:
        """The states selected by an index array or a boolean mask."""
        return States(self.q[:, good], self.qd[:, good], self.t[good])


def one_state(q: np.ndarray, qd: np.ndarray | None = None, t: float = 0.0) -> States:
    """A batch of one state; at rest by default."""
    return States(q[:, None], np.zeros((len(q), 1)) if qd is None else qd[:, None], np.array([t]))


def concatenate(*parts: States) -> States:
    """Concatenate batches of states."""
    return States(*(np.concatenate([getattr(s, name) for s in parts], axis=-1) for name in ("q", "qd", "t")))


def random_guesses(
    model: Elements, rng: np.random.Generator, count: int, scales: Scales | None = None, width: float = 1.0
) -> States:
    """Random states around the initial state, not yet projected onto the constraints; times within the duration.

    If formulas switch after the duration, half of the times are drawn up to well after the last switch.
    """
    known = scales or scales_of(model)
    q0, _ = model.initial
    n = len(q0)
    q = q0[:, None] + width * known.positions[:, None] * rng.uniform(-1, 1, (n, count))
    qd = known.velocities[:, None] * rng.uniform(-1, 1, (n, count))
    last = _TIME_PAST_SWITCH * known.last if known.last > known.duration else known.duration
    end = np.where(rng.uniform(0, 1, count) < 0.5, known.duration, last)
    return States(q, qd, width * end * rng.uniform(0, 1, count))


def motion_at(model: Elements, states: States, parameters: Parameters = None) -> Motion:
    """The motion of the model, evaluated numerically at a batch of states."""
    return move(model, *_scalars(states), dict(model.parameter_values if parameters is None else parameters))


def formulas_at(model: Elements, states: States, parameters: Parameters = None) -> Motion:
    """Like `motion_at`, without the body recursion: sufficient for formula constraints and speeds."""
    known = dict(model.parameter_values if parameters is None else parameters)
    algebra, t, q, qd = _scalars(states)
    lower = Lowering(algebra, values(model, t, list(q), list(qd), known))
    return Motion(model, algebra, t, q, qd, lower, (), ())


def constraints_at(model: Elements, facts: Levels, states: States, parameters: Parameters = None) -> Constraints:
    """The constraints at a batch of states; bodies are evaluated only if there are loops."""
    return Constraints((motion_at if model.loops else formulas_at)(model, states, parameters), facts)


def constraint_matrix(model: Elements, facts: Levels, states: States, parameters: Parameters = None) -> np.ndarray:
    """A at all states, with shape (K, rows, n)."""
    A = constraints_at(model, facts, states, parameters).A
    return np.moveaxis(numbers(A, len(states)), -1, 0)


def mass_matrices(model: Elements, states: States, parameters: Parameters = None) -> np.ndarray:
    """The mass matrix at all states, with shape (K, n, n)."""
    if model.energies is None:
        return np.moveaxis(numbers(mass_matrix(motion_at(model, states, parameters)), len(states)), -1, 0)
    momenta = tuple(se.diff(model.energies.kinetic, rate(name)) for name in model.coordinate_names)
    return velocity_derivatives(model, momenta, states, parameters)


def velocity_derivatives(
    model: Elements, formulas: tuple[Formula, ...], states: States, parameters: Parameters = None
) -> np.ndarray:
    """The derivatives of formulas with respect to the velocities at all states, with shape (K, formulas, n)."""
    out = np.zeros((len(states), len(formulas), len(states.q)))
    lower = formulas_at(model, states, parameters).lower
    for i, formula in enumerate(formulas):
        for j, name in enumerate(model.coordinate_names):
            out[:, i, j] = number(lower(se.diff(formula, rate(name))))
    return out


def _scalars(states: States) -> tuple[Algebra, Scalar, Array, Array]:
    """The algebra, and t, q and qd as its scalars: batches, or NumPy numbers for one state, where 1/0 is infinite."""
    if len(states) == 1:
        return ONE_STATE, states.t[0], vector(list(states.q[:, 0])), vector(list(states.qd[:, 0]))
    return FLOATS, states.t, vector(list(states.q)), vector(list(states.qd))


@dataclass(frozen=True)
class SampledRows:
    """All constraint rows at sample states, each divided by its size, so that rounding errors are recognized."""

    sizes: np.ndarray  # (k,)
    A: np.ndarray  # (K, k, n), rows divided by their sizes
    independent: tuple[int, ...]

    @property
    def a(self) -> np.ndarray:
        """The independent rows."""
        return self.A[:, list(self.independent)]


def rows_at(
    model: Elements, facts: Levels, states: States, scales: Scales, chosen: tuple[int, ...] | None = None
) -> SampledRows:
    """The constraint rows of a model at states; `chosen` are independent rows that were selected before."""
    sizes = row_sizes(model, facts, scales, states)
    A = dimensionless(constraint_matrix(model, facts, states), scales.positions, sizes)
    return SampledRows(sizes, A, chosen or rank.independent_rows(A, scales.positions))


def dimensionless(A: np.ndarray, scale: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A (…, k, n) with every row divided by its size; rows that are only rounding errors are set to zero."""
    rows = A * inverse(sizes > 0, sizes, 1.0)[..., :, None]
    long = np.linalg.norm(rows * scale[..., None, :], axis=-1) > rank.ROUNDING
    return np.where(long[..., None], rows, 0.0)


def row_sizes(
    model: Elements, facts: Levels, scales: Scales, states: States | None = None, parameters: Parameters = None
) -> np.ndarray:
    """Size of the terms of every row if each coordinate changes by its scale; for a loop, the model length or one radian.

    Evaluated at `states`, by default at the initial state and at random states near it.
    """
    if states is None:
        states = concatenate(
            one_state(*model.initial), random_guesses(model, np.random.default_rng(_SEED), _NEARBY_STATES, scales)
        )
    terms, h, formula_rows = _Terms(formulas_at(model, states, parameters).lower), len(facts.phi), []
    with np.errstate(all="ignore"):
        for row in facts.A:
            entries = [
                np.abs(np.broadcast_to(terms(f), len(states))) * x for f, x in zip(row, scales.positions, strict=True)
            ]
            formula_rows.append(float(np.linalg.norm(np.nan_to_num(entries), axis=0).max()))
    loops = [scales.length if long else 1.0 for loop in model.loops for long in loop.joint.holds_lengths]
    return np.array([*formula_rows[:h], *loops, *formula_rows[h:]])


class _Terms:
    """The sum of the absolute values of a formula's terms: the reference for rounding errors if the terms cancel."""

    def __init__(self, lower: Lowering) -> None:
        self._lower = lower
        self._done: dict[Formula, np.ndarray] = {}

    def __call__(self, formula: Formula) -> np.ndarray:
        if formula not in self._done:
            self._done[formula] = self._size(formula)
        return self._done[formula]

    def _size(self, formula: Formula) -> np.ndarray:
        if isinstance(formula, se.Add):
            return np.sum(np.broadcast_arrays(*(self(term) for term in formula.args)), axis=0)
        if isinstance(formula, se.Mul):
            return np.prod(np.broadcast_arrays(*(self(factor) for factor in formula.args)), axis=0)
        return np.abs(np.asarray(number(self._lower(formula)), dtype=float))


_STATES_SEED = 1743
_ROUNDS = 60
_WIDE_ROUNDS = 8  # rounds that draw over the full span before the draws contract toward the initial state
_RANK_STATES = 20  # states that determine the most frequent rank
_SINGULAR = 1e-3  # states with a smaller fraction of the median independence are near a singular position


def consistent_states(
    model: Elements,
    count: int,
    *,
    seed: int = _STATES_SEED,
    parameters: Parameters = None,
    include_initial: bool = False,
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
