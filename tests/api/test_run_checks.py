"""Checks of energy, constraints and constant momenta at the end of a run."""

import json
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest

import dalembert as dl
from dalembert.api.simulate import CHECK, check_run, recording_of
from dalembert.cli.entry_point import main
from dalembert.io import gallery
from dalembert.simulation.main_loop import Accuracy, RunOptions, integrate_segments
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.simulation.workspace import forget_workspaces

ADAPTIVE = Accuracy(1e-10, projected=True)


def checks(run):
    return [note for note in run.notes if note.startswith(CHECK)]


def recorded(model, duration, samples):
    """The recording of a run."""
    eom = dl.derive(model)
    return recording_of(eom, integrate_segments(eom, RunOptions(duration, integrator="dop853", samples=samples)))


def perturbed(run, row, factor):
    """The same run with one state of every sample but the first multiplied: the result of wrong rates."""
    (part,) = run.parts
    y = part.solution.y.copy()
    y[row, 1:] *= factor
    return replace(run, parts=(replace(part, solution=replace(part.solution, y=y)),))


@pytest.mark.parametrize("name", ["simple-pendulum", "cart-pendulum", "knife-edge"])
def test_correct_runs_have_no_note(name):
    assert checks(dl.simulate(name, 2.0, integrator="dop853", samples=21)) == []


def test_wrong_motion_is_detected_by_its_energy():
    run = recorded("simple-pendulum", 2.0, 21)
    (note,) = check_run(perturbed(run, 1, 1.001), ADAPTIVE)
    assert "energy minus work drifts by" in note
    assert check_run(perturbed(run, 1, 1 + 1e-9), ADAPTIVE) == ()


def test_wrong_motion_is_detected_by_constraint_and_momentum():
    """A bead on y = x with a force-free coordinate z: each error is found by its own check, by name."""
    model = dl.Model("bead").coordinates("x", "y", "z").start({}, {"x": 1.0, "y": 1.0, "z": 2.0})
    axes = zip(np.eye(3).tolist(), "xyz", strict=True)
    model.body("bead", joint=[model.prismatic(axis, name) for axis, name in axes], mass=1.5)
    run = recorded(model.holonomic("y - x", name="line"), 1.0, 11)
    assert check_run(run, ADAPTIVE) == ()
    (position,) = check_run(perturbed(run, 1, 1.001), ADAPTIVE)
    assert "the constraint 'line' is violated (position) by" in position
    found = " ".join(check_run(perturbed(run, 5, 1.001), ADAPTIVE))
    assert "the constant momentum of 'z' drifts by" in found


def test_loose_tolerances_and_large_steps_are_detected():
    eom = dl.derive("double-pendulum", "lagrange")
    (note,) = checks(eom.simulate(20.0, integrator="rk45", rtol=1e-2))
    assert note.endswith("more than the 0.05 that the method allows; reduce rtol, or use another integrator")
    (note,) = checks(eom.simulate(20.0, integrator="rk4", step=0.05))
    assert note.endswith("more than the 0.001 that the method allows; reduce step")


def test_balance_includes_work():
    model = dl.load("simple-pendulum").copy().joint_friction("bob", viscous=0.5, name="bearing")
    run = dl.simulate(model, 5.0, integrator="dop853")
    assert run.energy[-1] < run.energy[0] - 0.1
    assert checks(run) == []
    work = perturbed(recorded(model, 5.0, None), 2, 1.01)  # the state after q and q̇ is the work of the bearing
    assert "energy minus work drifts" in check_run(work, ADAPTIVE)[0]


def test_balance_includes_impacts():
    assert checks(dl.simulate("bouncing-ball", 1.0, integrator="dop853")) == []


def test_run_at_rest_has_no_note():
    model = dl.Model("rest", gravity=(0, 0, -9.81)).coordinates("x")
    model.body("b", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    assert checks(dl.simulate(model, 1.0, integrator="dop853", samples=5)) == []


def test_simulate_command_prints_warnings(capsys):
    arguments = ["simulate", "double-pendulum", "--duration", "20", "--integrator", "rk4", "--step", "0.05", "--json"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("warning: energy minus work drifts by")
    assert json.loads(captured.out)["notes"][0].startswith("check: energy minus work drifts by")


def perturbed_rates(rates):
    """Rates with the last one, an acceleration, larger by 1e-3."""
    return [*rates[:-1], rates[-1] * 1.001]


def test_wrong_rate_of_the_integrated_program_is_detected(monkeypatch):
    right = RightHandSide.shortened_rates.func
    forget_workspaces()
    wrong = cached_property(lambda self: perturbed_rates(right(self)))
    wrong.__set_name__(RightHandSide, "shortened_rates")
    monkeypatch.setattr(RightHandSide, "shortened_rates", wrong)
    (note, *_) = checks(dl.simulate("double-pendulum", 2.0, integrator="dop853", samples=21))
    forget_workspaces()
    assert "energy minus work drifts by" in note


def test_zero_momentum_is_scaled_by_the_model():
    assert checks(dl.simulate("pppr-robot", 1.0, integrator="dop853", samples=21)) == []


def test_compare_command_prints_warnings(capsys):
    arguments = ["compare", "double-pendulum", "--formalism", "lagrange", "--duration", "20", "--integrator", "rk45"]
    assert main([*arguments, "--samples", "11", "--rtol", "1e-2", "--json"]) == 0
    printed = capsys.readouterr()
    assert "warning: lagrange: energy minus work drifts by" in printed.err
    assert json.loads(printed.out)["checks"]["lagrange"][0].startswith("check: energy minus work drifts by")


@pytest.mark.nightly
@pytest.mark.parametrize("integrator", [None, "dop853", "radau"])
@pytest.mark.parametrize("name", gallery.names())
def test_gallery_runs_have_no_note(name, integrator):
    model = gallery.load(name)
    try:
        run = dl.simulate(model, min(model.duration, 3.0), integrator=integrator, samples=101)
    except dl.DalembertError as error:
        pytest.skip(f"this method does not run this model: {error}")
    assert checks(run) == []
