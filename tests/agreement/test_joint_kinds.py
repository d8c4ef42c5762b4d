"""Every joint type, in the tree and as a loop joint: all formalisms and the recursion agree."""

import math
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.evidence.agreement import Agreement
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.joints import JOINTS
from dalembert.model.model import Model

G = 9.81
SOLID = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
ROD = {"mass": 0.8, "center": (0.4, 0.05, 0), "inertia": (0.02, 0.1, 0.11)}


def begin(name: str, *coordinates: str) -> Model:
    return Model(name, gravity=(1.0, -G, 2.0)).coordinates(*coordinates)


# loops closed by every joint type


def four_bars() -> Model:
    model = begin("revolute", "a", "b", "c")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **ROD)
    model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(0.5, 0, 0)), **SOLID)
    model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(1.5, 0, 0)), **ROD)
    cut = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    return model.loop("cut", ("coupler", "rocker"), cut, position=(0.9, 0, 0)).start([1.0, -0.7, 1.3], [2, 0, 0])


def slider_crank() -> Model:
    model = begin("prismatic", "a", "b", "c")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **ROD)
    model.body("rod", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(0.5, 0, 0)), **SOLID)
    model.body("slider", parent="rod", joint=model.revolute((0, 0, 1), "c", position=(1.4, 0, 0)), **ROD)
    cut = model.prismatic((1, 0, 0), 0, position=(0, 0.1, 0))
    return model.loop("cut", ("world", "slider"), cut).start([0.8, -1.1, 0.3], [2, 0, 0])


def plate_on_arm(kind: str) -> Model:
    """A rotating arm and a plate in planar motion, connected by a joint."""
    model = begin(kind, "q", "x", "y", "turn")
    model.body("arm", joint=model.revolute((0, 0, 1), "q"), **ROD)
    model.body("plate", joint=model.planar((0, 0, 1), ("x", "y"), "turn"), **SOLID)
    model.start([0.4, 0.7, 0.5, 0.6], [1, 0.2, 0, 0])
    return model


def weld() -> Model:
    model = plate_on_arm("fixed")
    cut = model.fixed(position=(0.9, 0, 0), rotation=(0, 0, 0.3))
    return model.loop("cut", ("arm", "plate"), cut, position=(0.1, -0.1, 0), rotation=(0, 0, 0.1))


def sleeve() -> Model:
    model = plate_on_arm("cylindrical")
    cut = model.cylindrical((1, 0, 0), 0, 0, position=(0.3, 0.1, 0))
    return model.loop("cut", ("plate", "arm"), cut, rotation=(0, 0, -0.2))


def nut() -> Model:
    model = begin("screw", "turn", "height", "spin")
    model.body("spindle", joint=model.revolute((0, 0, 1), "turn"), **SOLID)
    guide = [model.prismatic((0, 0, 1), "height"), model.revolute((0, 0, 1), "spin")]
    model.body("nut", joint=guide, **ROD)
    return model.loop("cut", ("spindle", "nut"), model.screw((0, 0, 1), 0, 0.7)).start([0.2, 0.1, 0.9], [1, 0, 2])


def hooke() -> Model:
    """Two shafts whose axes cross at 0.5 rad."""
    model = begin("universal", "a", "b")
    model.body("first", joint=model.revolute((1, 0, 0), "a"), **SOLID)
    model.body("second", joint=model.revolute((1, 0, 0), "b", rotation=(0, 0, 0.5)), **ROD)
    cross = model.universal(((0, 1, 0), (0, 0, 1)), (0, 0))
    return model.loop("cut", ("first", "second"), cross).start([0.3, 0.3], [2, 2])


def block_on_table() -> Model:
    model = begin("planar", "tilt", "x", "z", "turn")
    model.body("table", joint=model.revolute((0, 1, 0), "tilt"), **SOLID)
    model.body("block", joint=model.planar((0, 1, 0), ("z", "x"), "turn"), **ROD)
    cut = model.planar((0, 0, 1), (0, 0), 0, position=(0, 0, 0.1))
    return model.loop("cut", ("table", "block"), cut, position=(0, 0, -0.2)).start([0.2, 0.5, 0.3, 0.2], [1, 0, 0, 1])


