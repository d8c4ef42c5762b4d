"""Phong's equations with undifferentiated g(q, t) = 0 by collocation: (2.7) and (2.1) of papers/phong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ellipk

import dalembert as dl
from dalembert.io import gallery
from dalembert.simulation.integrators import collocation


def test_points_integrate_polynomials_of_degree_8_exactly():
    assert_allclose(collocation.A[-1] @ collocation.C[:, None] ** np.arange(9), 1 / np.arange(1, 10), rtol=1e-12)
    assert_allclose(collocation.A.sum(axis=1), collocation.C, rtol=1e-12)
    assert collocation.C[-1] == 1
    # the error estimate vanishes for polynomials up to degree 3
    assert_allclose(collocation.ERROR @ collocation.C[:, None] ** np.arange(4), 0, atol=1e-12)


def test_motion_of_example_1():
    eom = dl.derive("phong-disk", "phong")
    run = eom.simulate(3.0, samples=31, integrator="collocation")
    amplitude = gallery.expected("phong-disk")["closed_form"]["amplitude"]
    assert_allclose(run.q[0], amplitude * (1 - np.cos(2 * run.t)), atol=1e-10)
    assert run.energy_error < 1e-9  # the balance includes the work of the force


def test_constraints_hold_to_rounding_without_projection():
    # (3.9), (3.10) at the ends of all steps; the period by a complete elliptic integral
    period = 4 * np.sqrt(4 / 3 * 0.5 / 9.81) * ellipk(np.sin(np.pi / 6) ** 2)
    eom = dl.derive("phong-pendulum", "phong")
    run = eom.simulate(period, samples=5, integrator="collocation", project=False, dense=True)
    assert_allclose(run.q[2], [np.pi / 3, 0, -np.pi / 3, 0, np.pi / 3], atol=1e-9)
    x, y, phi = np.array([piece(piece.t1)[:3] for piece in run.dense]).T
    assert_allclose(x - 0.5 * np.sin(phi), 0, atol=5e-16)
    assert_allclose(y + 0.5 * np.cos(phi), 0, atol=5e-16)


def test_positions_have_order_9():
    eom = dl.derive("phong-pendulum", "phong")
    best = eom.simulate(0.8, samples=2, integrator="dop853", rtol=1e-13).q[2, -1]
    loose = {"samples": 2, "integrator": "collocation", "rtol": 1e3, "atol": 1e3}
    wrong = [abs(eom.simulate(0.8, max_step=h, **loose).q[2, -1] - best) for h in (0.2, 0.1)]
    assert np.log2(wrong[0] / wrong[1]) > 7.5


@pytest.mark.parametrize("name", ["slider-crank-2", "knife-edge"])
def test_agrees_with_reduced_equations(name):
    # loops and springs; velocity constraints are undifferentiated too
    eom = dl.derive(name, "phong")
    run = eom.simulate(0.5, samples=6, integrator="collocation", project=False)
    other = eom.simulate(0.5, samples=6, integrator="dop853")
    assert_allclose(run.q, other.q, atol=1e-9)
    assert_allclose(run.qd, other.qd, atol=1e-7)


def test_accepts_trial_vectors_of_the_user():
    runs = [
        dl.derive("phong-disk", "phong", trials=trials).simulate(1.0, samples=3, integrator="collocation")
        for trials in (None, [[1, 1, 1]])
    ]
    assert_allclose(runs[0].q, runs[1].q, atol=1e-11)


def test_rejects_other_formalisms_and_stabilization():
    with pytest.raises(dl.InputError, match="those of the formalism phong, without servo constraints"):
        dl.simulate("phong-disk", 0.1, samples=2, integrator="collocation", formalism="lagrange")
    eom = dl.derive("phong-disk", "phong")
    with pytest.raises(dl.InputError, match="those of the formalism phong, without servo constraints"):
        eom.simulate(0.1, samples=2, integrator="collocation", stabilization=(1.0, 2.0))
