"""The generalized inertia matrix by composite bodies: section 2.5 of papers/denoc for trees, O(n²) for a chain of n links.

    M̃_j = M_j + Σ A_ijᵀ M̃_i A_ij            (20)  the link with all that hangs on it, frozen
    I = N_dᵀ M̃ N_d                           (18)
    i_ij = N_iᵀ M̃_i A_ij N_j                 (21)  for every link j between link i and the world

N_i = P_i G_i are the columns of N_d for the speeds of link i. A speed may move several links; its entries add up.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.recursive.links import Moving


def composites(moving: Moving) -> list[Array]:
    """M̃: the mass matrix of every link with all that hangs on it, in axes of the link: (20)."""
    out = [link.M for link in moving.links]
    for index in reversed(range(len(out))):
        link = moving.links[index]
        if link.parent >= 0:
            out[link.parent] = out[link.parent] + link.A.T @ out[index] @ link.A
    return out


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
        rows = list(link.speeds)
        push = composite @ link.N
        total[np.ix_(rows, rows)] += link.N.T @ push + link.rotors
        while link.parent >= 0:
            push, link = link.A.T @ push, moving.links[link.parent]
            if link.speeds:
                columns = list(link.speeds)
                block = push.T @ link.N  # (21)
                total[np.ix_(rows, columns)] += block
                total[np.ix_(columns, rows)] += block.T
    return total


def diagonal(moving: Moving) -> Array:
    """The diagonal of the inertia matrix; in O(n) where every speed moves one link."""
    if not moving.tree.decoupled:
        return mass_matrix(moving).diagonal()
    out = zeros(moving.tree.n_speeds)
    for link, composite in zip(moving.links, composites(moving), strict=True):
        if link.speeds:
            out[list(link.speeds)] = (link.N.T @ (composite @ link.N) + link.rotors).diagonal()
    return out
