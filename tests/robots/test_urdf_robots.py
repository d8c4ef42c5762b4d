"""Real robots, read from their own files: masses and positions against Pinocchio."""

import functools
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import pytest

from dalembert.io.urdf._urdf_reader import loads_urdf, read_urdf
from dalembert.io.urdf.urdf_writer import to_urdf
from dalembert.mechanics import state_batch
from dalembert.mechanics.state_batch import States
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.model.model import Model

pinocchio = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: make robots installs it")


@functools.cache
def urdf_files() -> dict[str, Path]:
    """The URDF files of the package example-robot-data, by their path from its folder of robots."""
    try:
        found = [Path(str(file.locate())) for file in files("example-robot-data") or () if str(file).endswith(".urdf")]
    except PackageNotFoundError:
        return {}
    return {path.as_posix().split("/robots/", 1)[1]: path for path in found}


if not urdf_files():
    pytest.skip("the package example-robot-data is not installed", allow_module_level=True)

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos with hands": "talos_data/robots/talos_full_v2.urdf",
    "anymal b": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal c": "anymal_c_simple_description/urdf/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "romeo small": "romeo_description/urdf/romeo_small.urdf",
    "simple humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "simple humanoid, classical": "simple_humanoid_description/urdf/simple_humanoid_classical.urdf",
}
BASES = pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
EVERY = pytest.mark.parametrize("robot", ROBOTS)


