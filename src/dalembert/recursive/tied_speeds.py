"""Tied coordinates: holonomic constraints that are affine with constant coefficients, as those of mimic joints and gears.

    A q = b                           k rows of any rank
    q_d = F q_u + f                   dependent coordinates d as functions of independent ones u
    s = E s_u                         E = [1; F]: the speeds satisfy A s = 0 exactly
    Eᵀ I E ṡ_u = Eᵀ (τ − c − g),      ṡ = E ṡ_u

So the accelerations need no multipliers. The solution does not depend on which coordinates are chosen as independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.mechanics.constraint_levels import Levels
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.link_states import Moving, MovingLink
from dalembert.recursive.tree import Tree
from dalembert.symbolic.algebra_base import Array, Scalar, zeros
from dalembert.symbolic.elimination import ldl, ldl_apply
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.symbols import TIME, Lowering, coordinate

_DEPENDENT = 1e-12  # a row is dependent if at most this fraction of it remains after elimination
_INDEPENDENT = 1e-6  # independent if at least this fraction remains; rows between these bounds are not ties


@dataclass(frozen=True)
class Tie:
    """A dependent coordinate: Σ factor × independent coordinate + offset."""

    coordinate: int
    terms: tuple[tuple[int, float], ...]
    offset: float


@dataclass(frozen=True)
class Ties:
    """The ties of a tree, and the parameters in their factors."""

    ties: tuple[Tie, ...]
    columns: tuple[int | None, ...]  # the speed of each coordinate
    n_speeds: int
    parameters: frozenset[str]

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The independent speeds."""
        dependent = {self.columns[tie.coordinate] for tie in self.ties}
        return tuple(i for i in range(self.n_speeds) if i not in dependent)

    @cached_property
    def _rows(self) -> list[tuple[int, list[tuple[int, float]]]]:
        """Each dependent speed with its terms, by the positions of the independent speeds."""
        position = {speed: k for k, speed in enumerate(self.independent)}
        return [
            (_column(self.columns, tie.coordinate), [(position[_column(self.columns, i)], x) for i, x in tie.terms])
            for tie in self.ties
        ]

    @cached_property
    def E(self) -> np.ndarray:
        """E of s = E s_u: (n_speeds, independent speeds)."""
        return np.asarray(self.expanded(np.eye(len(self.independent))), dtype=float)

    def expanded(self, independent: Array) -> Array:
        """E x for the entries of the independent speeds, or for rows of a matrix."""
        out = np.zeros((self.n_speeds, *independent.shape[1:]), dtype=independent.dtype)
        out[list(self.independent)] = independent
        for speed, terms in self._rows:
            for k, factor in terms:
                out[speed] = out[speed] + _times(factor, independent[k])
        return out

    def reduced(self, forces: Array) -> Array:
        """Eᵀ f for the entries of all speeds, or for the rows of a matrix."""
        out = forces[list(self.independent)]
        for speed, terms in self._rows:
            for k, factor in terms:
                out[k] = out[k] + _times(factor, forces[speed])
        return out

    def reduced_matrix(self, matrix: Array) -> Array:
        """Eᵀ I E."""
        return self.reduced(self.reduced(matrix).T)

    def substituted(self, q: Array) -> Array:
        """Coordinates, and the entries after them, with the dependent ones replaced."""
        out = q.copy()
        for tie in self.ties:
            out[tie.coordinate] = sum((_times(x, q[i]) for i, x in tie.terms), start=tie.offset)
        return out

    def substituted_speeds(self, s: Array) -> Array:
        """Speeds with the dependent ones replaced."""
        return self.expanded(s[list(self.independent)])

    def force_map(self, actuated: Sequence[int]) -> np.ndarray | None:
        """P with P τ the forces of minimum norm along `actuated` speeds that act as τ; None if they cannot act as any τ."""
        chosen = self.E[list(actuated)]
        if np.linalg.matrix_rank(chosen) < len(self.independent):
            return None
        out = np.zeros((self.n_speeds, self.n_speeds))
        out[list(actuated)] = chosen @ np.linalg.solve(chosen.T @ chosen, self.E.T)
        return out

    def elimination_order(self, links: Sequence[MovingLink]) -> list[int]:
        """The independent speeds, those that move the outermost links first."""
        moved = (self.E[speed] for link in reversed(links) for speed in reversed(link.speeds))
        found = (int(k) for row in moved for k in np.flatnonzero(row))
        return list(dict.fromkeys(found) | dict.fromkeys(range(len(self.independent))))


