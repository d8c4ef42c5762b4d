"""Methods that add elements: free motions of loop-closing joints, and messages for invalid arguments."""

import inspect
import math

import numpy as np
import pytest
import sympy

from dalembert.errors import DalembertError, InputError
from dalembert.model.model import Model

Z = (0, 0, 1)


def model() -> Model:
    made = Model("m", gravity=(0, 0, -9.81)).parameters(k=2.0).coordinates("a", "b", "w", "x", "y", "z")
    return made.body("p", joint=made.revolute(Z, "a"), mass=1)


# joints with free motions

FREE = {
    "revolute": (lambda m: m.revolute(Z), lambda m: m.revolute(Z, 0)),
    "prismatic": (lambda m: m.prismatic(Z), lambda m: m.prismatic(Z, 0)),
    "screw": (lambda m: m.screw(Z, pitch=0.5), lambda m: m.screw(Z, 0, 0.5)),
    "cylindrical": (lambda m: m.cylindrical(Z), lambda m: m.cylindrical(Z, 0, 0)),
    "universal": (
        lambda m: m.universal(((1, 0, 0), (0, 1, 0))),
        lambda m: m.universal(((1, 0, 0), (0, 1, 0)), (0, 0)),
    ),
    "planar": (lambda m: m.planar(Z), lambda m: m.planar(Z, (0, 0), 0)),
    "spherical": (lambda m: m.spherical(position=(1, 0, 0)), lambda m: m.spherical((0, 0, 0), position=(1, 0, 0))),
    "free": (lambda m: m.free(), lambda m: m.free((0, 0, 0), (0, 0, 0))),
}


@pytest.mark.parametrize("kind", FREE)
def test_loop_joints_accept_omitted_or_zero_motions(kind):
    free, zero = FREE[kind]
    first, second = (m.loop("l", ("p", "world"), make(m)) for m, make in ((model(), free), (model(), zero)))
    assert first.loops == second.loops


@pytest.mark.parametrize("kind", FREE)
def test_body_joints_require_motion_formulas(kind):
    m = model()
    with pytest.raises(InputError, match=rf"body 'q', joint 0 \({kind}\): .*only a loop-closing joint may omit"):
        m.body("q", joint=FREE[kind][0](m), mass=1)
    assert len(m.bodies) == 1


# messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.revolute(axsi=Z), "revolute: there is no argument 'axsi'. Did you mean 'axis'?"),
        (
            lambda m: m.spring(("p", "world"), stifness=1),
            "spring: there is no argument 'stifness'. Did you mean 'stiff",
        ),
        (
            lambda m: m.spring(("p", "world")),
            "spring: missing a required argument: 'stiffness'. Expected bodies, stiff",
        ),
        (lambda m: m.fixed(1, 2, 3), "fixed: too many positional arguments. Expected position, rotation."),
        (lambda m: m.force(5, Z), "force, body: got 5. Expected a str."),
        (lambda m: m.joint_torque("p", 1, joint="a"), "joint_torque, joint: got 'a'. Expected an int."),
        (lambda m: m.joint_torque("p", 1, joint=True), "joint_torque, joint: got True. Expected an int."),
        (lambda m: m.rolling_disk("p", 1, contact=1), "rolling_disk, contact: got 1. Expected a bool."),
        (
            lambda m: m.body("q", joint="revolute"),
            "body 'q', joint: got 'revolute'. Expected a joint, such as model.revolute((0, 0, 1), "
            '"q"), or a list of joints.',
        ),
        (
            lambda m: m.loop("l", ("p", "world"), [m.fixed()]),
            "loop 'l', joint: got a sequence of 1 joints. Expected one joint.",
        ),
        (lambda m: m.revolute("z", "a"), "joint (revolute): the axis is 'z'. Expected 3 numbers, e.g. (0, 0, 1)."),
        (lambda m: m.revolute((0, 1j, 1), "a"), "joint (revolute): the axis is (0, 1j, 1). Expected 3 numbers"),
        (
            lambda m: m.revolute((0, math.nan, 1), "a"),
            "joint (revolute): the axis has length nan. Expected a nonzero vector",
        ),
        (lambda m: m.universal(5), "joint (universal), axes: got 5. Expected two perpendicular axes."),
        (lambda m: m.spring((1, 2), stiffness=1), "spring 'spring1', bodies: got (1, 2). Expected two names"),
        (
            lambda m: m.spring(("p", "world"), stiffness=1, points=7),
            "spring 'spring1', points: got 7. Expected 2 points, one on each body.",
        ),
        (
            lambda m: m.torque_table("p", 5, [1]),
            "torque_table 'torque_table1', times: got 5. Expected increasing times.",
        ),
        (lambda m: m.body("q", joint=m.fixed(), inertia=3), "body 'q', inertia: got 3. Expected 3 (diagonal), 6"),
        (
            lambda m: m.non_ideal(3),
            "non_ideal: got 3. Expected 6 values, for a, b, w, x, y, z.",
        ),
        (lambda m: m.parameters([1]), "parameters: got [1]. Expected a mapping of names to values, or m=1.0, l=0.5."),
        (
            lambda m: Model("g", gravity=9.81),  # pyright: ignore[reportArgumentType]
            "model 'g', gravity: got 9.81. Expected 3 components, e.g. (0, -9.81, 0).",
        ),
    ],
)
def test_method_error_messages(call, message):
    m = model()
    before = m.description
    with pytest.raises(InputError) as caught:
        call(m)
    assert str(caught.value).startswith(message)
    assert m.description == before


