"""A model at many states at once, over plain numbers: its motion, its mass matrix, its constraint rows and their sizes."""

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
_AFTER = 1.5  # times the last switch: so long is looked at what came of it
_SEED = 0
_NEAR = 4


@dataclass(frozen=True)
class States:
    """A batch of states: q and qd of shape (n, K), t of shape (K,)."""

    q: np.ndarray
    qd: np.ndarray
    t: np.ndarray

    def __len__(self) -> int:
        return len(self.t)

    def where(self, good: np.ndarray) -> States:
        """The states with these indices, or at which this is true."""
        return States(self.q[:, good], self.qd[:, good], self.t[good])


def one_state(q: np.ndarray, qd: np.ndarray | None = None, t: float = 0.0) -> States:
    """A batch of one state; at rest where no velocities are given."""
    return States(q[:, None], np.zeros((len(q), 1)) if qd is None else qd[:, None], np.array([t]))


def joined(*parts: States) -> States:
    """Batches of states as one."""
    return States(*(np.concatenate([getattr(s, name) for s in parts], axis=-1) for name in ("q", "qd", "t")))


def drawn(
    model: Elements, rng: np.random.Generator, count: int, scales: Scales | None = None, width: float = 1.0
) -> States:
    """Random states around the start, not yet on the constraints; times over the duration, half of them also beyond.

    Where formulas switch after the duration, times are drawn until well after the last switch.
    """
    known = scales or scales_of(model)
    q0, _ = model.initial
    n = len(q0)
    q = q0[:, None] + width * known.positions[:, None] * rng.uniform(-1, 1, (n, count))
    qd = known.velocities[:, None] * rng.uniform(-1, 1, (n, count))
    last = _AFTER * known.last if known.last > known.duration else known.duration
    end = np.where(rng.uniform(0, 1, count) < 0.5, known.duration, last)
    return States(q, qd, width * end * rng.uniform(0, 1, count))


def at(model: Elements, states: States, parameters: Parameters = None) -> Motion:
    """The model in motion over plain numbers, all states at once."""
    return move(model, *_scalars(states), dict(model.parameter_values if parameters is None else parameters))


def at_formulas(model: Elements, states: States, parameters: Parameters = None) -> Motion:
    """Like `at`, without the walk over the bodies: enough for constraints and speeds."""
    known = dict(model.parameter_values if parameters is None else parameters)
    algebra, t, q, qd = _scalars(states)
    lower = Lowering(algebra, values(model, t, list(q), list(qd), known))
    return Motion(model, algebra, t, q, qd, lower, (), ())


def constraints_at(model: Elements, facts: Levels, states: States, parameters: Parameters = None) -> Constraints:
    """The constraints at many states at once; the bodies are moved only where loops need them."""
    return Constraints((at if model.loops else at_formulas)(model, states, parameters), facts)


def constraint_matrix(model: Elements, facts: Levels, states: States, parameters: Parameters = None) -> np.ndarray:
    """A at all states, with shape (K, rows, n)."""
    A = constraints_at(model, facts, states, parameters).A
    return np.moveaxis(numbers(A, len(states)), -1, 0)


def mass_matrices(model: Elements, states: States, parameters: Parameters = None) -> np.ndarray:
    """The mass matrix at all states, with shape (K, n, n)."""
    if model.energies is None:
        return np.moveaxis(numbers(mass_matrix(at(model, states, parameters)), len(states)), -1, 0)
    momenta = tuple(se.diff(model.energies.kinetic, rate(name)) for name in model.coordinate_names)
    return slopes(model, momenta, states, parameters)


def slopes(model: Elements, formulas: tuple[Formula, ...], states: States, parameters: Parameters = None) -> np.ndarray:
    """The derivatives of formulas by the velocities at all states, with shape (K, formulas, n)."""
    out = np.zeros((len(states), len(formulas), len(states.q)))
    lower = at_formulas(model, states, parameters).lower
    for i, formula in enumerate(formulas):
        for j, name in enumerate(model.coordinate_names):
            out[:, i, j] = number(lower(se.diff(formula, rate(name))))
    return out


def _scalars(states: States) -> tuple[Algebra, Scalar, Array, Array]:
    """The algebra, and t, q and qd as its scalars: batches, or for one state numbers of NumPy, where 1/0 is infinite."""
    if len(states) == 1:
        return ONE_STATE, states.t[0], vector(list(states.q[:, 0])), vector(list(states.qd[:, 0]))
    return FLOATS, states.t, vector(list(states.q)), vector(list(states.qd))


@dataclass(frozen=True)
class Rows:
    """All constraint rows at sample states, each divided by its size, so that rounding can be distinguished from a row."""

    sizes: np.ndarray  # (k,)
    A: np.ndarray  # (K, k, n), rows divided by their sizes
    independent: tuple[int, ...]

    @property
    def a(self) -> np.ndarray:
        """The independent rows."""
        return self.A[:, list(self.independent)]


def rows_at(
    model: Elements, facts: Levels, states: States, scales: Scales, chosen: tuple[int, ...] | None = None
) -> Rows:
    """The rows of a model at states; `chosen` are independent ones that were chosen before."""
    sizes = row_sizes(model, facts, scales, states)
    A = dimensionless(constraint_matrix(model, facts, states), scales.positions, sizes)
    return Rows(sizes, A, chosen or rank.independent_rows(A, scales.positions))


def dimensionless(A: np.ndarray, scale: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A (…, k, n) with every row divided by its size; what is left of a row by rounding is zero."""
    rows = A * inverse(sizes > 0, sizes, 1.0)[..., :, None]
    long = np.linalg.norm(rows * scale[..., None, :], axis=-1) > rank.ROUNDING
    return np.where(long[..., None], rows, 0.0)


def row_sizes(
    model: Elements, facts: Levels, scales: Scales, states: States | None = None, parameters: Parameters = None
) -> np.ndarray:
    """How large the terms of every row are, when each coordinate moves by its scale; for a loop, the length or a radian.

    They are looked at in the given states, else in the initial one and in random ones near to it.
    """
    if states is None:
        states = joined(one_state(*model.initial), drawn(model, np.random.default_rng(_SEED), _NEAR, scales))
    terms, h, written = _Terms(at_formulas(model, states, parameters).lower), len(facts.phi), []
    with np.errstate(all="ignore"):
        for row in facts.A:
            entries = [
                np.abs(np.broadcast_to(terms(f), len(states))) * x for f, x in zip(row, scales.positions, strict=True)
            ]
            written.append(float(np.linalg.norm(np.nan_to_num(entries), axis=0).max()))
    loops = [scales.length if long else 1.0 for loop in model.loops for long in loop.joint.holds_lengths]
    return np.array([*written[:h], *loops, *written[h:]])


class _Terms:
    """The size of a formula with all its terms counted positive: what rounding is measured by where they cancel."""

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
