"""The Legendre transform: from the Lagrangian in velocities to the Hamiltonian in momenta.

The derivatives of H(q, p, t) follow from those of L(q, q̇, t) without differentiating the inverse q̇(q, p, t):

    H_p = q̇,   H_q = −L_q,   H_t = −L_t,   H_pp = M⁻¹,   H_pq = −M⁻¹ p_q,   H_pt = −M⁻¹ p_t.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.formalisms.shared.inverses import inverse_mass
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, Scalar, identity, vector
from dalembert.symbolic.linear_algebra import ldl, ldl_apply
from dalembert.symbolic.reserved_symbols import Kind


@dataclass(frozen=True)
class Canonical:
    """The momenta p, the Hamiltonian and its derivatives, all functions of (q, p, t)."""

    p: Array
    momenta: Array  # p(q, q̇, t)
    H: Scalar
    H_p: Array
    H_q: Array
    H_pp: Array
    H_pq: Array
    H_pt: Array
    H_t: Scalar
    L_q: Array  # −H_q by velocities: (5.278) with (5.272)


def canonical_of(system: System, show: Show = SILENT) -> Canonical:
    """The four steps below (5.280) of papers/desapio, and the derivatives of H."""
    algebra, q, qd = system.algebra, system.q, system.qd
    p = algebra.symbols([Kind.MOMENTUM.of(name) for name in system.model.coordinate_names])
    T = show("T", "(5.275)", "kinetic energy", kinetic(system.motion, qd))
    V = show("V", "(5.275)", "potential energy", potential(system.motion))
    L = T - V
    momenta = show("p", "(5.270)", "generalized momenta ∂L/∂q̇", algebra.gradient(L, qd))  # step 1
    M = algebra.jacobian(momenta, qd)
    factors = ldl(algebra, M)
    rest = {str(x): 0 for x in qd}
    N = algebra.substitute(momenta, rest)
    H_p = ldl_apply(algebra, *factors, p - N)  # step 2, which is (5.278)
    if show is not SILENT:
        (T_0,) = algebra.substitute(vector([T]), rest)
        show_hamiltonian(system, show, M, p - N, V - T_0)
    (H,) = system.at_rates(vector([p @ qd - L]), H_p)  # steps 3 and 4, (5.275)
    p_q = system.at_rates(algebra.jacobian(momenta, q), H_p)
    (H_t,) = system.at_rates(-algebra.gradient(L, vector([system.t])), H_p)
    p_t = system.at_rates(algebra.jacobian(momenta, vector([system.t]))[:, 0], H_p)
    return Canonical(
        p=p,
        momenta=momenta,
        H=H,
        H_p=H_p,
        H_q=system.at_rates(-algebra.gradient(L, q), H_p),  # (5.278) with (5.272)
        H_pp=ldl_apply(algebra, *factors, identity(len(p))),
        H_pq=-ldl_apply(algebra, *factors, p_q),
        H_pt=-ldl_apply(algebra, *factors, p_t),
        H_t=H_t,
        L_q=algebra.gradient(L, q),
    )


def show_hamiltonian(system: System, show: Show, M: Array, p: Array, V: Scalar) -> None:
    """q̇ = M⁻¹ p and H = ½ pᵀM⁻¹p + V for the reader, M inverted by the names of its entries; p less its part at rest."""
    M = show("M", "(5.270)", "mass matrix ∂p/∂q̇", M)
    qd = show("qd", "(5.278)", "velocities by momenta", inverse_mass(system.algebra, show, M, "(5.278)") @ p)
    show("H", "(5.275)", "the Hamiltonian p·q̇ − L", system.algebra.half * (p @ qd) + V)
