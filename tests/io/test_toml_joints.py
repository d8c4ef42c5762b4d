"""Joints of every kind and loops in model files: equal to those of the Python interface; invalid ones are rejected."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ModelFileError
from dalembert.io import toml_reader
from dalembert.io.toml_reader import loads_toml
from dalembert.model.joints import JOINTS
from dalembert.model.model import Model

HEAD = """
name = "sample"
parameters = { a = 0.3 }
[coordinates]
q1 = {}
q2 = {}
q3 = {}
w = { start = 1 }
x = {}
y = {}
z = {}
"""
NAMES = ("q1", "q2", "q3", "w", "x", "y", "z")
# a joint in a file, and the same joint by the Python interface
EVERY = {
    "fixed": ("position = ['a', 0, 0]", lambda m: m.fixed(("a", 0, 0))),
    "revolute": ("axis = [0, 0, 2], angle = 'q1'", lambda m: m.revolute((0, 0, 2), "q1")),
    "prismatic": ("axis = [1, 1, 0], displacement = '2*q1'", lambda m: m.prismatic((1, 1, 0), "2*q1")),
    "screw": ("axis = [0, 0, 1], angle = 'q1', pitch = 'a/2'", lambda m: m.screw((0, 0, 1), "q1", "a/2")),
    "cylindrical": (
        "axis = [1, 2, 2], angle = 'q1', displacement = 'q2', rotation = [0, 0, 'a']",
        lambda m: m.cylindrical((1, 2, 2), "q1", "q2", rotation=(0, 0, "a")),
    ),
    "universal": (
        "axes = [[1, 0, 0], [0, 3, 0]], angles = ['q1', 'q2 + t']",
        lambda m: m.universal(((1, 0, 0), (0, 3, 0)), ("q1", "q2 + t")),
    ),
    "planar": (
        "normal = [0, 0, 1], displacement = ['q1', 'q2'], angle = 'q3', position = [0, 0, 'a']",
        lambda m: m.planar((0, 0, 1), ("q1", "q2"), "q3", position=(0, 0, "a")),
    ),
    "spherical": (
        "angles = ['q1', 'q2', 'q3'], sequence = 'zxz', position = [0, 1, 0]",
        lambda m: m.spherical(("q1", "q2", "q3"), "zxz", position=(0, 1, 0)),
    ),
    "quaternion": (
        "quaternion = ['w', 'x', 'y', 'z'], position = [0, 1, 0]",
        lambda m: m.spherical(quaternion=("w", "x", "y", "z"), position=(0, 1, 0)),
    ),
    "free": (
        "displacement = ['q1', 'q2', 'q3'], quaternion = ['w', 'x', 'y', 'z'], rotation = ['pi/2', 0, 0]",
        lambda m: m.free(("q1", "q2", "q3"), quaternion=("w", "x", "y", "z"), rotation=("pi/2", 0, 0)),
    ),
    "free by angles": (
        "displacement = ['q1', 0, 0], angles = ['q2', 'q3', 't'], sequence = 'zyx'",
        lambda m: m.free(("q1", 0, 0), ("q2", "q3", "t"), "zyx"),
    ),
}


def kind_of(key: str) -> str:
    return {"quaternion": "spherical", "free by angles": "free"}.get(key, key)


def in_python() -> Model:
    model = Model("sample").parameters(a=0.3).coordinates(*NAMES)
    return model.start({"w": 1.0}, {})


def test_the_table_of_this_file_is_complete():
    assert set(EVERY) >= {joint.kind for joint in JOINTS}
    assert {kind_of(key) for key in EVERY} == set(toml_reader.joint_keys()) == set(toml_reader.loop_joint_keys())


@pytest.mark.parametrize("key", EVERY)
def test_toml_joint_equals_python_joint(key):
    text, make = EVERY[key]
    model = loads_toml(f"{HEAD}[[body]]\nname = 'b'\nmass = 1\njoint = {{ type = '{kind_of(key)}', {text} }}")
    assert model.bodies[0].joints == (make(in_python()),)


AT = ("a", 0, 0)
# a joint of a loop without its motions, and the same by the Python interface, where they are zero
CUT = {
    "fixed": ("", lambda m: m.fixed(AT)),
    "revolute": ("axis = [0, 0, 1],", lambda m: m.revolute((0, 0, 1), 0, AT)),
    "prismatic": ("axis = [0, 1, 1],", lambda m: m.prismatic((0, 1, 1), 0, AT)),
    "screw": ("axis = [0, 0, 1], pitch = 0.5,", lambda m: m.screw((0, 0, 1), 0, 0.5, AT)),
    "cylindrical": ("axis = [0, 0, 1],", lambda m: m.cylindrical((0, 0, 1), 0, 0, AT)),
    "universal": ("axes = [[1, 0, 0], [0, 1, 0]],", lambda m: m.universal(((1, 0, 0), (0, 1, 0)), (0, 0), AT)),
    "planar": ("normal = [0, 1, 0],", lambda m: m.planar((0, 1, 0), (0, 0), 0, AT)),
    "spherical": ("sequence = 'zxz',", lambda m: m.spherical((0, 0, 0), "zxz", position=AT)),
    "free": ("", lambda m: m.free((0, 0, 0), (0, 0, 0), position=AT)),
}


@pytest.mark.parametrize("kind", toml_reader.loop_joint_keys())
def test_a_loop_needs_no_motions(kind):
    text, make = CUT[kind]
    body = "[[body]]\nname = 'b'\nmass = 1\njoint = { type = 'revolute', axis = [0, 0, 1], angle = 'q1' }\n"
    loop = (
        f"[[loop]]\nname = 'l'\nbodies = ['b', 'world']\njoint = {{ type = '{kind}', {text} position = ['a', 0, 0] }}\n"
    )
    rest = "position = [0, 'a', 0]\nrotation = [0, 0, 'a']\nfeedback = [9, 'a']\ndescription = 'cut'"
    model = in_python()
    model.body("b", joint=model.revolute((0, 0, 1), "q1"), mass=1)
    other = {"position": (0, "a", 0), "rotation": (0, 0, "a"), "feedback": (9, "a"), "description": "cut"}
    assert loads_toml(HEAD + body + loop + rest).loops == model.loop("l", ("b", "world"), make(model), **other).loops


FOUR_BAR = """
name = "four bars"
gravity = [0, -9.81, 0]
parameters = { a = 0.4, b = 0.7, c = 0.6, d = 0.8 }
coordinates = { q1 = {}, q2 = {}, q3 = {} }
[[body]]
name = "crank"
mass = 1
center = ["a/2", 0, 0]
joint = { type = "revolute", axis = [0, 0, 1], angle = "q1" }
[[body]]
name = "coupler"
parent = "crank"
mass = 2
center = ["b/2", 0, 0]
inertia = [0, 0, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "q2", position = ["a", 0, 0] }
[[body]]
name = "rocker"
mass = 3
center = ["c/2", 0, 0]
inertia = [0, 0, 0.2]
joint = { type = "revolute", axis = [0, 0, 1], angle = "q3", position = ["d", 0, 0] }
"""
PIN = """
[[loop]]
name = "pin"
bodies = ["coupler", "rocker"]
joint = { type = "revolute", axis = [0, 0, 1], position = ["b", 0, 0] }
position = ["c", 0, 0]
"""
BY_HAND = """
[[holonomic]]
formula = "a*cos(q1) + b*cos(q1 + q2) - d - c*cos(q3)"
[[holonomic]]
formula = "a*sin(q1) + b*sin(q1 + q2) - c*sin(q3)"
"""


def test_loop_motion_equals_explicit_constraints():
    loop, written = loads_toml(FOUR_BAR + PIN), loads_toml(FOUR_BAR + BY_HAND)
    assert dl.mobility(loop).degrees_of_freedom == dl.mobility(written).degrees_of_freedom == 1
    start = dl.assemble_state(written, [1.0, -0.6, 1.4], [1.0, -0.5, 0.7])
    a, b = (dl.derive(model).accelerations(start.q, start.qd) for model in (loop, written))
    assert np.abs(a).max() > 1
    assert a == pytest.approx(b, rel=1e-9)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("type = 'screw', axis = [0, 0, 1], angle = 'q1'", "(screw): the key 'pitch' is missing. Add a line pitch"),
        (
            "type = 'screw', axis = [0, 0, 1], angle = 'q1', pitch = 0",
            "(screw): pitch: the value is 0. Expected a nonzero advance",
        ),
        ("type = 'screw', axis = [0, 0, 1], angle = 'q1', pitch = 'q1'", "(screw), pitch: 'q1' depends on q1."),
        ("type = 'universal', axes = [1, 0, 0], angles = ['q1', 'q2']", "(universal), axes: got an array of 3."),
        (
            "type = 'universal', axes = [[1, 0, 0], [1, 1, 0]], angles = ['q1', 'q2']",
            "(universal): axes: the cosine of the angle between them is 0.707107. Expected perpendicular axes.",
        ),
        (
            "type = 'universal', axes = [[1, 0, 0], [0, 1, 0]], angles = 'q1'",
            "(universal), angles: got the string 'q1'.",
        ),
        (
            "type = 'planar', normal = [0, 0, 1], displacement = 'q1', angle = 0",
            "(planar), displacement: got the string",
        ),
        ("type = 'planar', displacement = ['q1', 0], angle = 0", "(planar): the key 'normal' is missing."),
        ("type = 'spherical'", "(spherical): got neither angles nor quaternion. Give three angles or a quaternion"),
        (
            "type = 'spherical', angles = ['q1', 'q2', 'q3'], quaternion = ['w', 'x', 'y', 'z']",
            "(spherical): got both angles and quaternion.",
        ),
        (
            "type = 'spherical', angles = ['q1', 'q2', 'q3'], sequence = 'xxy'",
            "(spherical): sequence: there is no 'xxy'.",
        ),
        ("type = 'spherical', angles = ['q1', 'q2']", "(spherical), angles: got an array of 2. Expected an array of 3"),
        ("type = 'spherical', quaternion = ['w', 'x', 'y', 'w']", "(spherical): quaternion: got w, x, y, w."),
        ("type = 'spherical', quaternion = ['w', 'x', 'y', '2*z']", "(spherical): quaternion: got w, x, y, 2*z."),
        ("type = 'free', angles = ['q1', 'q2', 'q3']", "(free): the key 'displacement' is missing."),
        ("type = 'cylindrical', axis = [0, 0, 1], angle = 'q1'", "(cylindrical): the key 'displacement' is missing."),
    ],
)
def test_reports_missing_or_wrong_joint_keys(joint, message):
    with pytest.raises(ModelFileError) as caught:
        loads_toml(f"{HEAD}[[body]]\nname = 'b'\njoint = {{ {joint} }}")
    (problem,) = caught.value.problems
    assert str(problem).startswith(f"body 'b', joint {message}")


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("bodies = ['b', 'world']\njoint = { type = 'fixed' }", "loop number 1: the key 'name' is missing."),
        ("name = 'l'\njoint = { type = 'fixed' }", "loop 'l': the key 'bodies' is missing."),
        ("name = 'l'\nbodies = ['b', 'world']", "loop 'l': the key 'joint' is missing."),
        ("name = 'l'\nbodies = ['b']\njoint = { type = 'fixed' }", "loop 'l', bodies: got an array of 1."),
        (
            "name = 'l'\nbodies = ['b', 'world']\njoint = { type = 'revolute' }",
            "loop 'l', joint (revolute): the key 'axis' is missing.",
        ),
        (
            "name = 'l'\nbodies = ['b', 'world']\njoint = { type = 'revolute', axis = [0, 0, 1], angle = 'q1' }",
            "loop 'l': its joint has the motions q1. The motions of a loop-closing joint are free",
        ),
        (
            "name = 'l'\nbodies = ['b', 'world']\njoint = { type = 'spherical', quaternion = ['w', 'x', 'y', 'z'] }",
            "loop 'l', joint (spherical): there is no key 'quaternion' here.",
        ),
        ("name = 'l'\nbodies = ['b', 'world']\njoint = [{ type = 'fixed' }]", "loop 'l', joint: got an array of 1."),
        (
            "name = 'l'\nbodies = ['b', 'world']\njoint = { type = 'fixed' }\nfeedback = 3",
            "loop 'l', feedback: got the number 3. Expected an array of 2 gains (alpha, beta).",
        ),
        (
            "name = 'l'\nbodies = ['b', 'world']\njoint = { type = 'fixed' }\nposition = ['q1', 0, 0]",
            "loop 'l', position[0]: 'q1' depends on q1.",
        ),
    ],
)
def test_reports_missing_or_wrong_loop_keys(loop, message):
    body = "[[body]]\nname = 'b'\njoint = { type = 'revolute', axis = [0, 0, 1], angle = 'q1' }\n"
    with pytest.raises(ModelFileError) as caught:
        loads_toml(f"{HEAD}{body}[[loop]]\n{loop}")
    (problem,) = caught.value.problems
    assert str(problem).startswith(message)
