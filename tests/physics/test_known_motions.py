"""Motions with closed forms or published benchmark values."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.mechanics import state_batch
from dalembert.model.model import Model
from dalembert.symbolic.floats import numbers

G = 9.81


def sleigh(m, inertia, a, **start) -> Model:
    model = Model("sleigh")
    for name in ("x", "y", "phi"):
        model.coordinate(name, *start.get(name, (0.0, 0.0)))
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("sleigh", joint=joints, mass=m, center=(a, 0, 0), inertia=(inertia, inertia, inertia))
    model.nonholonomic("-sin(phi)*dot(x) + cos(phi)*dot(y)", name="blade")
    return model.speeds("cos(phi)*dot(x) + sin(phi)*dot(y)", "dot(phi)")


def test_period_of_the_simple_pendulum():
    # IFToMM benchmark A01; the initial Taylor series has only the powers 2, 6, 10, ..., which misleads step control
    period = 2.367841947576237
    run = dl.simulate(dl.load("simple-pendulum"), times=[0, period / 4, period / 2, 3 * period / 4, period])
    assert np.allclose(run.q[0], [math.pi / 2, 0, -math.pi / 2, 0, math.pi / 2], atol=1e-13)
    assert np.allclose(run.qd[0], np.sqrt(2 * G) * np.array([0, -1, 0, 1, 0]), atol=1e-12)


@pytest.mark.parametrize("key", ["lagrange", "kane", "volterra"])
def test_the_chaplygin_sleigh_reverses(key):
    m, inertia, a, V, t0 = 2.0, 0.3, 0.4, 1.7, 1.3
    k = m * a * V / (inertia + m * a**2)

    def speed(t):
        return V * np.tanh(k * (t - t0))

    def spin(t):
        return V * math.sqrt(m / (inertia + m * a**2)) / np.cosh(k * (t - t0))

    model = sleigh(m, inertia, a, x=(0.0, float(speed(0.0))), phi=(0.0, float(spin(0.0))))
    run = dl.derive(model, key).simulate(3.0, samples=31)
    phi = run.q[2]
    assert np.allclose(run.speeds, [speed(run.t), spin(run.t)], atol=1e-12)
    assert np.allclose(run.qd[2], spin(run.t), atol=1e-12)
    assert np.allclose(np.cos(phi) * run.qd[0] + np.sin(phi) * run.qd[1], speed(run.t), atol=1e-12)


def test_the_knife_edge_does_not_slide_down():
    # turning at rate w from rest at the origin: x = (g sinα/2w²) sin²wt, y = (g sinα/2w²)(wt − ½ sin 2wt)
    alpha, w = 0.4, 1.7
    model = Model("knife", gravity=(G * math.sin(alpha), 0, -G * math.cos(alpha)))
    model.coordinates("x", "y").coordinate("phi", 0.0, w)
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("knife", joint=joints, mass=1.3, inertia=(0.2, 0.2, 0.2))
    model.nonholonomic("sin(phi)*dot(x) - cos(phi)*dot(y)", name="edge")
    run = dl.simulate(model, 6.0, samples=61)
    size = G * math.sin(alpha) / (2 * w**2)
    assert np.allclose(run.q[0], size * np.sin(w * run.t) ** 2, atol=1e-12)
    assert np.allclose(run.q[1], size * (w * run.t - np.sin(2 * w * run.t) / 2), atol=1e-12)


def test_the_heavy_top():
    # published benchmark: ω in body axes at steps of 0.01 s, printed with four decimals
    model = Model("top", gravity=(0, 0, -G))
    for name, rate in (("a", -4.61538), ("b", 0.0), ("c", 150.0)):
        model.coordinate(name, 0.0, rate)
    joints = [model.revolute(axis, q) for axis, q in (((0, 0, 1), "a"), ((1, 0, 0), "b"), ((0, 1, 0), "c"))]
    model.body("top", joint=joints, mass=15, center=(0, 1, 0), inertia=(0.234375, 0.46875, 0.234375))
    run = dl.simulate(model, 0.06, samples=7)
    motion = state_batch.motion_at(model, state_batch.States(run.q, run.qd, run.t))
    body = motion.body("top")
    omega = numbers(body.D @ motion.qd + body.E, 7)
    published = [
        [4.5748, 1.2594, -4.2537, -2.4401, 3.6303, 3.4673],
        [150, 150, 150, 150, 150, 150],
        [-0.6347, 4.4536, 1.8644, -3.9779, -2.9772, 3.2160],
    ]
    assert np.allclose(omega[:, 1:], published, atol=1e-3)


def test_a_torque_free_body_follows_eulers_equations():
    principal = np.array([0.5, 0.9, 1.2])
    model = Model("tumbling").coordinates("psi", "theta", "phi").start([0, 0.3, 0], [0.7, 0.2, 1.5])
    joints = [model.revolute(axis, q) for axis, q in (((0, 0, 1), "psi"), ((0, 1, 0), "theta"), ((1, 0, 0), "phi"))]
    model.body("body", joint=joints, mass=1, inertia=principal.tolist())
    run = dl.simulate(model, 1.0, samples=11)
    motion = state_batch.motion_at(model, state_batch.States(run.q, run.qd, run.t))
    body = motion.body("body")
    omega = numbers(body.D @ motion.qd + body.E, 11)

    def euler(_, w):
        return -np.cross(w, principal * w) / principal

    exact = solve_ivp(euler, (0, 1), omega[:, 0], t_eval=run.t, rtol=1e-12, atol=1e-13, method="DOP853")
    assert np.allclose(omega, exact.y, atol=1e-10)


def test_a_damped_oscillator_decays():
    # m ẍ + c ẋ + k x = 0 with damper and spring in parallel
    model = Model("oscillator").coordinate("x", 0.5)
    model.body("mass", joint=model.prismatic((1, 0, 0), "x", position=(3, 0, 0)), mass=2)
    model.spring(("world", "mass"), stiffness=18, natural_length=3)
    model.damper(("world", "mass"), damping=1.2)
    run = dl.simulate(model, 5.0, samples=51)
    decay, w = 0.3, math.sqrt(9 - 0.09)
    exact = 0.5 * np.exp(-decay * run.t) * (np.cos(w * run.t) + decay / w * np.sin(w * run.t))
    assert np.allclose(run.q[0], exact, atol=1e-13)
