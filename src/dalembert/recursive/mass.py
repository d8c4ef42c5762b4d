"""The generalized inertia matrix by composite bodies: section 2.5 of papers/denoc for trees, O(n²) for a chain of n links.

    M̃_j = M_j + Σ A_ijᵀ M̃_i A_ij            (20)  the link with all that hangs on it, frozen: ten numbers
    I = N_dᵀ M̃ N_d                           (18)
    i_ij = P_iᵀ M̃_i A_ij P_j                 (21)  for every link j between link i and the world

N_i = P_i G_i are the columns of N_d for the speeds of link i. A speed may move several links; its entries add up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.algebra import Array, Scalar, matrix, zeros
from dalembert.recursive.inertias import Rigid
from dalembert.recursive.links import Axis, Moving, MovingLink
from dalembert.recursive.ways import Three, Way, absent, dot

Wrench = tuple[Three, Three]


def composites(moving: Moving) -> list[Rigid]:
    """M̃: the mass of every link with all that hangs on it, in axes of the link: (20)."""
    out = [link.fixture.body for link in moving.links]
    for index in reversed(range(len(out))):
        link = moving.links[index]
        if link.parent >= 0:
            out[link.parent] = out[link.parent] + out[index].inwards(link.way)
    return out


def pushes(body: Rigid, axes: Sequence[Axis]) -> list[Wrench]:
    """M̃ P: the wrench on a composite body for a unit acceleration of each of its motions."""
    whole = body.articulated()
    return [whole.wrench(axis.about, axis.along) for axis in axes]


def shares(axes: Sequence[Axis], wrenches: Sequence[Wrench]) -> Array:
    """Pᵀ w: what each wrench (columns) does along each motion (rows)."""
    return matrix([[dot(axis.about, n) + dot(axis.along, f) for n, f in wrenches] for axis in axes])


def brought(way: Way, wrenches: Sequence[Wrench]) -> list[Wrench]:
    """Aᵀ w: wrenches on a link as wrenches on its parent."""
    return [way.wrench_inwards(n, f) for n, f in wrenches]


def mass_matrix(moving: Moving) -> Array:
    """The inertia matrix of the speeds, rotors included: (21).

    >>> from dalembert.algebra import FLOATS
    >>> from dalembert.model import Model
    >>> from dalembert.recursive import moving, tree_of
    >>> model = Model("slider").coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2).rotor("block", 0.5, ratio=2)
    >>> mass_matrix(moving(tree_of(model), FLOATS, 0.0, [0.3], [0.0], {}))
    array([[4.0]], dtype=object)
    """
    n = moving.tree.n_speeds
    total = zeros(n, n)
    for link, composite in zip(moving.links, composites(moving), strict=True):
        if not link.speeds:
            continue
        rows, G = list(link.speeds), link.G
        wrenches = pushes(composite, link.fixture.axes)
        total[np.ix_(rows, rows)] += _own(link, wrenches)
        while link.parent >= 0:
            wrenches, link = brought(link.way, wrenches), moving.links[link.parent]
            if link.speeds:
                columns = list(link.speeds)
                block = G.T @ shares(link.fixture.axes, wrenches).T @ link.G  # (21)
                total[np.ix_(rows, columns)] += block
                total[np.ix_(columns, rows)] += block.T
    return total


def _own(link: MovingLink, wrenches: Sequence[Wrench]) -> Array:
    """Gᵀ (Pᵀ M̃ P + rotors) G."""
    inner = shares(link.fixture.axes, wrenches)
    for k, armature in enumerate(link.fixture.armature):
        inner[k, k] = with_rotor(inner[k, k], armature)
    return link.G.T @ inner @ link.G


def with_rotor(inertia: Scalar, armature: Scalar) -> Scalar:
    """The inertia of a motion with that of its rotor."""
    return inertia if absent(armature) else inertia + armature


def diagonal(moving: Moving) -> Array:
    """The diagonal of the inertia matrix; in O(n) where every speed moves one link."""
    if not moving.tree.decoupled:
        return mass_matrix(moving).diagonal()
    out = zeros(moving.tree.n_speeds)
    for link, composite in zip(moving.links, composites(moving), strict=True):
        if link.speeds:
            out[list(link.speeds)] = _own(link, pushes(composite, link.fixture.axes)).diagonal()
    return out
