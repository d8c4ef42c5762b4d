"""Named points in formulas: height, rise and speed agree with the kinematics."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.model.model import Model
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.symbols import Lowering


def leg() -> Model:
    """A thigh and a shank with a time-dependent hip rotation, under inclined gravity."""
    model = Model("leg", gravity=(0, -3, -4)).parameters(l=0.4).coordinates("x", "a", "b")
    model.start([0.1, 0.3, -0.5], [1, 2, 3])
    hip = [model.prismatic((1, 2, 2), "x", rotation=(0.1, 0.2, 0.3)), model.revolute((0, 1, 0), "a + 0.2*t")]
    knee = model.revolute((1, 0, 0), "b", position=(0, 0, "-l"))
    model.body("thigh", joint=hip, mass=2, inertia=(1, 1, 1))
    model.body("shank", parent="thigh", joint=knee, mass=1, inertia=(1, 1, 1))
    return model.point("foot", "shank", (0.1, 0, "-l"))


def test_height_rise_and_speed_are_those_of_the_kinematics():
    model, t = leg(), 0.7
    q, qd = model.initial
    rates = {f"dot({name})": v for name, v in zip(model.coordinate_names, qd, strict=True)}
    lower = Lowering(FLOATS, {"t": t, "l": 0.4, **dict(zip(model.coordinate_names, q, strict=True)), **rates})
    point = (0.1, 0, -0.4)
    p, v = dl.position(model, q, "shank", point, t), dl.velocity(model, q, qd, "shank", point, t=t).linear
    up = np.array([0, 0.6, 0.8])
    found = [lower(model.formula(f"{word}(foot)")) for word in ("height", "rise", "speed")]
    assert found == pytest.approx([up @ p, up @ v, np.linalg.norm(v)], rel=1e-13)


def test_points_in_forces_events_and_constraints():
    model = Model("mast", gravity=(0, 0, -9.81)).coordinates("a").start([0.2], [0.1])
    model.body("mast", joint=model.revolute((0, 1, 0), "a"), mass=1, center=(0, 0, 1), inertia=(1, 1, 1))
    model.point("tip", "mast", (0, 0, 2)).event("down", "height(tip) - 1", stop=True)
    model.force("mast", ("-0.1*speed(tip)*sign(dot(a))", 0, 0), name="drag")
    run = dl.simulate(model, 10.0, samples=5)
    assert run.events[-1].q[0] == pytest.approx(np.pi / 3, abs=1e-12)
    assert run.energy_error < 1e-9
    assert loads_toml(to_toml(model)).description == model.description
    held = Model("slider", gravity=(0, 0, -9.81)).coordinates("x", "z").start([0, 1], [0, 0])
    held.body("bead", joint=[held.prismatic((1, 0, 0), "x"), held.prismatic((0, 0, 1), "z")], mass=1)
    held.point("bead", "bead").holonomic("height(bead) - 1 - x**2")
    assert dl.derive(held, engine="python").accelerations([0, 1], [2, 0]) == pytest.approx([0, 8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.point("toe", "foot"), "point 'toe': there is no body 'foot' yet."),
        (lambda m: m.point("foot", "shank"), "declared twice"),
        (lambda m: m.point("a b", "shank"), "invalid point name"),
        (lambda m: m.event("e", "height(toe)"), "refers to the height of 'toe', which is not a point here"),
        (lambda m: m.event("e", "height(foot, 1)"), "is not the height of a point"),
        (lambda m: m.holonomic("speed(foot)"), "velocities are not allowed here"),
        (lambda m: m.strut(("world", "shank"), pull="height(foot)"), "which is not a point here"),
        (lambda m: m.body("c", joint=m.fixed(), mass="height(foot)"), "Expected a constant"),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(InputError) as caught:
        call(leg())
    assert message in str(caught.value)


def test_height_needs_gravity():
    model = Model("free").coordinates("x")
    model.body("b", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    with pytest.raises(InputError, match="the model has no gravity, so the vertical is undefined"):
        model.point("p", "b").formula("height(p)")
