"""`dalembert simulate`."""

from __future__ import annotations

import csv
import math

import pytest

from dalembert.api.equations import Equations
from dalembert.errors import SimulationError

SHORT = ("--duration", "1", "--samples", "11", "--engine", "python")


def test_prints_a_summary(run):
    found = run("simulate", "cart-pendulum", *SHORT)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("cart-pendulum by lagrange: The simulation reached its end.\n")
    for words in (
        "dop853, engine python",
        "11 from 0 s to 1 s",
        "steps",
        "CPU time",
        "energy error",
        "constraint error",
    ):
        assert words in found.out
    assert any(line.split()[0] == "theta1" and line.split()[-1] == "rad" for line in found.out.splitlines() if line)


def test_summary_as_json(run):
    found = run("simulate", "cart-pendulum", "--formalism", "kane", *SHORT, "--json")
    assert (found.code, found.err) == (0, "")
    data = found.data
    assert (data["formalism"], data["integrator"], data["samples"]) == ("kane", "dop853", 11)
    assert data["status"] == "The simulation reached its end."
    assert data["final"]["t"] == 1.0
    assert list(data["final"]["q"]) == ["theta1", "theta2", "x"]
    assert data["files"] == []
    assert data["energy_error"] < 1e-6


def test_constraint_error_without_constraints_is_null(run):
    data = run("simulate", "simple-pendulum", *SHORT, "--json").data
    assert data["constraint_error"] is None


def test_non_finite_numbers_become_null(run, monkeypatch):
    monkeypatch.setattr("dalembert.api.trajectory.Trajectory.energy_error", math.nan)
    assert run("simulate", "simple-pendulum", *SHORT, "--json").data["energy_error"] is None


def test_overrides_parameters_and_initial_state(run):
    still = ("--start", "theta=pi", "--rate", "theta=0", "--set", "l=2", "--set", "m=3/2")
    data = run("simulate", "simple-pendulum", *SHORT, *still, "--json").data
    assert data["final"]["q"]["theta"] == pytest.approx(math.pi, abs=1e-9)
    moving = run("simulate", "simple-pendulum", *SHORT, "--start", "theta=0", "--rate", "theta=0.1", "--json").data
    assert moving["final"]["qd"]["theta"] == pytest.approx(-0.1, abs=2e-3)


def test_projection_can_be_switched_off(run):
    coarse = ("--integrator", "rk4", "--step", "0.02", *SHORT, "--json")
    with_it = run("simulate", "cart-pendulum", *coarse).data
    without = run("simulate", "cart-pendulum", *coarse, "--no-projection").data
    assert with_it["steps"] == without["steps"] == 50
    assert with_it["constraint_error"] < 1e-10 < without["constraint_error"]


def test_settings_are_passed_to_the_integrator(run):
    loose = run("simulate", "cart-pendulum", "--integrator", "rk45", *SHORT, "--json").data
    tight = ("--rtol", "1e-9", "--atol", "1e-12", "--max-step", "0.01")
    tight_run = run("simulate", "cart-pendulum", "--integrator", "rk45", *tight, *SHORT, "--json").data
    assert tight_run["steps"] >= 100 > loose["steps"]


def test_ignored_settings_are_reported(run):
    found = run("simulate", "simple-pendulum", *SHORT, "--integrator", "rk4", "--rtol", "1e-3", "--json")
    assert found.code == 0
    assert found.err == "note: --rtol is ignored: the integrator rk4 has no such setting.\n"
    assert found.data["steps"] > 0


def test_adaptive_integrators_refuse_a_fixed_step(run):
    found = run("simulate", "simple-pendulum", *SHORT, "--integrator", "rk45", "--step", "0.1")
    assert (found.code, found.out) == (2, "")
    assert found.err == (
        "error: step is 0.1, but the integrator rk45 has adaptive steps. "
        "Use one of rk4, algorithm3, algorithm4, algorithm5, or give rtol or max_step instead of step.\n"
    )


def test_writes_files(run, tmp_path):
    words = ("--output", "new/run.csv", "--output", "run.nc", "-o", "run.mat", "--plot", "run.svg")
    found = run("simulate", "cart-pendulum", *SHORT, *words)
    assert found.code == 0
    written = [line.removeprefix("written: ") for line in found.out.splitlines() if line.startswith("written: ")]
    assert written == ["new/run.csv", "run.nc", "run.mat", "run.svg"]
    with (tmp_path / "new/run.csv").open(newline="") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")]
    assert len(rows) == 12
    import xarray

    with xarray.open_dataset(tmp_path / "run.nc") as data:
        assert any(size == 11 for size in data.sizes.values())
    assert {path.name for path in tmp_path.iterdir()} == {"new", "run.nc", "run.mat", "run.svg"}


