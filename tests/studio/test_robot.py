"""A robot in the studio: DH table as cells and back, inverse kinematics, and motions with the required torques."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import DalembertError, InputError
from dalembert.io.file_formats import loads
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Payload
from dalembert.studio.tasks import dh_grid, robot_task

G = 9.81


def ignore(*progress: object) -> None:
    """Ignore progress."""


def written(rows: list[dict[str, str]], **more: Any) -> str:
    """Return the source of a table with these cells."""
    given = {"convention": "dh", "unit": "deg", "name": "arm", "new": True, "rows": rows, **more}
    return dh_grid.write_table(Payload(given), None, ignore)["text"]


def read(text: str) -> dict[str, Any]:
    return dh_grid.read_table(Payload({"text": text}), None, ignore)


ARM = [{"a": "0.5", "start": "30"}, {"a": "0.4", "start": "40"}]
PLANAR = {"gravity": "0 -9.81 0"}


# the table


def test_cells_define_the_frames_of_the_model() -> None:
    model = loads(
        written([{"theta": "10", "d": "0.4", "alpha": "90"}, {"type": "prismatic", "d": "0.2"}, {"a": "pi/10"}])
    )
    frames = dl.dh_table(model).rows
    assert [row.kind for row in frames] == ["revolute", "prismatic", "revolute"]
    assert frames[0].theta == pytest.approx(math.radians(10))
    assert frames[0].alpha == pytest.approx(math.pi / 2)
    assert (frames[1].d, frames[2].a) == (0.2, pytest.approx(math.pi / 10))


def test_links_without_masses_are_rods_between_their_frames() -> None:
    # in dh the frame is at the far end of the rod, in mdh at its joint
    for convention, sign, i in (("dh", -1, 1), ("mdh", 1, 0)):
        body = loads(written([{"a": "0"}, {"a": "0.6"}], convention=convention)).bodies[i]
        assert [float(x) for x in body.center] == [sign * 0.3, 0, 0]
        assert float(body.mass) == 1.0
        across = 0.6**2 * (1 / 12 + 0.1**2 / 4)
        assert np.diag(np.array(body.inertia, dtype=float)) == pytest.approx(
            [0.6**2 * 0.1**2 / 2, across, across], rel=1e-5
        )


def test_table_round_trips_with_its_empty_cells() -> None:
    text = written([{"d": "0.4", "alpha": "-90", "upper": "170"}, {"a": "0.5", "mass": "2", "cx": "-0.1"}])
    found = read(text)
    assert found["is_robot_table"]
    assert "cx" not in found["rows"][0]
    assert "Ixx" not in found["rows"][0]
    assert (found["rows"][1]["cx"], found["rows"][1]["mass"], found["rows"][0]["upper"]) == ("-0.1", "2", "170")
    again = {"rows": found["rows"], "text": text, "new": False, "gravity": found["gravity"]}
    assert written(**again) == text


def test_gallery_table_round_trips_to_the_same_model() -> None:
    text = (dl.gallery.path("puma560") / "model.toml").read_text("utf-8")
    found = read(text)
    rows = [{**row, "old_name": row["name"]} for row in found["rows"]]
    head = {key: found[key] for key in ("convention", "unit", "gravity", "name")}
    assert loads(written(rows, text=text, new=False, **head)).description == loads(text).description


def test_chains_get_the_table_of_their_axes_and_other_models_a_reason() -> None:
    found = read((dl.gallery.path("two-link-robot") / "model.toml").read_text("utf-8"))
    assert not found["is_robot_table"]
    assert [row["type"] for row in found["rows"]] == ["revolute", "revolute"]
    screw = 'name = "screw"\ncoordinates.x = {}\n[[body]]\nname = "nut"\nmass = 1\ninertia = [1, 1, 1]\n'
    found = read(screw + 'joint = { type = "revolute", axis = [0, 0, 1], angle = "x**2" }\n')
    assert "has no Denavit–Hartenberg table" in found["reason"]
    assert "has problems" in read("name = 3")["reason"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": "1"}, {"d": "-"}], "row 2, d"),
        ([{"a": "long"}], "the name 'long' is not known"),
        ([{"a": "inf"}], "Expected a finite number"),
        ([], "fill a cell"),
    ],
)
def test_invalid_cells_are_reported(rows: list[dict[str, str]], message: str) -> None:
    with pytest.raises(DalembertError, match=message):
        written(rows)


# the robot


def test_tree_is_driven_by_all_coordinates_and_loop_by_independent_ones() -> None:
    for name, expected in (("two-link-robot", ["q1", "q2"]), ("four-bar", ["q1"])):
        model = dl.load(name)
        assert robot_task.driven_by(model, model.initial[0]) == expected


def test_target_has_both_elbow_configurations() -> None:
    given = {"text": written(ARM, **PLANAR), "position": [0.6, 0.3, 0.0], "branches": True}
    found = robot_task.inverse_kinematics(Payload(given), None, ignore)
    # cos q2 = (r² − l1² − l2²) / 2 l1 l2
    q2 = math.acos((0.45 - 0.25 - 0.16) / 0.4)
    assert found["reached"]
    assert sorted(posture["q2"] for posture in found["postures"]) == pytest.approx([-q2, q2])
    with pytest.raises(InputError, match="Expected 3"):
        robot_task.inverse_kinematics(Payload({**given, "position": [0, 1]}), None, ignore)


def test_pose_is_roll_then_pitch_then_yaw() -> None:
    T = robot_task._pose([1, 2, 3], [0.3, -0.4, 1.1])
    x, y, z = T[:3, :3].T
    assert np.cross(x, y) == pytest.approx(z)
    assert (math.atan2(x[1], x[0]), -math.asin(x[2]), math.atan2(y[2], z[2])) == pytest.approx((1.1, -0.4, 0.3))


def test_circle_through_three_points() -> None:
    positions = [np.array(p) for p in ([1.0, 0.2, 0.3], [0.1, 0.9, -0.4], [-0.5, 0.3, 0.8])]
    center, axis = robot_task._circle(positions)
    far = [np.linalg.norm(p - center) for p in positions]
    assert far == pytest.approx([far[0]] * 3)
    assert [(p - positions[0]) @ axis for p in positions] == pytest.approx([0, 0, 0])
    with pytest.raises(InputError, match="lie on a line"):
        robot_task._circle([np.array([x, 2 * x, 0.0]) for x in (0.0, 1.0, 3.0)])


POINTS = [
    {"time": 0, "q": {"q1": 0.5, "q2": 0.7}},
    {"time": 1, "q": {"q1": 0.9, "q2": 0.2}},
    {"time": 1.5, "q": {"q1": 0.4, "q2": 0.4}},
]


def moved(folder: Path, task: str = "inverse_dynamics", **more: Any) -> tuple[dict[str, Any], dl.Trajectory]:
    """Return the answer of a task, and its saved run."""
    place = Folder(folder)
    given = Payload({"text": written(ARM, **PLANAR), "points": POINTS, "samples": 31, **more})
    found = getattr(robot_task, task)(given, place, ignore)
    return found, dl.load_run(place.run(found["run"]))


def test_drive_of_a_rod_exerts_inertia_and_gravity_torques(tmp_path: Path) -> None:
    points = [{"time": 0, "q": {"q1": 0.5}}, {"time": 1, "q": {"q1": 0.9}}]
    found, run = moved(tmp_path, text=written(ARM[:1], **PLANAR), points=points)
    # a rod of 1 kg and 0.5 m, 0.05 m thick, about its end: τ = I q̈ + m g l/2 cos q
    (q,), (qdd,) = run.q, run.qdd
    tau = 0.5**2 * (1 / 3 + 0.1**2 / 4) * qdd + G * 0.25 * np.cos(q)
    assert run.drives["drive of q1"] == pytest.approx(tau, rel=1e-5)
    assert (q[0], q[-1]) == pytest.approx((0.5, 0.9), abs=1e-12)
    assert not any(
        each["prescribed"] for each in found["scene"]["coordinates"]
    )  # in the interactive scene it is not driven
    assert "drive of q1" in found["tables"]


@pytest.mark.nightly
def test_drive_efforts_of_a_planned_motion_are_its_inverse_dynamics(tmp_path: Path) -> None:
    _, run = moved(tmp_path)
    model = loads(written(ARM, **PLANAR))
    tau = dl.inverse_dynamics(model, run.q, run.qd, run.qdd)
    assert np.array(list(run.drives.values())) == pytest.approx(tau, abs=1e-9)
    for point in POINTS:
        assert run.q[:, np.argmin(abs(run.t - point["time"]))] == pytest.approx(list(point["q"].values()), abs=1e-9)
    assert np.abs(run.qd[:, [0, 20, 30]]).max() < 1e-9  # at rest in every posture


def test_invalid_postures_are_rejected(tmp_path: Path) -> None:
    for points, message in ((POINTS[:1], "Save at least two"), ([POINTS[1], POINTS[0]], "do not increase")):
        with pytest.raises(InputError, match=message):
            moved(tmp_path, points=points)
    with pytest.raises(InputError, match="no coordinate 'q9'"):
        moved(tmp_path, points=[{"time": 0, "q": {"q9": 1}}, POINTS[1]])


@pytest.mark.nightly
def test_payload_adds_its_weight_and_gravity_can_be_disabled(tmp_path: Path) -> None:
    (_, bare), (_, laden), (_, light) = moved(tmp_path), moved(tmp_path, payload=3.0), moved(tmp_path, gravity=False)
    model = loads(written(ARM, **PLANAR))
    hand = dl.position(model, bare.q[:, 0], "link2")
    more = {key: (laden.drives[key] - bare.drives[key])[0] for key in laden.drives}
    assert more["drive of q1"] == pytest.approx(3 * G * hand[0])
    assert light.drives["drive of q1"][0] == pytest.approx(0, abs=1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", robot_task.KINDS)
def test_every_kind_of_motion_passes_through_its_postures(tmp_path: Path, kind: str) -> None:
    _, run = moved(tmp_path, kind=kind, samples=301, angle=10)
    model, ends = (
        loads(written(ARM, **PLANAR)),
        [dl.position(loads(written(ARM)), list(p["q"].values()), "link2") for p in POINTS],
    )
    hand = dl.position(model, run.q, "link2")
    if kind == "circle":
        center, _ = robot_task._circle(ends)
        assert np.linalg.norm(hand.T - center, axis=1) == pytest.approx(np.linalg.norm(ends[0] - center), abs=1e-3)
        return
    for point, end in zip(POINTS, ends, strict=True):
        assert hand[:, np.argmin(abs(run.t - point["time"]))] == pytest.approx(end, abs=1e-4)
    if kind == "line":
        first = hand[:, run.t <= 1.0]
        assert np.linalg.norm(np.cross(ends[1] - ends[0], (first.T - ends[0])), axis=1).max() < 1e-4


@pytest.mark.nightly
def test_four_bar_coupler_follows_its_crank(tmp_path: Path) -> None:
    text = (dl.gallery.path("four-bar") / "model.toml").read_text("utf-8")
    model, q = dl.load("four-bar"), dl.load("four-bar").initial[0]
    closed = dl.assemble_state(model, q + np.array([0.2, 0, 0]), [0, 0, 0]).q
    points = [
        {"time": t, "q": dict(zip(model.coordinate_names, map(float, x), strict=True))}
        for t, x in ((0, q), (1, closed))
    ]
    _, run = moved(tmp_path, text=text, points=points)
    assert run.q[:, -1] == pytest.approx(closed, abs=1e-6)
    tau = dl.inverse_dynamics(model, run.q, run.qd, run.qdd, friction=True, actuated=["q1"])
    assert run.drives["drive of q1"] == pytest.approx(tau[0], abs=1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("control", "off"), [("feedforward", 1e-3), ("both", 1e-4), ("pd", 0.3), ("computed_torque", 1e-8)]
)
def test_feedforward_torques_and_controllers_track_the_motion(tmp_path: Path, control: str, off: float) -> None:
    text = written(ARM, gravity="0 9.81 0")  # hanging arm: small errors do not grow
    _, run = moved(tmp_path, "forward_dynamics", text=text, control=control)
    _, wanted = moved(tmp_path, text=text)
    assert np.abs(run.q - wanted.q).max() < off


@pytest.mark.nightly
def test_without_torques_the_energy_is_constant(tmp_path: Path) -> None:
    _, run = moved(tmp_path, "forward_dynamics", control="free")
    assert run.energy == pytest.approx(run.energy[0])
    assert np.abs(run.q[:, -1] - run.q[:, 0]).max() > 1


@pytest.mark.nightly
def test_example_of_the_roboanalyzer_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "roboanalyzer.md").read_text("utf-8")
    *lines, last = page.split("```python\n")[1].split("```")[0].strip().splitlines()
    known: dict[str, Any] = {}
    exec(compile("\n".join(lines), "roboanalyzer.md", "exec"), known)  # our own page
    assert eval(compile(last, "roboanalyzer.md", "eval"), known)  # noqa: S307 (our own page)