class Pair:
    """One robot in both programs, and the same random state for both."""

    def __init__(self, robot: str, floating: bool, merge_fixed: bool = False) -> None:
        self.path = urdf_files()[ROBOTS[robot]]
        self.model = read_urdf(self.path, floating=floating, merge_fixed=merge_fixed)
        free = [pinocchio.JointModelFreeFlyer()] if floating else []
        self.pin = pinocchio.buildModelFromUrdf(str(self.path), *free)
        self.data = self.pin.createData()

    @property
    def joints(self) -> dict[str, int]:
        """The joints of Pinocchio that have a name in the file, by name."""
        skipped = ("universe", "root_joint")
        return {name: i for i, name in enumerate(self.pin.names) if name not in skipped}

    def states(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Random coordinates in the order of each program, one column for each state."""
        rng = np.random.default_rng(seed)
        ours = {name: rng.uniform(-3, 3, count) for name in self.model.coordinate_names}
        theirs = np.empty((self.pin.nq, count))
        if "base_qw" in ours:
            attitude = rng.normal(size=(4, count))
            attitude /= np.linalg.norm(attitude, axis=0)
            ours |= dict(zip(("base_qw", "base_qx", "base_qy", "base_qz"), attitude, strict=True))
            names = ("base_x", "base_y", "base_z", "base_qx", "base_qy", "base_qz", "base_qw")
            theirs[:7] = [ours[name] for name in names]
        for name, index in self.joints.items():
            joint = self.pin.joints[index]
            # a continuous joint has a cosine and a sine in Pinocchio
            values = [ours[name]] if joint.nq == 1 else [np.cos(ours[name]), np.sin(ours[name])]
            theirs[joint.idx_q : joint.idx_q + joint.nq] = values
        return np.array([ours[name] for name in self.model.coordinate_names]), theirs


@functools.cache
def pair(robot: str, floating: bool, merge_fixed: bool = False) -> Pair:
    return Pair(robot, floating, merge_fixed)


def total_mass(model: Model) -> float:
    return sum(float(body.mass) for body in model.bodies)


@EVERY
@BASES
def test_joints_agree_with_pinocchio(robot, floating):
    both = pair(robot, floating)
    moving = {name for name in both.model.coordinate_names if not name.startswith("base_")}
    assert moving == {*both.joints}
    assert len(both.model.coordinate_names) == both.pin.nv + floating
    kinds = {joint.kind for body in both.model.bodies for joint in body.joints}
    assert kinds <= {"fixed", "revolute", "prismatic", "free"}
    assert ("free" in kinds) == floating


@EVERY
@BASES
def test_total_mass_agrees_with_pinocchio(robot, floating):
    both = pair(robot, floating)
    expected = sum(inertia.mass for inertia in both.pin.inertias)
    assert total_mass(both.model) == pytest.approx(expected, rel=1e-12)
    assert expected > 1.0


@EVERY
@BASES
def test_link_poses_agree_with_pinocchio(robot, floating):
    both = pair(robot, floating)
    q, theirs = both.states(3, seed=17)
    frames = state_batch.motion_at(both.model, States(q, np.zeros_like(q), np.zeros(3))).frames
    links = [(i, f.name) for i, f in enumerate(both.pin.frames) if f.type == pinocchio.FrameType.BODY]
    links = [(i, name) for i, name in links if name != "universe"]
    assert len(links) >= len(both.model.bodies)
    reach = 1.0 + np.abs(q[:3]).max() * floating
    # a fixed massless root link is omitted; a moving link called world needs another name
    root = links[0][1]
    if floating and root == "world":
        frames = {**frames, root: frames["link_world"]}
    elif root not in frames and not floating:
        frames = {**frames, root: frames["world"]}
    assert {name for _, name in links} <= {*frames}
    for k in range(3):
        pinocchio.framesForwardKinematics(both.pin, both.data, theirs[:, k])
        for index, name in links:
            R, p = batch(frames[name].R, k), batch(frames[name].p, k)
            assert np.abs(R - both.data.oMf[index].rotation).max() < 1e-12, name
            assert np.abs(p - both.data.oMf[index].translation).max() < 1e-12 * reach, name


@EVERY
def test_merged_inertias_agree_with_pinocchio(robot):
    """Pinocchio always merges links on fixed joints into their parent links."""
    both = pair(robot, True, merge_fixed=True)
    bodies = {carrier(body): body for body in both.model.bodies}
    assert len(bodies) == len(both.joints) + 1 == len(both.model.bodies)
    for name, index in {**both.joints, "": 1}.items():
        inertia, body = both.pin.inertias[index], bodies[name]
        matrix = np.array([[float(x) for x in row] for row in body.inertia])
        assert float(body.mass) == pytest.approx(inertia.mass, rel=1e-12)
        if inertia.mass:
            assert [float(x) for x in body.center] == pytest.approx(inertia.lever, abs=1e-12)
        assert np.abs(matrix - inertia.inertia).max() < 1e-12 * max(1.0, np.abs(inertia.inertia).max()), name


@EVERY
def test_merging_moves_no_link(robot):
    whole, merged = pair(robot, True), pair(robot, True, merge_fixed=True)
    q, _ = whole.states(1, seed=5)
    assert whole.model.coordinate_names == merged.model.coordinate_names
    state = States(q, np.zeros_like(q), np.zeros(1))
    expected, found = (
        state_batch.motion_at(whole.model, state).frames,
        state_batch.motion_at(merged.model, state).frames,
    )
    assert {*found} <= {*expected}
    for name, frame in found.items():
        assert np.abs(batch(frame.R, 0) - batch(expected[name].R, 0)).max() < 1e-12, name
        assert np.abs(batch(frame.p, 0) - batch(expected[name].p, 0)).max() < 1e-11, name
    assert total_mass(merged.model) == pytest.approx(total_mass(whole.model), rel=1e-12)


@EVERY
def test_limits_agree_with_pinocchio(robot):
    both = pair(robot, False)
    checked = 0
    for name, index in both.joints.items():
        joint = both.pin.joints[index]
        limits = both.model.limits.get(name)
        if limits is None or joint.nq > 1:
            continue
        bounds = (both.pin.lowerPositionLimit[joint.idx_q], both.pin.upperPositionLimit[joint.idx_q])
        assert (limits.lower, limits.upper) == pytest.approx(bounds)
        checked += 1
    assert checked > 0


@EVERY
@BASES
def test_writing_and_reading_round_trips(robot, floating):
    model = pair(robot, floating).model
    again = loads_urdf(to_urdf(model), strict=False)
    assert [(c.name, c.unit, c.start, c.start_rate) for c in again.generalized_coordinates] == [
        (c.name, c.unit, c.start, c.start_rate) for c in model.generalized_coordinates
    ]
    assert again.limits == model.limits
    assert again.loads == model.loads
    assert again.shapes == model.shapes
    assert [c.name for c in again.holonomic_constraints] == [c.name for c in model.holonomic_constraints]
    assert all(
        (a.phi - b.phi).expand() == 0
        for a, b in zip(again.holonomic_constraints, model.holonomic_constraints, strict=True)
    )
    for old, new in zip(model.bodies, again.bodies, strict=True):
        assert (new.name, new.parent, new.joints, new.center) == (old.name, old.parent, old.joints, old.center)
        assert (new.mass, new.inertia) == (old.mass, old.inertia)


@EVERY
def test_pinocchio_reads_written_files(robot):
    """The mass matrix that Pinocchio finds is the same for the file of the robot and for the one written from it."""
    both = pair(robot, False)
    written = pinocchio.buildModelFromXML(to_urdf(both.model))
    assert [*written.names] == [*both.pin.names]
    assert written.nq == both.pin.nq
    _, q = both.states(1, seed=3)
    expected = pinocchio.crba(both.pin, both.data, q[:, 0]).copy()
    found = pinocchio.crba(written, written.createData(), q[:, 0])
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()
    assert written.velocityLimit.tolist() == both.pin.velocityLimit.tolist()
    assert written.damping.tolist() == both.pin.damping.tolist()


def test_notes_and_elements_of_robot_files():
    panda = pair("panda", False).model
    assert any(note.startswith("element <collision> is not used") and "lines 13, 30" in note for note in panda.notes)
    assert any("attribute mu_coulomb of <dynamics>" in note for note in panda.notes)
    assert panda.constraint_names == ("mimic of panda_finger_joint2",)
    assert panda.limits["panda_joint4"].upper == pytest.approx(-0.0698)
    assert len(panda.shapes) > 8
    romeo = pair("romeo", False).model
    assert any("a moving link has no mass" in note and "'LFinger11Link' (line 987)" in note for note in romeo.notes)
    assert len(romeo.holonomic_constraints) == 22
    icub = pair("icub", False).model
    assert any("negligible and set to 0" in note and "'head' (line 50)" in note for note in icub.notes)
    anymal = pair("anymal c", False).model
    message = "violate the triangle inequality"
    assert any(message in note and "'depth_camera_front_camera'" in note for note in anymal.notes)


def test_invalid_files_are_reported_with_line_numbers():
    from dalembert.errors import ModelFileError

    path = urdf_files()["romeo_description/urdf/romeo_laas_small.urdf"]
    with pytest.raises(ModelFileError, match=r"line 331, link 'body', inertia: a principal moment is negative"):
        read_urdf(path)
    assert len(read_urdf(path, strict=False).coordinate_names) == 33
    path = urdf_files()["alex_description/urdf/alex_psyonic_hands.urdf"]
    with pytest.raises(ModelFileError, match=r"line 1037, joint 'Left_index_q2', mimic: there is no joint 'index_q1'"):
        read_urdf(path)


def batch(entries: np.ndarray, k: int) -> np.ndarray:
    """The k-th of a batch of vectors or matrices."""
    flat = [entry[k] if np.ndim(entry) else entry for entry in entries.flat]
    return np.array(flat, dtype=float).reshape(entries.shape)


def carrier(body) -> str:
    """The joint of a body; the free base has none."""
    joint = body.joints[0]
    return str(joint.values[0]) if isinstance(joint, Revolute | Prismatic) else ""
