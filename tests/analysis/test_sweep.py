"""Sweeps: closed forms, bit-identical results for any workers, failures as rows, and errors."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dalembert as dl
from dalembert.analysis._evaluate_chunk import evaluate_chunk
from dalembert.analysis.sweep_spec import Observable, Points, SweepSpec, variation_of
from dalembert.analysis.worker_pool import by_processes
from dalembert.simulation.integrators.base import Settings

PENDULUM: dict[str, Any] = {"duration": 2.0, "workers": 1}


def test_the_period_of_a_small_pendulum_grows_with_the_root_of_its_length():
    lengths = np.linspace(0.5, 1.5, 5)
    times = np.linspace(0.0, 2.0, 41)
    small = dl.load("simple-pendulum").copy().start([1e-4], [0.0])
    found = dl.sweep(small, {"l": lengths}, observe={"angle": "theta"}, times=times, workers=1)
    w = np.sqrt(9.81 / lengths)
    assert np.abs(found["angle"].values - 1e-4 * np.cos(np.outer(w, times))).max() < 1e-11
    assert found["angle"].dims == ("l", "time")


def test_a_model_without_parameters_runs_in_lanes():
    model = dl.Model("free fall", gravity=(0, 0, -10)).coordinate("z", start=1.0)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    found = dl.sweep(model, {"z": [1.0, 2.0], "dot(z)": [0.0, 3.0]}, observe="final(z)", duration=1.0, times=3)
    np.testing.assert_allclose(found["final(z)"], [[-4, -1], [-3, 0]], atol=1e-9)
    assert found.attrs["lanes"] == "yes"


def test_energy_is_conserved_and_the_top_speed_is_that_of_the_fall():
    angles = [0.3, 1.0, 2.5]
    found = dl.sweep(
        "simple-pendulum",
        {"theta": angles, "l": [0.5, 2.0]},
        observe=["drift(energy)", "final(energy)", "max(dot(theta)**2)"],
        times=4001,
        duration=4.0,
        workers=1,
    )
    assert found["drift(energy)"].max() < 1e-8
    for angle in angles:
        for length in (0.5, 2.0):
            here = found.sel(theta=angle, l=length)
            assert abs(float(here["final(energy)"]) + 9.81 * length * np.cos(angle)) < 1e-8
            assert abs(float(here["max(dot(theta)**2)"]) / (2 * 9.81 / length * (1 - np.cos(angle))) - 1) < 1e-4


def swept(**more):
    vary = {"l": (0.1, 0.3), "m2": stats.norm(0.5, 0.05), "dot(x)": (0.0, 1.0)}
    options = {"samples": "sobol", "runs": 60, "duration": 1.0, "times": 6, "chunk": 16, **more}
    return dl.sweep("cart-pendulum", vary, observe=["theta1", "max(energy)", "final(x) "], **options)


def test_results_are_bit_identical_for_any_workers_and_chunks():
    alone = swept(workers=1)
    with ThreadPoolExecutor(2) as two:
        assert swept(executor=two).equals(alone)
    assert swept(workers=1, chunk=7).equals(alone)
    assert alone.attrs["lanes"] == "yes"


def test_random_and_sobol_points_follow_their_distributions():
    vary = {"l": (0.5, 1.5), "m": stats.norm(2.0, 0.1)}
    for samples in ("sobol", "random"):
        found = dl.sweep("simple-pendulum", vary, observe="final(theta)", samples=samples, runs=512, seed=3, **PENDULUM)
        assert abs(float(found["l"].mean()) - 1.0) < (0.005 if samples == "sobol" else 0.05)
        assert abs(float(found["m"].std()) - 0.1) < 0.01
        again = dl.sweep("simple-pendulum", vary, observe="final(theta)", samples=samples, runs=512, seed=3, **PENDULUM)
        assert again.equals(found)


def test_a_run_that_fails_is_a_row_with_its_reason():
    # a negative mass fails, and the other runs are unaffected
    found = dl.sweep("simple-pendulum", {"m": [1.0, -1.0, 2.0]}, observe=["final(theta)", "theta"], **PENDULUM)
    assert found["reason"].values[[0, 2]].tolist() == ["", ""]
    assert "mass" in str(found["reason"].values[1])
    assert np.isnan(found["final(theta)"].values[1])
    assert np.isnan(found["theta"].values[1]).all()
    assert np.isfinite(found["final(theta)"].values[[0, 2]]).all()
    assert found.attrs["failed"] == 1


def test_models_that_cannot_share_lanes_agree_with_simulate():
    model = dl.load("simple-pendulum").copy().joint_torque("bob", "-0.3*sign(dot(theta))", name="rub")
    options = {"duration": 1.0, "times": 11, "workers": 1, "integrator": "dop853"}
    found = dl.sweep(model, {"l": [0.7, 1.0]}, observe=["theta", "final(energy)"], **options)
    assert "switch" in found.attrs["lanes"]
    for length in (0.7, 1.0):
        run = dl.derive(model).simulate(1.0, samples=11, integrator="dop853", parameters={"l": length})
        assert np.array_equal(found["theta"].sel(l=length), run["theta"])
        assert abs(float(found["final(energy)"].sel(l=length)) - run.energy[-1]) < 1e-13


def test_columns_of_a_run_can_be_observed():
    found = dl.sweep("simple-pendulum", {"l": [0.7]}, observe=["ddot(theta)", "max(ddot(theta))"], times=5, **PENDULUM)
    run = dl.derive("simple-pendulum").simulate(2.0, samples=5, integrator="dop853", parameters={"l": 0.7})
    assert np.array_equal(found["ddot(theta)"].values[0], run.qdd[0])
    assert float(found["max(ddot(theta))"].values[0]) == run.qdd[0].max()


def test_a_summary_counts_the_successful_runs():
    found = dl.sweep("simple-pendulum", {"m": [1.0, -1.0, 2.0, 3.0]}, observe="initial(m*theta)", **PENDULUM)
    summary = dl.sweep_summary(found, quantiles=[0.5])["initial(m*theta)"]
    theta = float(dl.load("simple-pendulum").initial[0][0])
    assert summary.sel(statistic="mean") == pytest.approx(2 * theta)
    assert summary.sel(statistic="std") == pytest.approx(theta)
    assert summary.sel(statistic="error") == pytest.approx(theta / np.sqrt(3))
    assert summary.sel(statistic="0.5") == pytest.approx(2 * theta)


@pytest.mark.parametrize(
    ("vary", "more", "message"),
    [
        ({"len": [1.0]}, {}, "vary: there is no 'len'"),
        ({}, {}, "vary: got no names"),
        ({"l": []}, {}, "nonempty 1-D array"),
        ({"l": stats.norm()}, {}, "a distribution for a grid"),
        ({"l": [1.0, 2.0, 3.0]}, {"samples": "sobol", "runs": 4}, "ends of a range"),
        ({"l": (1.0, 2.0)}, {"samples": "sobol"}, "number of runs"),
        ({"l": (1.0, 2.0)}, {"samples": "latin"}, "Expected grid, sobol or random"),
        ({"l": [1.0]}, {"runs": 3}, "the number of runs of a grid is fixed"),
        ({"l": [1.0]}, {"observe": "energie"}, "Did you mean 'energy'"),
        ({"l": [1.0]}, {"observe": []}, "observe: got no names"),
        ({"theta": [1.0]}, {"observe": "theta"}, "another name"),
        ({"l": [1.0]}, {"workers": 0}, "an int >= 1"),
        ({"l": [1.0]}, {"executor": 3}, "Dask client"),
        ({"l": [1.0]}, {"executor": 3, "workers": 2}, "Give one of them"),
        ({"l": (1.0, 2.0)}, {"samples": "random", "runs": 10**11, "observe": "theta"}, "Give `checkpoint`"),
        ({"l": [1.0]}, {"times": [0.0, 1.0], "duration": 1.0}, "Give one of them"),
    ],
)
def test_wrong_arguments_raise(vary, more, message):
    with pytest.raises(dl.InputError, match=message.replace("(", r"\(")):
        dl.sweep("simple-pendulum", vary, **{"observe": "final(theta)", **more})


def test_laws_that_cannot_be_pickled_raise():
    model = dl.load("simple-pendulum").copy().actuator("bob", law=lambda t, state: 0.0, name="motor")
    with pytest.raises(dl.InputError, match="cannot be pickled"):
        dl.sweep(model, {"l": [1.0, 2.0]}, observe="final(theta)", duration=0.1, chunk=1, workers=2)


@pytest.mark.nightly
def test_a_worker_process_is_bit_identical():
    spec = SweepSpec(
        dl.derive("cart-pendulum"),
        variation_of(dl.load("cart-pendulum"), {"l": (0.1, 0.3)}, "random", 40, 1),
        (Observable("x", "x", "final"),),
        (0.0, 0.5),
        "dop853",
        Settings(),
        chunk_size=20,
    )
    found = dict(by_processes(spec, range(2), 1))
    points = Points(spec.variation)
    for chunk in range(2):
        here = evaluate_chunk(spec, points(*spec.runs_of(chunk)))
        assert np.array_equal(found[chunk].columns["x"], here.columns["x"])


def test_a_run_that_an_event_ends_is_nan_afterwards():
    model = dl.load("simple-pendulum").copy().event("down", "theta", stop=True)
    times = np.linspace(0.0, 2.0, 21)
    found = dl.sweep(model, {"l": [1.0, 0.5]}, observe=["theta", "final(theta)"], times=times, workers=1)
    for i, length in enumerate((1.0, 0.5)):
        run = dl.derive(model).simulate(times=times.tolist(), parameters={"l": length})
        inside = times <= run.t[-1]
        assert 2 < inside.sum() < 20
        assert np.array_equal(np.isfinite(found["theta"].values[i]), inside)
        assert abs(float(found["final(theta)"][i])) < 1e-12
    assert (found["reason"] == "").all()
