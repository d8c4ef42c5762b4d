"""The rate of energy equals the supplied power: (80) of papers/volterra and its rheonomic form."""

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.model.model import Model

G = 9.81
by_every_formalism = pytest.mark.parametrize("key", catalog.KEYS)


def rate(values, t):
    """dx/dt at the inner samples, by central differences of order 6."""
    h = t[1] - t[0]
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    return np.convolve(values, weights[::-1], mode="valid")


def driven_pendulum() -> Model:
    """A pendulum with a damper to an offset point, a friction torque and a time-dependent torque."""
    model = Model("driven pendulum", gravity=(0, -G, 0)).parameters(m=1.2, l=0.8).coordinate("theta", 1.1, 0.3)
    model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass="m", center=(0, "-l", 0))
    model.damper(("bob", "world"), damping=0.4, points=((0, "-l", 0), (2, -1, 0)), name="dashpot")
    return model.joint_torque("bob", "0.9*cos(3*t) - 0.2*dot(theta)")


def power_by_hand(t, theta, thetad):
    """Joint torque times rate, less damping times the square of the rate of the damper's length."""
    span = np.array([0.8 * np.sin(theta) - 2, -0.8 * np.cos(theta) + 1])
    velocity = 0.8 * thetad * np.array([np.cos(theta), np.sin(theta)])
    length_rate = np.sum(span * velocity, axis=0) / np.hypot(*span)
    return (0.9 * np.cos(3 * t) - 0.2 * thetad) * thetad - 0.4 * length_rate**2


def test_energy_rate_equals_power():
    run = dl.simulate(driven_pendulum(), 4.0, samples=2001)
    power = power_by_hand(run.t, run.q[0], run.qd[0])
    assert np.ptp(run.energy) > 1
    assert np.allclose(rate(run.energy, run.t), power[3:-3], atol=1e-9)


@by_every_formalism
def test_energy_balance_with_dampers_and_time_dependent_forces(key):
    run = dl.derive(driven_pendulum(), key).simulate(4.0, samples=401, integrator="taylor")
    assert run.energy_error <= 1e-13
    work = cumulative_simpson(power_by_hand(run.t, run.q[0], run.qd[0]), x=run.t, initial=0)
    assert np.allclose(run.work.total, work, atol=1e-6)
    assert np.allclose(run.energy - run.energy[0], run.work.total, atol=1e-12)


def test_energy_of_a_conservative_system_is_constant():
    run = dl.simulate(dl.load("double-pendulum"), 5.0, samples=101)
    assert np.allclose(run.energy, run.energy[0], rtol=1e-13)
    assert not run.work.total.any()


def shaken_pendulum() -> Model:
    """A pendulum with a prescribed pivot motion x = 0.1 sin t: the joint of the pivot has no coordinate."""
    model = Model("shaken", gravity=(0, -G, 0)).coordinate("theta", 0.9, -0.4)
    joints = [model.prismatic((1, 0, 0), "0.1*sin(t)"), model.revolute((0, 0, 1), "theta")]
    return model.body("bob", joint=joints, mass=2, center=(0, -0.7, 0))


def test_a_prescribed_joint_supplies_the_power_of_the_pivot_force():
    run = dl.simulate(shaken_pendulum(), 6.0, samples=601, integrator="taylor")
    theta, thetad = run.q[0], run.qd[0]
    pace, push = 0.1 * np.cos(run.t), -0.1 * np.sin(run.t)
    # L = ½m(ẋ² + 2ẋlθ̇cosθ + l²θ̇²) + mgl cosθ with the prescribed x(t)
    jacobi = 2 / 2 * (0.7**2 * thetad**2 - pace**2) - 2 * G * 0.7 * np.cos(theta)
    slope = 2 * (pace * push + push * 0.7 * thetad * np.cos(theta))  # ∂L/∂t
    assert np.allclose(run.jacobi, jacobi, atol=1e-12)
    assert np.allclose(jacobi - jacobi[0], cumulative_simpson(-slope, x=run.t, initial=0), atol=1e-7)
    assert run.energy_error <= 1e-13
    # only the pivot can exert a horizontal force on the mass center
    force = 2 * (push + 0.7 * (run.qdd[0] * np.cos(theta) - thetad**2 * np.sin(theta)))
    assert list(run.work) == ["prescribed motion"]
    assert np.allclose(run.power("prescribed motion"), force * pace, atol=1e-12)
    assert np.allclose(run.work.total, cumulative_simpson(force * pace, x=run.t, initial=0), atol=1e-7)
    assert np.allclose(run.energy - run.energy[0], run.work.total, atol=1e-12)
    assert np.ptp(run.energy) > 0.05


@by_every_formalism
def test_a_rheonomic_constraint_does_work(key):
    # a bead on a ring that grows and shrinks: the ring's force is radial, and so is its motion
    model = Model("breathing ring", gravity=(0, -G, 0)).coordinate("x", 1.0, 0.3).coordinate("y", 0.0, 0.5)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1.5)
    model.holonomic("x**2 + y**2 - (1 + 0.1*sin(3*t))**2", name="ring")
    run = dl.derive(model, key).simulate(0.5, samples=101, integrator="taylor")
    assert run.energy_error <= 1e-12
    power = np.sum(run.reactions * run.qd, axis=0)
    assert np.allclose(run.work.total, cumulative_simpson(power, x=run.t, initial=0), atol=1e-6)
    # the reaction is radial
    assert np.allclose(run.reactions[0] * run.q[1], run.reactions[1] * run.q[0], atol=1e-9)
    assert np.ptp(run.energy) > 0.1


@pytest.mark.parametrize("key", ["lagrange", "maggi"])
def test_a_homogeneous_nonlinear_constraint_does_no_work(key):
    # Aᵀλ·q̇ = 2λψ = 0 for ψ of second degree
    model = Model("cone", gravity=(0, 0, -G))
    for name, start in (("x", 0.6), ("y", 0.8), ("z", 0.5)):
        model.coordinate(name, 0.0, start)
    model.body("point", joint=[model.prismatic(e, c) for e, c in zip(np.eye(3), "xyz", strict=True)], mass=1)
    model.nonholonomic("dot(x)**2 + dot(y)**2 - 4*dot(z)**2")
    run = dl.derive(model, key).simulate(0.2, samples=21)
    assert np.allclose(run.energy, run.energy[0], rtol=1e-13)
    assert np.allclose(run.q[2], 0.5 * run.t - G / 10 * run.t**2, atol=1e-13)
