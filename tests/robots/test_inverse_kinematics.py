"""Inverse kinematics of robots, checked by Pinocchio's forward kinematics."""

import numpy as np
import pytest
from pinocchio_models import pin, rebuilt
from test_pinocchio import read_by_pinocchio

import dalembert as dl


@pytest.mark.parametrize(("name", "index"), [("panda", 7), ("ur5", 6)])
def test_a_thousand_random_poses_are_reached(name, index):
    _, theirs = read_by_pinocchio(name, "fixed")
    ours, data = rebuilt(theirs), theirs.createData()
    assert theirs.nq == theirs.nv  # angles, as ours

    def pose(q):
        pin.forwardKinematics(theirs, data, q)
        return data.oMi[index].homogeneous.copy()

    rng = np.random.default_rng(11)
    low, high = theirs.lowerPositionLimit, theirs.upperPositionLimit
    for label, lower, upper in zip(ours.coordinate_names, low, high, strict=True):
        ours.limit(label, lower=float(lower), upper=float(upper))
    wanted = np.stack([pose(low + (high - low) * rng.uniform(size=theirs.nq)) for _ in range(1000)], axis=2)
    found = dl.inverse_kinematics(ours, f"link{index}", wanted)
    off = np.array([np.abs(pose(q) - T).max() for q, T in zip(found.q.T, np.moveaxis(wanted, 2, 0), strict=True)])
    assert np.mean(off < 1e-10) >= 0.995
    assert (low - 1e-12 <= found.q.T).all()
    assert (high + 1e-12 >= found.q.T).all()
