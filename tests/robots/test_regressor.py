"""The inertial parameter regressor against Pinocchio's, and a Panda's base parameters from its torques."""

import numpy as np
import pytest
from pinocchio_models import pin, random_states, rebuilt
from test_pinocchio import read_by_pinocchio

import dalembert as dl


@pytest.mark.parametrize(("name", "base"), [("panda", "fixed"), ("ur5", "fixed"), ("solo12", "floating")])
def test_regressors_agree_with_pinocchio(name, base):
    _, theirs = read_by_pinocchio(name, base)
    data, ours = theirs.createData(), dl.regressor(rebuilt(theirs))
    for at, q, v, a, T, drift in random_states(theirs, 1, 5):
        expected = pin.computeJointTorqueRegressor(theirs, data, at, v, a)
        found = T.T @ ours.matrix(q, T @ v, T @ a + drift)
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    expected = np.concatenate([inertia.toDynamicParameters() for inertia in list(theirs.inertias)[1:]])
    assert np.abs(ours.values - expected).max() < 1e-12 * np.abs(expected).max()


def test_base_parameters_of_a_panda_are_identified():
    """Torques of Pinocchio with noise; the true values lie within the reported covariance."""
    _, theirs = read_by_pinocchio("panda", "fixed")
    theirs = pin.buildReducedModel(theirs, [8, 9], pin.neutral(theirs))  # the fingers are fixed
    data, ours, rng, count = theirs.createData(), dl.regressor(rebuilt(theirs)), np.random.default_rng(5), 600
    base = ours.base()
    assert base.rank == 43  # as published for this arm with the first axis along gravity
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, theirs.nv, count))
    tau = np.stack([pin.rnea(theirs, data, *state) for state in zip(q.T, qd.T, qdd.T, strict=True)], axis=1)
    sigma = 0.05 * np.ones((theirs.nv, 1))
    found = ours.identify(q, qd, qdd, tau + sigma * rng.normal(size=tau.shape), base=base)
    off = found.x - base.values
    assert off @ np.linalg.solve(found.covariance, off) < 77.4  # χ² with 43 degrees of freedom: 99.9 %
    assert np.all(np.abs(found.sigma / sigma.ravel() - 1) < 0.15)
    exact = ours.identify(q, qd, qdd, tau, base=base)
    assert np.abs(exact.x - base.values).max() < 1e-9 * np.abs(base.values).max()
