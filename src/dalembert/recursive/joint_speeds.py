"""Conversion between coordinate rates and speeds: q̇ = H(q) s, and its inverse.

They differ only for quaternions. With ω in axes of the moved frame, ω = 2 G(q) q̇ / |q|² and q̇ = ½ Gᵀ ω, so H is linear in q and

    Ḣ ω = ½ G(q̇)ᵀ ω = −¼ |ω|² q.

All functions take sequences of scalars, one per coordinate or speed: expressions, numbers, or batches of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.recursive.tree import QuaternionIndices, Tree
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, Scalars, matrix, vector, zeros


def _rate_matrix(algebra: Algebra, attitude: QuaternionIndices, q: Scalars) -> Array:
    """2 G(q) / |q|²: 3×4."""
    leading = len(attitude.joint.values) - 4
    return attitude.joint.angular_motion_subspace(algebra, [0] * leading + [q[i] for i in attitude.parts])[:, leading:]


def _square(entries: Scalars) -> Scalar:
    return sum((x * x for x in entries[1:]), start=entries[0] * entries[0])


def part_rates(algebra: Algebra, attitude: QuaternionIndices, q: Scalars) -> Array:
    """½ Gᵀ: the rates of the four components for unit angular velocities, 4×3."""
    quarter = 0.25 * _square([q[i] for i in attitude.parts])
    return matrix([[quarter * entry for entry in row] for row in _rate_matrix(algebra, attitude, q).T])


def to_rates(tree: Tree, algebra: Algebra, q: Scalars, s: Scalars) -> Array:
    """q̇ = H(q) s; also converts any variation along s to a variation of q."""
    out = vector([0 if column is None else s[column] for column in tree.columns])
    for attitude in tree.attitudes:
        rates = part_rates(algebra, attitude, q) @ vector(list(s[attitude.first : attitude.first + 3]))
        for i, x in zip(attitude.parts, rates, strict=True):
            out[i] = x
    return out


def to_second_rates(tree: Tree, algebra: Algebra, q: Scalars, s: Scalars, sd: Scalars) -> Array:
    """q̈ = H(q) ṡ + Ḣ s."""
    out = to_rates(tree, algebra, q, sd)
    for attitude in tree.attitudes:
        pull = -0.25 * _square(list(s[attitude.first : attitude.first + 3]))
        for i in attitude.parts:
            out[i] = out[i] + pull * q[i]
    return out


def to_speeds(tree: Tree, algebra: Algebra, q: Scalars, qd: Scalars) -> Array:
    """s for rates q̇."""
    return _gathered(tree, qd, [_rate_matrix(algebra, attitude, q) for attitude in tree.attitudes])


def _gathered(tree: Tree, entries: Scalars, matrices: Sequence[Array]) -> Array:
    """Entries of the coordinates by speed; the four of a quaternion are reduced to three by its matrix in `matrices`, 3×4."""
    out = zeros(tree.n_speeds)
    for entry, column in zip(entries, tree.columns, strict=True):
        if column is not None:
            out[column] = entry
    for attitude, E in zip(tree.attitudes, matrices, strict=True):
        out[attitude.first : attitude.first + 3] = E @ vector([entries[i] for i in attitude.parts])
    return out


def to_speed_rates(tree: Tree, algebra: Algebra, q: Scalars, qd: Scalars, qdd: Scalars) -> Array:
    """ṡ for rates q̇ and second rates q̈: ω̇ = 2 G q̈ / |q|² − ω d|q|²/dt / |q|²."""
    out = to_speeds(tree, algebra, q, qdd)
    s = to_speeds(tree, algebra, q, qd)
    for attitude in tree.attitudes:
        parts = [(q[i], qd[i]) for i in attitude.parts]
        growth = 2 * sum(x * xd for x, xd in parts) / _square([x for x, _ in parts])
        for k in range(attitude.first, attitude.first + 3):
            out[k] = out[k] - growth * s[k]
    return out


def to_speed_forces(tree: Tree, algebra: Algebra, q: Scalars, forces: Scalars) -> Array:
    """Hᵀ Q: convert generalized forces on coordinates to forces on speeds; also for a row of a Jacobian."""
    return _gathered(tree, forces, [part_rates(algebra, attitude, q).T for attitude in tree.attitudes])


def to_momenta(tree: Tree, algebra: Algebra, q: Scalars, momenta: Scalars) -> Array:
    """∂T/∂q̇ for ∂T/∂s."""
    out = vector([0 if column is None else momenta[column] for column in tree.columns])
    for attitude in tree.attitudes:
        momentum = _rate_matrix(algebra, attitude, q).T @ vector(list(momenta[attitude.first : attitude.first + 3]))
        for i, x in zip(attitude.parts, momentum, strict=True):
            out[i] = x
    return out


def with_unit_quaternions(tree: Tree, states: np.ndarray) -> np.ndarray:
    """Numeric states, coordinates first, with normalized quaternions; the states themselves if there are none."""
    if not tree.attitudes:
        return states
    out = states.copy()
    for attitude in tree.attitudes:
        parts = list(attitude.parts)
        out[parts] /= np.linalg.norm(out[parts], axis=0)
    return out
