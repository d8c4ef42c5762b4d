"""A symmetric system in the order of a tree: I = U D Uᵀ as (28)–(33) of papers/denoc have it, over entries that are not zero.

Speeds are eliminated from the tips to the world. Then U has entries only between a speed and those nearer to the world on the
same branch, nothing fills up, and right-hand sides of one branch stay on it until the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Algebra, Array, Scalar, identity, zeros
from dalembert.algebra.graph import GRAPH, ROLLED


@dataclass(frozen=True)
class Elimination:
    """The factors: for each speed in the order of elimination its column of U below 1, and 1 / D."""

    algebra: Algebra
    order: tuple[int, ...]
    columns: tuple[tuple[tuple[int, Scalar], ...], ...]  # by speed: those that are eliminated later, with their entry
    pivots: Array
    shrink: Array

    def solved(self, right: Array, sign: int = 1) -> Array:
        """± I⁻¹ b for a vector, or for the columns of a matrix."""
        if right.ndim == 2:
            out = zeros(*right.shape)
            for k in range(right.shape[1]):
                out[:, k] = self.solved(right[:, k], sign)
            return out
        x = right.copy()
        for i in self.order:
            for k, u in () if self.algebra.is_zero(x[i]) else self.columns[i]:
                x[k] = x[k] - u * x[i]
        for i in reversed(self.order):
            x[i] = 0 if self.algebra.is_zero(x[i]) else x[i] * (sign * self.shrink[i])
            for k, u in self.columns[i]:
                x[i] = x[i] - u * x[k]
        return x

    def inverse(self) -> Array:
        """I⁻¹, from the world to the tips: I⁻¹ U = U⁻ᵀ D⁻¹ has nothing above its diagonal but what symmetry gives."""
        out, known = zeros(len(self.order), len(self.order)), list[int]()
        for j in reversed(self.order):
            for i in (*known, j):
                total = self.shrink[j] if i == j else 0
                for k, u in self.columns[j]:
                    total = total - out[i, k] * u
                out[i, j] = out[j, i] = total
            known.append(j)
        return out


@dataclass(frozen=True)
class Rolled:
    """The same as one node of the graph for the factors and one for every solution: for large systems."""

    order: tuple[int, ...]
    solver: Callable[[Array], Array]

    def solved(self, right: Array, sign: int = 1) -> Array:
        """± I⁻¹ b for a vector, or for the columns of a matrix."""
        out, order = zeros(*right.shape), list(self.order)
        out[order] = self.solver(sign * right[order])
        return out

    def inverse(self) -> Array:
        """I⁻¹."""
        return self.solved(identity(len(self.order)))


def elimination_of(matrix: Array, order: Sequence[int], columns: int) -> Elimination | Rolled:
    """The factors over the graph, written out where that is short; right-hand sides will have so many columns."""
    places = list(order)
    solver = ROLLED.solver("symmetric", matrix[np.ix_(places, places)], columns)
    return eliminated_matrix(GRAPH, matrix, order) if solver is None else Rolled(tuple(order), solver)


def eliminated_matrix(algebra: Algebra, matrix: Array, order: Sequence[int]) -> Elimination:
    """The factors of a symmetric positive definite matrix, eliminated in this order."""
    rest, n = matrix.copy(), len(matrix)
    columns, shrink = [()] * n, zeros(n)
    pivots = zeros(n)
    for at, j in enumerate(order):
        used = [k for k in order[at + 1 :] if not algebra.is_zero(rest[k, j])]
        pivots[j], shrink[j] = rest[j, j], 1 / rest[j, j]
        columns[j] = tuple((k, rest[k, j] * shrink[j]) for k in used)
        for a, (k, u) in enumerate(columns[j]):
            for i in used[a:]:
                rest[i, k] = rest[k, i] = rest[i, k] - u * rest[i, j]
    return Elimination(algebra, tuple(order), tuple(columns), pivots, shrink)
