"""The Legendre transform: from the Lagrangian in velocities to the Hamiltonian in momenta."""

from __future__ import annotations

from dalembert.algebra import Array, Scalar, vector
from dalembert.algebra.linear import ldl_solve
from dalembert.kinematics.energies import kinetic, potential
from dalembert.kinematics.system import System


def hamiltonian(system: System) -> tuple[Array, Scalar]:
    """The symbols of the momenta and H(q, p, t), by the four steps below (5.280) of papers/desapio."""
    algebra, qd = system.algebra, system.qd
    p = algebra.symbols([f"p({name})" for name in system.model.coordinate_names])
    L = kinetic(system.motion, qd) - potential(system.motion)
    momenta = algebra.gradient(L, qd)  # step 1, (5.270)
    M = algebra.jacobian(momenta, qd)
    N = algebra.substitute(momenta, {str(x): 0 for x in qd})
    velocities = ldl_solve(algebra, M, p - N)  # step 2
    H = p @ qd - L  # step 3, (5.275)
    (H,) = system.at_rates(vector([H]), velocities)  # step 4
    return p, H
