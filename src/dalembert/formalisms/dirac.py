"""Dirac's equations: constraints among coordinates and momenta, all of them adjoined to the Hamiltonian.

Source: papers/desapio (5.287)–(5.295).

| symbol | name | meaning |
|---|---|---|
| H(q, p, t) | `H` | the Hamiltonian |
| φ(q, t) | `phi` | the given constraints |
| χ(q, p, t) = φ̇ with q̇ = H_p | `chi` | their secondary constraints, which hold because φ does |
| c = (φ, χ) | `c` | φ(q, p) of (5.287) |
| Λ = (λ, μ) | | multipliers of c |

    q̇ = H_p − c_pᵀ Λ (5.291),   ṗ = τ − H_q + c_qᵀ Λ (5.292),   c_q q̇ + c_p ṗ + c_t = 0 (5.294)

φ alone would leave (5.295) singular, since φ_p = 0; with the secondary constraints the matrix of brackets
c_p c_qᵀ − c_q c_pᵀ is regular. μ vanishes on the constraints, so that q̇ = H_p there. Constraints on velocities are refused: making
the action stationary under them gives another motion than d'Alembert's principle does.
"""

from __future__ import annotations

from dalembert.algebra import identity, stack, vector, zeros
from dalembert.algebra.linear import PivotOrder
from dalembert.equations import About, LinearForm
from dalembert.kinematics import System, generalized_forces, kinetic, non_ideal_forces
from dalembert.kinematics.legendre import hamiltonian

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
    algebra, q = system.algebra, system.q
    rows = list(system.structure.rows)
    p, H = hamiltonian(system)
    n, H_p = len(p), algebra.gradient(H, p)
    phi = system.constraints.phi[rows]
    chi = system.at_rates(system.constraints.velocity[rows], H_p)
    c = stack(phi, chi)  # (5.287)
    c_q, c_p = algebra.jacobian(c, q), algebra.jacobian(c, p)
    c_t = algebra.jacobian(c, vector([system.t]))[:, 0] if len(c) else zeros(0)
    tau = system.at_rates(generalized_forces(system.motion), H_p)
    M = zeros(n + len(c), n + len(c))
    M[:n, :n] = identity(n)
    M[:n, n:] = -c_q.T  # (5.292)
    M[n:, :n] = c_p  # (5.294)
    M[n:, n:] = -(c_q @ c_p.T)  # (5.291) in (5.294)
    f = stack(tau - algebra.gradient(H, q), -c_t - c_q @ H_p)
    C = non_ideal_forces(system.motion)
    size = n + len(c)
    return LinearForm(
        "dirac",
        system,
        p,
        algebra.gradient(kinetic(system.motion, system.qd), system.qd),  # (5.270)
        H_p,
        algebra.jacobian(H_p, p),
        algebra.total_derivative(H_p, (q, H_p), system.clock),
        M,
        f,
        zeros(0, size),
        zeros(0),
        PivotOrder(tuple(range(size)), tuple(range(size)), n, 1.0),
        C=stack(system.at_rates(C, H_p), zeros(len(c))) if len(C) else C,
        J=system.A,
        extra=len(c),
    )
