"""Derivatives of inverse and forward dynamics over the graph: by q, s, by ṡ or τ, and by parameters.

    τ = ID(q, s, ṡ)                    ∂τ/∂x by the graph, ∂τ/∂ṡ = M
    ṡ = FD(q, s, τ)                    ∂ṡ/∂x = −M⁻¹ ∂ID/∂x at that ṡ,  ∂ṡ/∂τ = M⁻¹

The second line costs one inverse more than the first, and far less than to differentiate the elimination. Changes of q are along
the speeds, δq = H δ: three for a quaternion, and those of the coordinates themselves elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Array, identity
from dalembert.algebra.graph import GRAPH, ROLLED
from dalembert.algebra.linear import ldl_solver
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.links import Moving
from dalembert.recursive.mass import mass_matrix
from dalembert.recursive.speeds import to_speed_forces


@dataclass(frozen=True)
class Symbols:
    """What is differentiated by."""

    q: Array
    s: Array
    sd: Array
    parameters: Array


def slopes_of_inverse(moving: Moving, loads: Array, symbols: Symbols) -> Array:
    """∂τ by q, s, ṡ and parameters, side by side."""
    by_state = _by_state(moving, loads, symbols)
    n = moving.tree.n_speeds
    return np.concatenate([by_state[:, : 2 * n], mass_matrix(moving), by_state[:, 2 * n :]], axis=1)


def slopes_of_forward(moving: Moving, loads: Array, symbols: Symbols, sd: Array) -> Array:
    """∂ṡ by q, s, τ and parameters, side by side, at the accelerations `sd`."""
    known = {str(x): value for x, value in zip(symbols.sd, sd, strict=True)}
    by_state = GRAPH.substitute(_by_state(moving, loads, symbols), known)
    n = moving.tree.n_speeds
    right = np.concatenate([-by_state[:, : 2 * n], identity(n), -by_state[:, 2 * n :]], axis=1)
    return ldl_solver(ROLLED, mass_matrix(moving), right.shape[1])(right)


def _by_state(moving: Moving, loads: Array, symbols: Symbols) -> Array:
    """∂ID by q along the speeds, s and parameters."""
    tree, n = moving.tree, len(symbols.q)
    tau = inverse_dynamics(moving, symbols.sd) - loads
    found = GRAPH.jacobian(tau, np.concatenate([symbols.q, symbols.s, symbols.parameters]))
    by_q = found[:, :n]
    if tree.attitudes:
        rows = [to_speed_forces(tree, GRAPH, list(symbols.q), list(row)) for row in by_q]
        by_q = np.array(rows, dtype=object).reshape(len(tau), tree.n_speeds)
    return np.concatenate([by_q, found[:, n:]], axis=1)
