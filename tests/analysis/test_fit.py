"""Fits recover the parameters of simulated data within the stated uncertainty."""

import json

import numpy as np
import pytest

import dalembert as dl
from dalembert.cli.entry_point import main
from dalembert.errors import InputError

TIMES = np.linspace(0.0, 1.5, 61)


def noisy(seed, sigma=(0.01, 0.02)):
    """A double pendulum with lengths 0.9 and 1.1, measured with noise."""
    rng, model = np.random.default_rng(seed), dl.load("double-pendulum")
    run = dl.simulate(model.with_parameters(l1=0.9, l2=1.1), times=TIMES)
    noise = [s * rng.normal(size=len(TIMES)) for s in sigma]
    return model, {"t": TIMES, "theta1": run.q[0] + noise[0], "theta2": run.q[1] + noise[1]}


def distance(found, names, truth):
    """χ² of the true values under the covariance of the fit."""
    off = np.array([found[name].value - value for name, value in zip(names, truth, strict=True)])
    return float(off @ np.linalg.solve(found.covariance, off))


def test_lengths_of_a_noisy_double_pendulum_are_recovered():
    names, truth = ("l1", "l2", "theta1(0)"), (0.9, 1.1, 2 * np.pi / 3)
    model, data = noisy(0)
    data["theta2"][5:9] = np.nan
    found = dl.fit(model, data, {"l1": 1.0, "l2": 1.0, "theta1(0)": 2.05})
    assert distance(found, names, truth) < 16.3  # χ² with 3 degrees of freedom: 99.9 %
    assert all(found[name].sigma < 0.01 for name in names)
    assert 0.8 < found.sigma["theta1"] / 0.01 < 1.25
    assert 0.8 < found.sigma["theta2"] / 0.02 < 1.25
    assert abs(found.model.parameter_values["l1"] - found["l1"].value) < 1e-15
    assert "l1" in str(found)
    assert "±" in repr(found)


@pytest.mark.nightly
def test_the_stated_uncertainty_is_the_scatter_of_many_fits():
    """The mean of χ² of the true values over many noise samples is the number of parameters."""
    found = []
    for seed in range(12):
        model, data = noisy(seed)
        found.append(
            distance(
                dl.fit(model, data, ["l1", "l2"], sigma={"theta1": 0.01, "theta2": 0.02}), ("l1", "l2"), (0.9, 1.1)
            )
        )
    assert 0.7 < np.mean(found) < 4.2  # 24 degrees of freedom over 12: 99.9 %


def test_unidentifiable_parameters_are_reported():
    data = {"t": TIMES, "theta": dl.simulate("simple-pendulum", times=TIMES)["theta"]}
    found = dl.fit("simple-pendulum", data, ["m", "l"], sigma=0.02)
    assert found.notes[0].startswith("m cannot be identified (in units")
    assert np.isinf(found["m"].sigma)
    assert found["l"].sigma < 0.1


@pytest.mark.nightly
def test_only_the_mass_ratio_of_a_double_pendulum_is_identifiable():
    model, data = noisy(1)
    both = dl.fit(model, data, ["m1", "m2"], sigma=0.02)
    assert np.isinf([both["m1"].sigma, both["m2"].sigma]).all()


@pytest.mark.nightly
def test_initial_values_on_constraints_are_fitted():
    """The bob of a spherical pendulum in Cartesian coordinates: its initial position must stay at the distance l."""
    model = dl.load("spherical-pendulum")
    truth = model.parameter_values["l"] * 1.1
    start = dl.assemble_state(model.with_parameters(l=truth))
    run = dl.simulate(model.with_parameters(l=truth), times=TIMES, q0=start.q, qd0=start.qd)
    data = {"t": TIMES} | dict(zip(model.coordinate_names, run.q, strict=True))
    found = dl.fit(model, data, ["l"], sigma=1e-3)
    assert abs(found["l"].value / truth - 1) < 1e-3


def test_the_command_fits_a_file(tmp_path, capsys):
    model, path = dl.load("simple-pendulum"), tmp_path / "swing.csv"
    run = dl.simulate(model.with_parameters(l=1.2), 1.0, samples=21)
    rows = [f"{t!r},{x!r},word" for t, x in zip(run.t.tolist(), run["theta"].tolist(), strict=True)]
    path.write_text("\n".join(["time [s],theta [rad],remark", *rows]), encoding="utf-8")
    assert main(["fit", "simple-pendulum", str(path), "--parameters", "l", "--observe", "theta", "--json"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["parameters"]["l"]["value"] - 1.2) < 1e-9
    assert main(["fit", "simple-pendulum", str(path), "--parameters", "l", "--observe", "theta"]) == 0
    assert "1.2" in capsys.readouterr().out
    assert main(["fit", "simple-pendulum", "swing.txt", "--parameters", "l"]) == 2


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"x": [1, 2]}, {}, "no column 't'"),
        ({"t": [0, 1]}, {}, "no column but the times"),
        ({"t": [1, 0], "theta": [0, 0]}, {}, "increasing"),
        ({"t": [0, 1], "theta": [0, 0, 0]}, {}, "Expected 2 finite numbers"),
        ({"t": [0, 1], "theta": [0, 0]}, {"observe": ["phi"]}, "no column 'phi'"),
        ({"t": [0, 1], "theta": [0, 0]}, {"sigma": {"x": 1.0}}, "standard deviation"),
        ({"t": [0, 1], "theta": [0, 0]}, {"bounds": {"m": (0, 1)}}, "'m' is not fitted"),
        ({"t": [0, 1], "theta": [0, 0]}, {"bounds": {"l": 3}}, "two increasing numbers"),
        ({"t": [0, 1], "theta": [0, 0]}, {"bounds": {"l": (2, np.inf)}}, "outside its bounds 2 to inf"),
        ({"t": [0, 1], "theta": [0, 0]}, {"t0": 0.5}, "the first time of the data"),
        (7, {}, "Expected columns by name"),
    ],
)
def test_wrong_data_raise(data, options, message):
    with pytest.raises(InputError, match=message):
        dl.fit("simple-pendulum", data, ["l"], **options)
