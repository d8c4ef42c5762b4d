"""Models with joints of every type, a floating base and loops."""

import numpy as np
import pytest

from dalembert.model.model import Model
from dalembert.recursive.tree_dynamics import speed_names


def every_joint() -> Model:
    """All joints except free ones; motions that are coordinates, sums, nonlinear functions and functions of time; all loads."""
    model = Model("every-joint", gravity=(1, -2, -9.81)).parameters(L=0.7)
    for i in range(12):
        model.coordinate(f"q{i}", 0.1 * i)
    model.body(
        "a",
        joint=model.cylindrical((0, 0, 1), "q0", "q1"),
        mass=2,
        center=(0.1, 0.2, 0.3),
        inertia=(0.4, 0.5, 0.6, 0.01, 0.02, 0.03),
    )
    hook = model.universal(
        ((1, 0, 0), (0, 1, 0)), ("q2", "q3 + 0.3*sin(t)"), position=("L", 0, 0.1), rotation=(1, 2, 3)
    )
    model.body("b", parent="a", joint=hook, mass=1.3, center=(0.3, 0, 0.1), inertia=(0.2, 0.3, 0.4))
    thread = model.screw((0, 1, 0), "q4", 0.5, position=(0, 0.3, 0))
    plane = model.planar((0.6, 0, 0.8), ("q5", "q6"), "q7*q7 + q7")
    model.body("c", parent="a", joint=[thread, plane], mass=0.7, center=(0.1, 0.1, 0.1), inertia=(0.1, 0.2, 0.15))
    ball = model.spherical(("q8", "q9", "q10 - q8"), "zxz", position=(0.2, 0, 0))
    model.body("d", parent="c", joint=ball, mass=0.9, center=(0, 0.2, 0.1), inertia=(0.3, 0.2, 0.2))
    tip = [model.prismatic((0, 0, 1), "q11"), model.fixed((0, 0, 0.2))]
    model.body("e", parent="d", joint=tip, mass=0.5, center=(0.1, 0, 0), inertia=(0.02, 0.03, 0.04))
    model.rotor("a", 0.3, ratio=3, motion=1).rotor("d", 0.2, motion=2)
    model.joint_spring("a", stiffness=4, rest=0.2, damping=0.3, motion=0)
    model.joint_friction("b", viscous=0.4, coulomb=0.2, motion=1)
    model.spring(("b", "d"), stiffness=3, natural_length=0.1, points=((0.1, 0, 0), (0, 0.2, 0)))
    model.damper(("c", "world"), damping=0.6, points=((0.1, 0, 0), (3, 3, 3)))
    model.joint_torque("e", "2*cos(t) - dot(q11)")
    model.torque("d", (0.1, "q9", 0), reaction="a")
    return model.force("c", (1, "q3", "t"), point=(0.1, 0.2, 0.3), frame="b")


def floating() -> Model:
    """A free body with an arm, whose angle also depends on a component of the base's quaternion, and a ball at its end."""
    model = Model("floating", gravity=(0, 0, -9.81))
    for name in ("x", "y", "z", "w", "i", "j", "k", "h", "w2", "i2", "j2", "k2"):
        model.coordinate(name, 1.0 if name.startswith("w") else 0.0)
    base = model.free(("x", "y", "z"), quaternion=("w", "i", "j", "k"), position=(0.1, 0, 0), rotation=(0.2, 0.1, 0))
    model.body("base", joint=base, mass=3, center=(0.1, 0, 0.1), inertia=(0.3, 0.4, 0.5, 0.01, 0, 0.02))
    elbow = model.revolute((0, 1, 0), "h + 0.3*i", position=(0.2, 0, 0))
    model.body("arm", parent="base", joint=elbow, mass=1, center=(0.3, 0, 0), inertia=(0.01, 0.1, 0.1))
    ball = model.spherical(quaternion=("w2", "i2", "j2", "k2"), position=(0.6, 0, 0))
    model.body("ball", parent="arm", joint=ball, mass=0.8, center=(0, 0, 0.1), inertia=(0.05, 0.06, 0.07))
    model.joint_friction("arm", viscous=0.4)
    return model.spring(("ball", "world"), stiffness=3, natural_length=0.3, points=((0.1, 0, 0), (1, 1, 1)))


