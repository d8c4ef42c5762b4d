"""The Legendre transform: from the Lagrangian in velocities to the Hamiltonian in momenta.

The derivatives of H(q, p, t) follow from those of L(q, q̇, t) without differentiating the inverse q̇(q, p, t):

    H_p = q̇,   H_q = −L_q,   H_t = −L_t,   H_pp = M⁻¹,   H_pq = −M⁻¹ p_q,   H_pt = −M⁻¹ p_t.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra import Array, Scalar, identity, vector
from dalembert.algebra.linear import ldl, ldl_apply
from dalembert.expressions import Kind
from dalembert.kinematics.energies import kinetic, potential
from dalembert.structure.system import System


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


def canonical_of(system: System) -> Canonical:
    """The four steps below (5.280) of papers/desapio, and the derivatives of H."""
    algebra, q, qd = system.algebra, system.q, system.qd
    p = algebra.symbols([Kind.MOMENTUM.of(name) for name in system.model.coordinate_names])
    L = kinetic(system.motion, qd) - potential(system.motion)
    momenta = algebra.gradient(L, qd)  # step 1, (5.270)
    factors = ldl(algebra, algebra.jacobian(momenta, qd))
    N = algebra.substitute(momenta, {str(x): 0 for x in qd})
    H_p = ldl_apply(algebra, *factors, p - N)  # step 2, which is (5.278)
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
    )
