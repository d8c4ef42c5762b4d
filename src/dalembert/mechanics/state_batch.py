"""A model evaluated numerically at a batch of states: motion, mass matrix, constraint rows and their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.codegen.linear_algebra import inverse
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_levels import Constraints, Levels
from dalembert.mechanics.energies import mass_matrix
from dalembert.mechanics.motion import Motion, move, values
from dalembert.model.description import Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, vector
from dalembert.symbolic.floats import FLOATS, ONE_STATE, number, numbers
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Formula, rate

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
