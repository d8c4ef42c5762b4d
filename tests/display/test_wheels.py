"""Wheels, racks, belts, slots and cams of a scene match the constraints of their bodies."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.display.scene._layout import Layout
from dalembert.display.scene._wheels import Wheels
from dalembert.display.scene.scene_builder import scene_of
from dalembert.model.model import Model

Z = (0, 0, 1)


def wheels_of(model: Model) -> Wheels:
    return Wheels(Layout(model, model.parameter_values, model.initial[0], 0.0))


def rotated(angle: float, direction: np.ndarray) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ direction


def pair(ratio: float, internal: bool = False, axis: tuple[int, ...] = Z) -> Model:
    model = Model("pair").coordinates("a", "b").start([0.3, 0.7], {})
    wheel = {"mass": 1, "inertia": (0, 0, 1)}
    model.body("one", joint=model.revolute(Z, "a"), **wheel)
    model.body("two", joint=model.revolute(axis, "b", position=(0.3, 0.4, 0)), **wheel)
    return model.gear(("one", "two"), ratio, internal=internal)


@pytest.mark.parametrize(("ratio", "internal", "radii"), [(1.5, False, (0.2, 0.3)), (3, True, (0.25, 0.75))])
def test_teeth_mesh_initially_and_during_rotation(ratio, internal, radii):
    found = wheels_of(pair(ratio, internal))
    (one,), (two,) = found.wheels["one"], found.wheels["two"]
    assert (one.radius, two.radius) == pytest.approx(radii)
    assert two.teeth == pytest.approx(ratio * one.teeth)
    assert (one.inside, two.inside) == (False, internal)
    along = np.array([0.6, 0.8, 0]) * (-1 if internal else 1)  # from the first axis to where the pitch circles touch
    direction = 1 if internal else -1
    for step in np.linspace(0, 2, 9):
        a, b = 0.3 + step, 0.7 + direction * step / ratio
        first, second = (
            one.missed(rotated(-a, along)),
            two.missed(rotated(-b, -direction * -along if internal else -along)),
        )
        # a tooth of one is in a gap of the other
        gap = (first + second if not internal else second - first) % 1.0
        assert gap == pytest.approx(0.5, abs=1e-9)


def test_wheels_with_nonparallel_axes_are_not_drawn():
    assert wheels_of(pair(2, axis=(1, 0, 0))).wheels == {}


def test_idler_is_one_wheel():
    found = wheels_of(dl.load("gear-train"))
    assert [round(wheel.radius, 12) for wheel in found.wheels["between"]] == [0.08]
    assert [round(wheel.radius, 12) for wheel in found.wheels["last"]] == [0.16, 0.06]
    assert set(found.bars) == {"gate"}


def test_a_belt_touches_both_pulleys():
    model = Model("belt").coordinates("a", "b")
    for k, name in enumerate("ab"):
        model.body(name, joint=model.revolute(Z, name, position=(k, 0, 0)), mass=1, inertia=(0, 0, 1))
    for crossed in (False, True):
        found = wheels_of(model.copy().belt(("a", "b"), (0.1, 0.3), crossed=crossed)).belts
        assert len(found) == 2
        for cord in found:
            (p, r), direction = cord.points, cord.points[1] - cord.points[0]
            assert np.linalg.norm(p) == pytest.approx(0.1)
            assert np.linalg.norm(r - [1, 0, 0]) == pytest.approx(0.3)
            assert (p @ direction, (r - [1, 0, 0]) @ direction) == pytest.approx((0, 0), abs=1e-12)
            assert (p[1] * r[1] < 0) == crossed


def test_a_cam_has_the_outline_of_its_surface():
    scene = scene_of(dl.load("cam-follower"))
    cam = next(part for part in scene.bodies if part.name == "cam")
    (plate,) = (shape for shape in cam.shapes if shape.kind == "mesh")
    rim = np.unique(plate.points.round(9), axis=0)
    rim = rim[np.hypot(*rim[:, :2].T) > 0.025]
    radius, angle = np.hypot(*rim[:, :2].T), np.arctan2(rim[:, 0], rim[:, 1])
    assert len(rim) > 50
    assert radius == pytest.approx(0.03 + 0.01 * (1 - np.cos(angle)), rel=1e-6)


def test_slot_covers_the_travel_of_its_pin_and_rod_its_length():
    model = Model("yoke").coordinates("turn", "x").start({"x": 0.2}, {"turn": 7.0})
    model.body("crank", joint=model.revolute(Z, "turn"), mass=1, center=(0.1, 0, 0), inertia=(0, 0, 0.01))
    model.body("yoke", joint=model.prismatic((1, 0, 0), "x"), mass=0.5)
    model.point_on_line(("yoke", "crank"), (0, 1, 0), points=((0, 0, 0), (0.2, 0, 0)))
    scene = dl.simulate(model, 1.0, samples=21, integrator="dop853").scene()
    yoke = next(part for part in scene.bodies if part.name == "yoke")
    (slot,) = (shape for shape in yoke.shapes if shape.kind == "line")
    assert slot.points[:, 0] == pytest.approx([0, 0], abs=1e-9)
    assert slot.points[0, 1] < -0.19
    assert slot.points[1, 1] > 0.19
    bob = Model("rod").coordinates("x", "y").start({"y": -2.0}, {})
    bob.body("bob", joint=[bob.prismatic((1, 0, 0), "x"), bob.prismatic((0, 1, 0), "y")], mass=1)
    (cord,) = scene_of(bob.distance(("world", "bob"), 2, name="rod")).cords
    assert (cord.name, cord.kind, cord.bodies) == ("rod", "distance", ("world", "bob"))
