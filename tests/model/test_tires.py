"""Tires against closed forms: sideslip, braking, sliding, rest."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.model.model import Model

LOAD, MASS, RADIUS = 3000.0, 200.0, 0.3


def wheel(**law) -> Model:
    """An upright wheel on the ground that moves in x and y, steers by `heading` and rotates by `turn`."""
    model = Model("wheel").parameters(N=LOAD).coordinates("x", "y", "heading", "turn")
    axes = [model.prismatic(e, c) for e, c in (((1, 0, 0), "x"), ((0, 1, 0), "y"))]
    joints = [*axes, model.revolute((0, 0, 1), "heading", position=(0, 0, RADIUS)), model.revolute((0, 1, 0), "turn")]
    model.body("wheel", joint=joints, mass=MASS, inertia=(0.6, 1.2, 0.6))
    return model.tire("wheel", radius=RADIUS, load="N", **law)


def force(model: Model, qd, heading=0.0) -> np.ndarray:
    found = dl.derive(model, engine="python").accelerations([0, 0, heading, 0.4], qd)
    assert found[2] == pytest.approx(0, abs=1e-9)  # it acts below the center: no moment about the vertical
    assert found[3] * 1.2 == pytest.approx(  # and its part along the heading rotates the wheel
        -RADIUS * MASS * (found[0] * np.cos(heading) + found[1] * np.sin(heading)), rel=1e-9, abs=1e-9
    )
    return MASS * found[:2]


def test_wheel_without_slip_has_no_force():
    assert force(wheel(stiffness=20), [9, 0, 0, 30]) == pytest.approx(0, abs=1e-9)
    assert force(wheel(stiffness=20, mu=0.9), [9, 0, 0, 30]) == pytest.approx(0, abs=1e-9)


def test_side_slip_angle_gives_a_lateral_force():
    # at the slip angle α: c load tan α across the wheel, against the side it slides to
    heading, speed = 0.1, 12.0
    rolling = speed * np.cos(heading)
    found = force(wheel(stiffness=(20, 15), low_speed=1e-6), [speed, 0, 0, rolling / RADIUS], heading)
    across = np.array([-np.sin(heading), np.cos(heading)])
    assert found == pytest.approx(15 * LOAD * np.tan(heading) * across, rel=1e-9)


@pytest.mark.parametrize("brake", [-0.02, 0.05])
def test_longitudinal_slip_is_the_ratio_of_speeds(brake):
    found = force(wheel(stiffness=(20, 15), low_speed=1e-6), [10, 0, 0, 10 * (1 + brake) / RADIUS])
    assert found == pytest.approx([20 * LOAD * brake, 0], rel=1e-9, abs=1e-9)


def test_locked_wheel_slides_against_its_velocity():
    # C = 1 and full slip of a stiff tire: sin(arctan φ) → 1, so μ N against the velocity
    found = force(wheel(stiffness=1e6, mu=0.8, shape=1), [3, -4, 0, 0])
    assert found == pytest.approx(-0.8 * LOAD * np.array([3, -4]) / 5, rel=1e-9)


def test_the_magic_formula_has_its_peak_and_the_slope_of_the_linear_tire():
    law = {"stiffness": 20, "mu": 0.9, "shape": 1.65, "low_speed": 1e-9}
    slips = np.concatenate([[1e-4], np.linspace(0.01, 0.6, 60)])
    eom = dl.derive(wheel(**law), engine="python")
    qd = np.zeros((4, len(slips)))
    qd[0], qd[3] = 10, 10 * (1 + slips) / RADIUS
    found = MASS * eom.accelerations(np.zeros_like(qd), qd)[0] / LOAD
    assert found[0] == pytest.approx(20e-4, rel=1e-5)
    # the peak is where C arctan(B κ) is a right angle
    peak = np.tan(np.pi / 2 / 1.65) * 1.65 * 0.9 / 20
    assert found.max() == pytest.approx(0.9, rel=1e-3)
    assert slips[found.argmax()] == pytest.approx(peak, abs=0.01)
    assert found[-1] < 0.85


def test_sideslip_dies_out_exponentially_at_constant_speed():
    # m ẏ̈ = −c N ẏ / U
    model = Model("trailer").coordinate("y", 0.0, 0.5)
    joints = [model.prismatic((1, 0, 0), "15*t"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 1, 0), "50*t")]
    model.body("wheel", joint=joints, mass=MASS, inertia=(0.6, 1.2, 0.6))
    model.tire("wheel", radius=RADIUS, load=LOAD, stiffness=15, low_speed=2)
    run = dl.derive(model, engine="python").simulate(0.5, samples=6, integrator="dop853", rtol=1e-12, atol=1e-13)
    assert np.allclose(run.qd[0], 0.5 * np.exp(-15 * LOAD / MASS / np.hypot(15, 2) * run.t), atol=1e-11)


def test_tire_only_dissipates_energy():
    eom = dl.derive(wheel(stiffness=(20, 15), mu=0.9), engine="python")
    q, qd = np.random.default_rng(4).uniform(-3, 3, (2, 4, 50))
    weights = np.array([MASS, MASS, 0.6, 1.2])[:, None]
    gyro = dl.derive(wheel(stiffness=0), engine="python").accelerations(q, qd)
    assert np.all(np.sum(weights * (eom.accelerations(q, qd) - gyro) * qd, axis=0) < 0)


def test_invalid_tire_arguments():
    for law, message in (
        ({"stiffness": (1, 2, 3)}, "stiffness: got 3 values. Expected one for both, or two: (along, across)."),
        ({"stiffness": "x"}, "stiffness: 'x' depends on x."),
        ({"stiffness": 1, "axis": (0, 0, 0)}, "the axis has length 0."),
    ):
        with pytest.raises(InputError) as caught:
            wheel(**law)
        assert message in str(caught.value)
    for key in ("mu", "shape", "low_speed"):
        with pytest.raises(ModelError, match=f"tire 'tire1', {key}: it is 0. Expected a positive number."):
            wheel(**{"stiffness": 1, "mu": 0.9, key: 0}).require_valid()