def find_ties(tree: Tree, levels: Levels, parameters: Mapping[str, float]) -> Ties | None:
    """The constraints of a tree as ties; None if there are none, or any constraint is not of this kind.

    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.plan import plan_of
    >>> model = Model("gripper").coordinates("a", "b")
    >>> for name, side in (("a", 1), ("b", -1)):
    ...     _ = model.body(f"finger {name}", joint=model.prismatic((side, 0, 0), name), mass=1)
    >>> plan_of(model.holonomic("b - 2*a - 0.5")).ties.ties
    (Tie(coordinate=0, terms=((1, 0.5),), offset=-0.25),)
    """
    if not levels.phi or len(levels.phi) < len(levels.names) or any(levels.servo):
        return None
    names = tree.model.coordinate_names
    q = {coordinate(name) for name in names}
    used = {symbol for row in levels.A for slope in row for symbol in slope.free_symbols}
    if used & {*q, TIME} or any(TIME in phi.free_symbols for phi in levels.phi):
        return None
    lower = Lowering(FLOATS, {**parameters, **dict.fromkeys(names, 0.0)})
    rows = np.array(
        [[*map(lower, row), -lower(phi)] for row, phi in zip(levels.A, levels.phi, strict=True)], dtype=float
    )
    if not np.isfinite(rows).all() or any(rows[:, i].any() for i, column in enumerate(tree.columns) if column is None):
        return None
    solved = _solved(rows)
    return None if solved is None else Ties(solved, tree.columns, tree.n_speeds, frozenset(map(str, used)))


def _solved(rows: np.ndarray) -> tuple[Tie, ...] | None:
    """Rows [A b] solved for one coordinate each, that of the largest coefficient; dependent rows are omitted."""
    pivots = dict[int, np.ndarray]()  # by the dependent coordinate, whose coefficient is 1
    for declared in rows:
        row = declared.copy()
        for i, known in pivots.items():
            row -= row[i] * known
        size, rest = np.abs(declared[:-1]).max(initial=0.0), np.abs(row[:-1])
        if rest.max(initial=0.0) <= _DEPENDENT * size:
            continue
        pivot = int(np.argmax(rest))
        if rest[pivot] < _INDEPENDENT * size:
            return None
        row /= row[pivot]
        row[:-1][np.abs(row[:-1]) < _DEPENDENT] = 0.0
        pivots = {i: known - known[pivot] * row for i, known in pivots.items()} | {pivot: row}
    return tuple(
        Tie(i, tuple((int(k), float(-row[k])) for k in np.flatnonzero(row[:-1]) if k != i), float(row[-1]))
        for i, row in sorted(pivots.items())
    )


def tied_forward_dynamics(moving: Moving, ties: Ties, tau: Array) -> tuple[Array, Array]:
    """ṡ of all speeds, and the pivots of Eᵀ I E, one for each independent speed."""
    order = ties.elimination_order(moving.links)
    phi = ties.reduced(tau - inverse_dynamics(moving, zeros(moving.tree.n_speeds)))
    M = ties.reduced_matrix(mass_matrix(moving))
    L, D = ldl(moving.algebra, M[np.ix_(order, order)])
    found, pivots = zeros(len(order)), zeros(len(order))
    found[order], pivots[order] = ldl_apply(moving.algebra, L, D, phi[order]), D
    return ties.expanded(found), pivots


def _column(columns: Sequence[int | None], index: int) -> int:
    """The speed of a coordinate that is not a component of a quaternion."""
    column = columns[index]
    assert column is not None
    return column


def _times(factor: float, x: Scalar) -> Scalar:
    """Factor times a scalar or an array; ±1 costs nothing."""
    return x if factor == 1 else -x if factor == -1 else factor * x
