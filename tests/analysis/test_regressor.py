"""The regressor gives the torques of the recursion, and identification recovers the base parameters."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError


def states(count, n, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, (3, n, count))


@pytest.mark.parametrize("name", ["robot-2-link", pytest.param("kuka-kr5", marks=pytest.mark.nightly)])
def test_torques_are_linear_in_the_parameters(name):
    model, found = dl.load(name), dl.regressor(name)
    q, qd, qdd = states(20, len(found.dynamics.speed_names))
    tau = np.einsum("nkB,k->nB", found.matrix(q, qd, qdd), found.values)
    expected = dl.inverse_dynamics(model.copy().replaced(loads=()), q, qd, qdd)
    assert np.abs(tau - expected).max() < 1e-12 * np.abs(expected).max()
    assert np.allclose(found.matrix(q[:, 0], qd[:, 0], qdd[:, 0]), found.matrix(q, qd, qdd)[..., 0])


def test_a_planar_arm_has_the_base_parameters_of_the_book():
    """n planar links with gravity: 3 of every link, with the masses of later links added to m x and I of earlier ones."""
    base = dl.regressor("robot-2-link").base()
    assert base.rank == 6
    assert base.names[0] == "mx(upper) + 0.3·m(lower)"
    assert "Izz(upper) + 0.09·m(lower)" in base.names
    assert base.gap[0] > 0.1
    assert base.gap[1] < 1e-12
    assert "tested at 200 random states" in str(base)


def test_base_parameters_are_identified_from_torques():
    found = dl.regressor("robot-2-link")
    q, qd, qdd = states(200, 2, seed=3)
    noise = np.array([[0.05], [0.02]]) * np.random.default_rng(1).normal(size=(2, 200))
    tau = found.dynamics.inverse(q, qd, qdd) + noise
    result = found.identify(q, qd, qdd, tau)
    off = result.x - result.base.values
    assert off @ np.linalg.solve(result.covariance, off) < 22.5  # χ² with 6 degrees of freedom: 99.9 %
    assert np.all(np.abs(result.sigma / [0.05, 0.02] - 1) < 0.2)
    assert list(result.estimates) == list(result.base.names)


def test_models_without_a_regressor_raise():
    with pytest.raises(NotApplicableError, match="tree of bodies"):
        dl.regressor("four-bar")
    q, qd, qdd = states(5, 2)
    with pytest.raises(InputError, match="tau has shape"):
        dl.regressor("robot-2-link").identify(q, qd, qdd, np.zeros((2, 4)))
    q, qd, qdd = np.zeros((3, 2, 50))
    with pytest.raises(InputError, match="does not excite"):
        dl.regressor("robot-2-link").identify(q, qd, qdd, np.zeros((2, 50)))
