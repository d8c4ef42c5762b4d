"""Model files: the resulting models, and messages for invalid files."""

import os
import tomllib
from collections.abc import Iterator
from datetime import date
from math import pi, sin
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dalembert.errors import ModelFileError, Problem
from dalembert.io.toml_reader import from_sections, loads_toml, read_toml
from dalembert.model.elements import Limits
from dalembert.model.evaluation import value
from dalembert.model.joints.fixed import Fixed
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.model.loads.damper import Damper
from dalembert.model.loads.force import Force
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.model.loads.joint_spring import JointSpring
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.model.loads.spring import Spring
from dalembert.model.loads.torque import Torque

HEAD = """
name = "sample"
[parameters]
m = 2.0
l = 0.5
[coordinates]
x = {}
theta = {}
"""
CART = """
[[body]]
name = "cart"
mass = "m"
joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }
"""
KINDS = "fixed, revolute, prismatic, screw, cylindrical, universal, planar, spherical, free"

EVERYTHING = """
name = "everything"
description = "One of each."
gravity = [0, "-g", 0]
[parameters]
g = 9.81
l = { value = 0.2, unit = "m", description = "length" }
J = "l**2/3"
[coordinates]
theta = { start = "pi/2", rate = 1, unit = "rad", description = "angle" }
x = {}
[[body]]
name = "cart"
mass = 1
inertia = [1, 2, 3, 0.1, 0.2, 0.3]
joint = { type = "prismatic", axis = [2, 0, 0], displacement = "x", rotation = [0, 0, "pi/4"] }
[[body]]
name = "arm"
description = "swings"
parent = "cart"
mass = "2*l"
center = [0, "-l/2", 0]
inertia = [["J", 0, 0], [0, "J", 0], [0, 0, "J"]]
joint = [
  { type = "revolute", axis = [0, 0, 1], angle = "theta + t", position = [0, "-l", 0] },
  { type = "fixed", rotation = [0.1, 0, 0] },
]
[[force]]
name = "push"
body = "arm"
force = [0, "dot(x)*t", 1]
point = [0, "l", 0]
frame = "cart"
[[torque]]
body = "arm"
torque = [0, 0, "-theta"]
reaction = "cart"
[[joint_torque]]
body = "arm"
joint = 0
value = "sin(t)"
[[spring]]
bodies = ["cart", "world"]
points = [[0, 0, 0], ["l", 0, 0]]
stiffness = 10
natural_length = "l"
[[damper]]
bodies = ["cart", "world"]
damping = 0.5
[[holonomic]]
name = "rail"
formula = "theta - pi/2 - x"
description = "tied"
[[nonholonomic]]
formula = "dot(x) - x*dot(theta)"
[speeds]
u = "dot(x)"
w = { formula = "dot(theta)", description = "spin" }
[simulation]
duration = "20*l"
samples = 11
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ModelFileError) as caught:
        loads_toml(text)
    assert all(isinstance(problem, Problem) for problem in caught.value.problems)
    for problem in caught.value.problems:
        assert str(problem) in str(caught.value)
    return [str(problem) for problem in caught.value.problems]


def test_reads_every_element():
    model = loads_toml(EVERYTHING)
    assert (model.name, model.text) == ("everything", "One of each.")
    assert str(model.gravity) == "(0, -g, 0)"
    assert model.parameter_values == pytest.approx({"g": 9.81, "l": 0.2, "J": 0.04 / 3})
    length = model.declared_parameters[1]
    assert (length.unit, length.description) == ("m", "length")
    assert model.coordinate_names == ("theta", "x")
    q0, qd0 = model.initial
    assert q0 == pytest.approx([1.5707963267948966, 0])
    assert qd0 == pytest.approx([1, 0])
    cart, arm = model.bodies
    assert (cart.parent, arm.parent, arm.description) == ("world", "cart", "swings")
    assert [type(joint) for joint in (*cart.joints, *arm.joints)] == [Prismatic, Revolute, Fixed]
    assert isinstance(cart.joints[0], Prismatic)
    assert cart.joints[0].axis == (1, 0, 0)
    assert [str(entry) for entry in cart.inertia[0]] == ["1", "1/10", "1/5"]
    assert [type(load) for load in model.loads] == [Force, Torque, JointTorque, Spring, Damper]
    assert model.constraint_names == ("rail", "nonholonomic1")
    assert [(speed.name, speed.description) for speed in model.generalized_speeds] == [("u", ""), ("w", "spin")]
    assert (model.duration, model.samples) == (4.0, 11)


def test_energies_describe_a_model_without_bodies():
    model = loads_toml(HEAD + "[energies]\nkinetic = 'm*dot(x)**2 + dot(theta)**2'\nforces = { theta = 'sin(t)' }")
    assert model.energies is not None
    assert str(model.energies.potential) == "0"
    assert [str(force) for force in model.energies.forces] == ["0", "sin(t)"]


def test_files_and_a_byte_order_mark_are_read(tmp_path):
    file = tmp_path / "model.toml"
    file.write_bytes(b"\xef\xbb\xbf" + (HEAD + CART).encode())
    assert read_toml(file).name == "sample"
    assert read_toml(str(file)).name == "sample"


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("[bodies]", "model file: there is no key or section 'bodies'. Did you mean 'body'?"),
        (
            "[body]\nname = 'a'",
            "body: not an array of tables. Write its header with double brackets: [[body]].",
        ),
        ("speeds = 3", "speeds: got the number 3. Expected a table: the header [speeds] and a line for each."),
        (
            "speeds.u = 'dot(y)'",
            "speed 'u', formula: formula 'dot(y)', column 1: 'dot(y)' refers to the velocity of 'y', which "
            "is not a coordinate. Known names: theta, x.",
        ),
        (
            "speeds.u = { formula = 1, about = 2 }",
            "speed 'u': there is no key 'about' here. Known names: description, formula.",
        ),
        ("speeds.x = 'dot(x)'", "speed 'x': invalid or used name. Expected an unused identifier."),
        ("speeds.u = []", "speed 'u', formula: got an array of 0. Expected a number or a formula in quotation marks."),
        ("description = 1", "description: got the number 1. Expected a string in quotation marks."),
        (
            'description = "\\u001b[2J"',
            "description: got the string '\\x1b[2J'. Expected a string without control characters.",
        ),
        ("gravity = [0, 1]", "gravity: got an array of 2. Expected an array of 3 numbers or formulas."),
        (
            "gravity = [0, '-x', 0]",
            "gravity[1]: '-x' depends on x. Expected a constant: a number or a formula of parameters. Move "
            "the time-varying part to a joint or a load.",
        ),
        (
            "body = [1]",
            "body number 1: got the number 1. Expected a table with the keys name, description, parent, "
            "mass, center, inertia, inertia_axes, solid, joint.",
        ),
        ("simulation = { duration = 0 }", "simulation: duration: got 0. Expected a positive number of seconds."),
        ("simulation = { samples = 1 }", "simulation: samples: got 1. Expected an int >= 2."),
        (
            "simulation = { samples = 10.0 }",
            "simulation, samples: got the number 10.0. Expected an integer from 0 to 1000000.",
        ),
        (
            "simulation = { samples = 1000000000 }",
            "simulation, samples: got the number 1000000000. Expected an integer from 0 to 1000000.",
        ),
        (
            "simulation = { length = 10 }",
            "simulation: there is no key 'length' here. Known names: assemble, duration, integrator, samples, step.",
        ),
        ("energies = { potential = 'x' }", "energies: the key 'kinetic' is missing. Add a line kinetic = ... to it."),
        (
            "energies = { kinetic = 1, potential = 'dot(x)' }",
            "energies, potential: formula 'dot(x)', column 1: velocities are not allowed here, got "
            "'dot(x)'. Expected coordinates and parameters only; remove dot(...).",
        ),
        (
            "energies = { kinetic = 1, forces = { tetha = 1 } }",
            "energies, forces: there is no key 'tetha' here. Did you mean 'theta'?",
        ),
        (
            "energies = { kinetic = 1, forces = 1 }",
            "energies, forces: got the number 1. Expected a table with the keys x, theta.",
        ),
        ("energies = 1979-05-27", "energies: got a date. Expected a table with the keys kinetic, potential, forces."),
    ],
)
def test_sections(addition, message):
    # keys of the head come before the first table
    assert problems(f"{addition}\n{HEAD}" if addition[0] != "[" else f"{HEAD}\n{addition}") == [message]


@pytest.mark.parametrize(
    ("line", "messages"),
    [
        ("m = true", ["parameter 'm', value: got true. Expected a number or a formula in quotation marks."]),
        ("m = inf", ["parameter 'm', value: the value inf has no finite value."]),
        ("m = '1/0'", ["parameter 'm', value: formula '1/0', column 1: '1/0' has no finite value."]),
        ("m = 'k'", ["parameter 'm', value: formula 'k', column 1: the name 'k' is not known here."]),
        ("k = 0\nm = '1/k'", ["parameter 'm': the value is 1/k. Expected a finite number."]),
        ("k = -1\nm = 'sqrt(k)'", ["parameter 'm': the value is sqrt(k). Expected a finite number."]),
        ("m = {}", ["parameter 'm': the key 'value' is missing. Add a line value = ... to it."]),
        (
            "m = { value = 1, unit = 2 }",
            ["parameter 'm', unit: got the number 2. Expected a string in quotation marks."],
        ),
        ("m = 1\n'2m' = 1", ["parameter '2m': invalid name. Expected an identifier"]),
        ("m = 1\nsin = 1", ["parameter 'sin': invalid name."]),
        ("m = 1" + "0" * 400, ["parameter 'm', value: the integer produces a number with too many digits."]),
    ],
)
def test_parameters(line, messages):
    # a parameter without a value stays known, so the formula of the mass is not reported as well
    found = problems(f"name = 'sample'\n[parameters]\n{line}\n[coordinates]\nx = {{}}\n{CART}")
    assert len(found) == len(messages)
    for got, start in zip(found, messages, strict=True):
        assert got.startswith(start)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x = 3", "coordinate 'x': got the number 3. Expected a table with the keys start, rate, unit, description."),
        (
            "x = { speed = 3 }",
            "coordinate 'x': there is no key 'speed' here. Known names: description, rate, start, unit.",
        ),
        (
            "x = { start = 't' }",
            "coordinate 'x', start: 't' depends on t. Expected a constant: a number or a formula of "
            "parameters. Move the time-varying part to a joint or a load.",
        ),
        ("x = { rate = '1/k' }", "coordinate 'x': initial rate: the value is 1/k. Expected a finite number."),
        ("x = {}\nm = {}", "coordinate 'm': the name is already in use. Choose a unique name."),
    ],
)
def test_coordinates(line, message):
    text = f"name = 'sample'\n[parameters]\nm = 1\nk = 0\n[coordinates]\n{line}\n{CART}"
    assert problems(text) == [message]


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("body", "body number 1: the key 'name' is missing. Add a line name = ... to it."),
        (
            "body\nname = 'world'",
            "body 'world': invalid body name. Expected letters, digits, _ or -, and not 'world'.",
        ),
        ("body\nname = 'a b'", "body 'a b': invalid body name. Expected letters, digits, _ or -, and not 'world'."),
        (
            "body\nname = 'a'\nparent = 1",
            "body 'a', parent: got the number 1. Expected a name in quotation marks, of 1 to 100 characters.",
        ),
        (
            "body\nname = 'a'\nmass = 'mm'",
            "body 'a', mass: formula 'mm', column 1: the name 'mm' is not known here. Did you mean 'm'?",
        ),
        (
            "body\nname = 'a'\nmass = 'x'",
            "body 'a', mass: 'x' depends on x. Expected a constant: a number or a formula of parameters. "
            "Move the time-varying part to a joint or a load.",
        ),
        (
            "body\nname = 'a'\ncenter = ['l', 0]",
            "body 'a', center: got an array of 2. Expected an array of 3 numbers or formulas.",
        ),
        (
            "body\nname = 'a'\ncenter = [0, 0, {}]",
            "body 'a', center[2]: got a table. Expected a number or a formula in quotation marks.",
        ),
        (
            "body\nname = 'a'\ninertia = [1, 2]",
            "body 'a', inertia: got an array of 2. Expected 3 moments, 6 entries (Ixx, Iyy, Izz, Ixy, Ixz, "
            "Iyz) or 3 rows of 3.",
        ),
        (
            "body\nname = 'a'\ninertia = [[1, 2], [0, 0, 0], [0, 0, 0]]",
            "body 'a', inertia[0]: got an array of 2. Expected an array of 3 numbers or formulas.",
        ),
        (
            "body\nname = 'a'\ninertia = [1, 2, 'q']",
            "body 'a', inertia[2]: formula 'q', column 1: the name 'q' is not known here. Known names: l, "
            "m, pi, t, theta, x.",
        ),
        (
            "body\nname = 'a'\ninertia = [1, 2, 3, [], 0, 0]",
            "body 'a', inertia[3]: got an array of 0. Expected a number or a formula in quotation marks.",
        ),
        ("body\nname = 'a'\nmas = 1", "body 'a': there is no key 'mas' here. Did you mean 'mass'?"),
    ],
)
def test_bodies(element, message):
    assert problems(f"{HEAD}[[{element.replace('body', 'body]]', 1)}\njoint = {{ type = 'fixed' }}") == [message]


def test_rejects_duplicate_bodies():
    assert problems(HEAD + CART + CART) == ["body 'cart': declared twice. Give each body a unique name."]


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("1", f"body 'a', joint: got the number 1. Expected a table with a type ({KINDS})."),
        ("[]", "body 'a', joint: got an array of 0. Expected 1 to 2000 joints."),
        ("{}", f"body 'a', joint: the key 'type' is missing. Add one of {KINDS}."),
        ("{ type = 1 }", f"body 'a', joint, type: got the number 1. Expected one of {KINDS}."),
        (
            "{ type = 'hinge' }",
            "body 'a', joint: there is no joint of type 'hinge'. Known names: cylindrical, fixed, free, planar, prismatic, "
            "revolute, screw, spherical, universal.",
        ),
        (
            "[{ type = 'fixed' }, { type = 'revolut' }]",
            "body 'a', joint 1: there is no joint of type 'revolut'. Did you mean 'revolute'?",
        ),
        (
            "{ type = 'fixed', axis = [1, 0, 0] }",
            "body 'a', joint (fixed): there is no key 'axis' here. Known names: position, rotation, type.",
        ),
        (
            "{ type = 'revolute', axis = [0, 0, 1] }",
            "body 'a', joint (revolute): the key 'angle' is missing. Add a line angle = ... to it.",
        ),
        (
            "{ type = 'prismatic', displacement = 'x' }",
            "body 'a', joint (prismatic): the key 'axis' is missing. Add a line axis = ... to it.",
        ),
        (
            "{ type = 'revolute', axis = [0, 0, 0], angle = 'x' }",
            "body 'a', joint (revolute): the axis has length 0. Expected a nonzero vector, got (0, 0, 0). Give "
            "`axis` a finite, nonzero direction.",
        ),
        (
            "{ type = 'revolute', axis = [0, 0, 'l'], angle = 'x' }",
            "body 'a', joint (revolute), axis[2]: got the string 'l'. Expected a number.",
        ),
        (
            "{ type = 'revolute', axis = [0, 0, nan], angle = 'x' }",
            "body 'a', joint (revolute), axis[2]: the value nan has no finite value. Expected a finite "
            "number between -1e308 and 1e308.",
        ),
        (
            "{ type = 'revolute', axis = [0, 0, 1], angle = 'dot(x)' }",
            "body 'a', joint (revolute), angle: formula 'dot(x)', column 1: velocities are not allowed "
            "here, got 'dot(x)'. Expected coordinates and parameters only; remove dot(...).",
        ),
        (
            "{ type = 'fixed', position = ['x', 0, 0] }",
            "body 'a', joint (fixed), position[0]: 'x' depends on x. Expected a constant: a number or a "
            "formula of parameters. Move the time-varying part to a joint or a load.",
        ),
    ],
)
def test_joints(joint, message):
    assert problems(f"{HEAD}[[body]]\nname = 'a'\njoint = {joint}") == [message]


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("[[force]]\nforce = [0, 0, 0]", "force number 1: the key 'body' is missing. Add a line body = ... to it."),
        ("[[force]]\nbody = 'cart'", "force number 1: the key 'force' is missing. Add a line force = ... to it."),
        (
            "[[force]]\nname = 'f'\nbody = 'cart'\nforce = 3",
            "force 'f', force: got the number 3. Expected an array of 3 numbers or formulas.",
        ),
        (
            "[[force]]\nname = 'f'\nbody = 'cart'\nforce = [0, 'y', 0]",
            "force 'f', force[1]: formula 'y', column 1: the name 'y' is not known here. Known names: l, "
            "m, pi, t, theta, x.",
        ),
        (
            "[[force]]\nname = 'f'\nbody = 'cart'\nforce = [0, 0, 0]\npoint = ['x', 0, 0]",
            "force 'f', point[0]: 'x' depends on x. Expected a constant: a number or a formula of "
            "parameters. Move the time-varying part to a joint or a load.",
        ),
        (
            "[[torque]]\nname = 'f'\nbody = 'cart'\ntorque = [0, 0]",
            "torque 'f', torque: got an array of 2. Expected an array of 3 numbers or formulas.",
        ),
        (
            "[[torque]]\nname = 'f'\nbody = 'cart'\ntorque = [0, 0, 0]\nreaction = 1",
            "torque 'f', reaction: got the number 1. Expected a name in quotation marks, of 1 to 100 characters.",
        ),
        (
            "[[joint_torque]]\nbody = 'cart'\nvalue = 1\njoint = -1",
            "joint_torque number 1, joint: got the number -1. Expected an integer from 0 to 1000000.",
        ),
        (
            "[[joint_torque]]\nname = ''\nbody = 'cart'\nvalue = 1",
            "joint_torque number 1, name: got the string ''. Expected a name in quotation marks, of 1 to 100 characters.",
        ),
        (
            "[[spring]]\nbodies = ['cart']\nstiffness = 1",
            "spring number 1, bodies: got an array of 1. Expected an array of 2 names of bodies.",
        ),
        (
            "[[spring]]\nbodies = ['cart', 'world']\nstiffness = 'x'",
            "spring number 1, stiffness: 'x' depends on x. Expected a constant: a number or a formula of "
            "parameters. Move the time-varying part to a joint or a load.",
        ),
        (
            "[[spring]]\nbodies = ['cart', 'world']\nstiffness = 1\npoints = [[0, 0, 0]]",
            "spring number 1, points: got an array of 1. Expected an array of 2 points.",
        ),
        (
            "[[damper]]\nbodies = ['cart', 'world']",
            "damper number 1: the key 'damping' is missing. Add a line damping = ... to it.",
        ),
        (
            "[[holonomic]]\nformula = 'dot(x)'",
            "holonomic number 1, formula: formula 'dot(x)', column 1: velocities are not allowed here, got "
            "'dot(x)'. Expected coordinates and parameters only; remove dot(...).",
        ),
        (
            "[[nonholonomic]]\nname = 'w'",
            "nonholonomic 'w': the key 'formula' is missing. Add a line formula = ... to it.",
        ),
        (
            "[[force]]\nname = 'f'\nbody = 'cart'\nforce = [0, 0, 0]\n[[torque]]\nname = 'f'\nbody = "
            "'cart'\ntorque = [0, 0, 0]",
            "torque 'f': declared twice. Give each load a unique name.",
        ),
    ],
)
def test_loads_and_constraints(element, message):
    assert problems(f"{HEAD}{CART}{element}") == [message]


DRIVEN = """
[[wrench_table]]
name = "gust"
body = "cart"
times = [0, "l", 2]
force = [[0, 0, 0], ["m", 0, 0], [0, 0, 0]]
torque = [[0, 0, 0], [0, 0, 1], [0, 0, 3]]
point = [0, "l", 0]
[[joint_torque]]
body = "cart"
value = 1
motion = 0
[[actuator]]
name = "motor"
body = "cart"
effort = "-x"
limit = [-1, "2*m"]
[[actuator]]
name = "other motor"
body = "cart"
effort = "theta"
limit = "m"
[[joint_spring]]
body = "cart"
stiffness = "m"
rest = "l"
damping = 0.1
[[joint_friction]]
body = "cart"
viscous = 1
coulomb = "m"
smoothing = 1e-2
[[rotor]]
name = "armature"
body = "cart"
inertia = "m*l**2"
ratio = 50
[[holonomic]]
name = "tied"
formula = "x - theta"
[[drive]]
coordinate = "theta"
motion = "l*sin(t)"
[[shape]]
body = "cart"
kind = "box"
size = [1, "l", 3]
position = [0, 0, "l"]
rotation = [0, 0, "pi/2"]
color = [1, 0, 0, 0.5]
[[shape]]
body = "cart"
kind = "mesh"
size = [1, 1, 1]
mesh = "cart.stl"
[limits]
x = { lower = "-l", upper = 2 }
theta = { velocity = 3, effort = 4 }
[simulation]
assemble = true
"""


def test_reads_drives_friction_rotors_limits_and_shapes():
    model = loads_toml(HEAD + CART + DRIVEN)
    gust, twist, plain, motor, other, spring, friction = model.loads
    assert isinstance(gust, Force)
    assert isinstance(twist, Torque)
    assert (gust.name, twist.name) == ("gust", "gust, torque")
    for t, fx, tz in ((-1, 0, 0), (0.25, 1, 0.5), (0.5, 2, 1), (1.25, 1, 2), (3, 0, 3)):
        assert (value(gust.force[0], {"t": t}), value(twist.torque[2], {"t": t})) == pytest.approx((fx, tz))
    assert isinstance(plain, JointTorque)
    assert isinstance(motor, JointTorque)
    assert isinstance(other, JointTorque)
    for x, effort in ((3.0, -1.0), (-3.0, 3.0), (-9.0, 4.0)):
        assert value(motor.value, {"x": x, "m": 2.0}) == effort
    assert [value(other.value, {"theta": theta, "m": 2.0}) for theta in (-5, 1, 5)] == [-2, 1, 2]
    assert isinstance(spring, JointSpring)
    assert [str(each) for each in (spring.stiffness, spring.rest, spring.damping)] == ["m", "l", "1/10"]
    assert isinstance(friction, JointFriction)
    assert [str(each) for each in (friction.viscous, friction.coulomb[0], friction.smoothing)] == ["1", "m", "1/100"]
    (rotor,) = model.rotors
    assert (rotor.name, str(rotor.inertia), str(rotor.ratio)) == ("armature", "l**2*m", "50")
    assert [c.name for c in model.holonomic_constraints] == ["tied", "drive of theta"]
    assert value(model.holonomic_constraints[1].phi, {"theta": 2.0, "l": 0.5, "t": 0.3}) == pytest.approx(
        2 - 0.5 * sin(0.3)
    )
    assert model.limits == {"x": Limits(-0.5, 2.0), "theta": Limits(velocity=3.0, effort=4.0)}
    box, mesh = model.shapes
    assert (box.size, box.position, box.color) == ((1, 0.5, 3), (0, 0, 0.5), (1, 0, 0, 0.5))
    assert box.rotation == pytest.approx((0, 0, pi / 2))
    assert (mesh.kind, mesh.mesh, mesh.color) == ("mesh", "cart.stl", None)
    assert model.assemble_start
    assert not loads_toml(HEAD + CART).assemble_start


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (
            "[[wrench_table]]\nbody = 'cart'\ntimes = [0, 1]",
            "wrench_table number 1: wrench_table 'wrench_table1': got neither force nor torque. Give at least one "
            "table of rows.",
        ),
        (
            "[[wrench_table]]\nname = 'w'\nbody = 'cart'\ntimes = [1, 0]\nforce = [[0, 0, 0], [0, 0, 0]]",
            "wrench_table 'w': times: times[1] is 0 and times[0] is 1. Expected increasing times; sort the rows and remove "
            "duplicates.",
        ),
        (
            "[[wrench_table]]\nname = 'w'\nbody = 'cart'\ntimes = [0, 1]\nforce = [[0, 0, 0]]",
            "wrench_table 'w': force: got [[0, 0, 0]]. Expected 2 rows of 3, one for each time.",
        ),
        (
            "[[wrench_table]]\nname = 'w'\nbody = 'cart'\ntimes = [0]\ntorque = [[0, 't', 0]]",
            "wrench_table 'w', torque[0][1]: 't' depends on t. Expected a constant: a number or a formula of parameters. Move "
            "the time-varying part to a joint or a load.",
        ),
        (
            "[[wrench_table]]\nname = 'w'\nbody = 'cart'\ntimes = 3\ntorque = [[0, 0, 0]]",
            "wrench_table 'w', times: got the number 3. Expected an array of 1 to 100000 times.",
        ),
        (
            "[[actuator]]\nname = 'a'\nbody = 'cart'\neffort = 1\nlimit = [1, 2, 3]",
            "actuator 'a', limit: got an array of 3. Expected an array of 2 numbers or formulas (lowest, highest).",
        ),
        (
            "[[actuator]]\nname = 'a'\nbody = 'cart'\neffort = 1\nlimit = 'x'",
            "actuator 'a', limit: 'x' depends on x. Expected a constant: a number or a formula of parameters. Move the time-"
            "varying part to a joint or a load.",
        ),
        (
            "[[joint_spring]]\nname = 's'\nbody = 'cart'\nstifness = 1",
            "joint_spring 's': there is no key 'stifness' here. Did you mean 'stiffness'?",
        ),
        (
            "[[joint_friction]]\nname = 's'\nbody = 'cart'\nmotion = 'angle'",
            "joint_friction 's', motion: got the string 'angle'. Expected an integer from 0 to 1000000.",
        ),
        ("[[rotor]]\nbody = 'cart'", "rotor number 1: the key 'inertia' is missing. Add a line inertia = ... to it."),
        (
            "[[rotor]]\nname = 'r'\nbody = 'cart'\ninertia = 1\n[[rotor]]\nname = 'r'\nbody = 'cart'\ninertia = 1",
            "rotor 'r': declared twice. Give each rotor a unique name.",
        ),
        (
            "[[drive]]\nname = 'd'\ncoordinate = 'thta'\nmotion = 't'",
            "drive 'd': drive: there is no coordinate 'thta'. Did you mean 'theta'?",
        ),
        (
            "[[drive]]\nname = 'd'\ncoordinate = 'theta'\nmotion = 'x'",
            "drive 'd', motion: formula 'x', column 1: the name 'x' is not known here. Known names: l, m, pi, t.",
        ),
        (
            "[[drive]]\nname = 'd'\ncoordinate = 'theta'\nmotion = []",
            "drive 'd', motion: got an array of 0. Expected a number or a formula of the time t in quotation marks.",
        ),
        (
            "[[shape]]\nbody = 'cart'\nkind = 'blob'\nsize = [1]",
            "shape number 1: shape of 'cart': there is no shape 'blob'. Known names: box, capsule, cylinder, mesh, sphere.",
        ),
        (
            "[[shape]]\nbody = 'cart'\nkind = 'box'\nsize = [1, 2]",
            "shape number 1: shape of 'cart': got 2 sizes. Expected 3 for a box.",
        ),
        (
            "[[shape]]\nbody = 'cart'\nkind = 'sphere'\nsize = [1]\ncolor = [1, 0, 0]",
            "shape number 1, color: got an array of 3. Expected an array of 4 numbers (red, green, blue, alpha).",
        ),
        (
            "[limits]\nx = 3",
            "limit of 'x': got the number 3. Expected a table with the keys lower, upper, velocity, effort.",
        ),
        ("[limits]\ny = {}", "limit of 'y': there is no such coordinate. Known names: theta, x."),
        ("[[limits]]", "limits: got an array of 1. Expected a table: the header [limits] and a line for each."),
        ("[simulation]\nassemble = 1", "simulation, assemble: got the number 1. Expected true or false."),
    ],
)
def test_drives_friction_rotors_limits_and_shapes(element, message):
    assert problems(f"{HEAD}{CART}{element}") == [message]


WRONG = (
    *(
        True,
        "",
        "x",
        "w" * 300,
        "\x07",
        0,
        -1,
        10**30,
        10**400,
        1.5,
        float("nan"),
        float("inf"),
        -1e308,
        "1/0",
        "dot(x)",
    ),
    *([], [1], [1, 2], [1, 2, 3], ["x"] * 4, [[]], [[1, 2, 3]] * 3, [[0, 0, 0]] * 2, [True] * 3, [None], [0] * 2500),
    *({}, {"type": "free"}, {"a": 1}, date(2020, 1, 1)),
)


def paths_in(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, entry in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from paths_in(entry, (*path, key))


def test_wrong_values_raise_only_model_file_errors():
    text = HEAD + CART + DRIVEN
    random = Random(7)
    messages = []
    for place in paths_in(tomllib.loads(text)):
        for wrong in random.sample(WRONG, 3):
            data = tomllib.loads(text)
            inner = data
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            try:
                from_sections(data, "sample.toml")
            except ModelFileError as error:
                messages.append(str(error))
    assert len(messages) > 250
    assert max(map(len, messages)) < 40_000


def test_the_name_is_required():
    assert problems("description = 'x'") == [
        "model file: the key 'name' is missing. Add a line name = \"...\" at the top."
    ]
    assert problems("name = 3") == [
        "name: got the number 3. Expected a name in quotation marks, of 1 to 100 characters."
    ]


def test_reports_all_problems():
    text = HEAD + "z = 1\n[[body]]\nname = 'a'\nmass = 'p'\ncenter = ['q', 'r', 0]\njoint = [{}, 1]"
    with pytest.raises(ModelFileError) as caught:
        loads_toml(text, "sample.toml")
    assert len(caught.value.problems) == 6
    assert str(caught.value).startswith("sample.toml has 6 problems:\n  - coordinate 'z': got")


def test_limits_the_list_of_problems():
    with pytest.raises(ModelFileError) as caught:
        loads_toml("name = 'a'\n" + "\n".join(f"k{i} = 1" for i in range(5000)))
    assert len(caught.value.problems) == 100
    assert str(caught.value).endswith("\n  - and more; correct these first.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name = 'a'\nmass = m\n",
            "f.toml, line 2: not valid TOML: Invalid value, at 'mass = m'. Put strings and formulas in "
            'quotation marks, as in mass = "2*m".',
        ),
        (
            "name = 'a'\n\n[body\n",
            "f.toml, line 3: not valid TOML: Expected ']' at the end of a table declaration, at '[body'. "
            "Correct this line.",
        ),
        (
            "name = 'a'\nx =",
            "f.toml, line 2: not valid TOML: Invalid value, at 'x ='. Put strings and formulas in quotation "
            'marks, as in mass = "2*m".',
        ),
        (
            "name = 'a'\nname = 'b'\n",
            "f.toml, line 2: not valid TOML: Cannot overwrite a value, at \"name = 'b'\". A table or "
            "key is defined twice: remove one of them, or use [[...]] for repeated elements.",
        ),
        ("a = " + "[" * 100_000, "f.toml: arrays or tables are nested too deeply. Expected at most a few levels."),
        ("a = " + "9" * 5000, "f.toml: an integer has too many digits. Write it as a float such as 1.5e10."),
        (
            "a = '" + "x" * 1_000_000 + "'",
            "f.toml: the input is larger than 1000000 bytes. Split the system into several models.",
        ),
        (
            "\n" + "a." * 200_000 + "a = 1",
            "f.toml, line 2: a key has more than 16 dotted parts. Write tables under separate "
            "headers, such as [parameters].",
        ),
        (
            '"a" . ' * 20 + "a = 1",
            "f.toml, line 1: a key has more than 16 dotted parts. Write tables under separate "
            "headers, such as [parameters].",
        ),
    ],
)
def test_rejects_invalid_toml(text, message):
    with pytest.raises(ModelFileError) as caught:
        loads_toml(text, "f.toml")
    assert str(caught.value) == message
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"name = 'a'\nx = '\xff'", "line 2: the byte 0xff is not UTF-8. Save the file in UTF-8 encoding."),
        (
            b"name = 'a'\n\n\0",
            "line 3: the line contains a NUL character. Expected a text file; save it as UTF-8 text.",
        ),
        (b"#" * 1_000_001, "the file is larger than 1000000 bytes. Split the system into several models."),
    ],
)
def test_rejects_binary_content(data, message, tmp_path):
    file = tmp_path / "model.toml"
    file.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        read_toml(file)
    assert str(caught.value).endswith(message)
    assert str(caught.value).startswith(str(file))


def test_reports_paths_that_are_not_files(tmp_path: Path):
    (tmp_path / "pendulum.toml").write_text("name = 'a'")

    def error_of(path) -> str:
        with pytest.raises(ModelFileError) as caught:
            read_toml(path)
        return str(caught.value)

    assert "the path is a directory. Expected the path of a model file" in error_of(tmp_path)
    assert error_of(tmp_path / "pendlum.toml").endswith("there is no such file. Did you mean 'pendulum.toml'?")
    assert "there is no such file. There is no directory" in error_of(tmp_path / "no" / "a.toml")
    (tmp_path / "empty").mkdir()
    assert error_of(tmp_path / "empty" / "a.toml").endswith("there is no such file. Check the name and the directory.")
    assert "there is no such file." in error_of("a\0b") or "cannot be opened" in error_of("a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_rejects_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ModelFileError, match="the path is not a regular file"):
        read_toml(tmp_path / "pipe.toml")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_reports_missing_read_permission(tmp_path):
    file = tmp_path / "model.toml"
    file.write_text("name = 'a'")
    file.chmod(0)
    with pytest.raises(ModelFileError, match=r"cannot be opened \(Permission denied\)"):
        read_toml(file)


@pytest.mark.parametrize("kind", ["parameters", "coordinates", "speeds"])
def test_limits_the_number_of_names(kind):
    entries = "\n".join(f"a{i} = {{}}" for i in range(2001))
    assert problems(f"name = 'a'\n[{kind}]\n{entries}") == [
        f"{kind}: the file has 2001 elements of this kind. Expected at most 2000 in one file."
    ]


def test_limits_the_number_of_elements():
    assert problems("name = 'a'\n" + "[[body]]\n" * 2001) == [
        "body: the file has 2001 elements of this kind. Expected at most 2000 in one file."
    ]


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('echo')",
        "().__class__",
        "x.diff(x)",
        "[x for x in (1,)]",
        "lambda: 1",
        "9**9**9**9",
        "(" * 5000,
        "open('f')",
    ],
)
def test_nothing_is_executed(formula):
    found = problems(f'{HEAD}{CART}[[force]]\nname = "f"\nbody = "cart"\nforce = [0, 0, "{formula}"]')
    assert len(found) == 1
    assert found[0].startswith("force 'f', force[2]: formula ")


def test_a_large_file_is_read():
    joint = "joint = { type = 'revolute', axis = [0, 0, 1], angle = 'q%d', position = [0, 'l', 0] }"
    bodies = "".join(f"[[body]]\nname = 'b{i}'\nmass = 'm'\n{joint % i}\n" for i in range(500))
    names = "".join(f"q{i} = {{}}\n" for i in range(500))
    model = loads_toml(f"name = 'a'\nparameters = {{ m = 1, l = 1 }}\n[coordinates]\n{names}{bodies}")
    assert len(model.bodies) == 500