def rssr() -> Model:
    """Two cranks about different axes and a rod between spherical joints; a universal joint prevents spin of the rod."""
    model = begin("spherical", "a", "b1", "b2", "c")
    model.body("input", joint=model.revolute((0, 0, 1), "a"), **ROD)
    hinge = model.universal(((0, 0, 1), (0, 1, 0)), ("b1", "b2"), position=(0.4, 0, 0))
    model.body("rod", parent="input", joint=hinge, **SOLID)
    model.body("output", joint=model.revolute((0, 1, 0), "c", position=(1.5, 0.4, 0)), **ROD)
    ball = model.spherical((0, 0, 0), position=(1.3, 0, 0))
    return model.loop("cut", ("rod", "output"), ball, position=(0, 0, 0.7)).start([0.3, 0.1, -0.4, 0.2], [1, 0, 0, 0])


def ball_and_cross() -> Model:
    """The rod of the same mechanism on a spherical joint with a quaternion, closed by a universal joint."""
    model = begin("universal and quaternion", "a", "w", "x", "y", "z", "c")
    model.body("input", joint=model.revolute((0, 0, 1), "a"), **ROD)
    hinge = model.spherical(quaternion=("w", "x", "y", "z"), position=(0.4, 0, 0))
    model.body("rod", parent="input", joint=hinge, **SOLID)
    model.body("output", joint=model.revolute((0, 1, 0), "c", position=(1.5, 0.4, 0)), **ROD)
    cross = model.universal(((0, 1, 0), (0, 0, 1)), (0, 0), position=(1.3, 0, 0))
    model.loop("cut", ("rod", "output"), cross, position=(0, 0, 0.7))
    return model.start([0.3, 0.95, 0.05, -0.2, 0.1, 0.2], [1, 0, 0, 0, 0, 0])


def driven_bars() -> Model:
    """A four-bar linkage with prescribed motion of its far pivot and a time-dependent crank joint."""
    model = begin("rheonomic", "a", "b", "c")
    model.body("crank", joint=model.revolute((0, 0, 1), "a + 0.3*sin(2*t)"), **ROD)
    model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(0.5, 0, 0)), **SOLID)
    pivot = [model.prismatic((1, 0, 0), "1.5 + 0.05*sin(3*t)"), model.revolute((0, 0, 1), "c")]
    model.body("rocker", joint=pivot, **ROD)
    cut = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    return model.loop("cut", ("coupler", "rocker"), cut, position=(0.9, 0, 0)).start([1.0, -0.7, 1.3], [2, 0, 0])


LOOPS = (
    four_bars,
    slider_crank,
    weld,
    sleeve,
    nut,
    hooke,
    block_on_table,
    rssr,
    driven_bars,
)
FREEDOMS = {"cylindrical": 2, "screw": 2, "planar": 2}


def agreed(model: Model) -> Agreement:
    found = dl.verify(model, states=20, engines=["native"], tolerance=1e-9)
    assert {key: v.reason for key, v in found.formalisms.items() if v.status != "agrees"} == {}
    assert found.recursion is not None
    assert found.recursion.status == "agrees"
    assert found.max_difference <= 1e-9
    return found


def test_the_table_of_loops_is_complete():
    closed = {make().loops[0].joint.kind for make in LOOPS}
    assert closed == {joint.kind for joint in JOINTS} - {"quaternion", "free"}


@pytest.mark.slow(17)
@pytest.mark.parametrize("make", [pytest.param(make, id=make().name) for make in LOOPS])
def test_every_formalism_agrees_on_a_loop_closed_by_every_joint_type(make):
    model = dl.assemble_model(make())
    assert dl.mobility(model).degrees_of_freedom == FREEDOMS.get(model.name, 1)
    assert agreed(model).states == 20