def test_methods_have_signatures_and_docstrings():
    assert list(inspect.signature(Model.revolute).parameters)[:3] == ["self", "axis", "angle"]
    assert (Model.revolute.__doc__ or "").startswith("Revolute joint: rotation about `axis`")


ODD = [
    None,
    "abc",
    5,
    math.nan,
    1 + 2j,
    (1, 2),
    [[1, 2], [3]],
    np.array(3.0),
    np.ones((2, 2)),
    {"x": 1},
    {1, 2, 3},
    object(),
    True,
    b"ab",
    [1, None, 2],
    [math.nan, 0, 1],
    (object(),) * 3,
    sympy.Symbol("q"),
    "1/0",
    range(3),
    sympy.Matrix([1, 2, 3]),
    (10**400, 0, 1),
]
TWO = ("p", "world")
CALLS = {
    "position": lambda m, v: m.fixed(v),
    "axis": lambda m, v: m.revolute(v, "a"),
    "angle": lambda m, v: m.revolute(Z, v),
    "pitch": lambda m, v: m.screw(Z, "a", v),
    "axes": lambda m, v: m.universal(v, ("a", "b")),
    "angles": lambda m, v: m.spherical(v),
    "quaternion": lambda m, v: m.spherical(quaternion=v),
    "sequence": lambda m, v: m.spherical(("a", "b", "w"), v),
    "body": lambda m, v: m.body(v, joint=m.fixed()),
    "joint": lambda m, v: m.body("n", joint=v),
    "parent": lambda m, v: m.body("n", joint=m.fixed(), parent=v),
    "mass": lambda m, v: m.body("n", joint=m.fixed(), mass=v),
    "inertia": lambda m, v: m.body("n", joint=m.fixed(), inertia=v),
    "loop": lambda m, v: m.loop("l", v, m.fixed()),
    "feedback": lambda m, v: m.loop("l", TWO, m.fixed(), feedback=v),
    "force": lambda m, v: m.force("p", v),
    "frame": lambda m, v: m.force("p", Z, frame=v),
    "name": lambda m, v: m.force("p", Z, name=v),
    "reaction": lambda m, v: m.torque("p", Z, reaction=v),
    "motion": lambda m, v: m.joint_torque("p", 1, motion=v),
    "limit": lambda m, v: m.actuator("p", "a", limit=v),
    "stiffness": lambda m, v: m.spring(TWO, stiffness=v),
    "points": lambda m, v: m.damper(TWO, damping=1, points=v),
    "rotor": lambda m, v: m.rotor("p", v),
    "drive": lambda m, v: m.drive(v, "t"),
    "times": lambda m, v: m.torque_table("p", v, [1, 2, 3]),
    "rows": lambda m, v: m.wrench_table("p", [1, 2, 3], force=v),
    "direction": lambda m, v: m.knife_edge("p", v),
    "radius": lambda m, v: m.rolling_disk("p", v),
    "size": lambda m, v: m.shape("p", "box", v),
    "color": lambda m, v: m.shape("p", "sphere", (1,), color=v),
    "non_ideal": lambda m, v: m.non_ideal(v),
    "speed": lambda m, v: m.speed("dot(a)", v),
    "gravity": lambda m, v: Model("g", gravity=v),
}


@pytest.mark.parametrize("argument", CALLS)
def test_methods_raise_only_library_errors(argument):
    for value in ODD:
        m = model()
        try:
            CALLS[argument](m, value)
            m.check()
        except DalembertError:
            continue


@pytest.mark.parametrize("kind", ["point", "event"])
def test_elements_referred_to_by_formulas_require_names(kind):
    """Other elements without a name are numbered."""
    model = Model("m").coordinates("x")
    model.body("b", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    with pytest.raises(InputError, match=f"{kind} '': invalid .*name"):
        getattr(model, kind)("", "b" if kind == "point" else "x")
    assert not model.points
    assert not model.events
