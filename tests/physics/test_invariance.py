"""Invariance under rotation of the world and change of units."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.model.model import Model

by_every_formalism = pytest.mark.parametrize("key", catalog.KEYS)
by_every_nonholonomic = pytest.mark.parametrize("key", [key for key in catalog.KEYS if key != "dirac"])
TURN = (0.4, -0.7, 1.1)  # roll, pitch, yaw


def arm(gravity, rotation) -> Model:
    """Three spatial joints on a base that may be rotated, with a spring inside the arm and a force in its axes."""
    model = Model("arm", gravity=gravity).coordinates("a", "b", "s")
    upper = model.revolute((0, 0, 1), "a", rotation=rotation)
    model.body("upper", joint=upper, mass=2, center=(0.3, 0, 0.1), inertia=(0.2, 0.3, 0.25))
    reach = [model.revolute((0, 1, 0), "b", position=(0.6, 0, 0)), model.prismatic((1, 0, 0), "s")]
    model.body("lower", parent="upper", joint=reach, mass=1, center=(0.2, 0.1, 0), inertia=(0.1, 0.1, 0.1))
    model.spring(("upper", "lower"), stiffness=5, points=((0, 0, 0), (0.5, 0, 0.5)))
    return model.force("lower", (1, 2, "cos(t)"), frame="lower")


@by_every_formalism
def test_accelerations_are_invariant_under_rotation_of_the_world(key):
    gravity = np.array([0.5, -3.0, -9.0])
    turned = Rotation.from_euler("xyz", TURN).apply(gravity).tolist()
    straight = dl.derive(arm(gravity.tolist(), (0, 0, 0)), key, engine="python")
    rotated = dl.derive(arm(turned, TURN), key, engine="python")
    q, qd = [0.3, -0.5, 0.2], [1.0, 0.4, -0.6]
    assert np.allclose(straight.accelerations(q, qd, 0.3), rotated.accelerations(q, qd, 0.3), rtol=1e-12)


def test_rotating_gravity_alone_changes_accelerations():
    q, qd = [0.3, -0.5, 0.2], [1.0, 0.4, -0.6]
    one, other = (dl.derive(arm(g, (0, 0, 0)), "kane", engine="python") for g in ((0, 0, -9), (0, -9, 0)))
    assert not np.allclose(one.accelerations(q, qd), other.accelerations(q, qd), rtol=1e-3)


@by_every_nonholonomic
def test_units_of_length_mass_and_time_scale_out(key):
    # feet, pounds and minutes instead of meters, kilograms and seconds
    length, mass, time = 1 / 0.3048, 1 / 0.45359237, 1 / 60
    model = dl.load("cart-pendulum")
    si = model.parameter_values | {"tau": 0.3}
    scales = {"m1": mass, "m2": mass, "l": length, "g": length / time**2, "tau": mass * length**2 / time**2}
    eom = dl.derive(model, key, engine="python")
    metric = eom.with_parameters(si)
    imperial = eom.with_parameters({name: value * scales[name] for name, value in si.items()})
    q, qd = np.array([0.7, -0.4, 0.3]), np.array([1.1, -1.1 * np.cos(1.1), 0.6])
    unit = np.array([1.0, 1.0, length])
    expected = metric.accelerations(q, qd) * unit / time**2
    assert np.allclose(imperial.accelerations(q * unit, qd * unit / time), expected, rtol=1e-12)
    forces = metric.reactions(q, qd) * mass * length**2 / time**2 / unit
    assert np.allclose(imperial.reactions(q * unit, qd * unit / time), forces, rtol=1e-10, atol=1e-9)


def test_a_free_body_is_invariant_under_translation():
    eom = dl.derive(dl.load("three-bodies"), "lagrange", engine="python")
    q, qd = (np.array(x) for x in eom.model.initial)
    moved = q + np.array([0, 0, 0, 0, 0, 7.0, -20.0, 300.0])
    assert np.allclose(eom.accelerations(q, qd), eom.accelerations(moved, qd), rtol=1e-12)
