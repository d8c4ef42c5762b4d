"""Runs in SIMD lanes are bit-identical to the same runs alone."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.analysis._sweep_lanes import Starts, reason_to_run_alone, run_lanes
from dalembert.simulation.integrators.base import Settings

TIMES = np.linspace(0.0, 2.0, 21)


def starts_of(eom, runs, seed=0):
    scatter = 1 + 0.2 * np.random.default_rng(seed).random((len(eom.values), runs))
    q, qd = eom.model.initial
    return Starts(
        eom.values[:, None] * scatter, np.repeat(q[:, None], runs, axis=1), np.repeat(qd[:, None], runs, axis=1)
    )


@pytest.mark.parametrize(
    ("name", "formalism"),
    [("double-pendulum", "lagrange"), ("cart-pendulum", "lagrange"), ("double-pendulum", "hamilton")],
)
def test_a_run_in_a_lane_is_bit_identical_to_the_run_alone(name, formalism):
    eom = dl.derive(name, formalism)
    assert reason_to_run_alone(eom, "dop853") is None
    starts = starts_of(eom, 40)
    lanes = run_lanes(eom, starts, TIMES, Settings())
    states = lanes.states
    assert lanes.finished.all()
    for i in (0, 17, 39):
        changed = eom.with_parameters(dict(zip(eom.model.parameter_values, starts.values[:, i].tolist(), strict=True)))
        alone = changed.simulate(times=TIMES, integrator="dop853")
        assert np.array_equal(np.concatenate([alone.q, alone.v, *([x] for x in alone.work.values())]).T, states[i])


def test_lanes_are_independent():
    eom = dl.derive("cart-pendulum")
    starts = starts_of(eom, 50)
    all_states = run_lanes(eom, starts, TIMES, Settings()).states
    some = Starts(*(part[:, 40:43].copy() for part in (starts.values, starts.q, starts.qd)))
    assert np.array_equal(run_lanes(eom, some, TIMES, Settings()).states, all_states[40:43])


def test_tolerances_and_longest_steps_are_those_of_simulate():
    eom = dl.derive("double-pendulum")
    settings = Settings(rtol=1e-6, atol=1e-7, max_step=0.05)
    states = run_lanes(eom, starts_of(eom, 1), TIMES, settings).states
    values = dict(zip(eom.model.parameter_values, starts_of(eom, 1).values[:, 0].tolist(), strict=True))
    alone = eom.simulate(times=TIMES, integrator="dop853", rtol=1e-6, atol=1e-7, max_step=0.05, parameters=values)
    assert np.array_equal(np.concatenate([alone.q, alone.v]).T, states[0])


def test_runs_in_lanes_are_checked_like_runs_alone():
    eom, lengths, rtol = dl.derive("double-pendulum"), [0.5, 1.0, 2.0], 0.05
    found = dl.sweep(
        "double-pendulum", {"l1": lengths}, observe="theta1", duration=30.0, times=21, rtol=rtol, workers=1
    )
    assert found.attrs["lanes"] == "yes"
    assert found.attrs["doubtful"] == 3
    for length, note in zip(lengths, found["notes"].values, strict=True):
        alone = eom.simulate(30.0, samples=21, integrator="dop853", rtol=rtol, parameters={"l1": length})
        assert note == "; ".join(alone.notes)
        assert "energy" in note


def test_accurate_runs_in_lanes_have_no_notes():
    found = dl.sweep("cart-pendulum", {"l": [0.1, 0.2, 0.3]}, observe="theta2", times=[0.0, 5.0], workers=1)
    assert (found["notes"].values == "").all()
    assert found.attrs["doubtful"] == 0


def test_a_run_that_needs_more_is_not_finished():
    # the rods of a slider-crank with equal lengths fold: constraints become dependent, and branches cross
    model = dl.Model.from_energies(
        "crossing", coordinates=["x", "y"], kinetic="(dot(x)**2 + dot(y)**2)/2", holonomic=["x*y"]
    ).start([-1.0, 0.0], [1.0, 0.0])
    eom = dl.derive(model)
    if reason_to_run_alone(eom, "dop853") is None:
        q, qd = model.initial
        starts = Starts(np.zeros((0, 1)), q[:, None], qd[:, None])
        assert not run_lanes(eom, starts, np.array([0.0, 2.0]), Settings()).finished[0]


def test_models_that_need_monitoring_run_alone():
    ball = dl.load("simple-pendulum").copy().joint_torque("bob", "-0.1*sign(dot(theta))", name="rub")
    assert "switch" in (reason_to_run_alone(dl.derive(ball), "dop853") or "")
    assert "does not run in lanes" in (reason_to_run_alone(dl.derive("simple-pendulum"), "taylor") or "")
