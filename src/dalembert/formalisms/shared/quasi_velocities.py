"""n quasi-velocities for n coordinates: the speeds completed by constraints or by rates, and Hamel's coefficients."""

from __future__ import annotations

import itertools

import numpy as np

from dalembert.mechanics.generalized_speeds import Speeds, invert
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, identity, stack, vector, zeros
from dalembert.symbolic.elimination import lu_solve
from dalembert.symbolic.symbols import SymbolKind


def with_constraints(system: System) -> Speeds:
    """w = Y q̇ + Z, the speeds followed by the constraints a q̇ + b, and its inverse q̇ = W w + X."""
    free = system.speeds
    names = [
        SymbolKind.CONSTRAINED.of(name) for i, name in enumerate(system.facts.levels.names) if i in system.facts.rows
    ]
    w = stack(free.u, system.algebra.symbols(names))
    return invert(system.motion, w, stack(free.Y, system.A), stack(free.Z, system.b), [], system.facts.order)


def with_rates(system: System) -> Speeds:
    """s = G q̇: the speeds, completed by rates of the coordinates the constraints are solved for.

    For a quaternion component the row is q·q̇, which is regular everywhere.
    """
    algebra, n, known = system.algebra, len(system.q), system.facts
    completion = identity(n)[list(known.completing)]
    for row, i in zip(completion, known.completing, strict=True):
        if i in known.norms:
            row[:] = 0
            for j in known.norms[i]:
                row[j] = system.q[j]
    G = np.concatenate([system.speeds.Y, completion], axis=0)
    taken = {*system.model.coordinate_names, *system.model.parameter_values, *known.speed_names}
    letter = next(word for k in itertools.count(1) if not any(f"{(word := 's' * k)}{i + 1}" in taken for i in range(n)))
    s = algebra.symbols([f"{letter}{i + 1}" for i in range(n)])
    return Speeds(s, G, zeros(n), lu_solve(algebra, G, identity(n), known.square_order), zeros(n))


def hamel_coefficients(system: System, full: Speeds) -> tuple[Array, Array]:
    """γⁱ_jl = Σ (∂Y_ik/∂q_m − ∂Y_im/∂q_k) W_kj W_ml (n×n×n), and γⁱ_j from X, ∂Y/∂t and ∂Z/∂q (n×n)."""
    n = len(system.q)
    gamma, drift = zeros(n, n, n), zeros(n, n)
    for i, (curl, rest) in enumerate(_curls(system, full)):
        gamma[i] = full.W.T @ curl @ full.W
        drift[i] = full.W.T @ (curl @ full.X + rest)
    return gamma, drift


def hamel_terms(system: System, full: Speeds, T_w: Array) -> Array:
    """Σ_i ∂T*/∂w_i (Σ_l γⁱ_jl w_l + γⁱ_j) for every j; with w_l summed first, as q̇ = W w + X, no γ is formed."""
    total = zeros(len(system.q))
    for momentum, (curl, rest) in zip(T_w, _curls(system, full), strict=True):
        total = total + momentum * (curl @ full.qd + rest)
    return full.W.T @ total


def _curls(system: System, full: Speeds) -> list[tuple[Array, Array]]:
    """∂Y_ik/∂q_m − ∂Y_im/∂q_k and ∂Y_ik/∂t − ∂Z_i/∂q_k of every i, from which γ is computed."""
    algebra = system.algebra
    Y_q = algebra.jacobian(full.Y, system.q)  # (i, k, m)
    Y_t = algebra.jacobian(full.Y, vector([system.t]))[..., 0]
    Z_q = algebra.jacobian(full.Z, system.q)
    return [(Y_q[i] - Y_q[i].T, Y_t[i] - Z_q[i]) for i in range(len(full.u))]
