"""Cutting a loop elsewhere: another spanning tree of the same mechanism has the same motion and joint reactions."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import displacement, loop_rows
from dalembert.mechanics.constraint_levels import ends as ends_of
from dalembert.mechanics.motion import move
from dalembert.mechanics.state_batch import States
from dalembert.model.constraints.loop import ancestors, loop_bodies
from dalembert.model.joints.fixed import invert_joints, placed_back
from dalembert.model.joints.spherical import Spherical
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers
from dalembert.symbolic.rotations import roll_pitch_yaw

G = 9.81
ROD = {"mass": 0.8, "center": (0.4, 0.05, 0), "inertia": (0.02, 0.1, 0.11)}
SOLID = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
EXACT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}


def four_bars() -> Model:
    """A planar four-bar linkage whose coupler has a fixed frame after its joint."""
    model = Model("four bars", gravity=(0, -G, 0)).parameters(l=0.5).coordinates("a", "b", "c")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **ROD)
    elbow = [model.revolute((0, 0, 1), "b", position=("l", 0, 0)), model.fixed((0.1, 0, 0), (0, 0, 0.4))]
    model.body("coupler", parent="crank", joint=elbow, **ROD)
    model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(1.5, 0, 0), rotation=(0, 0, 0.2)), **ROD)
    pin = model.revolute((0, 0, 1), 0, position=(1.2, -0.3, 0))
    model.loop("pin", ("coupler", "rocker"), pin, position=(0.9, 0, 0), rotation=(0, 0, 0.6))
    return dl.assemble_model(model.start([1.0, -0.9, 1.2], [2, 0, 0]))


@cache
def made(first: str, close: str) -> Model:
    """A closed spatial chain, crank – link – rod – rocker, with joints that are not overconstrained."""
    model = Model("spatial", gravity=(1.0, 0.5, -G)).parameters(l=0.5)
    model.coordinates("a", "b1", "b2", "c1", "c2", "d").start([0.3, 0.2, -0.4, 0.3, 0.1, 0.2], [1.5, 0.3, 0, 0, 0, 0])
    model.body("crank", joint=model.revolute((0, 0, 1), "a", rotation=(0.2, 0.1, 0)), **ROD)
    pose = {"position": ("l", 0, 0.1), "rotation": (0.1, -0.2, 0.3)}
    make = {
        "cylindrical": lambda: model.cylindrical((1, 2, 2), "b1", "b2", **pose),
        "universal": lambda: model.universal(((0, 0, 1), (1, 1, 0)), ("b1", "b2"), **pose),
        "revolute and prismatic": lambda: [model.revolute((0, 1, 0), "b1", **pose), model.prismatic((1, 0, 0), "b2")],
        "screw and revolute": lambda: [model.screw((0, 1, 0), "b1", 0.4, **pose), model.revolute((1, 0, 0), "b2")],
        "prismatic and revolute": lambda: [model.prismatic((0, 1, 0), "b1", **pose), model.revolute((1, 0, 0), "b2")],
    }
    model.body("link", parent="crank", joint=make[first](), **SOLID)
    other = model.universal(((0, 1, 0), (0, 0, 1)), ("c1", "c2"), position=(0.6, 0.1, 0))
    model.body("rod", parent="link", joint=other, **ROD)
    model.body("rocker", joint=model.revolute((1, 1, 0), "d", position=(1.6, 0.3, 0)), **ROD)
    at = {"position": (0.6, 0, 0.05), "rotation": (0, 0.3, 0)}
    joint, values = {
        "universal": (model.universal(((0, 0, 1), (0, 1, 0)), (0, 0), **at), [0.3, -0.4]),
        "cylindrical": (model.cylindrical((0, 1, 2), 0, 0, **at), [0.7, 0.2]),
        "spherical": (model.spherical((0, 0, 0), "zyx", **at), [0.5, -0.3, 0.2]),
        "planar": (model.planar((0, 1, 1), (0, 0), 0, **at), [0.1, -0.2, 0.6]),
        "revolute": (model.revolute((0, 1, 1), 0, **at), [0.8]),
        "screw": (model.screw((0, 1, 1), 0, 0.9, **at), [7.1]),
        "prismatic": (model.prismatic((0, 1, 1), 0, **at), [0.25]),
    }[close]
    # the half on the rocker sits where it has to
    frames = at_state(model).frames
    R, p = as_floats(frames["rod"].R), as_floats(frames["rod"].p)
    p, R = p + R @ at["position"], R @ Rotation.from_euler("xyz", at["rotation"]).as_matrix()
    p, R = (
        p + R @ joint.translation(FLOATS, values).astype(float),
        R @ joint.rotation_matrix(FLOATS, values).astype(float),
    )
    on = as_floats(frames["rocker"].R)
    half = {
        "position": (on.T @ (p - as_floats(frames["rocker"].p))).tolist(),
        "rotation": Rotation.from_matrix(on.T @ R).as_euler("xyz").tolist(),
    }
    return dl.assemble_model(model.loop("cut", ("rod", "rocker"), joint, **half))


def spatial(first: str, close: str) -> Model:
    """The chain, built once."""
    return made(first, close).copy()


def as_floats(array) -> np.ndarray:
    return numbers(np.asarray(array, dtype=object), 1)[..., 0]


def at_state(model: Model, q=None, qd=None):
    """The model in motion at one state, by default its initial one."""
    start = model.initial
    q, qd = (np.array(x if x is not None else y, float) for x, y in zip((q, qd), start, strict=True))
    return move(model, FLOATS, 0.0, vector(list(q)), vector(list(qd)), model.parameter_values)


def at_samples(run) -> list:
    model = run.model
    return [
        state_batch.motion_at(model, States(q[:, None], qd[:, None], np.array([t])))
        for q, qd, t in zip(run.q.T, run.qd.T, run.t, strict=True)
    ]


def poses(run) -> dict[str, np.ndarray]:
    """Rotation and origin of every body along a run."""
    motions = at_samples(run)
    return {
        body.name: np.array(
            [[*as_floats(m.frames[body.name].R).ravel(), *as_floats(m.frames[body.name].p)] for m in motions]
        )
        for body in run.model.bodies
    }


def pairs(run) -> dict[frozenset, tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """For every joint, by its two bodies: the body acted on, force, moment and reference point."""
    model, motions, found = run.model, at_samples(run), run.joint_reactions()
    assert len(found) == len(model.bodies) + len(model.loops)
    out = {}
    for name, reaction in found.items():
        if any(body.name == name for body in model.bodies):
            point = np.array([as_floats(m.body(name).p_WJ) for m in motions]).T
        else:
            first = next(row for row in loop_rows(motions[0]) if row.name.startswith(f"{name}, ")).name
            point = np.array([as_floats(next(r for r in loop_rows(m) if r.name == first).point) for m in motions]).T
        out[frozenset((reaction.body, reaction.parent))] = (reaction.body, reaction.force, reaction.moment, point)
    return out


def facts(model: Model, duration: float = 0.3) -> tuple[dict, dict]:
    """The poses of the bodies, and the joint reactions."""
    run = dl.derive(model, engine="python").simulate(duration, samples=4, **EXACT)
    return poses(run), pairs(run)


def same_mechanism(model: Model | tuple[dict, dict], other: Model) -> None:
    """Raise unless both have the same motion and the same joint reactions."""
    (moved, reactions), (other_moved, other_reactions) = (
        facts(model) if isinstance(model, Model) else model,
        facts(other),
    )
    assert moved.keys() == other_moved.keys()
    for name in moved:
        assert np.allclose(moved[name], other_moved[name], atol=1e-8)
    assert max(np.ptp(path, axis=0).max() for path in moved.values()) > 0.05
    assert reactions.keys() == other_reactions.keys()
    for ends in reactions:
        on, force, moment, point = reactions[ends]
        there_on, there_force, there_moment, there_point = other_reactions[ends]
        sign = 1 if on == there_on else -1
        shifted = there_moment + np.cross(there_point - point, there_force, axis=0)
        assert np.allclose(force, sign * there_force, atol=1e-7)
        assert np.allclose(moment, sign * shifted, atol=1e-7)


@cache
def known(first: str, close: str) -> tuple[dict, dict]:
    """The facts of a chain in space, found once."""
    return facts(spatial(first, close))


# every body of the loop


@pytest.mark.parametrize("at", ["crank", "coupler", "rocker"])
def test_four_bars_cut_at_every_body_are_the_same_mechanism(at):
    model = four_bars()
    other = dl.recut(model, "pin", at)
    assert set(other.coordinate_names) == {"a", "b", "c", "pin"} - {{"crank": "a", "coupler": "b", "rocker": "c"}[at]}
    assert [loop.name for loop in other.loops] == [f"{at} joint"]
    assert other.check() == []
    assert model.coordinate_names == ("a", "b", "c")  # the original model is unchanged
    same_mechanism(model, other)


CHAINS = [
    ("cylindrical", "universal", ["crank", "link", "rod", "rocker"]),
    ("universal", "cylindrical", ["crank", "link", "rod", "rocker"]),
    ("universal", "spherical", ["crank", "link", "rod", "rocker"]),
    ("cylindrical", "planar", ["crank", "link", "rod", "rocker"]),
    ("revolute and prismatic", "revolute", ["crank", "rod", "rocker"]),
    ("screw and revolute", "screw", ["crank", "rod", "rocker"]),
    ("prismatic and revolute", "prismatic", ["crank", "rod", "rocker"]),
]


@pytest.mark.slow(3)  # cylindrical-universal-rocker
@pytest.mark.parametrize(
    ("first", "close", "at"), [(first, close, at) for first, close, bodies in CHAINS for at in bodies]
)
def test_chains_in_space_cut_at_every_body_are_the_same_mechanism(first, close, at):
    model = spatial(first, close)
    assert dl.mobility(model).redundant == ()
    other = dl.recut(model, "cut", at)
    assert loop_bodies(other, other.loops[0])
    same_mechanism(known(first, close), other)


@pytest.mark.slow(4)
def test_recutting_twice_restores_the_model():
    model = spatial("universal", "spherical")
    there = dl.recut(model, "cut", "link")
    back = dl.recut(there, "link joint", next(n for n in ("rod", "rocker") if holds(there, n, "cut")))
    assert back.loops[0].joint.kind == "spherical"
    assert dl.mobility(back).degrees_of_freedom == dl.mobility(model).degrees_of_freedom
    same_mechanism(model, back)


def holds(model: Model, name: str, stem: str) -> bool:
    """Whether a body hangs on a joint that moves by coordinates of this name."""
    body = next(b for b in model.bodies if b.name == name)
    return any(stem in str(value) for joint in body.joints for value in joint.values)


def test_a_fixed_cut_moves_elsewhere():
    model = (
        Model("weld", gravity=(0, -G, 0)).coordinates("q", "x", "y", "turn").start([0.4, 0.7, 0.5, 0.6], [1, 0, 0, 0])
    )
    model.body("arm", joint=model.revolute((0, 0, 1), "q"), **ROD)
    model.body("plate", joint=model.planar((0, 0, 1), ("x", "y"), "turn"), **ROD)
    weld = model.fixed((0.9, 0, 0), (0, 0, 0.3))
    model = dl.assemble_model(model.loop("weld", ("arm", "plate"), weld, position=(0.1, 0, 0)))
    other = dl.recut(model, "weld", "plate")
    assert other.coordinate_names == ("q",)
    same_mechanism(model, other)


def test_where_a_free_joint_is_cut_no_loop_is_left():
    model = Model("hung", gravity=(0, 0, -G)).coordinates("x", "y", "z", "a", "b", "c")
    model.start([0, 0, 0, 0.3, 0.2, -0.1], [0, 0, 0, 1, 0, 0])
    model.body("bob", joint=model.free(("x", "y", "z"), ("a", "b", "c")), **SOLID)
    model.loop("ball", ("world", "bob"), model.spherical((0, 0, 0), "xyz"))
    other = dl.recut(model, "ball")
    assert other.loops == ()
    assert other.coordinate_names == ("ball_first_angle", "ball_second_angle", "ball_third_angle")
    runs = [dl.derive(m, engine="python").simulate(0.3, samples=4, **EXACT) for m in (model, other)]
    assert np.allclose(poses(runs[0])["bob"], poses(runs[1])["bob"], atol=1e-8)
    reactions, cut = runs[1].joint_reactions()["bob"], runs[0].joint_reactions()["ball"]
    assert np.allclose(reactions.force, cut.force, atol=1e-7)


def test_a_quaternion_ball_joint_becomes_a_cut_without_coordinates():
    model = Model("ball", gravity=(0, 0, -G)).coordinates("a", "w", "x", "y", "z", "c")
    model.body("input", joint=model.revolute((0, 0, 1), "a"), **ROD)
    model.body(
        "rod", parent="input", joint=model.spherical(quaternion=("w", "x", "y", "z"), position=(0.4, 0, 0)), **SOLID
    )
    model.body("output", joint=model.revolute((0, 1, 0), "c", position=(1.5, 0.4, 0)), **ROD)
    cross = model.universal(((0, 1, 0), (0, 0, 1)), (0, 0), position=(1.3, 0, 0))
    model.loop("cross", ("rod", "output"), cross, position=(0, 0, 0.7))
    model = dl.assemble_model(model.start([0.3, 0.95, 0.05, -0.2, 0.1, 0.2], [1, 0, 0, 0, 0, 0]))
    other = dl.recut(model, "cross", "rod")
    assert other.coordinate_names == ("a", "c", "cross_first_angle", "cross_second_angle")
    assert isinstance(other.loops[0].joint, Spherical)
    same_mechanism(model, other)
    with pytest.raises(InputError, match="a quaternion joint cannot be inverted"):
        dl.recut(model, "cross", "input")


@pytest.mark.slow(5)
def test_one_of_two_loops_is_cut_elsewhere():
    # six bars: a second pair of rods from the coupler to a pivot at the end of the rods
    model = four_bars().coordinate("e", 0.6).coordinate("f", 2.0)
    model.body("strut", parent="coupler", joint=model.revolute((0, 0, 1), "e", position=(0.5, 0.2, 0)), **ROD)
    tip = at_state(model).frames["strut"].point(np.array([0.7, 0, 0], dtype=object))[0]
    pivot = (as_floats(tip) - 0.6 * np.array([np.cos(2.0), np.sin(2.0), 0])).tolist()
    model.body("prop", joint=model.revolute((0, 0, 1), "f", position=pivot), **ROD)
    knee = model.revolute((0, 0, 1), 0, position=(0.7, 0, 0))
    model = dl.assemble_model(model.loop("knee", ("strut", "prop"), knee, position=(0.6, 0, 0)))
    for loop, at in (("knee", "strut"), ("knee", "coupler"), ("knee", "crank"), ("pin", "crank"), ("pin", "rocker")):
        other = dl.recut(model, loop, at)
        assert {each.name for each in other.loops} == {"pin", "knee", f"{at} joint"} - {loop}
        same_mechanism(model, other)


@pytest.mark.slow(3)
@pytest.mark.parametrize("ends", [("base", "third"), ("third", "base")], ids=["down", "up"])
def test_a_ring_that_hangs_on_a_moving_body(ends):
    # a loop between a body and one that it carries; the ring is closed where the rods end
    model = Model("ring", gravity=(0, -G, 0)).coordinates("q", "a", "b", "c")
    model.start([0.3, 0.5, 1.2, 1.4], [1.0, 2.0, 0, 0])
    model.body("base", joint=model.revolute((0, 0, 1), "q", rotation=(0, 0, 0.2)), **ROD)
    for name, parent, angle, x in (
        ("first", "base", "a", 0.3),
        ("second", "first", "b", 0.8),
        ("third", "second", "c", 0.9),
    ):
        model.body(name, parent=parent, joint=model.revolute((0, 0, 1), angle, position=(x, 0, 0)), **ROD)
    frames = at_state(model).frames
    tip = as_floats(frames["third"].point(np.array([0.7, 0, 0], dtype=object))[0])
    foot = (as_floats(frames["base"].R).T @ tip).tolist()
    on = {"base": foot, "third": (0.7, 0, 0)}
    pin = model.revolute((0, 0, 1), 0, position=on[ends[0]])
    model = dl.assemble_model(model.loop("pin", ends, pin, position=on[ends[1]]))
    assert loop_bodies(model, model.loops[0]) in (["first", "second", "third"], ["third", "second", "first"])
    for at in ("first", "second", "third"):
        same_mechanism(model, dl.recut(model, "pin", at))
    with pytest.raises(InputError, match="body 'base' is not part of loop 'pin'"):
        dl.recut(model, "pin", "base")
    bent = dl.assemble_state(model).branch
    assert set(bent) == {"first", "second", "third", "pin"}
    assert "straight" not in bent.values()


# where the new coordinates begin


def measured(model: Model, q=None) -> tuple[float, ...]:
    """The motions of the first cut joint at one state."""
    return model.loops[0].joint.measure(*displacement(*ends_of(model.loops[0], at_state(model, q))))


def test_the_former_cut_starts_at_its_measured_state():
    model = spatial("cylindrical", "universal")
    q, qd = model.initial
    values = measured(model)
    other = dl.recut(model, "cut", "crank")
    found = {c.name: c.start for c in other.generalized_coordinates}
    assert np.allclose([found["cut_first_angle"], found["cut_second_angle"]], values, atol=1e-12)
    # the rates by a small step along the motion
    h = 1e-6
    near = [np.array(measured(model, q + step * qd)) for step in (-h, h)]
    rates = {c.name: c.start_rate for c in other.generalized_coordinates}
    expected = (near[1] - near[0]) / (2 * h)
    assert np.allclose([rates["cut_first_angle"], rates["cut_second_angle"]], expected, atol=1e-6)


@pytest.mark.nightly
def test_joints_that_depend_on_time_are_cut_as_well():
    model = Model("shaken bars", gravity=(0, -G, 0)).coordinates("a", "b", "c").start([1.0, -0.7, 1.3], [2, 0, 0])
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **ROD)
    elbow = model.revolute((0, 0, 1), "b + 0.3*sin(2*t)", position=(0.5, 0, 0))
    model.body("coupler", parent="crank", joint=elbow, **ROD)
    pivot = [model.prismatic((1, 0, 0), "1.5 + 0.05*sin(3*t)"), model.fixed((0, 0, 0)), model.revolute((0, 0, 1), "c")]
    model.body("rocker", joint=pivot, **ROD)
    pin = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    model = dl.assemble_model(model.loop("pin", ("coupler", "rocker"), pin, position=(0.9, 0, 0)))
    same_mechanism(model, dl.recut(model, "pin", "crank"))
    same_mechanism(model, dl.recut(model, "pin", "coupler"))
    with pytest.raises(InputError, match="body 'rocker' has 2 moving joints"):
        dl.recut(model, "pin", "rocker")


# loads in reversed joints


def loaded(model: Model, body: str) -> Model:
    model.joint_torque(body, "2*sin(3*t) + 0.5")
    model.joint_spring(body, stiffness=8, rest=0.7, damping=0.3)
    model.joint_friction(body, viscous=0.2, coulomb=0.4, smoothing=0.1)
    model.actuator(body, "5*cos(t)", limit=(-1, 3))
    return model.rotor(body, 0.02, ratio=4)


@pytest.mark.parametrize(("body", "at"), [("coupler", "crank"), ("crank", "coupler"), ("rocker", "crank")])
def test_loads_in_joints_move_with_their_sign(body, at):
    # at the crank the coupler's joint is reversed; the others are not
    model = loaded(four_bars(), body)
    other: Any = dl.recut(model, "pin", at)
    is_reversed = body == "coupler"
    assert {load.body for load in other.loads} == {"crank" if is_reversed else body}
    assert other.rotors[0].body == ("crank" if is_reversed else body)
    same_mechanism(model, other)
    without = four_bars()
    q, qd = model.initial
    gap = dl.derive(model, engine="python").accelerations(q, qd) - dl.derive(without, engine="python").accelerations(
        q, qd
    )
    assert np.abs(gap).max() > 0.1


@pytest.mark.nightly
@pytest.mark.parametrize(("close", "motion"), [("universal", 0), ("universal", 1)])
def test_loads_in_reversed_joints_of_several_motions_keep_their_motion(close, motion):
    model = spatial("cylindrical", close)
    for body in ("link", "rod"):
        model.joint_torque(body, "1.5 - t", motion=motion)
        model.joint_spring(body, stiffness=5, rest=-0.3, motion=motion)
        model.rotor(body, 0.05, ratio=2, motion=motion)
    same_mechanism(model, dl.recut(model, "cut", "crank"))


def test_loads_in_a_reversed_planar_joint():
    model = Model("plate", gravity=(0, -G, 0)).coordinates("q", "x", "y", "turn", "e")
    model.body("arm", joint=model.revolute((0, 0, 1), "q"), **ROD)
    plane = model.planar((0, 0, 1), ("x", "y"), "turn", position=(0.2, 0.1, 0), rotation=(0, 0, 0.3))
    model.body("plate", parent="arm", joint=plane, **ROD)
    model.body("finger", parent="plate", joint=model.revolute((0, 0, 1), "e", position=(0.3, 0, 0)), **ROD)
    model.loop("pin", ("world", "finger"), model.revolute((0, 0, 1), 0, position=(1, 0.5, 0)), position=(0.6, 0, 0))
    for motion in range(3):
        model.joint_spring("plate", stiffness=4 + motion, rest=0.1, damping=0.2, motion=motion)
        model.rotor("plate", 0.1, motion=motion)
        model.joint_torque("plate", f"{motion + 1}*cos(t)", motion=motion)
    model = dl.assemble_model(model.start([0.4, 0.3, 0.1, 0.2, 0.5], [0.5, 0, 0, 0, 0]))
    other: Any = dl.recut(model, "pin", "arm")
    assert {(load.joint, load.motion) for load in other.loads} == {(0, 0), (1, 0), (2, 0)}
    same_mechanism(model, other)


@pytest.mark.slow(3)
def test_branches_on_the_chain_move_with_it():
    model = four_bars()
    model.coordinate("swing", 0.4)
    model.body("bob", parent="coupler", joint=model.revolute((0, 0, 1), "swing", position=(0.5, 0, 0)), **ROD)
    model.force("coupler", (3, 0, 0), frame="crank", point=(0.2, 0, 0)).spring(
        ("bob", "world"), stiffness=4, natural_length=0.1, points=((0.4, 0, 0), (1, 1, 0))
    )
    for at in ("crank", "coupler", "rocker"):
        same_mechanism(model, dl.recut(model, "pin", at))


def test_feedback_is_preserved():
    model = four_bars().stabilized(100, 20)
    assert [float(x) for x in dl.recut(model, "pin", "coupler").loops[0].feedback] == [100, 20]


def test_parameters_stay_parameters_where_they_can():
    model = four_bars()
    other = dl.recut(model, "pin", "coupler")
    assert "l" in {str(s) for x in other.loops[0].joint.position for s in x.free_symbols}
    moved = [dl.assemble_model(m.with_parameters(l=0.55)) for m in (model, other)]
    spans = [dl.mobility(m).degrees_of_freedom for m in moved]
    assert spans == [1, 1]


def test_placements_for_present_values_only_are_noted():
    model = Model("two placements", gravity=(0, -G, 0)).parameters(l=0.5).coordinates("a", "b", "c")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **ROD)
    elbow = [model.fixed(("l", 0, 0), (0, 0, 0.3)), model.revolute((0, 0, 1), "b", position=(0, 0.1, 0))]
    model.body("coupler", parent="crank", joint=elbow, **ROD)
    model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(1.5, 0, 0)), **ROD)
    pin = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    model = dl.assemble_model(
        model.loop("pin", ("coupler", "rocker"), pin, position=(0.9, 0, 0)).start([1, -1, 1.3], [2, 0, 0])
    )
    other = dl.recut(model, "pin", "coupler")
    assert other.notes[-1] == (
        "recut of loop 'pin' at 'coupler': its placement is valid for the present values of l only."
    )
    same_mechanism(model, other)


# names


@pytest.mark.parametrize(
    ("name", "coordinate"),
    [
        ("pin", "pin"),
        ("t", "cut_t"),
        ("pi", "cut_pi"),
        ("lambda", "cut_lambda"),
        ("a", "cut_a"),
        ("2nd pin", "cut_2nd_pin"),
    ],
)
def test_the_new_coordinate_has_a_name_that_formulas_can_use(name, coordinate):
    model = four_bars()
    pin = model.loops[0]
    model.loops = ()
    model.loop(name, pin.bodies, pin.joint, position=(0.9, 0, 0), rotation=(0, 0, 0.6))
    other = dl.recut(model, name, "coupler")
    assert other.coordinate_names == ("a", "c", coordinate)
    other.joint_torque("rocker", f"2*{coordinate} - dot({coordinate})")
    assert np.isfinite(dl.derive(other, engine="python").accelerations(*other.initial)).all()


def test_a_removed_coordinate_is_unknown():
    other = dl.recut(four_bars(), "pin", "coupler")
    with pytest.raises(InputError, match="b"):
        other.holonomic("b - 1")


def test_dropped_limits_are_noted():
    model = four_bars().limit("a", lower=-1, upper=2).limit("b", lower=0)
    other = dl.recut(model, "pin", "coupler")
    assert set(other.limits) == {"a"}
    assert other.notes[-1].startswith("recut of loop 'pin' at 'coupler': the limits of b are dropped")


# the default cut


def test_the_joint_with_the_largest_freedom_is_cut_by_default():
    # revolute, universal, universal and revolute, cut at a revolute joint: better a universal one
    model = spatial("universal", "prismatic")
    other = dl.recut(model, "cut")
    assert other.loops[0].joint.kind == "universal"
    assert len(other.coordinate_names) == len(model.coordinate_names) - 1
    same_mechanism(model, other)


def test_among_equal_joints_the_middle_of_the_loop_is_cut():
    # four bars: the pin between coupler and rocker is as good as that between crank and coupler, and stays
    model = four_bars()
    other = dl.recut(model, "pin")
    assert other.loops == model.loops
    assert other.bodies == model.bodies
    assert other is not model
    # cut at the ground, the chain is as long as can be
    long = dl.recut(model, "pin", "rocker")
    best = dl.recut(long, "rocker joint")
    assert {frozenset(best.loops[0].bodies)} <= {frozenset(("crank", "coupler")), frozenset(("coupler", "rocker"))}
    assert max(len(ancestors(best, body.name)) for body in best.bodies) == 2
    same_mechanism(model, best)


def test_joints_that_cannot_be_cut_are_skipped():
    # loads in the universal joints prevent their cut
    model = spatial("universal", "prismatic")
    loaded = model.copy().joint_torque("link", 1.0)
    assert dl.recut(loaded, "cut").loops[0].name == "rod joint"
    both = loaded.copy().joint_friction("rod", viscous=1.0)
    assert dl.recut(both, "cut").loops == model.loops


# cuts that are not possible


def test_messages_of_impossible_cuts():
    model = four_bars()
    cases = [
        (model, ("pim", "crank"), "recut: there is no loop 'pim'. Did you mean 'pin'?"),
        (model, ("pin", "bob"), "recut: body 'bob' is not part of loop 'pin'. Its bodies are coupler, crank, rocker."),
        (
            model.copy().joint_spring("coupler", stiffness=1, name="coil"),
            ("pin", "coupler"),
            "recut of loop 'pin' at 'coupler': 'coil' acts inside the joint that would be cut. Cut the loop at another body.",
        ),
        (
            model.copy().rotor("rocker", 1, name="motor"),
            ("pin", "rocker"),
            "recut of loop 'pin' at 'rocker': 'motor' acts inside the joint that would be cut. Cut the loop at another body.",
        ),
        (
            model.copy().joint_torque("rocker", "-dot(b)"),
            ("pin", "coupler"),
            "recut of loop 'pin' at 'coupler': the coordinate b of that joint (b) is used elsewhere in the model. "
            "Cut the loop at another body.",
        ),
        (
            model.copy().drive("a", "1.3 + t"),
            ("pin", "crank"),
            "recut of loop 'pin' at 'crank': the coordinate a of that joint (a) is used elsewhere in the model. "
            "Cut the loop at another body.",
        ),
        (
            model.copy().non_ideal({"b": "-0.1*dot(a)"}),
            ("pin", "coupler"),
            "recut of loop 'pin' at 'coupler': the coordinate b of that joint (b) is used elsewhere in the model. "
            "Cut the loop at another body.",
        ),
    ]
    for model, arguments, sentence in cases:
        with pytest.raises(InputError) as caught:
            dl.recut(model, *arguments)
        assert str(caught.value) == sentence


def test_a_motion_that_is_not_free_is_not_cut():
    # a crank driven by time, and a universal joint whose angles are geared
    model = Model("driven", gravity=(0, -G, 0)).coordinates("b", "c").start([-0.9, 1.1], [0, 0])
    model.body("crank", joint=model.revolute((0, 0, 1), "1 + 2*t"), **ROD)
    model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(0.5, 0, 0)), **ROD)
    model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(1.5, 0, 0)), **ROD)
    pin = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    model.loop("pin", ("coupler", "rocker"), pin, position=(0.9, 0, 0))
    with pytest.raises(InputError, match=r"the joint of body 'crank' moves by 1 \+ 2\*t, which is not free"):
        dl.recut(model, "pin", "crank")
    geared = Model("geared").coordinates("a", "b")
    geared.body("first", joint=geared.universal(((1, 0, 0), (0, 1, 0)), ("a", "2*a")), **ROD)
    geared.body("second", joint=geared.revolute((0, 0, 1), "b"), **ROD)
    geared.loop("ball", ("first", "second"), geared.planar((0, 0, 1), (0, 0), 0))
    with pytest.raises(InputError, match=r"moves by a, 2\*a, which is not free"):
        dl.recut(geared, "ball", "first")


def test_an_invalid_model_is_not_cut():
    model = four_bars()
    model.loop("stray", ("coupler", "nobody"), model.fixed())
    with pytest.raises(ModelError, match="there is no body 'nobody'"):
        dl.recut(model, "pin", "crank")


# reversed joints


def test_a_reversed_placement_is_the_inverse():
    position, rotation = (0.3, -0.2, 0.5), (0.4, -0.7, 1.1)
    R, p = Rotation.from_euler("xyz", rotation), np.array(position)
    for joint in placed_back(position, rotation):
        p = p + R.apply([float(x) for x in joint.position])
        turn = roll_pitch_yaw(FLOATS, [float(x) for x in joint.rotation]).astype(float)
        R = R * Rotation.from_matrix(turn)
    assert np.allclose(p, 0, atol=1e-15)
    assert R.magnitude() == pytest.approx(0, abs=1e-15)


def test_joints_that_cannot_be_reversed_raise():
    model = Model("free").coordinates("x", "y", "z", "a", "b", "c")
    with pytest.raises(InputError, match="here: a free joint cannot be inverted"):
        invert_joints([model.free(("x", "y", "z"), ("a", "b", "c"))], "here")
    joints, indices = invert_joints([model.fixed(), model.fixed()], "here")
    assert [joint.kind for joint in joints] == ["fixed"]
    assert indices == {}
