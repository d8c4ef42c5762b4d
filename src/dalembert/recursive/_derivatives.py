"""Derivatives of inverse and forward dynamics over the graph: with respect to q, s, to ṡ or τ, and to parameters.

    τ = ID(q, s, ṡ) − loads            ∂τ/∂ṡ = I
    ṡ = FD(q, s, τ)                    ∂ṡ/∂x = −I⁻¹ ∂τ/∂x at that ṡ,  ∂ṡ/∂τ = I⁻¹

With tied coordinates E (Eᵀ I E)⁻¹ Eᵀ replaces I⁻¹; E is constant.


Derivatives of ID by the motions of the links come from `_inverse_derivatives`, I⁻¹ from an elimination. Where motions are
functions of several coordinates, θ = θ(q, t), the chain rule gives:

    τ = Gᵀ e,   G = ∂θ/∂q,   ∂τ/∂q = Gᵀ (∂e/∂θ G + ∂e/∂θ̇ ∂θ̇/∂q + ∂e/∂θ̈ ∂θ̈/∂q) + Σ e ∂G/∂q.

These functions, loads and parameters are differentiated by the graph. Variations of q are along the speeds, δq = H δ: three for a
quaternion, and those of the coordinates themselves otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.recursive._inverse_derivatives import force_derivatives
from dalembert.recursive.composite_inertia import mass_matrix
from dalembert.recursive.inverse import effort, inverse_dynamics, outwards, subtree_wrenches
from dalembert.recursive.joint_speeds import to_speed_forces
from dalembert.recursive.link_states import Moving, MovingLink
from dalembert.recursive.tied_speeds import Ties
from dalembert.recursive.tree import Tree
from dalembert.symbolic.algebra_base import Array, Scalar, identity, stack, vector, zeros
from dalembert.symbolic.graph import GRAPH, ROLLED
from dalembert.symbolic.nodes import Constant, node

Terms = list[tuple[int, Scalar]]  # nonzero entries of a row, by speed


@dataclass(frozen=True)
class Symbols:
    """The differentiation variables."""

    q: Array
    s: Array
    sd: Array
    parameters: Array


@dataclass(frozen=True)
class _Chain:
    """Dependence of one motion of a link on the speeds and along them: G, and the derivatives of θ̇, θ̈ and G."""

    gradient: Terms
    rate_by_q: Terms
    second_by_q: Terms
    second_by_s: Terms
    G_by_q: list[tuple[int, Terms]]


def inverse_derivatives(moving: Moving, loads: Array, symbols: Symbols) -> Array:
    """∂τ by q, s, ṡ and parameters, as adjacent columns."""
    parts = _by_state(moving, loads, symbols, symbols.sd)
    return np.concatenate([*parts, _by_parameters(moving, loads, symbols)], axis=1)


def forward_derivatives(
    moving: Moving, loads: Array, symbols: Symbols, tau: Array, ties: Ties | None
) -> tuple[Array, Array]:
    """∂ṡ by q, s, τ and parameters, as adjacent columns, at the forces `tau`; and pivots that vanish if I is singular."""
    if ties is None:
        speeds = (speed for link in reversed(moving.links) for speed in reversed(link.speeds))
        order = list(dict.fromkeys(speeds) | dict.fromkeys(range(moving.tree.n_speeds)))  # the outermost links first
        known = elimination_of(mass_matrix(moving), order, 3 * moving.tree.n_speeds)
    else:
        order, M = ties.elimination_order(moving.links), ties.reduced_matrix(mass_matrix(moving))
        known = TiedElimination(ties, elimination_of(M, order, 3 * moving.tree.n_speeds))
    sd = known.solved(tau + loads - inverse_dynamics(moving, zeros(moving.tree.n_speeds)))
    by_q, by_s, _ = _by_state(moving, loads, symbols, sd)
    named = _at(_by_parameters(moving, loads, symbols), symbols, sd)
    found, inverse = [known.solved(-part) for part in (by_q, by_s, named)], known.inverse()
    free = inverse.diagonal() if ties is None else inverse.diagonal()[list(ties.independent)]
    pivots = vector([1 / x for x in free])  # the inertia of a speed when all others are free
    return np.concatenate([*found[:2], inverse, found[2]], axis=1), pivots


def _by_parameters(moving: Moving, loads: Array, symbols: Symbols) -> Array:
    if not len(symbols.parameters):
        return zeros(moving.tree.n_speeds, 0)
    return GRAPH.jacobian(inverse_dynamics(moving, symbols.sd) - loads, symbols.parameters)


def _by_state(moving: Moving, loads: Array, symbols: Symbols, sd: Array) -> tuple[Array, Array, Array]:
    """∂τ by q along the speeds, by s, and by ṡ, at accelerations `sd` that may depend on the other symbols."""
    sweep, n = outwards(moving, sd), moving.tree.n_speeds
    wrenches = subtree_wrenches(moving, sweep)
    chains = [_chains(link, moving.tree, symbols, sd) for link in moving.links]
    by_q, by_s, M = (zeros(n, n) for _ in range(3))
    for entry in force_derivatives(moving, sweep.motions, wrenches):
        by = chains[entry.by][entry.j]
        for row, g in chains[entry.link][entry.k].gradient:
            by_position, rate, second = g * entry.by_position, g * entry.rate, g * entry.second
            _add(by_q, row, (by_position, by.gradient), (rate, by.rate_by_q), (second, by.second_by_q))
            _add(by_s, row, (rate, by.gradient), (second, by.second_by_s))
            _add(M, row, (second, by.gradient))
    for link, motions, wrench, thdd in zip(moving.links, chains, wrenches, sweep.accelerations, strict=True):
        for k, motion in enumerate(motions):
            for row, terms in motion.G_by_q:
                e = effort(link.constants.axes[k], *wrench, link.constants.armature[k], thdd[k])
                _add(by_q, row, (e, terms))
    pushed, n_q = GRAPH.jacobian(loads, stack(symbols.q, symbols.s)), len(symbols.q)
    return by_q - _along_speeds(moving.tree, symbols, pushed[:, :n_q]), by_s - pushed[:, n_q:], M


def _add(total: Array, row: int, *parts: tuple[Scalar, Terms]) -> None:
    """Add x times its terms to a row."""
    for x, terms in parts:
        for column, factor in terms:
            total[row, column] = total[row, column] + x * factor


def _chains(link: MovingLink, tree: Tree, symbols: Symbols, sd: Array) -> list[_Chain]:
    """The chains of the motions of a link; empty if it depends on time only."""
    own, n_q = list(link.speeds), len(symbols.q)
    if not own:
        return []
    gradients = [_used(own, row) for row in link.G]
    if all(isinstance(node(g), Constant) for g in link.G.ravel()):
        return [_Chain(terms, [], [], [], []) for terms in gradients]
    out = list[_Chain]()
    for row, rate, drift, terms in zip(link.G, link.rates, link.drift, gradients, strict=True):
        second = row @ symbols.sd[own] + drift
        found = GRAPH.jacobian(stack(row, vector([rate, second])), stack(symbols.q, symbols.s))
        found = _at(found, symbols, sd)
        by_q = _along_speeds(tree, symbols, found[:, :n_q])
        all_speeds = range(tree.n_speeds)
        rate_q, second_q, second_s = (_used(all_speeds, x) for x in (by_q[-2], by_q[-1], found[-1, n_q:]))
        G_by_q = [(speed, _used(all_speeds, x)) for speed, x in zip(own, by_q[:-2], strict=True)]
        out.append(_Chain(terms, rate_q, second_q, second_s, G_by_q))
    return out


def _used(speeds: list[int] | range, row: Array) -> Terms:
    return [(speed, x) for speed, x in zip(speeds, row, strict=True) if not GRAPH.is_zero(x)]


def _at(formulas: Array, symbols: Symbols, sd: Array) -> Array:
    """Substitute accelerations in formulas."""
    return GRAPH.substitute(formulas, {str(x): value for x, value in zip(symbols.sd, sd, strict=True)})


def _along_speeds(tree: Tree, symbols: Symbols, by_q: Array) -> Array:
    """Convert derivatives by the coordinates to derivatives along the speeds."""
    if not tree.attitudes:
        return by_q
    rows = [to_speed_forces(tree, GRAPH, list(symbols.q), list(row)) for row in by_q]
    return np.array(rows, dtype=object).reshape(len(by_q), tree.n_speeds)


@dataclass(frozen=True)
class EliminationFactors:
    """Expanded factors: for each speed its column of U without the 1, and 1 / D."""

    order: tuple[int, ...]
    columns: tuple[tuple[tuple[int, Scalar], ...], ...]  # by speed: those eliminated later, with their entry
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
        """I⁻¹ from the world to the tips: I⁻¹ U = U⁻ᵀ D⁻¹ is zero where the row is closer to the world than the column."""
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
    """The same as one node of the graph for the factors and one per solution: for large systems."""

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


@dataclass(frozen=True)
class TiedElimination:
    """E (Eᵀ I E)⁻¹ Eᵀ."""

    ties: Ties
    factors: EliminationFactors | RolledElimination

    def solved(self, right: Array) -> Array:
        """The product with a vector, or with the columns of a matrix."""
        return self.ties.expanded(self.factors.solved(self.ties.reduced(right)))

    def inverse(self) -> Array:
        """The symmetric matrix."""
        return self.ties.expanded(self.ties.expanded(self.factors.inverse()).T)


def elimination_of(matrix: Array, order: Sequence[int], columns: int) -> EliminationFactors | RolledElimination:
    """The factors of a symmetric positive definite matrix, eliminated in this order, for `columns` right-hand sides."""
    indices = list(order)
    solver = ROLLED.solver("symmetric", matrix[np.ix_(indices, indices)], columns)
    return _expanded(matrix, indices) if solver is None else RolledElimination(tuple(order), solver)


def _expanded(matrix: Array, order: list[int]) -> EliminationFactors:
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
    return EliminationFactors(tuple(order), tuple(columns), shrink)