@pytest.mark.slow(4)
def test_formalisms_agree_on_a_quaternion_joint_closed_by_a_universal_joint():
    model = dl.assemble_model(ball_and_cross())
    assert dl.mobility(model).degrees_of_freedom == 1
    states = state_batch.consistent_states(with_contacts(model), 20)
    first, *others = (
        dl.derive(model, key).accelerations(states.q, states.qd, states.t)
        for key in ("lagrange", "kane", "udwadia_kalaba", "newton_euler", "denoc")
    )
    for other in others:
        assert np.abs(first - other).max() <= 1e-9 * np.abs(first).max()
    recursion = dl.forward_dynamics(model, states.q, states.qd, None, states.t)
    assert np.abs(first - recursion).max() <= 1e-9 * np.abs(first).max()


def test_hookes_joint_has_the_textbook_angle_relation():
    # the fork of the first shaft carries y, that of the second z: tan b = tan a / cos β
    model, beta = dl.assemble_model(hooke()), 0.5
    for a in np.linspace(0.1, 1.4, 5):
        found = dl.assemble_state(model, {"a": a, "b": a}, {"a": 1.7, "b": 1.0}, fixed=["a"])
        b, rate = found.q[1], found.qd[1]
        assert math.tan(b) == pytest.approx(math.tan(a) / math.cos(beta), rel=1e-9)
        assert rate == pytest.approx(1.7 * math.cos(b) ** 2 / math.cos(a) ** 2 / math.cos(beta), rel=1e-9)


# every joint type in the tree, with loads in the joint


def on_base(kind: str, *coordinates: str) -> Model:
    model = begin(kind, "q", *coordinates).start({"q": 0.4}, {"q": 0.5})
    return model.body("base", joint=model.revolute((0, 1, 0), "q"), **SOLID)


PLACE: dict[str, Any] = {"position": (0.3, -0.1, 0.2), "rotation": (0.2, -0.3, 0.5)}
TREES = {
    "screw": (1, lambda m, a: m.screw((1, 2, 2), a, 0.8, **PLACE)),
    "cylindrical": (2, lambda m, a, b: m.cylindrical((1, 2, 2), a, b, **PLACE)),
    "universal": (2, lambda m, a, b: m.universal(((0, 0, 1), (1, 1, 0)), (a, b), **PLACE)),
    "planar": (3, lambda m, a, b, c: m.planar((1, 2, 2), (a, b), c, **PLACE)),
    "spherical": (3, lambda m, a, b, c: m.spherical((a, b, c), "zxy", **PLACE)),
}


@pytest.mark.slow(14)
@pytest.mark.parametrize("kind", TREES)
def test_every_formalism_agrees_on_multi_dof_joints_with_loads(kind):
    count, make = TREES[kind]
    names = [f"r{i}" for i in range(count)]
    model = on_base(kind, *names).start(dict.fromkeys(names, 0.3), {})
    model.body("link", parent="base", joint=make(model, *names), **ROD)
    last = count - 1
    model.joint_spring("link", stiffness=3, rest=0.4, damping=0.2, motion=last)
    model.joint_friction("link", viscous=0.1, coulomb=0.3, smoothing=0.2)
    model.joint_torque("link", "0.5*cos(t) - 0.1*dot(q)", motion=last)
    model.rotor("link", 0.02, ratio=3).rotor("base", 0.01, ratio=-2)
    agreed(model)


@pytest.mark.nightly
def test_every_formalism_agrees_on_a_quaternion_joint_on_a_moving_base():
    model = on_base("quaternion", "w", "x", "y", "z").start({"w": 1}, {"x": 0.3, "y": -0.2})
    model.body("link", parent="base", joint=model.spherical(quaternion=("w", "x", "y", "z"), **PLACE), **SOLID)
    model.torque("link", ("sin(t)", 0.3, "x"), reaction="base", frame="link")
    agreed(model)


@pytest.mark.nightly
def test_every_formalism_agrees_on_a_free_body_by_quaternion():
    model = begin("free", "X", "Y", "Z", "w", "x", "y", "z").start({"w": 1}, {"x": 0.3, "X": 1})
    model.body("body", joint=model.free(("X", "Y", "Z"), quaternion=("w", "x", "y", "z"), **PLACE), **SOLID)
    model.spring(("world", "body"), stiffness=4, natural_length=0.2, points=((0, 0, 3), (0.1, 0, 0)))
    agreed(model)
