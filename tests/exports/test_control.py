"""Linear models in python-control."""

import numpy as np
import pytest

import dalembert as dl

OUTPUTS = ["q1", "sin(q2)", "ddot(q1)"]


@pytest.fixture
def control():
    return pytest.importorskip("control", reason="python-control is not installed: make exports installs it")


def test_transfer_functions_agree_with_python_control(control):
    linear = dl.linearize("robot-2-link", at=[-np.pi / 2, 0], inputs=["q1"], outputs=OUTPUTS)
    system = linear.to_control()
    assert (system.state_labels, system.input_labels) == (list(linear.states), ["q1"])
    assert system.output_labels == OUTPUTS
    for s in (0.4 + 2j, -0.3 + 1j, 5j):
        assert np.allclose(system(s), linear.transfer(s), rtol=1e-12, atol=1e-14)
    far = [np.abs(linear.eigenvalues - pole).min() for pole in system.poles()]
    assert max(far) < 1e-12 * np.abs(linear.eigenvalues).max()


def test_gains_agree_with_python_control(control):
    model = dl.load("robot-2-link").copy().start([np.pi / 2, 0], [0, 0])  # upright
    linear = dl.linearize(model, inputs=["q1"], outputs=OUTPUTS)
    K, _, poles = control.lqr(linear.to_control(), np.diag([1.0, 2.0, 0.1, 0.2]), np.array([[0.05]]))
    law = dl.LQR.about(model, Q=[1.0, 2.0, 0.1, 0.2], R=0.05, actuated=["q1"])
    assert np.allclose(law.K, K, rtol=1e-9)
    assert np.allclose(np.sort_complex(law.poles), np.sort_complex(poles), rtol=1e-7)


def test_python_control_simulation_agrees_with_the_pendulum(control):
    """Small oscillations of the nonlinear model under a torque."""
    torque = 1e-4
    linear = dl.linearize("simple-pendulum", at=[0.0], inputs=["theta"], outputs=["theta"])
    t = np.linspace(0, 3, 31)
    theirs = control.forced_response(linear.to_control(), t, np.full_like(t, torque)).outputs
    model = dl.load("simple-pendulum").copy().joint_torque("bob", torque).start([0.0], [0.0])
    ours = dl.simulate(model, 3.0, samples=31)["theta"]
    assert np.abs(theirs - ours).max() < 1e-8 * np.abs(ours).max()
