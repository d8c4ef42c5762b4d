"""Gauss: of all admissible accelerations, the computed one has the smallest Gaussian."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.formalisms.shared.solvers import gaussian
from dalembert.mechanics import state_batch
from dalembert.simulation._assembled import gauss_least_squares


def random_equations(seed, n=5, r=2):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return root @ root.T + np.eye(n), rng.normal(size=n), rng.normal(size=(r, n)), rng.normal(size=r)


@pytest.mark.parametrize("seed", range(3))
def test_no_admissible_acceleration_has_a_smaller_gaussian(seed):
    M, h, A, beta = random_equations(seed)
    chosen, _ = gauss_least_squares(M, h, A, beta, A)
    assert np.allclose(A @ chosen, beta)
    rng = np.random.default_rng(seed + 10)
    particular = np.linalg.lstsq(A, beta, rcond=None)[0]
    free = np.linalg.svd(A)[2][2:]
    others = particular + rng.normal(scale=rng.choice([1e-3, 1.0, 30.0], (1000, 1)), size=(1000, 3)) @ free
    assert np.allclose(others @ A.T, beta)
    batch = np.repeat(M[None], 1000, axis=0), np.repeat(h[None], 1000, axis=0)
    assert (gaussian(*batch, others) > gaussian(M[None], h[None], chosen[None])).all()


def test_gaussian_is_convex_near_the_solution():
    M, h, A, beta = random_equations(7)
    chosen, _ = gauss_least_squares(M, h, A, beta, A)
    free, least = np.linalg.svd(A)[2][2:], gaussian(M[None], h[None], chosen[None])[0]
    for direction in free:
        rise = [gaussian(M[None], h[None], chosen[None] + e * direction)[0] - least for e in (-1e-3, 1e-3)]
        assert np.allclose(rise, 1e-6 * direction @ M @ direction, rtol=1e-6)


def test_the_gaussian_of_a_pendulum_is_the_square_of_its_tension():
    model = dl.Model("bob", gravity=(0, -9.81, 0)).coordinate("x", 0.6).coordinate("y", -0.8)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    eom = dl.derive(model.holonomic("x**2 + y**2 - 1"), "gauss", engine="python")
    q, qd = np.array([0.6, -0.8]), 1.5 * np.array([0.8, 0.6])
    tension = 2 * (1.5**2 + 9.81 * 0.8)
    assert eom.gaussian(q, qd) == pytest.approx(tension**2 / 2)
    assert eom.gaussian(q, qd, qdd=[0, -9.81]) == pytest.approx(0.0, abs=1e-12)


def test_without_constraints_the_gaussian_vanishes():
    model = dl.load("double-pendulum")
    eom = dl.derive(model, "gauss", mode="assembled")
    assert eom.gaussian([0.3, 0.2], [1.0, -2.0]) == pytest.approx(0.0, abs=1e-20)
    assert eom.multipliers([0.3, 0.2], [1.0, -2.0]).shape == (0,)


def test_a_batch_of_states_has_a_batch_of_gaussians():
    model = dl.load("cart-pendulum")
    eom = dl.derive(model, "gauss", engine="python")
    states = state_batch.consistent_states(model, 4)
    together = eom.gaussian(states.q, states.qd, states.t)
    alone = [eom.gaussian(q, qd, t) for q, qd, t in zip(states.q.T, states.qd.T, states.t, strict=True)]
    assert together.shape == (4,)
    assert np.allclose(together, alone)
