"""Constraint drift: projected, stabilized, or uncorrected."""

import numpy as np
import pytest

import dalembert as dl


@pytest.fixture(scope="module")
def pendulum() -> dl.Model:
    return dl.load("spherical-pendulum")


@pytest.mark.parametrize("key", ["lagrange", "poincare", "hamilton", "newton_euler", "udwadia_kalaba", "dirac"])
def test_projection_keeps_positions_and_velocities(pendulum, key):
    run = dl.derive(pendulum, key).simulate(10.0, integrator="dop853", rtol=1e-7, atol=1e-9, samples=21)
    assert np.abs(run.violation).max() < 1e-9


def test_constraints_drift_without_projection(pendulum):
    run = dl.derive(pendulum, "lagrange").simulate(
        10.0, integrator="dop853", rtol=1e-6, atol=1e-8, samples=21, project=False
    )
    assert np.abs(run.violation).max() > 1e-7


def test_baumgarte_keeps_violations_small(pendulum):
    options = {"integrator": "dop853", "rtol": 1e-6, "atol": 1e-8, "samples": 21}
    stabilized = dl.derive(pendulum, "dalembert").simulate(10.0, stabilization=(100.0, 20.0), **options)
    loose = dl.derive(pendulum, "dalembert").simulate(10.0, project=False, **options)
    assert np.abs(stabilized.violation).max() < 0.1 * np.abs(loose.violation).max()


def test_servo_error_decays_as_prescribed():
    model = dl.Model("servo").coordinates("x", "y").start([1.0, 0.0], [0.0, 0.0])
    model.body("a", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.holonomic("x", name="target", feedback=(4.0, 4.0))  # a double root at −2
    run = dl.derive(model, "lagrange").simulate(3.0, samples=31)
    np.testing.assert_allclose(run.q[0], (1 + 2 * run.t) * np.exp(-2 * run.t), atol=1e-12)
    assert run.energy_error < 1e-11  # the balance includes the power of the control


@pytest.mark.parametrize(
    ("integrator", "key", "order"), [("algorithm3", "dalembert", 1), ("algorithm5", "hamilton", 1)]
)
def test_textbook_schemes_have_first_order(integrator, key, order):
    equations = dl.derive(dl.load("simple-pendulum"), key)
    exact = equations.simulate(0.5, samples=2).q[0, -1]
    errors = [
        abs(equations.simulate(0.5, integrator=integrator, step=h, samples=2).q[0, -1] - exact) for h in (1e-3, 5e-4)
    ]
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.1)


def test_implicit_methods_on_a_stiff_damper():
    model = dl.Model("stiff").parameters(c=1e5).coordinate("x", start=1.0).coordinate("y", start=0.0)
    model.body("a", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("b", parent="a", joint=model.prismatic((0, 1, 0), "y"), mass=1)
    model.joint_torque("a", "-c*dot(x) - c*(x - sin(t))").joint_torque("b", "-y")
    model.start([0.0, 1.0], [0.0, 0.0])
    for integrator in ("radau", "ida"):
        run = dl.derive(model, "lagrange").simulate(2.0, integrator=integrator, rtol=1e-7, atol=1e-9, samples=5)
        np.testing.assert_allclose(run.q[1], np.cos(run.t), atol=1e-5)
        assert run.steps < 5000


def test_integrators_reject_unsupported_formalisms():
    model = dl.load("simple-pendulum")
    with pytest.raises(dl.InputError, match=r"'algorithm3' steps q with q̇ and q̈"):
        dl.derive(model, "hamilton").simulate(0.1, integrator="algorithm3")
    with pytest.raises(dl.InputError, match=r"'algorithm5' steps momenta"):
        dl.derive(model, "lagrange").simulate(0.1, integrator="algorithm5")
    with pytest.raises(dl.InputError, match=r"'ida' does not support this formalism"):
        dl.derive(model, "newton_euler").simulate(0.1, integrator="ida")
