"""Joint stops and gears with backlash against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.io.toml_reader import loads_toml
from dalembert.io.urdf._urdf_reader import loads_urdf
from dalembert.model.model import Model


def door(rate: float = 2.0) -> Model:
    """A wheel of inertia 4 whose angle has limits."""
    model = Model("door").coordinate("a", 0.5, rate)
    model.body("door", joint=model.revolute((0, 0, 1), "a"), mass=20, inertia=(4, 4, 4))
    return model.limit("a", lower=0, upper=1.5)


def test_door_rebounds_from_both_stops():
    # half a period of √(k/I) = 10 at each stop, and 1.5/2 in between
    run = dl.simulate(door().joint_stop("door", stiffness=400), 4.0, samples=9)
    touch, flight = math.pi / 10, 0.75
    expected = [0.5, 0.5 + touch, 0.5 + touch + flight, 0.5 + 2 * touch + flight, 0.5 + 2 * touch + 2 * flight]
    assert [each.t for each in run.switchings[:5]] == pytest.approx(expected, abs=1e-12)
    assert run.energy_error < 1e-12


def test_damped_stop_never_pulls_and_its_work_is_the_energy_loss():
    # δ̈ + 2 D ω δ̇ + ω² δ = 0 from δ = 0; it separates where k δ + c δ̇ = 0, at the angle given by its tangent
    omega, D = 10.0, 0.2
    run = dl.simulate(door().joint_stop("door", stiffness=400, damping=2 * D * omega * 4, name="stop"), 1.2, samples=9)
    fast = omega * math.sqrt(1 - D * D)
    leaves = (math.pi - math.atan(2 * D * math.sqrt(1 - D * D) / (1 - 2 * D * D))) / fast
    speed = -2 * math.exp(-D * omega * leaves)  # the amplitude of −F̈ is the same there
    assert [each.t for each in run.switchings[:2]] == pytest.approx([0.5, 0.5 + leaves], abs=1e-12)
    assert run.qd[0, -1] == pytest.approx(speed, rel=1e-12)
    assert run.work["stop"][-1] == pytest.approx(0.5 * 4 * (speed**2 - 4), rel=1e-12)
    assert (run.load_forces["stop"] <= 0).all()


def test_joint_stops_are_at_the_limits():
    model = door()
    model.coordinate("s").body("bolt", parent="door", joint=model.prismatic((1, 0, 0), "s"), mass=1).limit("s", upper=2)
    model.joint_stops(stiffness=1e4, dissipation=0.3)
    assert [(load.name, load.law()[1]) for load in model.loads] == [
        ("stop of a", "below 0 and above 3/2: stiffness 10000, dissipation 3/10"),
        ("stop of s", "above 2: stiffness 10000, dissipation 3/10"),
    ]


def test_file_may_omit_stops_with_limits():
    text = """
name = "door"
[coordinates]
a = { start = 0.5 }
[limits]
a = { lower = -1, upper = 1.5 }
[[body]]
name = "door"
mass = 1
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "a" }
[[joint_stop]]
body = "door"
stiffness = 50
"""
    stop: Any
    (stop,) = loads_toml(text).loads
    assert [float(end) for end in stop.walls] == [-1, 1.5]


def test_limits_of_a_urdf_become_stops():
    text = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-0.5" upper="1.25" effort="3" velocity="2"/></joint></robot>"""
    stop: Any
    (stop,) = loads_urdf(text).joint_stops(stiffness=100).loads
    assert (stop.body, stop.law()[1]) == ("b", "below -1/2 and above 5/4: stiffness 100")


def gears(**changes: Any) -> Model:
    """A pinion of inertia 1 and a wheel of inertia 4 that rotates half as fast."""
    model = Model("gears").coordinate("a", 0.0, 1.0).coordinate("b")
    model.body("pinion", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
    model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(3, 0, 0)), mass=8, inertia=(0, 0, 4))
    return model.backlash(("pinion", "wheel"), 2, **{"play": 0.02, "stiffness": 1e4, "name": "teeth"} | changes)


