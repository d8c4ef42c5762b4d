"""Inverse kinematics: closed forms, branches, loops, limits, singular configurations, and unreachable targets."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError

ARM = """
convention = "mdh"
name = "planar"
gravity = [0, 0, 0]
[[link]]
name = "upper"
mass = 1
[[link]]
name = "lower"
a = 0.5
mass = 1
center = [0.2, 0, 0]
limits = { lower = -3.0, upper = 3.0 }
"""
TIP = (0.3, 0.0, 0.0)


@pytest.fixture(scope="module")
def arm() -> dl.Model:
    from dalembert.io.robot_rows import loads_dh

    return loads_dh(ARM)


def elbows(x: float, y: float, l1: float = 0.5, l2: float = 0.3) -> np.ndarray:
    """Both configurations of a planar arm with two links, by the law of cosines."""
    q2 = np.array([1, -1]) * np.arccos((x * x + y * y - l1**2 - l2**2) / (2 * l1 * l2))
    return np.array([np.arctan2(y, x) - np.arctan2(l2 * np.sin(q2), l1 + l2 * np.cos(q2)), q2]).T


@pytest.mark.parametrize("engine", ["native", "python"])
def test_both_elbows_are_those_of_the_law_of_cosines(arm: dl.Model, engine: str) -> None:
    found = dl.inverse_kinematics(arm, "lower", (0.4, 0.35, 0.0), point=TIP, branches=True, engine=engine)
    assert found.converged
    assert found.residual < 1e-14
    assert found.distance < 1e-14
    assert found.angle == 0.0
    wanted = elbows(0.4, 0.35)
    np.testing.assert_allclose(sorted(map(tuple, found.branches)), sorted(map(tuple, wanted)), atol=1e-12)
    assert found.manipulability == pytest.approx(0.5 * 0.3 * abs(np.sin(found.q[1])), rel=1e-12)  # l1 l2 |sin q2|
    assert found.singular is None


def test_a_stretched_arm_is_singular_and_names_the_lost_direction(arm: dl.Model) -> None:
    found = dl.inverse_kinematics(arm, "lower", (0.0, 0.8, 0.0), point=TIP, q0=[1.0, 0.5])
    assert found.converged
    assert found.manipulability < 1e-6
    assert isinstance(found.singular, str)
    assert "a translation of 'lower' along the world y axis is impossible here" in found.singular


def test_an_unreachable_target_reports_the_nearest_configuration(arm: dl.Model) -> None:
    found = dl.inverse_kinematics(arm, "lower", (2.0, 0.0, 0.0), point=TIP, starts=20)
    assert not found.converged
    assert found.distance == pytest.approx(1.2, abs=1e-6)  # 2 − 0.5 − 0.3
    assert "the target was not reached" in found.message
    assert "a position error of 1.2" in str(found)


def test_limits_are_respected_unless_disabled(arm: dl.Model) -> None:
    def folded() -> list[float]:  # q2 = ±3.1
        p = dl.position(arm, [0.2, 3.1], "lower", TIP)
        return [bool(dl.inverse_kinematics(arm, "lower", p, point=TIP, limits=on).converged) for on in (True, False)]

    assert folded() == [False, True]
    p = dl.position(arm, [0.2, 3.1], "lower", TIP)
    assert "q2 is at its" in dl.inverse_kinematics(arm, "lower", p, point=TIP).message


def test_all_eight_branches_of_the_puma_reach_the_pose() -> None:
    puma = dl.load("puma560")
    wanted = dl.pose(puma, [0.3, -0.7, 0.5, 0.4, 0.9, -0.2], "flange")
    found = dl.inverse_kinematics(puma, "flange", wanted, branches=True)
    assert len(found.branches) == 8
    there = dl.pose(
        puma, np.array(found.branches).T, "flange"
    )  # by the recursion, which shares no line with the search
    np.testing.assert_allclose(there.matrix, np.repeat(wanted.matrix[:, :, None], 8, axis=2), atol=1e-12)
    q = np.array(found.branches)
    # shoulder left and right, elbow up and down, wrist flipped: q1 and q3 have two values, and q5 comes with both signs
    for column in (0, 2):
        assert len({*np.mod(q[:, column], 2 * np.pi).round(9)}) == 2
    wrists = np.mod(q[:, 4] + np.pi, 2 * np.pi) - np.pi
    np.testing.assert_allclose(np.sort(wrists), -np.sort(wrists)[::-1], atol=1e-12)


@pytest.mark.parametrize("name", ["puma560", "kuka-kr5"])
def test_random_poses_are_reached_to_rounding(name: str) -> None:
    model = dl.load(name)
    q = np.random.default_rng(5).uniform(-np.pi, np.pi, (6, 1000))
    found = dl.inverse_kinematics(model, "flange", dl.pose(model, q, "flange"))
    off = dl.pose(model, found.q, "flange").matrix - dl.pose(model, q, "flange").matrix
    assert np.mean(np.abs(off).max(axis=(0, 1)) < 1e-10) >= 0.995
    assert isinstance(found.converged, np.ndarray)
    assert found.converged.mean() >= 0.995


def test_all_forms_of_a_target_are_equivalent() -> None:
    puma = dl.load("puma560")
    pose = dl.pose(puma, [0.1, 0.5, 2.5, 0.3, 0.6, 0.2], "flange")
    forms = [
        pose,
        pose.matrix,
        dl.Target(pose.position, pose.rotation),
        dl.Target(pose.position, 3 * pose.quaternion),
    ]
    first, *others = (dl.inverse_kinematics(puma, "flange", form).q for form in forms)
    for q in others:
        np.testing.assert_allclose(q, first, atol=1e-9)
    found = dl.inverse_kinematics(puma, "flange", pose.quaternion)
    np.testing.assert_allclose(dl.pose(puma, found.q, "flange").rotation, pose.rotation, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "shift"),
    [("3-rrr", (0.01, -0.02, 0.0)), pytest.param("stewart-platform", (0.01, -0.02, 0.015), marks=pytest.mark.nightly)],
)
def test_loops_stay_closed_and_the_platform_reaches_its_target(name: str, shift: tuple[float, ...]) -> None:
    model = dl.load(name)
    home = dl.pose(model, model.initial[0], "platform")
    wanted = home.position + np.array(shift)
    found = dl.inverse_kinematics(model, "platform", dl.Target(wanted, home.rotation))
    assert found.converged
    np.testing.assert_allclose(dl.position(model, found.q, "platform"), wanted, atol=1e-11)
    assembled = dl.assemble_state(model, found.q, np.zeros(len(found.q)))  # moves nothing: the loops are closed
    assert max(map(abs, assembled.moved.values())) < 1e-9
    assert found.manipulability > 0


def test_several_bodies_at_once_and_a_fixed_coordinate(arm: dl.Model) -> None:
    q = [0.7, -1.1]
    wanted = {"upper": dl.Target(dl.position(arm, q, "upper", (0.5, 0, 0)), point=(0.5, 0, 0)),
              "lower": dl.Target(dl.position(arm, q, "lower", TIP), point=TIP)}  # fmt: skip
    np.testing.assert_allclose(dl.inverse_kinematics(arm, wanted).q, q, atol=1e-10)
    fixed = dl.inverse_kinematics(
        arm, "lower", dl.position(arm, q, "lower", TIP), point=TIP, fixed=["q1"], q0=[0.7, 0.1]
    )
    assert fixed.q[0] == 0.7
    assert fixed.q[1] == pytest.approx(-1.1)


def test_free_bases_with_quaternions_keep_their_norm() -> None:
    from dalembert.io.urdf._urdf_reader import loads_urdf

    urdf = """<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link></robot>"""
    model = loads_urdf(urdf, "r", floating=True)
    R = dl.pose(model, [0, 0, 0, 0.5, 0.5, 0.5, 0.5], "base").rotation
    found = dl.inverse_kinematics(model, "base", dl.Target((1, 2, 3), R))
    assert found.converged
    np.testing.assert_allclose(np.abs(found.q), [1, 2, 3, 0.5, 0.5, 0.5, 0.5], atol=1e-12)


def test_redundant_arms_have_no_branches_and_results_can_be_pickled(arm: dl.Model) -> None:
    with pytest.raises(InputError, match="have 2 degrees of freedom of self-motion"):
        dl.inverse_kinematics("puma560", "flange", (0.3, 0.3, 0.6), point=(0, 0, 0.1), branches=True)
    found = dl.inverse_kinematics(arm, "lower", np.array([[0.4, 0.3], [0.35, 0.1], [0, 0]]), point=TIP)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own)
    np.testing.assert_array_equal(again.manipulability, found.manipulability)
    assert found.q.shape == (2, 2)
    assert found.message == "2 of 2 targets are reached."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"body": "uper", "target": (1, 0, 0)}, "there is no body 'uper'. Did you mean 'upper'?"),
        ({"body": "upper"}, "`target` is missing"),
        ({"body": "upper", "target": (1, 0)}, r"got shape \(2,\)"),
        ({"body": "upper", "target": np.ones((3, 3))}, "the matrix is not a rotation"),
        ({"body": "upper", "target": np.ones((4, 4))}, r"Expected \(0, 0, 0, 1\)"),
        ({"body": "upper", "target": (0, 0, 0, 0)}, "a quaternion has length 0"),
        ({"body": "upper", "target": dl.Target()}, "no position and no orientation"),
        ({"body": "upper", "target": (1, 0, 0), "fixed": ["q3"]}, "there is no coordinate 'q3'"),
        ({"body": {"upper": np.ones((3, 5)), "lower": np.ones((3, 7))}}, "Expected equal numbers for all bodies"),
    ],
)
def test_wrong_targets_raise(arm: dl.Model, arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dl.inverse_kinematics(arm, **arguments)


def gripper() -> dl.Model:
    """An arm of three joints with two fingers, of which the second mimics the first."""
    model = dl.Model("gripper").coordinates("a", "b", "c", "left", "right")
    for name, parent in zip("abc", ("world", "a", "b"), strict=True):
        place = (0 if parent == "world" else 0.5, 0, 0)
        model.body(
            name, parent=parent, joint=model.revolute((0, 0, 1), name, position=place), mass=1, center=(0.2, 0, 0)
        )
    for name, side in (("left", 1), ("right", -1)):
        model.body(name, parent="c", joint=model.prismatic((0, side, 0), name, position=(0.3, 0, 0)), mass=0.1)
    return model.holonomic("right - left", name="mimic")


def test_ties_that_do_not_affect_the_target_cost_nothing() -> None:
    """The search with the tie takes the steps of the search without it."""
    tied, free = gripper(), gripper()
    free.holonomic_constraints = ()
    target = [0.7, 0.6, 0.0]
    found, other = (dl.inverse_kinematics(model, "c", target) for model in (tied, free))
    assert found.converged
    assert np.array_equal(found.q, other.q)
    assert found.manipulability == other.manipulability


def test_ties_of_the_target_are_satisfied_and_violated_ones_solved() -> None:
    found = dl.inverse_kinematics(gripper(), "right", [0.7, 0.6, 0.0])
    assert found.converged
    assert found.q[3] == pytest.approx(found.q[4], abs=1e-10)
    start = {"left": 0.1, "right": 0.3}
    found = dl.inverse_kinematics(gripper(), "c", [0.7, 0.6, 0.0], q0=start)
    assert found.converged
    assert found.q[3] == pytest.approx(found.q[4], abs=1e-10)
    found = dl.inverse_kinematics(gripper(), "c", [0.7, 0.6, 0.0], q0=start, fixed=["left", "right"])
    assert not found.converged