def test_plot_in_a_directory(run, tmp_path):
    found = run("simulate", "simple-pendulum", *SHORT, "--plot", "out", "--json")
    assert found.data["files"] == ["out/simple-pendulum-lagrange.png"]
    assert (tmp_path / "out/simple-pendulum-lagrange.png").read_bytes().startswith(b"\x89PNG")


def test_selected_panels_of_a_plot(run, tmp_path):
    found = run("simulate", "simple-pendulum", *SHORT, "--plot", "run.svg", "--panels", "phase, energy")
    assert found.code == 0
    picture = (tmp_path / "run.svg").read_text()
    assert "<!-- kinetic -->" in picture
    assert "<!-- coordinates [rad] -->" not in picture


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plot", "run.svg", "--panels", "fase"), "there is no panel 'fase'. Did you mean 'phase'?"),
        (("--panels", "phase"), "--panels: --plot is missing. Expected both"),
        (
            ("--plot", "run.svg", "--panels", "drives"),
            "'simple-pendulum' has no drives, so there is no panel 'drives'.",
        ),
    ],
)
def test_wrong_panels(run, tmp_path, words, message):
    found = run("simulate", "simple-pendulum", *SHORT, *words)
    assert found.code == 2
    assert message in found.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("error", "code"), [(SimulationError("at t = 0.5 it ended."), 1), (KeyboardInterrupt(), 130)])
def test_no_files_remain_after_a_failure(run, tmp_path, monkeypatch, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(Equations, "simulate", fail)
    found = run("simulate", "simple-pendulum", "--output", "new/run.csv", "--plot", "new/run.png", "--json")
    assert (found.code, found.data["kind"]) == (code, type(error).__name__)
    assert list(tmp_path.iterdir()) == []


FALL = """
name = "fall"
[coordinates]
r = { start = 1 }
[energies]
kinetic = "dot(r)**2/2"
potential = "-1/r**2"
"""


def test_failed_simulation_exits_with_code_1(run, tmp_path):
    (tmp_path / "fall.toml").write_text(FALL)
    found = run("simulate", "fall.toml", "--integrator", "rk45", *SHORT, "--output", "new/run.csv")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("error: at t = 0.")
    assert [path.name for path in tmp_path.iterdir()] == ["fall.toml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--formalism", "lagrang"], "there is no formalism 'lagrang'. Did you mean 'lagrange'?"),
        (
            ["--integrator", "tailor"],
            "algorithm4 or algorithm5. Did you mean 'taylor'?",
        ),
        (["--engine", "pithon"], "argument --engine: got 'pithon', expected native or python. Did you mean 'python'?"),
        (["--set", "m11=1"], "there is no parameter 'm11'. Did you mean 'm1'?"),
        (["--set", "m1=-1"], "body 'cart', mass: the mass is -1."),
        (["--set", "m1"], "argument --set: got 'm1', expected NAME=VALUE"),
        (["--set", "m1=1", "--set", "m1=2"], "--set m1: specified twice, as 1 and as 2."),
        (["--start", "theta3=1"], "there is no coordinate 'theta3'. Did you mean"),
        (["--start", "theta1=import"], "start, q, 'theta1', formula 'import', column 1"),
        (["--start", "theta1=nan"], "start, q, 'theta1', formula 'nan', column 1"),
        (["--rate", "theta1=5"], "does not satisfy the constraints: velocity of 'wheel' is 0.8"),
        (["--duration", "0"], "argument --duration: got '0', expected a positive number"),
        (["--duration", "inf"], "argument --duration: got 'inf', expected a positive number"),
        (["--duration", "long"], "argument --duration: got 'long', expected a positive number"),
        (["--samples", "1"], "argument --samples: got '1', expected an int from 2 to"),
        (["--samples", "1.5"], "argument --samples: got '1.5'"),
        (["--samples", "100000000000"], "argument --samples: got '100000000000'"),
        (["--rtol", "0"], "argument --rtol: got '0'"),
        (
            ["--output", "run.txt"],
            "--output run.txt: unsupported suffix '.txt'. Expected a file name that ends in .csv, .mat, .nc or .parquet.",
        ),
        (["--output", "run"], "--output run: the suffix is missing."),
        (["--output", "."], "--output .: this is a directory."),
        (["--output", "x" * 300 + ".csv"], "invalid file name"),
        (
            ["--plot", "run.bmp"],
            "--plot run.bmp: unsupported suffix '.bmp'. Expected a file name that ends in .png, .pdf or .svg.",
        ),
    ],
)
def test_wrong_input(run, tmp_path, words, message):
    found = run("simulate", "cart-pendulum", *words)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert list(tmp_path.iterdir()) == []


def test_paths_are_checked_before_the_simulation(run, monkeypatch):
    monkeypatch.setattr(Equations, "simulate", lambda *_, **__: pytest.fail("the simulation started"))
    assert run("simulate", "simple-pendulum", "--output", "/dev/null/run.csv").code == 2
    assert run("simulate", "simple-pendulum", "--plot", "/dev/null/run.png").code == 2
