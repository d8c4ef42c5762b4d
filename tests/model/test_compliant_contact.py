"""Compliant contact: closed forms, an independent reference, agreement of formalisms, error messages."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io.toml_reader import loads_toml
from dalembert.model.model import Model

G = 9.81
TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}


def falling(height: float = 0.0, rate: float = 0.0, gravity: float = G, mass: float = 0.5) -> Model:
    """A ball on a vertical rail."""
    model = Model("ball", gravity=(0, 0, -gravity)).coordinate("z", height, rate)
    return model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=mass)


def rolling(**start: float) -> Model:
    """A ball of mass 2 and radius 0.1 that moves in the xz plane and rotates about y."""
    model = Model("ball", gravity=(0, 0, -G))
    for name, usual in (("x", 0.0), ("z", 0.1 - 2 * G / 1e4), ("a", 0.0)):
        model.coordinate(name, start.get(name, usual), start.get(f"v{name}", 0.0))
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "a")]
    return model.body("ball", joint=joints, mass=2, inertia=(0.008,) * 3)


@pytest.mark.parametrize("integrator", ["taylor", pytest.param("dop853", marks=pytest.mark.nightly)])
def test_a_drop_on_a_linear_ground_is_half_a_damped_oscillation(integrator):
    m, k, c, fall = 0.5, 2e4, 30.0, 0.9
    model = falling(fall + 0.1, mass=m).sphere_on_plane("ball", radius=0.1, stiffness=k, damping=c)
    # m δ̈ + c δ̇ + k δ = m g from δ = 0, δ̇ = v
    touch, v = np.sqrt(2 * fall / G), np.sqrt(2 * fall * G)
    a, sag = c / (2 * m), m * G / k
    w = np.sqrt(k / m - a**2)
    A, B = -sag, (v - a * sag) / w
    depth = lambda t: sag + np.exp(-a * t) * (A * np.cos(w * t) + B * np.sin(w * t))  # noqa: E731
    rate = lambda t: np.exp(-a * t) * ((w * B - a * A) * np.cos(w * t) - (w * A + a * B) * np.sin(w * t))  # noqa: E731
    held = brentq(lambda t: k * depth(t) + c * rate(t), 0.5 * np.pi / w, 1.1 * np.pi / w, xtol=1e-16)
    options = {} if integrator == "taylor" else TIGHT
    run = dl.simulate(model, 0.8, samples=5, integrator=integrator, **options)
    touched, left = run.switchings[:2]
    assert touched.t == pytest.approx(touch, abs=1e-12)
    assert left.t - touched.t == pytest.approx(held, rel=1e-9)
    assert left.qd[0] == pytest.approx(-rate(held), rel=1e-9)
    rest = 0.8 - left.t
    assert run.q[0, -1] == pytest.approx(0.1 - depth(held) - rate(held) * rest - G * rest**2 / 2, rel=1e-9)
    assert run.energy_error < 1e-9


@pytest.mark.parametrize("integrator", ["taylor", "dop853"])
def test_a_blow_on_hunt_and_crossleys_ground_leaves_with_the_speed_of_its_integral(integrator):
    # v dv / (1 + d v) = −(k/m) δⁿ dδ: (v − ln(1 + d v)/d)/d is the same at both ends, where δ = 0, whatever k and n are
    d, v = 0.6, 1.5
    model = falling(0.0, -v, gravity=0.0).sphere_on_plane("ball", stiffness=3e4, exponent=1.5, dissipation=d)
    out = brentq(lambda u: v - np.log(1 + d * v) / d + u + np.log(1 - d * u) / d, 0.1, 1 / d - 1e-12, xtol=1e-15)
    run = dl.simulate(model, 0.1, samples=3, integrator=integrator, **({} if integrator == "taylor" else TIGHT))
    assert run.qd[0, -1] == pytest.approx(out, rel=1e-9)
    assert run.energy_error < 1e-9


def test_a_bowling_ball_slides_and_then_rolls_with_five_sevenths_of_its_speed():
    model = rolling(vx=3.0).sphere_on_plane(
        "ball", radius=0.1, stiffness=1e4, damping=20, friction=0.3, planar=(0, 1, 0)
    )
    run = dl.simulate(model, 1.0, samples=3)
    (rolls,) = run.switchings
    until = 2 * 3 / (7 * 0.3 * G)
    assert rolls.t == pytest.approx(until, rel=1e-9)
    assert run.qd[:, -1] == pytest.approx([15 / 7, 0, 150 / 7], abs=1e-9)
    assert run.q[0, -1] == pytest.approx(3 * until - 0.3 * G * until**2 / 2 + 15 / 7 * (1 - until), rel=1e-9)
    assert run.energy_error < 1e-9


def test_smoothed_friction_ends_at_the_same_speed():
    model = rolling(vx=3.0).sphere_on_plane("ball", radius=0.1, stiffness=1e4, damping=20, friction=0.3, smoothing=1e-4)
    run = dl.simulate(model, 1.0, samples=3)
    assert run.qd[:, -1] == pytest.approx([15 / 7, 0, 150 / 7], abs=1e-9)
    assert run.energy_error < 1e-9


@pytest.mark.parametrize("tilt", [0.25, 0.35])
def test_a_block_on_an_incline_sticks_or_slides(tilt):
    # it sticks where tan(tilt) < μ = 0.3, else slides with g (sin − μ cos)
    model = Model("block", gravity=(G * np.sin(tilt), 0, -G * np.cos(tilt))).coordinate("x")
    model.coordinate("z", -2 * G * np.cos(tilt) / 1e4)
    model.body("block", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=2)
    model.sphere_on_plane("block", stiffness=1e4, damping=20, friction=0.3, planar=(0, 1, 0))
    run = dl.simulate(model, 1.0, samples=3)
    slide = max(G * (np.sin(tilt) - 0.3 * np.cos(tilt)), 0.0)
    assert run.q[0, -1] == pytest.approx(slide / 2, abs=1e-9)
    assert run.energy_error < 1e-9


def test_a_ball_that_bounces_and_spins_sticks_at_every_touch():
    # gripping in the first touch leaves v = 5/7 of v₀ + 2/7 of what it spun with; the later ones find no slip
    model = rolling(vx=1.0, va=-5.0, z=0.5).sphere_on_plane(
        "ball", radius=0.1, stiffness=1e4, damping=20, friction=0.9, planar=(0, 1, 0)
    )
    run = dl.simulate(model, 1.5, samples=3)
    v = (5 * 1.0 - 2 * 0.5) / 7
    assert run.qd[[0, 2], -1] == pytest.approx([v, v / 0.1], rel=1e-9)
    assert run.energy_error < 1e-9


def rod() -> Model:
    """A rod of length 1 in the xz plane, with a sphere at each end, above the floor."""
    model = Model("rod", gravity=(0, 0, -G)).coordinates("x", "z", "a").start([0, 0.45, 0.5], [0.5, 0, 1])
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, -1, 0), "a")]
    model.body("rod", joint=joints, mass=1.5, inertia=(0, 0.125, 0.125))
    for end in (-0.5, 0.5):
        model.sphere_on_plane(
            "rod", radius=0.02, center=(end, 0, 0), stiffness=5e3, damping=15, friction=0.4, smoothing=0.05
        )
    return model


def rod_by_hand(t: float, y: np.ndarray) -> np.ndarray:
    """Newton-Euler equations of the rod, with the contact force at each end."""
    _, z, a, vx, vz, w = y
    force, moment = np.array([0.0, -1.5 * G]), 0.0
    for end in (-0.5, 0.5):
        arm = end * np.array([np.cos(a), np.sin(a)]) + [0.0, -0.02]
        depth = -(z + arm[1])
        v = np.array([vx, vz]) + w * np.array([-arm[1], arm[0]])
        N = max(5e3 * depth - 15 * v[1], 0.0) if depth > 0 else 0.0
        push = np.array([-0.4 * N * v[0] / np.hypot(v[0], 0.05), N])
        force, moment = force + push, moment + arm[0] * push[1] - arm[1] * push[0]
    return np.array([vx, vz, w, *(force / 1.5), moment / 0.125])


def test_rod_on_the_floor_matches_newton_euler():
    run = dl.simulate(rod(), 0.4, samples=2)
    y = solve_ivp(rod_by_hand, (0, 0.4), [0, 0.45, 0.5, 0.5, 0, 1], "DOP853", max_step=3e-3, rtol=1e-10, atol=1e-11).y
    assert np.concatenate([run.q[:, -1], run.qd[:, -1]]) == pytest.approx(y[:, -1], rel=1e-6, abs=1e-6)
    assert run.energy_error < 1e-9


def test_every_formalism_agrees_on_contacts():
    model = Model("mast").coordinates("x", "a")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=3)
    model.body("mast", parent="cart", joint=model.revolute((0, 1, 0), "a"), mass=2, center=(0, 0, 1), inertia=(1, 1, 1))
    model.sphere_on_plane("mast", radius=1, center=(0, 0, 0.5), stiffness=40, damping=3, friction=0.4, smoothing=0.5)
    law = {"stiffness": 40, "dissipation": 0.1, "exponent": 2, "friction": 0.5, "viscous": 1}
    model.sphere_on_plane("mast", radius=0.7, ground="cart", normal=(0, 0.6, 0.8), **law)
    assert dl.verify(model, states=4, engines=["python"]).agrees


def test_ball_on_a_cart_conserves_momentum():
    model = rolling(vx=2.0)
    model.coordinate("s").body("cart", joint=model.prismatic((1, 0, 0), "s"), mass=3)
    model.sphere_on_plane("ball", radius=0.1, ground="cart", stiffness=1e4, damping=20, friction=0.3, planar=(0, 1, 0))
    run = dl.simulate(model, 2.0, samples=5)
    assert np.allclose(2 * run.qd[0] + 3 * run.qd[3], 4.0, atol=1e-12)
    assert run.qd[0, -1] - 0.1 * run.qd[2, -1] == pytest.approx(run.qd[3, -1], abs=1e-9)
    # the slip 2 decreases by μ g (1 + 5/2 + 2/3) a second
    assert run.switchings[0].t == pytest.approx(2 / (0.3 * G * (3.5 + 2 / 3)), rel=1e-9)


@pytest.mark.nightly
def test_spheres_with_friction_conserve_momentum_and_angular_momentum():
    model = Model("spheres").coordinates("x1", "y1", "a1", "x2", "y2", "a2")
    for k in "12":
        joint = [
            model.prismatic((1, 0, 0), f"x{k}"),
            model.prismatic((0, 1, 0), f"y{k}"),
            model.revolute((0, 0, 1), f"a{k}"),
        ]
        model.body(f"ball{k}", joint=joint, mass=int(k), inertia=(0.01, 0.01, 0.01))
    law = {"stiffness": 1e4, "dissipation": 0.2, "exponent": 1.5, "friction": 0.3, "planar": (0, 0, 1)}
    model.sphere_on_sphere("ball1", radius=0.2, ground="ball2", ground_radius=0.1, **law)
    model.start([-1, 0.1, 0, 0, 0, 0], [3, 0, 5, 0, 0, 0])
    run = dl.simulate(model, 0.6, samples=13)
    x1, y1, _, x2, y2, _ = run.q
    vx1, vy1, w1, vx2, vy2, w2 = run.qd
    assert len(run.switchings) >= 2
    assert np.ptp(run.energy) > 0.1
    assert np.allclose([vx1 + 2 * vx2, vy1 + 2 * vy2], [[3.0], [0.0]], atol=1e-12)
    turning = x1 * vy1 - y1 * vx1 + 2 * (x2 * vy2 - y2 * vx2) + 0.01 * (w1 + w2)
    assert np.allclose(turning, -0.3 + 0.05, atol=1e-12)
    assert run.energy_error < 1e-9


def test_a_wheel_slides_and_then_rolls_with_two_thirds_of_its_speed():
    model = rolling(vx=3.0)
    model.body("wheel", parent="ball", joint=model.fixed(), mass=0, inertia=(0, 0.002, 0))  # together ½ m r²
    model.disk_on_plane("wheel", 0.1, stiffness=1e4, damping=20, friction=0.3, planar=(0, 1, 0))
    run = dl.simulate(model, 1.0, samples=3)
    assert run.qd[[0, 2], -1] == pytest.approx([2, 20], abs=1e-9)
    assert run.switchings[0].t == pytest.approx(3 / (3 * 0.3 * G), rel=1e-9)


def edge_by_hand(t: float, y: np.ndarray) -> np.ndarray:
    """A ball of radius 0.1 and mass 1 on a step whose edge is the origin, without friction: −1 < x < 0, −1 < z < 0."""
    x, z, vx, vz = y
    near = np.array([min(x, 0.0), min(z, 0.0)])
    away = np.array([x, z]) - near
    distance = np.hypot(*away)
    n = away / distance
    push = max(3e3 * (0.1 - distance) - 10 * n @ [vx, vz], 0.0) if distance < 0.1 else 0.0
    return np.array([vx, vz, push * n[0], push * n[1] - G])


@pytest.mark.nightly
def test_ball_on_the_edge_of_a_box_matches_reference():
    model = Model("step", gravity=(0, 0, -G)).coordinates("x", "z").start([-0.05, 0.2], [0.3, 0])
    model.body("ball", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=1)
    model.sphere_on_box("ball", (1, 1, 1), radius=0.1, position=(-0.5, 0, -0.5), stiffness=3e3, damping=10)
    run = dl.simulate(model, 0.5, samples=2)
    y = solve_ivp(edge_by_hand, (0, 0.5), [-0.05, 0.2, 0.3, 0], "DOP853", max_step=1e-3, rtol=1e-10, atol=1e-11).y
    assert np.concatenate([run.q[:, -1], run.qd[:, -1]]) == pytest.approx(y[:, -1], abs=1e-6)
    assert any("x = 0" in each.name for each in run.switchings) or run.q[0, -1] > 0
    assert run.energy_error < 1e-9


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({}, "no stiffness, no push and no restitution, so there is no contact force."),
        ({"stiffness": -1}, "stiffness: the value is -1. Expected a number >= 0."),
        ({"stiffness": 1, "push": "depth"}, "push defines the complete law, but stiffness is set, too."),
        ({"stiffness": 1, "exponent": 0}, "exponent: the value is 0. Expected a positive number"),
        ({"stiffness": 1, "viscous": 3}, "viscous is set without friction."),
        ({"stiffness": 1, "friction": 1, "viscous": 3, "planar": (0, 1, 0)}, "planar and viscous both define"),
        ({"stiffness": 1, "friction": 1, "smoothing": 0}, "the smoothing is 0, so friction is undefined at rest."),
        ({"stiffness": 1, "friction": 1, "planar": (0, 0, 1)}, "the normal of the ground is not in the plane"),
        ({"stiffness": 1, "radius": -1}, "the radius is -1."),
        ({"stiffness": 1, "ground": "ball"}, "'ball' is both body and ground"),
        ({"stiffness": 1, "ground": "flor"}, "there is no body 'flor'"),
    ],
)
def test_check_reports_invalid_contacts(law, message):
    found = falling().sphere_on_plane("ball", **law).check()
    assert message in " ".join(f"{each.path}: {each.fact} {each.advice}" for each in found)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"stifness": 1}, "sphere_on_plane: there is no argument 'stifness'. Did you mean 'stiffness'?"),
        ({"push": "depth*z"}, "the name 'z' is not known here."),
        ({"normal": (0, 0, 0)}, "has length 0. Expected a nonzero vector"),
        ({"stiffness": "z"}, "depends on z. Expected a constant"),
    ],
)
def test_invalid_contact_arguments(law, message):
    model = falling()
    with pytest.raises(InputError) as caught:
        model.sphere_on_plane("ball", **law)
    assert message in str(caught.value)
    assert model.loads == ()


def test_contact_from_a_file_equals_the_model():
    text = """
    name = "ball"
    gravity = [0, 0, -9.81]
    coordinates.z = { start = 1.0 }
    [[body]]
    name = "ball"
    mass = 0.5
    joint = { type = "prismatic", axis = [0, 0, 1], displacement = "z" }
    [[sphere_on_plane]]
    body = "ball"
    radius = 0.1
    stiffness = 2e4
    damping = 30
    """
    expected = falling(1.0).sphere_on_plane("ball", radius=0.1, stiffness=2e4, damping=30)
    assert loads_toml(text).loads == expected.loads
    with pytest.raises(ModelFileError, match="there is no key 'stifness' here"):
        loads_toml(text.replace("stiffness", "stifness"))
