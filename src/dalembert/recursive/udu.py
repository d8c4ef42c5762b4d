"""The inverse of the inertia matrix over the graph: I = U D Uᵀ of (28)–(33) of papers/denoc, over entries that are not zero.

Speeds are eliminated from the tips to the world. Then U has entries only between a speed and those nearer to the world on the
same branch, nothing fills up, and right-hand sides of one branch stay on it until the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.symbolic.algebra_base import Array, Scalar, identity, zeros
from dalembert.symbolic.graph import GRAPH, ROLLED


@dataclass(frozen=True)
class Elimination:
    """The factors, written out: for each speed its column of U without the 1, and 1 / D."""

    order: tuple[int, ...]
    columns: tuple[tuple[tuple[int, Scalar], ...], ...]  # by speed: those that are eliminated later, with their entry
    shrink: Array

    def solved(self, right: Array) -> Array:
        """I⁻¹ b for a vector, or for the columns of a matrix."""
        if right.ndim == 2:
            out = zeros(*right.shape)
            for k in range(right.shape[1]):
                out[:, k] = self.solved(right[:, k])
            return out
        x = right.copy()
        for i in self.order:
            for k, u in () if GRAPH.is_zero(x[i]) else self.columns[i]:
                x[k] = x[k] - u * x[i]
        for i in reversed(self.order):
            x[i] = 0 if GRAPH.is_zero(x[i]) else x[i] * self.shrink[i]
            for k, u in self.columns[i]:
                x[i] = x[i] - u * x[k]
        return x

    def inverse(self) -> Array:
        """I⁻¹ from the world to the tips: I⁻¹ U = U⁻ᵀ D⁻¹ is zero wherever the row is nearer to the world than the column."""
        out, known = zeros(len(self.order), len(self.order)), list[int]()
        for j in reversed(self.order):
            for i in (*known, j):
                total: Scalar = self.shrink[j] if i == j else 0
                for k, u in self.columns[j]:
                    total = total - out[i, k] * u
                out[i, j] = out[j, i] = total
            known.append(j)
        return out


@dataclass(frozen=True)
class RolledElimination:
    """The same as one node of the graph for the factors and one for every solution: for large systems."""

    order: tuple[int, ...]
    solver: Callable[[Array], Array]

    def solved(self, right: Array) -> Array:
        """I⁻¹ b for a vector, or for the columns of a matrix."""
        out, order = zeros(*right.shape), list(self.order)
        out[order] = self.solver(right[order])
        return out

    def inverse(self) -> Array:
        """I⁻¹."""
        return self.solved(identity(len(self.order)))


def elimination_of(matrix: Array, order: Sequence[int], columns: int) -> Elimination | RolledElimination:
    """The factors of a symmetric positive definite matrix, eliminated in this order, for so many right-hand sides."""
    places = list(order)
    solver = ROLLED.solver("symmetric", matrix[np.ix_(places, places)], columns)
    return _written_out(matrix, places) if solver is None else RolledElimination(tuple(order), solver)


def _written_out(matrix: Array, order: list[int]) -> Elimination:
    rest, n = matrix.copy(), len(matrix)
    columns: list[tuple[tuple[int, Scalar], ...]] = [()] * n
    shrink = zeros(n)
    for at, j in enumerate(order):
        used = [k for k in order[at + 1 :] if not GRAPH.is_zero(rest[k, j])]
        shrink[j] = 1 / rest[j, j]
        columns[j] = tuple((k, rest[k, j] * shrink[j]) for k in used)
        for a, (k, u) in enumerate(columns[j]):
            for i in used[a:]:
                rest[i, k] = rest[k, i] = rest[i, k] - u * rest[i, j]
    return Elimination(tuple(order), tuple(columns), shrink)
