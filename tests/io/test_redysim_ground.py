"""ReDySim's ground: contacts under the feet, and messages for invalid properties."""

import json
from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import ModelFileError
from dalembert.io._redysim import read_redysim
from dalembert.io._redysim_arrays import from_arrays
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.simulation.observables import load_forces

FILE = Path(__file__).parents[1] / "papers" / "redysim_models.json"
MODELS = json.loads(FILE.read_text(encoding="utf-8"))
GROUND = [3000, 40, 4.5, 0.7, 200, 2, 1, 3]


def arrays(**changes):
    """A body with two legs of one rod each."""
    data = {"name": "legs", "n": 3, "nq": 1, "bt": [0, 1, 1], "g": [0, -9.81, 0], "a": [0, -0.2, 0.2], "m": [2, 1, 1]}
    data |= {key: [0, 0, 0] for key in ("alp", "b", "dx", "dy", "dz")} | {
        key: [0.1] * 3 for key in ("Icxx", "Icyy", "Iczz")
    }
    data |= {"alt": [0, 0.3, 0.3], "g_prop": GROUND} | changes
    return {key: value for key, value in data.items() if value is not None}


@pytest.mark.parametrize(("name", "feet"), [("hexapod", 6), ("quadruped", 4), ("biped", 2)])
def test_ground_contacts_are_at_the_tips_of_the_last_links(name, feet):
    data, model = MODELS[f"legged_robot/fordyn/{name}"], read_redysim(FILE, f"legged_robot/fordyn/{name}")
    K, C, _, mu, b = data["g_prop"][:5]
    for load in model.loads:
        assert isinstance(load, SphereOnPlane)
        assert load.kind == "sphere_on_plane"
        assert [float(getattr(load, key)) for key in ("stiffness", "damping", "friction", "viscous", "radius")] == [
            K,
            C,
            mu,
            b,
            0,
        ]
        assert [float(x) for x in load.normal] == [0, 1, 0]
        i = int(load.body.removeprefix("link")) - 1
        tip, behind = data["alt"][i], data["alt"][i] - data["al"][i]
        assert float(load.center[0]) == pytest.approx(behind if load.name.startswith("heel") else tip)
    assert len({load.body for load in model.loads}) == feet  # pyright: ignore[reportAttributeAccessIssue]
    assert len(model.loads) == (4 if name == "biped" else feet)
    assert f"a contact under each of the {feet} last links. Its speed 4.5 is ignored" in model.notes[0]


def test_ground_forces_match_redysim():
    """K δ + Cv δ̇ upwards, and Ch times the slip against it, at most μ N."""
    model = from_arrays(arrays(), "x")
    q = np.array([0, 0.29, 0, 0, 0, 0, -np.pi / 2, -np.pi / 2])[:, None]

    def force(*slip):
        qd = np.array([slip[0], -0.02, slip[1], 0, 0, 0, 0, 0])[:, None]
        return load_forces(model.description, model.parameter_values, np.zeros(1), q, qd)["foot of link2"][:, 0]

    np.testing.assert_allclose(force(0.01, 0.0), [-2, 30.8, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(force(3.0, 4.0), np.array([-0.6 * 0.7, 1, -0.8 * 0.7]) * 30.8, rtol=1e-12)


def test_a_ground_without_friction_or_upside_down():
    model = from_arrays(arrays(g=[0, 0, 9.81], g_prop=[3000, 0, 1, 0, 200, 3, 1, 2]), "x")
    assert isinstance(model.loads[0], SphereOnPlane)
    assert [float(x) for x in model.loads[0].normal] == [0, 0, -1]
    assert float(model.loads[0].friction) == float(model.loads[0].viscous) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"g_prop": [1, 2]}, "g_prop: got an array of 2. Expected an array of 8: stiffness, damping"),
        ({"g_prop": [0, *GROUND[1:]]}, "g_prop: the stiffness is 0. Expected a positive number."),
        ({"g_prop": [*GROUND[:3], -1, *GROUND[4:]]}, "g_prop: the friction is -1."),
        ({"g_prop": [*GROUND[:5], 2, 2, 3]}, "g_prop: the axes are [2, 2, 3]. Expected 1, 2 and 3 in some order"),
        ({"g": [0, 0, -9.81]}, "g_prop: the ground normal is axis 2, but gravity is [0, 0, -9.81]."),
        ({"alt": None}, "g_prop: the array 'alt' is missing. Add alt with 3 entries"),
        ({"alt": [1]}, "alt: got an array of 1. Expected an array of 3, one entry for each link."),
    ],
)
def test_reports_ground_problems(changes, message):
    with pytest.raises(ModelFileError) as caught:
        from_arrays(arrays(**changes), "x")
    assert message in str(caught.value)
