"""Names of multiplier rows, including the rows of contacts and quaternions."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.io import gallery

LARGE = ("stewart-platform", "rope", "hexapod", "quadruped", "bricard", "biped", "floating-arm-7-link", "kuka-kr5")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in LARGE else ()) for name in gallery.names()]
)
def test_every_row_of_the_multipliers_has_a_name(name):
    model = dl.load(name)
    eom = dl.derive(model, "lagrange", engine="python")
    assert len(eom.multipliers(*model.initial)) == len(eom.constraint_names) == len(set(eom.constraint_names))
    assert set(model.constraint_names) <= set(eom.constraint_names)


def top_and_block() -> dl.Model:
    """A heavy ball on a quaternion, and a pulled block: the row of the norm precedes the declared one."""
    model = (
        dl.Model("top and block", gravity=(0, 0, -9.81)).coordinates("w", "a", "b", "c").coordinate("s", start_rate=0.0)
    )
    joint = model.spherical(quaternion=("w", "a", "b", "c"))
    model.body("ball", joint=joint, mass=2, center=(0, 0.3, 0), inertia=(0.2, 0.3, 0.4))
    model.body("block", joint=model.prismatic((1, 0, 0), "s"), mass=1)
    model.nonholonomic("dot(s) - 0.25*t", name="pull")
    return model.start([1, 0, 0, 0, 0], [0, 0, 0, 0, 0])


@pytest.mark.parametrize("key", ["lagrange", "kane", "udwadia_kalaba"])
def test_name_selects_the_right_row(key):
    model = top_and_block()
    eom = dl.derive(model, key)
    assert model.constraint_names == ("pull",)  # as declared
    assert eom.constraint_names == ("norm of ball", "pull")
    run = eom.simulate(0.5, samples=3)
    assert run.constraint_names == eom.constraint_names
    pull = run.multipliers[run.constraint_names.index("pull")]
    assert np.allclose(pull, 0.25, atol=1e-9)  # m s̈
    assert not np.allclose(run.multipliers[model.constraint_names.index("pull")], 0.25)  # the norm of the quaternion
    assert run.violation_names[-1] == "pull, velocity"


def test_contact_rows_precede_loops_and_velocity_constraints():
    model = dl.load("rolling-disk")
    assert model.constraint_names == ()
    eom = dl.derive(model, "lagrange")
    assert eom.constraint_names == ("floor, contact", "floor, slip 1", "floor, slip 2")
    run = eom.simulate(0.2, samples=5)
    # the plane carries the weight and the force that lifts the center: the joint of a free disk carries no vertical force
    contact = run.multipliers[run.constraint_names.index("floor, contact")]
    force = next(iter(run.joint_reactions().values())).force
    assert np.allclose(force[2], 0, atol=1e-9)
    assert contact.min() > 0


def disc_and_block() -> dl.Model:
    """A disc that rolls upright, its attitude a quaternion, and a block that is pulled."""
    model = dl.Model("disc and block", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "w", "a", "b", "c", "s")
    joint = model.free(displacement=("x", "y", "z"), quaternion=("w", "a", "b", "c"))
    model.body("disc", joint=joint, mass=2, inertia=(0.1, 0.2, 0.1)).rolling_disk("disc", 0.5, name="floor")
    model.body("block", joint=model.prismatic((1, 0, 0), "s"), mass=3).holonomic("s - 0.5*t**2", name="pull")
    return model.start([0, 0, 0.5, 1, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 0.5, 0, 0])


@pytest.mark.parametrize("key", ["lagrange", "kane"])
def test_contact_quaternion_and_formula_have_separate_rows(key):
    run = dl.derive(disc_and_block(), key, engine="python").simulate(1.0, samples=3)
    row = {name: run.multipliers[i] for i, name in enumerate(run.constraint_names)}
    assert {"norm of disc", "floor, contact", "pull"} <= set(row)
    assert np.allclose(row["pull"], 3.0, atol=1e-7)  # m s̈
    assert np.allclose(row["floor, contact"], 2 * 9.81, atol=1e-6)  # the weight of a disc that rolls straight on
    assert np.allclose(run.q[0], 0.5 * run.t, atol=1e-7)


def test_datasets_contain_the_names(tmp_path):
    run = dl.derive(top_and_block(), "lagrange").simulate(0.5, samples=3)
    data = run.to_xarray()
    assert data.constraint.values.tolist() == list(run.constraint_names)
    assert np.allclose(data.multipliers.sel(constraint="pull"), 0.25, atol=1e-9)
    assert "ideal_reactions" not in data
    assert run.save(tmp_path / "run.csv").read_text().splitlines()[0].endswith('"violation(pull, velocity)"')


def test_datasets_contain_ideal_and_non_ideal_reactions():
    run = dl.derive(dl.load("rough-surface"), "lagrange").simulate(0.5, samples=3)
    data = run.to_xarray()
    assert np.allclose(data.ideal_reactions + data.non_ideal_reactions, data.reactions)
    assert np.abs(data.non_ideal_reactions).max() > 1


def test_minimum_norm_multipliers_are_noted():
    for key in ("lagrange", "udwadia_kalaba"):
        eom = dl.derive(dl.load("over-constrained"), key)
        assert any(note.endswith("multipliers have minimum norm") for note in eom.notes)
