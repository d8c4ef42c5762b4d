"""Robots that stand and walk on ReDySim's ground: its gait and torques, weights, the balance of energy."""

import json
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.io import gallery
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.simulation.observables import load_forces
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.symbols import Lowering

# the joints of ReDySim's walking hexapod and their torques at the start, from its published results
KNOWN = json.loads((Path(__file__).parents[1] / "papers" / "redysim_hexapod.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def step():
    """The first step of the hexapod."""
    return dl.derive("hexapod", "denoc").simulate(0.12, samples=13, integrator="dop853")


@pytest.mark.nightly
def test_initial_torques_agree_with_redysim(step):
    torques = np.array(list(step.drives.values()))
    np.testing.assert_allclose(torques[:, 0], KNOWN["torques"][0], atol=2e-5)
    # during stance the laws are the same except for friction near zero slip
    np.testing.assert_allclose(torques[:, 10], KNOWN["torques"][1], atol=0.15)


@pytest.mark.nightly
def test_energy_balance_holds_across_touchdown_and_liftoff(step):
    assert step.energy_error < 1e-9
    assert len(step.switchings) > 5


def test_the_gait_agrees_with_redysim():
    """All joint angles and rates of two strides, to all published digits."""
    model = gallery.load("hexapod")
    drives, names = model.holonomic_constraints, model.coordinate_names
    assert len(drives) == 12
    for t, q in zip(KNOWN["t"], KNOWN["q"], strict=True):
        steps = round(t / 0.1) // 5
        now = {**model.parameter_values, "t0": 0.5 * steps, "swing": float(steps % 2), "t": t}
        number = Lowering(FLOATS, now | dict(zip(names, q, strict=True)))
        np.testing.assert_allclose([float(number(drive.formula)) for drive in drives], 0, atol=2e-6)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "mass", "stiffness"), [("hexapod", 14, 3000), ("quadruped", 12, 2500), ("biped-legged", 9.4, 2000)]
)
def test_the_ground_carries_the_weight(name, mass, stiffness):
    """At rest, with the stance feet at their static penetration."""
    model = gallery.load(name)
    q = model.initial[0].copy()
    feet = [load for load in model.loads if isinstance(load, SphereOnPlane)]
    standing = [foot for foot in feet if abs(dl.position(model, q, foot.body, _center(foot))[1]) < 0.011]
    q[1] = (
        q[1]
        - dl.position(model, q, standing[0].body, _center(standing[0]))[1]
        - mass * 9.81 / (stiffness * len(standing))
    )
    now = dict(model.parameter_values)
    forces = load_forces(model.description, now, np.zeros(1), q[:, None], np.zeros((len(q), 1)))
    total = sum(forces[foot.name][:, 0] for foot in feet)
    np.testing.assert_allclose(total, [0, mass * 9.81, 0], atol=1e-3)


def _center(foot):
    return [float(x) for x in foot.center]


@pytest.mark.nightly
def test_the_biped_stands_on_heels_and_toes():
    run = dl.derive("biped-legged", "denoc").simulate(0.4, samples=5)
    assert run.energy_error < 1e-9
    force = np.sum([run.load_forces[name] for name in run.load_forces if " of " in name], axis=0)
    assert force[1, -1] == pytest.approx(9.4 * 9.81, rel=0.03)
    np.testing.assert_allclose(force[2], 0, atol=1e-9)
    np.testing.assert_allclose(run["phi"], -np.pi / 2, atol=0.03)


@pytest.mark.nightly
def test_the_biped_comes_to_rest():
    run = dl.derive("biped-legged", "denoc").simulate(60.0, samples=61)
    force = np.sum([run.load_forces[name] for name in run.load_forces if " of " in name], axis=0)
    np.testing.assert_allclose(force[:, -1], [0, 9.4 * 9.81, 0], atol=1e-5)
    assert abs(run.qd[:, -1]).max() < 1e-5


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["hexapod", "quadruped"])
def test_the_hexapod_walks_for_ten_seconds(name):
    run = dl.derive(name, "denoc").simulate(10.0, samples=1001)
    assert run.energy_error <= 1e-6
    feet = [force[1] for key, force in run.load_forces.items() if key.startswith("foot")]
    late = run.t > 2
    assert sum(feet)[late].mean() == pytest.approx({"hexapod": 14, "quadruped": 12}[name] * 9.81, rel=0.25)  # pyright: ignore[reportIndexIssue]
    coordinate, speed = {"hexapod": (0, 0.76), "quadruped": (2, 0.57)}[name]
    distance = run.q[coordinate, -1] - run.q[coordinate, 200]
    assert distance / 8.0 == pytest.approx(speed, rel=0.05)
    assert abs(run.q[3:6]).max() < 0.1
    assert run.q[1].min() > 0.45
    # two steps are a stride, and strides are periodic
    stride = {"hexapod": 100, "quadruped": 60}[name]
    body = run.q[[1, 3, 4], 400:]
    np.testing.assert_allclose(body[:, stride:], body[:, :-stride], atol=2e-3)


@pytest.mark.nightly
def test_walking_torques_have_the_magnitude_and_period_of_redysim():
    run = dl.derive("hexapod", "denoc").simulate(2.0, samples=21)
    ours, theirs = np.array(list(run.drives.values())), np.array(KNOWN["torques"]).T
    # equal in magnitude; different at touchdown and lift-off, where the friction law is not published
    sizes = [np.sqrt((torques**2).mean(axis=1)) for torques in (ours, theirs)]
    assert (np.abs(np.log(sizes[0] / sizes[1])) < np.log(1.75)).all()
    assert (np.abs(ours - theirs) < 0.1 * np.abs(theirs).max()).mean() > 0.9
    # without touchdown or lift-off, at 0.2, 0.7, 1.2 and 1.7 s
    np.testing.assert_allclose(ours[:, 2::5], theirs[:, 2::5], atol=0.4)
    np.testing.assert_allclose(ours[:, 12], ours[:, 2], atol=0.1)
    assert run["x"][-1] == pytest.approx(KNOWN["q"][-1][0], abs=0.03)
