"""De Sapio's constraint space: ΦΦ̄ = 1, ΦΘ = 0, Θ a projection, and his explicit solution compared with a direct one."""

import numpy as np

import dalembert as dl
from dalembert.formalisms.shared.linear_form import LinearSystem
from dalembert.formalisms.shared.solvers import constraint_space, solve_in_constraint_space
from dalembert.symbolic.floats import FLOATS, to_numeric


def random_equations(seed=1, batch=20, n=6, r=3):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(batch, n, n))
    M = root @ np.swapaxes(root, 1, 2) + np.eye(n)
    return M, rng.normal(size=(batch, n)), rng.normal(size=(batch, r, n)), rng.normal(size=(batch, r))


def test_identities_of_the_constraint_space():
    M, _, Phi, _ = random_equations()
    H, Phi_bar, Theta = constraint_space(M, Phi)
    Minv = np.linalg.inv(M)
    assert np.allclose(np.linalg.inv(H), Phi @ Minv @ np.swapaxes(Phi, 1, 2))  # (5.90)
    assert np.allclose(Phi @ Phi_bar, np.eye(3))
    assert np.allclose(Phi @ Theta, 0, atol=1e-12)
    assert np.allclose(Theta @ Theta, Theta)
    assert np.allclose(Theta @ Phi_bar, 0, atol=1e-12)
    # orthogonal in the metric of M
    assert np.allclose(M @ Theta, np.swapaxes(M @ Theta, 1, 2))
    assert np.allclose(np.trace(Theta, axis1=1, axis2=2), 6 - 3)


def test_the_explicit_solution_is_that_of_the_full_system():
    # (5.92)(5.93) against [M −Φᵀ; Φ 0] (q̈, λ) = (h, β)
    M, h, Phi, beta = random_equations(seed=2)
    for k in range(20):
        qdd, lam = solve_in_constraint_space(FLOATS, LinearSystem(M[k], h[k], Phi[k], beta[k]))
        full = np.block([[M[k], -Phi[k].T], [Phi[k], np.zeros((3, 3))]])
        expected = np.linalg.solve(full, np.concatenate([h[k], beta[k]]))
        assert np.allclose(to_numeric(np.concatenate([qdd, lam])), expected, rtol=1e-9, atol=1e-10)


def test_public_constraint_space():
    model = dl.load("spherical-pendulum")
    eom = dl.derive(model, "dalembert", engine="python")
    q, qd = model.initial
    space = eom.constraint_space(q, qd)
    assert np.allclose(space.Phi @ space.Phi_bar, np.eye(len(space.Phi)))
    assert np.allclose(space.Phi @ space.Theta, 0, atol=1e-13)
    h = space.tau - space.b - space.g
    assert np.allclose(space.Theta @ np.linalg.solve(space.M, h) + space.Phi_bar @ _beta(eom, q, qd), _qdd(eom, q, qd))
    # (5.152)(5.153): λ = α + ρ − Φ̄ᵀτ
    lam = space.alpha + space.rho - space.Phi_bar.T @ space.tau
    assert np.allclose(space.Phi.T @ lam, eom.reactions(q, qd))


def _qdd(eom, q, qd):
    return eom.accelerations(q, qd)


def _beta(eom, q, qd):
    """−Φ̇q̇ by differences of the velocity level along q̇."""
    manifold, h = eom.workspace.manifold, 1e-6
    ahead, behind = (manifold.evaluate(q + s * h * qd, qd, s * h, eom.workspace.values)[1] for s in (1, -1))
    return -(ahead - behind) / (2 * h)