def four_bar() -> Model:
    """A planar four-bar, closed by a spatial pin: three of its five rows are redundant."""
    model = Model("four-bar", gravity=(0, -9.81, 0))
    # the crank is vertical on a base of length 2; coupler 2 and rocker 1.5 meet at (x, y)
    x, y = _meeting()
    model.coordinate("a", np.pi / 2)
    model.coordinate("b", np.arctan2(y - 1, x) - np.pi / 2)
    model.coordinate("c", np.arctan2(y, x - 2))
    z = (0, 0, 1)
    model.body("crank", joint=model.revolute(z, "a"), mass=1, center=(0.5, 0, 0), inertia=(0, 0.08, 0.08))
    pin = model.revolute(z, "b", position=(1, 0, 0))
    model.body("coupler", parent="crank", joint=pin, mass=2, center=(1, 0, 0), inertia=(0, 0.3, 0.3))
    far = model.revolute(z, "c", position=(2, 0, 0))
    model.body("rocker", joint=far, mass=1.5, center=(0.75, 0, 0), inertia=(0, 0.2, 0.2))
    return model.loop("pin", ("coupler", "rocker"), model.revolute(z, 0, position=(2, 0, 0)), position=(1.5, 0, 0))


def _meeting() -> tuple[float, float]:
    """The upper intersection of circles of radius 2 about (0, 1) and 1.5 about (2, 0)."""
    first, second = np.array([0.0, 1.0]), np.array([2.0, 0.0])
    d = np.linalg.norm(second - first)
    e = (second - first) / d
    along = (d**2 + 2.0**2 - 1.5**2) / (2 * d)
    up = np.sqrt(2.0**2 - along**2)
    x, y = first + along * e + up * np.array([-e[1], e[0]])
    return float(x), float(y)


def pair_on_a_wire() -> Model:
    """Two free bodies, one by a quaternion, one by angles, with a ball joint; a wire connects the first to the world."""
    model = Model("pair", gravity=(0, 0, -9.81)).parameters(L=1.2)
    for name in ("x", "y", "z", "w", "i", "j", "k", "u", "v", "s", "a", "b", "c"):
        model.coordinate(name, {"w": 1.0, "z": -1.2, "u": 0.5, "s": -1.2}.get(name, 0.0))
    first = model.free(("x", "y", "z"), quaternion=("w", "i", "j", "k"))
    model.body("first", joint=first, mass=2, center=(0.1, 0, 0.1), inertia=(0.2, 0.3, 0.4))
    second = model.free(("u", "v", "s"), ("a", "b", "c"), "zyx")
    model.body("second", joint=second, mass=1, center=(0.1, 0.2, 0), inertia=(0.1, 0.1, 0.15))
    model.loop("ball", ("first", "second"), model.spherical((0, 0, 0), position=(0.3, 0, 0)), position=(-0.2, 0, 0))
    model.holonomic("x**2 + y**2 + z**2 - L**2", name="wire")
    return model


MODELS = {"every joint": every_joint, "floating": floating, "four-bar": four_bar, "pair on a wire": pair_on_a_wire}


@pytest.fixture
def make():
    """A function that creates one of the models by its name."""
    return lambda name: MODELS[name]()


@pytest.fixture
def draw():
    """A function that draws random q, s, ṡ and t for a model, with unit quaternions."""

    def random_state(model: Model, count: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-1, 1, (len(model.coordinate_names), count))
        for body in model.bodies:
            for joint in body.joints:
                if joint.quaternion:
                    parts = [model.coordinate_names.index(part.name) for part in joint.values[-4:]]
                    q[parts] /= np.linalg.norm(q[parts], axis=0)
        s, sd = rng.uniform(-1, 1, (2, len(speed_names(model)), count))
        return q, s, sd, rng.uniform(0, 5, count)

    return random_state
