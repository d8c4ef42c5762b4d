"""Trajectory tracking: feedforward torques by inverse dynamics, open-loop simulation, and computed torque."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.analysis.controllers import desired_motion
from dalembert.errors import InputError


@pytest.fixture(scope="module")
def step():
    return dl.gallery.expected("biped")["motion"]


def test_rates_of_the_desired_motion_are_derivatives(step):
    fine = np.linspace(0, 0.5, 2001)
    q, qd, qdd = desired_motion(dl.load("biped"), step, fine)
    assert np.allclose(np.gradient(q, fine, axis=1)[:, 5:-5], qd[:, 5:-5], atol=1e-4)
    assert np.allclose(np.gradient(qd, fine, axis=1)[:, 5:-5], qdd[:, 5:-5], atol=1e-2)


@pytest.mark.nightly
def test_the_biped_follows_and_then_falls_without_a_controller(step):
    biped = dl.load("biped")
    run = dl.derive(dl.feedforward(biped, step, 0.5, samples=101), "kane").simulate(0.5, samples=51)
    error = np.abs(run.q - desired_motion(biped, step, run.t)[0]).max(axis=0)
    assert error[run.t <= 0.1].max() < 1e-3  # as in Figure 15 of papers/denoc: it follows at first
    assert error[-1] > 0.3  # and then falls


@pytest.mark.slow(7)
def test_computed_torque_tracks_the_biped_step_and_errors_decay(step):
    biped = dl.load("biped")
    controlled = dl.computed_torque(biped, step, gains=(100.0, 20.0))
    equations = dl.derive(controlled, "lagrange")
    run = equations.simulate(0.5, samples=26, integrator="dop853")
    target = desired_motion(biped, step, run.t)[0]
    assert np.abs(run.q - target).max() < 1e-9
    # the torques are those of inverse dynamics
    q, qd, qdd = desired_motion(biped, step, run.t)
    tau = dl.inverse_dynamics(biped, q, qd, qdd)
    names = [name.removeprefix("control of ") for name in run.constraint_names]
    order = [names.index(name) for name in biped.coordinate_names]
    assert np.allclose(run.multipliers[order], tau, atol=1e-7 * np.abs(tau).max())
    # with α = 100, β = 20 both roots are −10: e(t) = e₀ (1 + 10 t) exp(−10 t)
    q0, qd0 = controlled.initial
    off = equations.simulate(0.5, q0=q0 + 0.01, qd0=qd0, samples=26, integrator="dop853")
    expected = 0.01 * (1 + 10 * off.t) * np.exp(-10 * off.t)
    assert np.allclose(off.q - target, expected, atol=1e-8)


def test_a_closed_linkage_is_actuated_at_its_crank():
    model = dl.load("four-bar")
    crank = model.coordinate_names[0]
    start = model.initial[0][0]
    law = {crank: f"{start!r} + 0.3*t**2".replace("np.float64", "")}
    driven = model.copy().drive(crank, law[crank])
    run = dl.derive(driven, "lagrange").simulate(0.5, samples=26)
    tau = dl.inverse_dynamics(model, run.q, run.qd, run.qdd, actuated=[crank])
    names = run.constraint_names
    assert np.allclose(run.multipliers[names.index(f"drive of {crank}")], tau[0], atol=1e-8 * np.abs(tau).max())
    # power of the drive is the rate of the energy
    power = tau[0] * run.qd[0]
    work = np.concatenate([[0], np.cumsum(np.diff(run.t) * (power[1:] + power[:-1]) / 2)])
    assert np.allclose(run.energy - run.energy[0], work, atol=2e-3 * np.abs(work).max())


def test_wrong_motions_raise():
    with pytest.raises(InputError, match=r"motion: there is no coordinate 'q99'\. Did you mean 'q9'\?"):
        dl.feedforward(dl.load("biped"), {"q99": "t"}, 1.0)
    with pytest.raises(InputError, match="feedforward: the coordinate 'theta1' moves 2 joints"):
        dl.feedforward(dl.load("double-pendulum"), {"theta1": "t"}, 1.0)