def test_flanks_hit_alternately_and_exchange_all_momentum():
    # the inertia of the mesh is 1/(1/1 + 2²/4) = 1/2: half a period π √(0.5/1e4) in touch, then 0.02 of flight
    run = dl.simulate(gears(), 0.09, samples=31)
    touch = math.pi * math.sqrt(0.5 / 1e4)
    expected = np.cumsum([0.01, touch, 0.02, touch])
    assert [each.t for each in run.switchings] == pytest.approx(expected, abs=1e-12)
    assert [*run.switchings[1].qd, *run.switchings[3].qd] == pytest.approx([0, -0.5, 1, 0], abs=1e-11)
    assert run.energy_error < 1e-12
    assert run["a"] - 0.5 * 4 * run["b"] == pytest.approx(run.t, abs=1e-12)  # no other torque acts on them


@pytest.mark.nightly
def test_teeth_without_play_are_a_gear_with_a_spring():
    # driven by 8, the wheels go as the rigid gear does and swing about it: (1 + 4/2²) ä = 8 on average, e = 4/k (1 − cos)
    model = gears(play=0, stiffness=1e6).start({}, [0, 0]).joint_torque("pinion", 8)
    run = dl.simulate(model, 0.5, samples=21)
    e = 4 / 1e6 * (1 - np.cos(math.sqrt(2e6) * run.t))
    assert run["a"] + 2 * run["b"] == pytest.approx(e, abs=1e-13)
    assert run["a"] - 2 * run["b"] == pytest.approx(4 * run.t**2, rel=1e-11)


@pytest.mark.parametrize(
    ("ruin", "message"),
    [
        (
            lambda m: m.joint_stop("door", lower=2, upper=1, stiffness=1),
            r"lower is 2 and upper is 1\. Expected lower <",
        ),
        (lambda m: m.joint_stop("door"), r"it has no stiffness and no push, so there is no contact"),
        (lambda m: m.joint_stop("door", stiffness=-1), r"stiffness: the value is -1\. Expected a number >= 0"),
        (
            lambda m: m.joint_stop("door", lower=0, push="depth", damping=1),
            r"push defines the complete law, but damping is",
        ),
        (lambda m: m.backlash(("door", "door"), 1, play=0.1, stiffness=1), r"has the same motion of 'door' twice"),
        (lambda m: m.backlash(("door", "hinge"), 1, play=0.1, stiffness=1), r"there is no body 'hinge'"),
        (lambda m: m.backlash(("door", "door"), 0, play=-1, stiffness=1), r"the play is -1(.|\n)*the ratio is 0"),
    ],
)
def test_invalid_stops_and_gears_are_reported(ruin, message):
    with pytest.raises(ModelError, match=message):
        ruin(door()).require_valid()


@pytest.mark.parametrize(
    ("ruin", "message"),
    [
        (
            lambda m: m.coordinate("s").body("bolt", joint=m.prismatic((1, 0, 0), "s"), mass=1).joint_stop("bolt"),
            r"got neither lower nor upper, and the coordinate 's' of the joint has no limits\. Give lower or upper",
        ),
        (lambda m: m.joint_stop("door", stifness=3), r"joint_stop: there is no argument 'stifness'\. Did you mean"),
        (lambda m: m.backlash(("door", "door"), 1, play=0, joints=(0,)), r"joints: got 1\. Expected 2, one for each"),
        (
            lambda m: Model("bare").joint_stops(stiffness=3),
            r"no joint has a coordinate with a lower or upper limit",
        ),
    ],
)
def test_missing_arguments_of_a_stop(ruin, message):
    with pytest.raises(InputError, match=message):
        ruin(door())


def test_a_second_contact_shortly_after_separation_is_detected():
    # small bounces, each within the first part of a long step: 2 ms in flight, and steps of a second
    model = Model("table").coordinates("motor", "table")
    model.body("pinion", joint=model.revolute((0, 0, 1), "motor"), mass=1, inertia=(0, 0, 1e-4))
    model.body("wheel", joint=model.revolute((0, 0, 1), "table", position=(0.12, 0, 0)), mass=8, inertia=(0, 0, 4e-3))
    model.backlash(("pinion", "wheel"), 5, play=0.02, stiffness=200, damping=0.05)
    run = dl.simulate(model.joint_torque("pinion", "0.05*sin(3*t)"), 4.0, samples=401)
    assert abs(run["motor"] + 5 * run["table"]).max() < 0.0103
    assert run.energy_error < 1e-10
