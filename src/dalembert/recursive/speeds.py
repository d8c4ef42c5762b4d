"""Between rates of coordinates and speeds: q̇ = H(q) s, and back.

They differ for quaternions only. With ω in axes of the moved frame, ω = 2 G(q) q̇ / |q|² and q̇ = ½ Gᵀ ω, so H is linear in q and

    Ḣ ω = ½ G(q̇)ᵀ ω = −¼ |ω|² q.

All functions take sequences of scalars, one for each coordinate or speed: expressions, numbers, or whole batches of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra import Algebra, Array, Scalar, matrix, vector, zeros
from dalembert.recursive.tree import Attitude, Tree


def _turns(algebra: Algebra, attitude: Attitude, q: Sequence[Scalar]) -> Array:
    """2 G(q) / |q|²: 3×4."""
    leading = len(attitude.joint.values) - 4
    return attitude.joint.angular(algebra, [0] * leading + [q[i] for i in attitude.parts])[:, leading:]


def _square(entries: Sequence[Scalar]) -> Scalar:
    return sum((x * x for x in entries[1:]), start=entries[0] * entries[0])


def part_rates(algebra: Algebra, attitude: Attitude, q: Sequence[Scalar]) -> Array:
    """½ Gᵀ: the rates of the four parts for unit angular velocities, 4×3."""
    quarter = 0.25 * _square([q[i] for i in attitude.parts])
    return matrix([[quarter * entry for entry in row] for row in _turns(algebra, attitude, q).T])


def to_rates(tree: Tree, algebra: Algebra, q: Sequence[Scalar], s: Sequence[Scalar]) -> Array:
    """q̇ = H(q) s; also any change of s into a change of q."""
    out = vector([0 if column is None else s[column] for column in tree.columns])
    for attitude in tree.attitudes:
        rates = part_rates(algebra, attitude, q) @ vector(list(s[attitude.first : attitude.first + 3]))
        for i, x in zip(attitude.parts, rates, strict=True):
            out[i] = x
    return out


def to_second_rates(
    tree: Tree, algebra: Algebra, q: Sequence[Scalar], s: Sequence[Scalar], sd: Sequence[Scalar]
) -> Array:
    """q̈ = H(q) ṡ + Ḣ s."""
    out = to_rates(tree, algebra, q, sd)
    for attitude in tree.attitudes:
        pull = -0.25 * _square(list(s[attitude.first : attitude.first + 3]))
        for i in attitude.parts:
            out[i] = out[i] + pull * q[i]
    return out


def to_speeds(tree: Tree, algebra: Algebra, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Array:
    """s for rates q̇."""
    out = zeros(tree.n_speeds)
    for i, column in enumerate(tree.columns):
        if column is not None:
            out[column] = qd[i]
    for attitude in tree.attitudes:
        omega = _turns(algebra, attitude, q) @ vector([qd[i] for i in attitude.parts])
        out[attitude.first : attitude.first + 3] = omega
    return out


def to_speed_rates(
    tree: Tree, algebra: Algebra, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> Array:
    """ṡ for rates q̇ and second rates q̈: ω̇ = 2 G q̈ / |q|² − ω d|q|²/dt / |q|²."""
    out = to_speeds(tree, algebra, q, qdd)
    s = to_speeds(tree, algebra, q, qd)
    for attitude in tree.attitudes:
        parts = [(q[i], qd[i]) for i in attitude.parts]
        growth = 2 * sum(x * xd for x, xd in parts) / _square([x for x, _ in parts])
        for k in range(attitude.first, attitude.first + 3):
            out[k] = out[k] - growth * s[k]
    return out


def to_speed_forces(tree: Tree, algebra: Algebra, q: Sequence[Scalar], forces: Sequence[Scalar]) -> Array:
    """Hᵀ Q: generalized forces on coordinates as forces on speeds; also the row of a Jacobian."""
    out = zeros(tree.n_speeds)
    for i, column in enumerate(tree.columns):
        if column is not None:
            out[column] = forces[i]
    for attitude in tree.attitudes:
        pushed = part_rates(algebra, attitude, q).T @ vector([forces[i] for i in attitude.parts])
        out[attitude.first : attitude.first + 3] = pushed
    return out
