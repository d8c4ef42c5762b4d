"""The constraints of a model at a batch of states, in numbers and in terms of speeds: A ṡ = β.

The norm of a quaternion is no row here: speeds keep it by themselves. Formulas bring their own β. The rows of loops are
differentiated along the motion by a complex step, which is exact to rounding: f(x + iε ẋ) = f + iε ḟ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.mechanics.constraint_levels import Constraints
from dalembert.mechanics.state_batch import States, constraints_at
from dalembert.recursive.joint_speeds import to_second_rates, to_speed_forces
from dalembert.recursive.link_states import Moving
from dalembert.recursive.loop_rows import closures_of
from dalembert.recursive.plan import Plan
from dalembert.symbolic.algebra_base import Array, Scalar, matrix, vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.graph import GRAPH

_STEP = 1e-30


@dataclass(frozen=True)
class Rows:
    """k constraints at K states; the first `len(phi)` of them hold positions."""

    names: tuple[str, ...]
    servo: tuple[bool, ...]
    phi: np.ndarray  # (h, K)
    velocity: np.ndarray  # (k, K)
    A: np.ndarray  # (k, n_speeds, K)
    beta: np.ndarray  # (k, K)


def rows_of(plan: Plan, q: np.ndarray, qd: np.ndarray, s: np.ndarray, t: np.ndarray) -> Rows:
    """The constraints at coordinates q and rates q̇ (n, K), speeds s and times t (K,)."""
    facts, tree, K = plan.levels, plan.tree, len(t)
    known = constraints_at(plan.model, facts, States(q, qd, t), plan.parameters)
    A = numbers(known.A, K)
    beta = _beta(plan, known, q, qd, t)
    if tree.attitudes:
        rest = to_second_rates(tree, FLOATS, list(q), list(s), [0.0] * tree.n_speeds)
        beta = beta - np.einsum("knK,nK->kK", A, numbers(rest, K))
        pulled = [numbers(to_speed_forces(tree, FLOATS, list(q), list(row)), K) for row in A]
        A = np.stack(pulled) if pulled else np.zeros((0, tree.n_speeds, K))
    return Rows(facts.names, facts.servo, numbers(known.phi, K), numbers(known.velocity, K), A, beta)


@dataclass(frozen=True)
class SymbolicRows:
    """The constraints over the graph: φ, the velocity level, A and β of A ṡ = β."""

    phi: Array
    velocity: Array
    A: Array
    beta: Array


def rows_over(plan: Plan, links: Moving, q: Sequence[Scalar], s: Sequence[Scalar]) -> SymbolicRows:
    """The rows over the graph in terms of speeds; `links` stand in the frames of the model. Loops come by recursion."""
    tree, facts, h = plan.tree, plan.levels, len(plan.levels.phi)
    lower, loops = links.lower, closures_of(links)
    rest = to_second_rates(tree, GRAPH, q, s, [0] * tree.n_speeds)
    written = [vector([lower(f) for f in row]) for row in facts.A]
    A = [to_speed_forces(tree, GRAPH, q, list(row)) for row in written]
    beta = [lower(f) - row @ rest for f, row in zip(facts.beta, written, strict=True)]
    velocity = [lower(f) for f in facts.velocity]
    rows = [*A[:h], *(row.J for row in loops), *A[h:]]
    return SymbolicRows(
        vector([*(lower(f) for f in facts.phi), *(row.phi for row in loops)]),
        vector([*velocity[:h], *(row.rate for row in loops), *velocity[h:]]),
        matrix([list(row) for row in rows]) if rows else zeros(0, tree.n_speeds),
        vector([*beta[:h], *(row.beta for row in loops), *beta[h:]]),
    )


def _beta(plan: Plan, known: Constraints, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
    h, K = len(plan.levels.phi), len(t)
    lower = known.motion.lower
    written = numbers(vector([lower(formula) for formula in plan.levels.beta]), K)
    loops = _loop_beta(plan, known, q, qd, t)
    return np.concatenate([written[:h], loops, written[h:]])


def _loop_beta(plan: Plan, known: Constraints, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
    """−d/dt(a q̇ + b) at q̈ = 0, less the feedback where there is one: (5.96) of papers/desapio."""
    K = len(t)
    if not known.loops:
        return np.zeros((0, K))
    ahead = constraints_at(plan.model, plan.levels, States(q + 1j * _STEP * qd, qd, t + 1j * _STEP), plan.parameters)
    moved = numbers(vector([row.a @ ahead.motion.qd + row.b for row in ahead.loops]), K)
    out = -np.imag(moved) / _STEP
    lower = known.motion.lower
    for i, (row, gains) in enumerate(zip(known.loops, plan.levels.gains, strict=True)):
        if gains:
            alpha, beta = (lower(gain) for gain in gains)
            out[i] -= beta * np.real(moved[i]) + alpha * row.phi
    return out
