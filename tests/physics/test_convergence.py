"""Integrators converge at their order, and errors follow the tolerances."""

import numpy as np
import pytest

import dalembert as dl

END = 2.0
START = {"q0": [1.0], "qd0": [0.7]}


@pytest.fixture(scope="module")
def pendulum():
    return dl.derive(dl.load("simple-pendulum"), "lagrange")


@pytest.fixture(scope="module")
def exact(pendulum):
    return pendulum.simulate(END, samples=2, **START, integrator="taylor").q[:, -1]


def orders(pendulum, exact, steps, **options):
    """The observed order between neighboring step sizes."""
    errors = []
    for h in steps:
        size = {name: h if value == "step" else value for name, value in options.items()}
        errors.append(np.abs(pendulum.simulate(END, samples=2, **START, **size).q[:, -1] - exact).max())
    return np.log(np.divide(errors[:-1], errors[1:])) / np.log(np.divide(steps[:-1], steps[1:]))


def test_rk4_has_order_4(pendulum, exact):
    found = orders(pendulum, exact, [0.02, 0.01, 0.005], integrator="rk4", step="step")
    assert np.allclose(found, 4, atol=0.1)


def test_rk45_has_order_5(pendulum, exact):
    # tolerances so loose that every step has the maximum size
    steps = [0.025, 0.0125, 0.00625]
    found = orders(pendulum, exact, steps, integrator="rk45", max_step="step", rtol=1e3, atol=1e3)
    assert np.allclose(found, 5, atol=0.3)


def test_dop853_has_order_8(pendulum, exact):
    steps = [0.2, 0.1, 0.05]
    found = orders(pendulum, exact, steps, integrator="dop853", max_step="step", rtol=1e3, atol=1e3)
    assert np.allclose(found, 8, atol=0.4)


@pytest.mark.parametrize("integrator", ["rk45", "dop853", "taylor"])
def test_tighter_tolerances_give_smaller_errors(pendulum, exact, integrator):
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        run = pendulum.simulate(END, samples=2, **START, integrator=integrator, rtol=rtol, atol=rtol / 100)
        errors.append(np.abs(run.q[:, -1] - exact).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-7
