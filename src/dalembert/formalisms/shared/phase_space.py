"""Constraints in phase space: c(q, p, t) = 0 with its derivatives, and Dirac's search for what they imply.

    ċ = c_q q̇ + c_p ṗ + c_t   with   q̇ = H_p − c_pᵀΛ,   ṗ = τ − H_q + c_qᵀΛ      (5.291)–(5.294) of papers/desapio

The multipliers enter ċ through the brackets D = c_p c_qᵀ − c_q c_pᵀ, which is antisymmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.formalisms.shared.legendre import Canonical
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, stack, vector, zeros
from dalembert.symbolic.linear_algebra import PivotOrder, lu_solve


@dataclass(frozen=True)
class Surface:
    """c(q, p, t) = 0 and its derivatives; the first `given` rows are the given constraints, the others follow from them."""

    names: tuple[str, ...]
    c: Array
    c_q: Array
    c_p: Array
    c_t: Array
    given: int
    on_momenta: bool = False  # True when a given constraint contains momenta, so that q̇ is not H_p

    @property
    def brackets(self) -> Array:
        """D = c_p c_qᵀ − c_q c_pᵀ, by which the multipliers enter ċ."""
        return self.c_p @ self.c_q.T - self.c_q @ self.c_p.T

    def followed_by(
        self, names: tuple[str, ...], c: Array, algebra: DifferentialAlgebra, state: Array, t: Array
    ) -> Surface:
        """The surface with more rows, functions of `state` = (q, p) and t."""
        n = len(state) // 2
        slopes = algebra.jacobian(c, state) if len(c) else zeros(0, 2 * n)
        change = algebra.jacobian(c, t)[:, 0] if len(c) else zeros(0)
        return Surface(
            (*self.names, *names),
            stack(self.c, c),
            np.concatenate([self.c_q, slopes[:, :n]]),
            np.concatenate([self.c_p, slopes[:, n:]]),
            stack(self.c_t, change),
            self.given,
            self.on_momenta,
        )


def holonomic_surface(system: System, can: Canonical) -> Surface:
    """c = (φ, χ), where χ = φ̇ at q̇ = H_p depends on q and t also through H_p: what D needs is known beforehand."""
    algebra, q, time = system.algebra, system.q, vector([system.t])
    Phi, phi, rate = system.A, system.phi, system.velocity
    chi_q = system.at_rates(algebra.jacobian(rate, q), can.H_p) + Phi @ can.H_pq
    chi_t = system.at_rates(algebra.jacobian(rate, time)[:, 0], can.H_p) + Phi @ can.H_pt
    called = [system.facts.levels.names[i] for i in system.facts.rows]
    return Surface(
        (*called, *(f"rate of {name}" for name in called)),
        stack(phi, system.at_rates(rate, can.H_p)),
        np.concatenate([Phi, chi_q]),
        np.concatenate([zeros(*Phi.shape), Phi @ can.H_pp]),
        stack(algebra.jacobian(phi, time)[:, 0], chi_t),
        len(called),
    )


def free_rates(surface: Surface, can: Canonical, push: Array) -> Array:
    """ċ without multipliers; `push` is τ with the non-ideal forces."""
    return surface.c_q @ can.H_p + surface.c_p @ (push - can.H_q) + surface.c_t


def rates_along(
    system: System, can: Canonical, push: Array, surface: Surface, closed: list[int], by: list[int], rest: list[int]
) -> Array:
    """ċ of the rows `rest` while the multipliers of the given rows `by` keep the rows `closed` at zero."""
    free, D = free_rates(surface, can, push), surface.brackets
    if not closed:
        return free[rest]
    size = tuple(range(len(closed)))
    Lambda = lu_solve(system.algebra, D[np.ix_(closed, by)], -free[closed], PivotOrder(size, size, 0, 1.0))
    return free[rest] + D[np.ix_(rest, by)] @ Lambda
