"""The rows of the constraints: how large each of them is by nature, and which of them are independent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.codegen.linear_algebra import inverse
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_levels import Levels
from dalembert.mechanics.state_batch import States, at_formulas, constraint_matrix, drawn, joined, one_state
from dalembert.model.description import Elements
from dalembert.model.scales import Scales
from dalembert.symbolic.floats import number
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Formula

_SEED = 0
_NEAR = 4


@dataclass(frozen=True)
class Rows:
    """All constraint rows at sample states, each divided by its size, so that rounding can be told from a row."""

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
    model: Elements,
    facts: Levels,
    scales: Scales,
    states: States | None = None,
    parameters: Mapping[str, float] | None = None,
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
