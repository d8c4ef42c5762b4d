"""Inverse dynamics followed by forward dynamics returns the motion, on every example made of bodies, open and closed."""

import numpy as np
import pytest
from gallery_models import by_size, with_bodies

import dalembert as dl
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts


def consistent(model, count=5):
    states = state_batch.consistent_states(with_contacts(model), count, seed=7)
    return states.q, states.qd, states.t


def free(model):
    """True for a model without constraints."""
    return not (model.constraint_names or model.contacts or any(j.quaternion for b in model.bodies for j in b.joints))


@pytest.mark.parametrize("name", by_size(with_bodies()))
def test_forward_after_inverse_returns_the_motion(name):
    model = dl.load(name)
    q, qd, t = consistent(model)
    rng = np.random.default_rng(3)
    if free(model):
        qdd = rng.uniform(-2, 2, q.shape)
        tau = dl.inverse_dynamics(model, q, qd, qdd, t)
    else:
        # a motion that satisfies the constraints, and the minimum-norm forces for it
        push = rng.uniform(-1, 1, (len(dl.speed_names(model)), q.shape[1]))
        qdd = dl.forward_dynamics(model, q, qd, push, t)
        tau = dl.inverse_dynamics(model, q, qd, qdd, t, actuated=list(model.coordinate_names))
        assert (np.linalg.norm(tau, axis=0) <= np.linalg.norm(push, axis=0) * (1 + 1e-9)).all()
    back = dl.forward_dynamics(model, q, qd, tau, t)
    assert np.abs(back - qdd).max() <= 1e-9 * max(1.0, np.abs(qdd).max())
