"""Motors, drag and point gravity against closed forms."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.model.model import Model

G = 9.81
EXACT = {"integrator": "dop853", "rtol": 1e-12, "atol": 1e-13}


def wheel() -> Model:
    model = Model("wheel").coordinates("turn")
    return model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(0.3, 0.4, 0.3))


def stone() -> Model:
    model = Model("stone", gravity=(0, 0, -G)).coordinates("z")
    return model.body("stone", joint=model.prismatic((0, 0, 1), "z"), mass=0.5)


def probe(**at) -> Model:
    model = Model("probe").coordinate("x", *at.get("x", ())).coordinate("y", *at.get("y", ()))
    return model.body("probe", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=3)


def run_of(model: Model, duration: float, samples: int = 9):
    return dl.derive(model, engine="python").simulate(duration, samples=samples, **EXACT)


def test_a_motor_runs_up_to_the_speed_where_its_line_meets_the_load():
    # 0.4 ω̇ = 6 (1 − ω/12) − 1.5: ω = 9 (1 − exp(−t · 6 / (12 · 0.4)))
    run = run_of(wheel().motor("wheel", stall_torque=6, no_load_speed=12).joint_torque("wheel", -1.5), 3.0)
    assert np.allclose(run.qd[0], 9 * (1 - np.exp(-1.25 * run.t)), atol=1e-10)
    assert np.allclose(run.drives["motor1"], 6 - run.qd[0] / 2, atol=1e-10)


def test_a_direct_current_motor_with_its_rotor_has_an_electromechanical_time_constant():
    # (0.4 + 30² J) ω̇ = N k (V − N k ω) / R
    N, k, R, J = 30, 0.02, 1.5, 1e-4
    model = wheel().dc_motor("wheel", voltage=24, resistance=R, torque_constant=k, ratio=N).rotor("wheel", J, ratio=N)
    pace = (N * k) ** 2 / R / (0.4 + N * N * J)
    run = run_of(model, 2.0)
    assert np.allclose(run.qd[0], 24 / (N * k) * (1 - np.exp(-pace * run.t)), atol=1e-9)
    # what the battery gives is work and heat: V i = τ ω + R i²
    current = (24 - N * k * run.qd[0]) / R
    assert np.allclose(run.drives["dc_motor1"] * run.qd[0], 24 * current - R * current**2, atol=1e-9)


def test_motor_of_an_inverted_joint_reverses():
    model = wheel().motor("wheel", stall_torque=6, no_load_speed=12, command="1/2")
    model.dc_motor("wheel", voltage="t", resistance=1, torque_constant=1)
    q, qd = [0.0], [2.0]
    forwards = dl.derive(model, engine="python").accelerations(q, qd, 3.0)
    loads: Any = model.loads
    model.loads = tuple(load.reversed() for load in loads)
    assert dl.derive(model, engine="python").accelerations(q, [-2.0], 3.0) == pytest.approx(-forwards)


def test_a_stone_falls_towards_its_terminal_velocity():
    # m v̇ = m g − ½ρcA v²: v = v∞ tanh(g t / v∞)
    size = 0.5 * 1.2 * 0.7 * 0.04
    end = np.sqrt(0.5 * G / size)
    run = dl.simulate(
        stone().drag("stone", density=1.2, area=0.04, coefficient=0.7), 4.0, samples=9
    )  # from rest, by Taylor
    assert np.allclose(run.qd[0], -end * np.tanh(G * run.t / end), atol=1e-11)
    assert run.energy_error < 1e-12


def test_a_body_is_carried_along_by_the_wind():
    # v̇ = −c/m |v − w| (v − w) from rest: w − v = w / (1 + c w t / m)
    model = Model("leaf").coordinates("x")
    model.body("leaf", joint=model.prismatic((1, 0, 0), "x"), mass=0.2)
    run = run_of(model.drag("leaf", density=2, area=0.5, coefficient=1, wind=(3, 0, 0)), 2.0)
    assert np.allclose(3 - run.qd[0], 3 / (1 + 0.5 * 3 * run.t / 0.2), atol=1e-10)


def test_an_orbit_closes_after_keplers_period():
    # from the pericentre of an ellipse with a = 2, e = 0.6: T = 2π √(a³/μ)
    mu, a, e = 4.0, 2.0, 0.6
    speed = np.sqrt(mu / a * (1 + e) / (1 - e))
    model = probe(x=(a * (1 - e),), y=(0.0, speed)).point_gravity(("world", "probe"), mu=mu)
    run = run_of(model, 2 * np.pi * np.sqrt(a**3 / mu), samples=3)
    assert np.allclose(run.q[:, -1], run.q[:, 0], atol=1e-9)
    assert np.allclose(run.q[:, 1], [-a * (1 + e), 0], atol=1e-9)
    assert run.energy == pytest.approx(-3 * mu / (2 * a), rel=1e-10)


def test_two_stars_orbit_their_mass_center():
    # on circles: ω² d³ = G (m₁ + m₂), and each is pulled as strongly as the other
    model = Model("stars").parameters(G=2.0, m=3.0, M=5.0).coordinates("x", "y", "X", "Y")
    for name, mass, pair in (("light", "m", "xy"), ("heavy", "M", "XY")):
        model.body(name, joint=[model.prismatic(e, c) for e, c in zip(np.eye(3), pair, strict=False)], mass=mass)
    model.point_gravity(("heavy", "light"), mu="G*M")
    distance, rate = 2.0, np.sqrt(2.0 * 8.0 / 8.0)
    q = np.array([5 / 8, 0, -3 / 8, 0]) * distance
    for key in ("lagrange", "newton_euler", "kane"):
        found = dl.derive(model, key, engine="python").accelerations(q, [0] * 4)
        assert np.allclose(found, -(rate**2) * q, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wheel().motor("wheel", stall_torque=0, no_load_speed=1), "stall_torque: it is 0. Expected a positive"),
        (
            lambda: wheel().motor("wheel", stall_torque=1, no_load_speed=-2),
            "no_load_speed: it is -2. Expected a positive",
        ),
        (
            lambda: wheel().dc_motor("wheel", voltage=1, resistance=0, torque_constant=1),
            "resistance: it is 0. Expected a positive number.",
        ),
        (
            lambda: stone().drag("stone", density=1, area=1, coefficient=1, smoothing=0),
            "the smoothing is 0, so the force has no second derivative at zero velocity.",
        ),
        (lambda: stone().drag("world", density=1, area=1, coefficient=1), "it acts on the world, which is fixed."),
        (lambda: probe().point_gravity(("probe", "world"), mu=1), "the second is the world, which has no mass."),
        (lambda: probe().point_gravity(("probe", "probe"), mu=1), "'probe' would attract itself."),
        (lambda: probe().point_gravity(("sun", "probe"), mu=1), "there is no body 'sun'."),
    ],
)
def test_check_reports_invalid_loads(call, message):
    with pytest.raises(ModelError) as caught:
        call().require_valid()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wheel().motor("wheel", stall_torque="turn", no_load_speed=1), "stall_torque: 'turn' depends on turn."),
        (lambda: wheel().motor("wheel", stall_torque=1), "no_load_speed"),  # pyright: ignore[reportCallIssue]
        (
            lambda: wheel().dc_motor("wheel", voltage=1, resistance="t", torque_constant=1),
            "resistance: 't' depends on t.",
        ),
        (lambda: stone().drag("stone", density=1, area=1, coefficient=1, wind=(1, 2)), "Expected 3 components."),
        (lambda: probe().point_gravity(("world", "probe"), mu="x"), "mu: 'x' depends on x."),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


def test_body_at_the_center_of_attraction_is_reported():
    with pytest.raises(InputError, match="point_gravity 'point_gravity1': at t = 0 its ends coincide"):
        run_of(probe().point_gravity(("world", "probe"), mu=1), 1.0)
