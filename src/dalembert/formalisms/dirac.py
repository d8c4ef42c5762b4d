"""Dirac's equations: constraints among coordinates and momenta, all of them adjoined to the Hamiltonian.

Source: papers/desapio (5.287)–(5.295).

| symbol | name | meaning |
|---|---|---|
| H(q, p, t) | `H` | the Hamiltonian |
| φ(q, t) | | the given constraints |
| χ(q, p, t) = φ̇ with q̇ = H_p | | their secondary constraints, which hold because φ does |
| c = (φ, χ) | `c_q`, `c_p`, `c_t` | φ(q, p) of (5.287), by its derivatives |
| Λ = (λ, μ) | | multipliers of c |

    q̇ = H_p − c_pᵀ Λ (5.291),   ṗ = τ − H_q + c_qᵀ Λ (5.292),   c_q q̇ + c_p ṗ + c_t = 0 (5.294)

Deviates: (5.294) is used without the stabilising αφ and with c_t, so that constraints may move with time. φ alone
would leave (5.295) singular, since φ_p = 0; with the secondary constraints the matrix of brackets c_p c_qᵀ − c_q c_pᵀ
is regular. μ vanishes on the constraints, so that q̇ = H_p there. Constraints on velocities are refused: making the
action stationary under them gives another motion than d'Alembert's principle does.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Array, identity, stack, vector, zeros
from dalembert.algebra.linear import PivotOrder
from dalembert.equations import About, LinearForm
from dalembert.equations.legendre import Canonical, legendre
from dalembert.kinematics import generalized_forces, non_ideal_forces
from dalembert.structure import System

ABOUT = About(
    key="dirac",
    title="Dirac's equations",
    source="papers/desapio (5.287)–(5.295)",
    needs="energies",
    velocities="p",
    count="n",
    nonholonomic=False,
    citation="""@book{dirac1964,
  author = {Dirac, Paul A. M.},
  title = {Lectures on Quantum Mechanics},
  publisher = {Belfer Graduate School of Science, Yeshiva University},
  address = {New York},
  year = {1964}
}""",
)


def derive(system: System) -> LinearForm:
    """[1 −c_qᵀ; c_p −c_q c_pᵀ] (ṗ, Λ) = (τ − H_q, −c_t − c_q H_p): (5.295) with q̇ eliminated."""
    can = legendre(system)
    n, r = len(can.p), len(system.facts.rows)
    c_q, c_p, c_t = _constraints(system, can)
    M = zeros(n + 2 * r, n + 2 * r)
    M[:n, :n] = identity(n)
    M[:n, n:] = -c_q.T  # (5.292)
    M[n:, :n] = c_p  # (5.294)
    M[n:, n:] = -(c_q @ c_p.T)  # (5.291) in (5.294)
    tau = system.at_rates(generalized_forces(system.motion), can.H_p)
    C = non_ideal_forces(system.motion)
    return LinearForm(
        "dirac",
        system,
        can.p,
        can.momenta,  # (5.270)
        can.H_p,
        can.H_pp,
        can.H_pq @ can.H_p + can.H_pt,
        M,
        stack(tau - can.H_q, -c_t - c_q @ can.H_p),
        zeros(0, n + 2 * r),
        zeros(0),
        PivotOrder(tuple(range(n + 2 * r)), tuple(range(n + 2 * r)), n, 1.0),
        C=stack(system.at_rates(C, can.H_p), zeros(2 * r)) if len(C) else C,
        J=system.A,
        extra=2 * r,
    )


def _constraints(system: System, can: Canonical) -> tuple[Array, Array, Array]:
    """c_q, c_p and c_t of c = (φ, χ), where χ = φ̇ at q̇ = H_p depends on q and t also through H_p."""
    algebra, q, time = system.algebra, system.q, vector([system.t])
    Phi, rate = system.A, system.velocity
    chi_q = system.at_rates(algebra.jacobian(rate, q), can.H_p) + Phi @ can.H_pq
    chi_t = system.at_rates(algebra.jacobian(rate, time)[:, 0], can.H_p) + Phi @ can.H_pt
    phi_t = algebra.jacobian(system.phi, time)[:, 0]
    return (
        np.concatenate([Phi, chi_q]),
        np.concatenate([zeros(*Phi.shape), Phi @ can.H_pp]),
        stack(phi_t, chi_t),
    )
