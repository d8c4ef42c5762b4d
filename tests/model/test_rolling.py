"""Rolling and contact of balls, disks and ellipsoids on planes: closed forms, integrals of motion, references, error messages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io import gallery
from dalembert.io.toml_reader import loads_toml
from dalembert.model.model import Model

G = 9.81
TIGHT = {"integrator": "dop853", "rtol": 1e-12, "atol": 1e-14}
FREE = ("x", "y", "z"), ("a", "b", "c"), "zxy"


def stone(**solid: object) -> Model:
    """A body with six degrees of freedom, rotated by a about z, b about x and c about y."""
    model = Model("stone", gravity=(0, 0, -G)).coordinates("x", "y", "z", "a", "b", "c")
    return model.body("stone", joint=model.free(*FREE), **{"mass": 2, "inertia": (0.008,) * 3, **solid})


def ball() -> Model:
    """A ball of mass 2 and radius 0.1 at rest on z = 0."""
    return stone().start({"z": 0.1}, {})


def accelerations(model: Model) -> np.ndarray:
    return dl.derive(model, engine="python").accelerations(*model.initial)


# closed forms


def test_a_ball_rolls_down_a_slope_with_five_sevenths_of_the_acceleration():
    tilt = 0.3
    n, down = np.array([np.sin(tilt), 0, np.cos(tilt)]), np.array([np.cos(tilt), 0, -np.sin(tilt)])
    point = np.array([0.3, 0.1, -0.2])
    model = ball().rolling_ball("stone", 0.1, normal=n, point=point)
    model.start(dict(zip("xyz", point + 0.1 * n, strict=True)), {})
    assert model.check() == []
    fall, eom = 5 / 7 * G * np.sin(tilt), dl.derive(model, engine="python")
    assert eom.accelerations(*model.initial)[:3] == pytest.approx(fall * down, abs=1e-12)
    # 2/7 of the pull is friction, and the plane carries the rest
    press, *slips = eom.multipliers(*model.initial)
    assert press == pytest.approx(2 * G * np.cos(tilt))
    assert np.hypot(*slips) == pytest.approx(2 / 7 * 2 * G * np.sin(tilt))


@pytest.mark.parametrize(("share", "factor"), [(0.5, 2 / 3), (1.0, 1 / 2)])
def test_discs_and_hoops_go_down_a_slope_by_their_inertia(share, factor):
    model = Model("disc", gravity=(0, 0, -G)).coordinates("x", "z", "c")
    joint = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "c")]
    model.body("disc", joint=joint, mass=2, inertia=(0.01, share * 2 * 0.1**2, 0.01))
    model.rolling_disk("disc", 0.1, normal=(np.sin(0.4), 0, np.cos(0.4)), point=(0, 0.2, 0))
    model.start({"x": 0.1 * np.sin(0.4), "z": 0.1 * np.cos(0.4)}, {})
    fall = factor * G * np.sin(0.4)
    assert accelerations(model) == pytest.approx([fall * np.cos(0.4), -fall * np.sin(0.4), fall / 0.1], abs=1e-11)


def test_a_ball_on_a_turning_table_runs_in_a_circle_at_two_sevenths_of_its_rate():
    model = gallery.load("ball-on-turntable")
    known = gallery.expected("ball-on-turntable")["closed_form"]
    run = dl.simulate(model, 4.0, samples=41, **TIGHT)
    turned = known["rate"] * run.t
    assert known["rate"] == pytest.approx(2 / 7 * model.parameter_values["Omega"])
    assert run["x"] == pytest.approx(known["center"] + known["radius"] * np.cos(turned), abs=known["tolerance"])
    assert run["y"] == pytest.approx(known["radius"] * np.sin(turned), abs=known["tolerance"])


def test_ball_on_an_accelerated_cart_lags_behind():
    # a cart with the acceleration A: the ball gains 2/7 of A, so that 5/7 of it is left on the cart
    model = ball().coordinate("s")
    model.body("cart", joint=model.prismatic((1, 0, 0), "s"), mass=3).drive("s", "0.7*t**2")
    model.rolling_ball("stone", 0.1, ground="cart", point=(0.4, 0, 0))
    assert accelerations(model)[[0, 6]] == pytest.approx([0.4, 1.4], abs=1e-12)
    # the floor of the cart pushes the ball, and the ball the cart
    free = ball().coordinate("s")
    free.body("cart", joint=free.prismatic((1, 0, 0), "s"), mass=3).force("cart", (5, 0, 0))
    free.rolling_ball("stone", 0.1, ground="cart")
    x, *_, s = accelerations(free)
    assert (x / s, 2 * x + 3 * s) == pytest.approx((2 / 7, 5))
    reactions = dl.derive(free, engine="python").simulate(0.1, samples=2, integrator="rk4", step=0.05).joint_reactions()
    assert reactions["cart"].force[2] == pytest.approx(5 * G)


# an ellipsoid


def test_an_ellipsoid_rocks_at_the_rates_of_its_curvatures():
    # about its middle: m g (a²/c − c + h) / (I + m (c − h)²), for either axis
    model = stone(center=(0, 0, -0.01), mass=1, inertia=(2e-4, 16e-4, 17e-4))
    model.rolling_ellipsoid("stone", (0.2, 0.03, 0.02))
    eom, small = dl.derive(model, engine="python"), 1e-6
    for axis, inertia, semi in ((4, 2e-4, 0.03), (5, 16e-4, 0.2)):
        q = np.array([0, 0, 0.02, 0.4, 0, 0])
        q[axis] = small
        square = G * (semi**2 / 0.02 - 0.02 + 0.01) / (inertia + 0.01**2)
        assert eom.accelerations(q, np.zeros(6))[axis] / small == pytest.approx(-square, rel=1e-7)


def test_an_ellipsoid_of_equal_axes_is_a_ball_and_a_flat_one_a_disc():
    q, qd = np.array([0.1, 0.2, 0.5, 0.3, 0.4, 0.2]), np.array([0.3, -0.2, 0.1, 0.5, -0.6, 0.7])
    solid = {"center": (0.02, 0.01, -0.03), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
    tilted = {"normal": (0, -0.6, 0.8), "point": (0, 0.1, 0.2), "contact": False}
    pairs = (
        (lambda m: m.rolling_ball("stone", 0.3, **tilted), (0.3, 0.3, 0.3)),
        (lambda m: m.rolling_disk("stone", 0.3, **tilted), (0.3, 1e-9, 0.3)),
    )
    for other, semi in pairs:
        turned = stone(**solid).rolling_ellipsoid("stone", semi, rotation=(0, 0.7, 0), **tilted)
        found = [dl.derive(m, engine="python").accelerations(q, qd) for m in (other(stone(**solid)), turned)]
        assert found[1] == pytest.approx(found[0], rel=1e-9)


def across(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The cross product, faster than NumPy's."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def by_newton_and_euler(t: float, y: np.ndarray) -> np.ndarray:
    """The rattleback in body axes: y contains the upward direction m and ω; ρ is the vector from contact to mass center.

    F = M (ω̇ × ρ + ω × ρ̇ + ω × (ω × ρ) + g m) and I ω̇ + ω × I ω = −ρ × F, solved for ω̇.
    """
    squares, M = np.array([0.2, 0.03, 0.02]) ** 2, 1.0
    inertia = np.array([[2e-4, -2e-5, 0], [-2e-5, 16e-4, 0], [0, 0, 17e-4]])
    m, w = y[:3], y[3:6]
    turning, depth = across(m, w), np.sqrt(squares @ m**2)
    rho = squares * m / depth - [0, 0, 0.01]
    moving = squares * (turning / depth - m * (squares @ (m * turning)) / depth**3)
    push = across(w, moving + across(w, rho)) + G * m
    mass = inertia + M * (rho @ rho * np.eye(3) - np.outer(rho, rho))
    wd = np.linalg.solve(mass, -across(w, inertia @ w) - M * across(rho, push))
    heading = (w[2] * m[2] + w[0] * m[0]) / (1 - m[1] ** 2)  # the rate of the angle about the vertical
    return np.array([*turning, *wd, heading])


@pytest.mark.parametrize("until", [0.35, pytest.param(6.0, marks=pytest.mark.nightly)])
def test_rattleback_matches_newton_euler(until):
    model = gallery.load("rattleback")
    tilt = model.parameter_values["tilt"]
    s, c = np.sin(tilt), np.cos(tilt)
    run = dl.simulate(model, until, formalism="kane", samples=11, **TIGHT)
    start = [-c * s, s, c * c, 0, 0, -5, 0]
    y = solve_ivp(by_newton_and_euler, (0, until), start, "DOP853", run.t, rtol=1e-11, atol=1e-12).y
    assert run["gamma"] == pytest.approx(y[6], abs=1e-7)
    assert run.speeds == pytest.approx(y[3:6], abs=1e-6)


def test_rattleback_reverses_its_spin():
    known = gallery.expected("rattleback")["motion"]
    run = dl.simulate(gallery.load("rattleback"), 6.0, formalism="kane", samples=601, **TIGHT)
    assert run["gamma"].min() == pytest.approx(known["turned_back"], abs=1e-4)
    assert run.qd[3, -1] > 4.5  # it spins in the opposite direction, nearly as fast
    assert run.energy_error < 1e-9
    assert np.abs(run.violation).max() < 1e-12


def test_rattleback_keeps_spinning_in_its_preferred_direction():
    model = gallery.load("rattleback")
    run = dl.simulate(model, 6.0, formalism="kane", qd0=-model.initial[1], samples=61, integrator="dop853")
    assert run.qd[3].min() > 3


# friction


def test_jelletts_integral_while_a_tippe_top_turns_over():
    # contact forces do not change L·r, r from the mass center to the contact: L̇ = r × F, ṙ = a ω × e₃, L·(ω × e₃) = 0
    model = gallery.load("tippe-top")
    model.loads = model.loads[:1]  # the stem never touches
    run = dl.simulate(model, 3.0, formalism="kane", samples=31, **TIGHT)
    I1, I3, R, a, spin = (model.parameter_values[k] for k in ("I1", "I3", "R1", "a1", "spin"))
    (psi, theta, phi), (dpsi, dtheta, dphi) = run.q[3:], run.qd[3:]
    across, along = np.sin(theta) * dpsi, dphi + np.cos(theta) * dpsi
    w = np.array(
        [across * np.sin(phi) + dtheta * np.cos(phi), across * np.cos(phi) - dtheta * np.sin(phi), along]
    )  # in axes of the top
    turn = Rotation.from_euler("ZXZ", np.transpose([psi, theta, phi])).as_matrix()
    L = np.einsum("kij,jk->ik", turn, np.array([[I1], [I1], [I3]]) * w)
    r = a * turn[:, :, 2].T - np.array([[0], [0], [R]])
    assert np.sum(L * r, axis=0) == pytest.approx(np.full(31, I3 * spin * (a - R * np.cos(0.1))), rel=1e-9)
    assert np.degrees(theta[-1]) > 120  # it has flipped, and its mass center has risen
    assert run["z"][-1] > run["z"][0] + 4e-3
    assert run.energy_error < 1e-9


@pytest.mark.nightly
def test_the_tippe_top_of_leine_and_glocker_climbs_on_its_stem():
    known = gallery.expected("tippe-top")["motion"]
    run = dl.simulate(gallery.load("tippe-top"))
    assert run.switchings[0].t == pytest.approx(known["stem_touches"], abs=1e-6)
    assert np.degrees(run["theta"]).max() > 175
    late = run.t > 5
    assert np.abs(run.load_forces["body"][:, late]).max() == 0  # on the stem alone
    assert run.load_forces["stem"][2, late].mean() == pytest.approx(6e-3 * G, rel=0.05)
    assert run.energy_error < 1e-9


def test_bowling_ball_slides_then_rolls():
    known = gallery.expected("bowling-ball")["closed_form"]
    model = gallery.load("bowling-ball")
    run = dl.simulate(model, samples=5, **TIGHT)
    (rolls,) = run.switchings
    assert rolls.t == pytest.approx(known["time"], rel=known["tolerance"])
    assert rolls.q[0] == pytest.approx(known["way"], rel=known["tolerance"])
    assert run.qd[:, -1] == pytest.approx([known["speed"], 0, known["speed"] / 0.11], abs=known["tolerance"])
    p = model.parameter_values
    assert [known[k] for k in ("time", "speed", "way")] == pytest.approx(
        [2 * p["v"] / (7 * p["mu"] * G), 5 * p["v"] / 7, 12 * p["v"] ** 2 / (49 * p["mu"] * G)], rel=1e-14
    )
    assert run.work["lane"][-1] == pytest.approx(-p["m"] * p["v"] ** 2 / 7, rel=1e-9)


def test_ellipsoids_press_as_balls_and_discs_do():
    q, qd = np.array([0.1, 0.2, 0.2, 0.3, 0.4, 0.2]), np.array([0.3, -0.2, 0.1, 0.5, -0.6, 0.7])
    law = {"stiffness": 50, "damping": 2, "friction": 0.4, "normal": (0.1, -0.2, 1), "point": (0, 0.1, 0.2)}
    pairs = (
        (lambda m: m.sphere_on_plane("stone", radius=0.3, center=(0, 0, 0.1), **law), (0.3, 0.3, 0.3)),
        (lambda m: m.disk_on_plane("stone", 0.3, center=(0, 0, 0.1), **law), (0.3, 1e-9, 0.3)),
    )
    for other, semi in pairs:
        turned = stone().ellipsoid_on_plane("stone", semi, center=(0, 0, 0.1), rotation=(0, 0.7, 0), **law)
        found = [dl.derive(m, engine="python").accelerations(q, qd) for m in (other(stone()), turned)]
        assert np.abs(found[0][2] + G) > 1  # it does press
        assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.nightly
def test_an_ellipsoid_that_grips_moves_as_one_that_rolls():
    # a stiff plane with much friction, for a short while: both models from the same state
    solid = {"mass": 1, "center": (0, 0, -0.01), "inertia": (2e-4, 16e-4, 17e-4, -2e-5, 0, 0)}
    start = [0, 0, 0.02, 0, 0, 0], [0, -0.006, 0, -2, 0.3, 0]
    soft, hard = stone(**solid), stone(**solid).rolling_ellipsoid("stone", (0.2, 0.03, 0.02)).start(*start)
    start[0][2] -= G / 1e6
    soft.ellipsoid_on_plane("stone", (0.2, 0.03, 0.02), stiffness=1e6, damping=400, friction=5, viscous=3e4).start(
        *start
    )
    runs = [dl.simulate(m, 0.2, samples=5, integrator="radau", rtol=1e-8, atol=1e-10) for m in (soft, hard)]
    assert runs[0].q[3:] == pytest.approx(runs[1].q[3:], abs=2e-4)


# error messages


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda m: m.rolling_ball("stone", -1), "radius: the length is -1. Expected a positive number."),
        (lambda m: m.rolling_disk("stone", 0), "radius: the length is 0. Expected a positive number."),
        (lambda m: m.rolling_ellipsoid("stone", (1, 0, 2)), "semi_axes[1]: the length is 0. Expected a positive number."),
        (lambda m: m.rolling_ball("stone", 1, ground="stone"), "'stone' is both body and ground."),
        (lambda m: m.rolling_ball("world", 1, ground="stone"), "the world cannot roll."),
        (lambda m: m.rolling_ball("stone", 1, ground="ston"), "there is no body 'ston'. Did you mean 'stone'?"),
        (
            lambda m: m.ellipsoid_on_plane("stone", (1, 2, -3), stiffness=1),
            "semi_axes[2]: the length is -3. Expected a positive number.",
        ),
        (
            lambda m: m.ellipsoid_on_plane("stone", (1, 2, 3), stiffness=1, friction=1, planar=(0, 0, 1)),
            "the normal of the ground is not in the plane of motion",
        ),
    ],
)  # fmt: skip
def test_check_reports_invalid_rolling_contacts(add, message):
    found = add(stone()).check()
    assert message in " ".join(f"{each.path}: {each.fact} {each.advice}" for each in found)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda m: m.rolling_ball("stone", "x"), "rolling_ball 'rolling_ball1', radius: 'x' depends on x."),
        (lambda m: m.rolling_ball("stone", 1, normal=(0, 0, 0)), "has length 0. Expected a nonzero vector"),
        (lambda m: m.rolling_ellipsoid("stone", (1, 2)), "rolling_ellipsoid 'rolling_ellipsoid1', semi_axes"),
        (lambda m: m.rolling_ellipsoid("stone", (1, 2, 3), contact=1), "Expected a bool."),
        (lambda m: m.ellipsoid_on_plane("stone", (1, 2, 3), stifness=1), "Did you mean 'stiffness'?"),
    ],
)
def test_invalid_rolling_arguments(add, message):
    model = stone()
    with pytest.raises(InputError) as caught:
        add(model)
    assert message in str(caught.value)
    assert model.contacts == model.loads == ()


def test_initial_gap_is_reported():
    model = ball().start({"z": 0.3}, {}).rolling_ball("stone", 0.1, name="floor")
    (problem,) = model.check()
    assert "rolling_ball 'floor': the initial state violates it: φ = 0.2, expected 0" in str(problem)
    (problem,) = model.start({"z": 0.1}, {"z": 2}).check()
    assert "dφ/dt = 2, expected 0" in str(problem)


def test_rolling_from_a_file_equals_the_model():
    text = """
    name = "stone"
    gravity = [0, 0, -9.81]
    coordinates = { x = {}, y = {}, z = { start = 0.1 }, a = {}, b = {}, c = {} }
    [[body]]
    name = "stone"
    mass = 2
    inertia = [0.008, 0.008, 0.008]
    joint = { type = "free", displacement = ["x", "y", "z"], angles = ["a", "b", "c"], sequence = "zxy" }
    [[rolling_ball]]
    body = "stone"
    radius = 0.1
    [[rolling_ellipsoid]]
    body = "stone"
    semi_axes = [1, 2, 3]
    rotation = { axis = [0, 0, 1], angle = 0.3 }
    """
    expected = ball().rolling_ball("stone", 0.1).rolling_ellipsoid("stone", (1, 2, 3), rotation=(0, 0, 0.3))
    assert loads_toml(text).contacts == expected.contacts
    with pytest.raises(ModelFileError, match="there is no key 'radius' here"):
        loads_toml(text.replace("semi_axes", "radius"))
