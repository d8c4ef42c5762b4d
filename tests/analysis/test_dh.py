"""Denavit–Hartenberg tables of models: as defined, computed from the axes, and their frames."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError
from dalembert.io.urdf._urdf_reader import loads_urdf
from dalembert.io.urdf.urdf_writer import to_urdf

TABLES = {
    "puma560": "dh",
    "stanford-arm": "dh",
    "kuka-kr5": "mdh",
    "rp-robot": "mdh",
    "pppr-robot": "mdh",
    "biped": "mdh",
}


def numbers(table) -> np.ndarray:
    return np.array([[row.theta, row.d, row.a, row.alpha] for row in table.rows])


@pytest.mark.parametrize("name", TABLES)
def test_a_model_defined_by_a_table_returns_it(name: str) -> None:
    table = dl.dh_table(name)
    assert table.written
    assert table.convention == TABLES[name]
    q = np.random.default_rng(2).uniform(-1, 1, len(table.names))
    np.testing.assert_allclose(table.pose(q), dl.pose(name, q, table.body).matrix, atol=1e-12)


def test_the_pumas_frames_step_by_step() -> None:
    q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    steps = dl.dh_frames("puma560", q)
    assert [step.name for step in steps[:4]] == ["θ", "d", "a", "α"]
    assert steps[0].value == pytest.approx(0.1)
    assert len(steps) == 24
    for k, body in enumerate(("waist", "upper-arm", "forearm", "wrist-roll", "wrist-bend", "flange")):
        np.testing.assert_allclose(steps[4 * k + 3].frame, dl.pose("puma560", q, body).matrix, atol=1e-12)
    # a rotation about z does not move the origin, a translation along x does not rotate the axes
    np.testing.assert_array_equal(steps[4].frame[:3, 3], steps[3].frame[:3, 3])
    np.testing.assert_array_equal(steps[6].frame[:3, :3], steps[5].frame[:3, :3])


@pytest.mark.parametrize("name", ["puma560", "kuka-kr5", "rp-robot", "robot-3-link"])
def test_a_table_survives_a_urdf_round_trip(name: str) -> None:
    model = dl.load(name).description.replaced(loads=(), rotors=())
    expected = dl.dh_table(model)
    back = dl.dh_table(loads_urdf(to_urdf(model), name), expected.body, convention=expected.convention)
    np.testing.assert_allclose(numbers(back), numbers(expected), atol=1e-9)
    np.testing.assert_allclose(back.tool, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("convention", ["dh", "mdh"])
@pytest.mark.parametrize(
    "name", ["puma560", "kuka-kr5", "two-link-robot", "spherical-pendulum", "heavy-top", "floating-arm"]
)
def test_tables_from_axes_have_the_poses_of_the_model(name: str, convention) -> None:
    table = dl.dh_table(name, convention=convention)
    for q in np.random.default_rng(4).uniform(-2, 2, (3, len(table.names))):
        np.testing.assert_allclose(table.pose(q), dl.pose(name, q, table.body).matrix, atol=1e-10)


def test_a_table_is_printed() -> None:
    printed = str(dl.dh_table("puma560"))
    assert "row  θ   d        a       α" in printed
    assert "3    q3  0.15005  0.0203  -1.5708" in printed


def test_models_without_a_chain_are_rejected() -> None:
    geared, twice = dl.Model("geared").coordinates("q"), dl.Model("twice").coordinates("q")
    geared.body("a", joint=geared.revolute((0, 0, 1), "q"), mass=1)
    geared.body("b", parent="a", joint=geared.revolute((0, 1, 0), "q", (1, 0, 0)), mass=1)
    twice.body("a", joint=twice.revolute((0, 0, 1), "2*q"), mass=1)
    with pytest.raises(NotApplicableError, match="joint of 'b' moves by q"):
        dl.dh_table(geared)
    with pytest.raises(NotApplicableError, match="neither a rotation about an axis nor a translation along one"):
        dl.dh_table(twice)
    with pytest.raises(InputError, match="there is no body 'hand'"):
        dl.dh_table("puma560", "hand")
    with pytest.raises(InputError, match="there is no 'craig'"):
        dl.dh_table("puma560", convention="craig")  # type: ignore[arg-type]
