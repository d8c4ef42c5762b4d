"""The action and its variations: closed forms, and Principles 5.1 and 5.2 of papers/desapio along motions and other paths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as dl


def run_of(name, duration=0.5, samples=41, **more):
    return dl.derive(name, engine="python").simulate(duration, samples=samples, integrator="dop853", **more)


def action(run):
    return dl.derive(run.description, engine="python").action(run.t, run.q, run.qd, run.qdd)


def variation(run, **more):
    return dl.derive(run.description, engine="python").variation(run.t, run.q, run.qd, run.qdd, **more)


def oscillator(damping=0.0):
    model = dl.Model.from_energies(
        "oscillator",
        coordinates=["x"],
        kinetic="m*dot(x)**2/2",
        potential="k*x**2/2",
        forces={"x": "-c*dot(x)"} if damping else {},
        parameters={"m": 2.0, "k": 18.0, "c": damping} if damping else {"m": 2.0, "k": 18.0},
    )
    return model.start([0.4], [-0.5])


def test_the_action_of_an_oscillator():
    # m ω ((x₀² + x₁²) cos ωT − 2 x₀ x₁) / (2 sin ωT)
    run = run_of(oscillator(), 0.8, 41)
    x0, x1 = run.q[0, 0], run.q[0, -1]
    phase = 3 * 0.8
    expected = 2.0 * 3 * ((x0**2 + x1**2) * np.cos(phase) - 2 * x0 * x1) / (2 * np.sin(phase))
    assert action(run) == pytest.approx(expected, rel=1e-11)


def test_the_action_of_a_projectile_on_nonuniform_samples():
    # m Δz²/(2T) − m g T (z₀ + z₁)/2 − m g² T³/24
    stone = dl.Model.from_energies("stone", coordinates=["z"], kinetic="dot(z)**2/2", potential="9.81*z")
    run = dl.derive(stone, engine="python").simulate(times=[0, 0.3, 1.0, 1.1], q0=[2.0], qd0=[5.0], integrator="dop853")
    (z0, *_, z1), T = run.q[0], 1.1
    expected = (z1 - z0) ** 2 / (2 * T) - 9.81 * T * (z0 + z1) / 2 - 9.81**2 * T**3 / 24
    assert action(run) == pytest.approx(expected, rel=1e-12)


def test_the_change_is_the_second_variation():
    # of an oscillator I(ε) − I(0) = ½ ε² ∫ m δẋ² − k δx² dt exactly: twice the step, four times the change
    found = variation(run_of(oscillator(), 0.8, 41), steps=(0.2, 0.1, 0.05))
    assert found.vanishes
    assert not found.of_work
    assert_allclose(found.changes[:, 0], 4 * found.changes[:, 1], rtol=1e-9)
    # 0.8 is less than half a period: there the action is least (5.268)
    assert (found.changes > 0).all()


CASES = {
    "double-pendulum": "nothing but coordinates",
    "slider-crank-2": "a loop and a spring",
    "over-constrained": "redundant constraints",
    "knife-edge": "a constraint on velocities",
    "appell-hamel": "a constraint nonlinear in velocities",
    "rough-surface": "a constraint that is not ideal",
    "phong-disk": "a force of time",
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_variation_vanishes_along_a_motion(name):
    found = variation(run_of(name), count=2, seed=1)
    assert found.vanishes, CASES[name]
    assert found.ratios.max() < 1e-8
    assert_allclose(found.orders, 2, atol=0.05)


def test_forces_enter_by_their_virtual_work():
    run = run_of(oscillator(damping=3.0))
    assert variation(run).vanishes
    assert variation(run).of_work
    # without the damper in the equations the same path is not a motion
    path = (run.t, run.q, run.qd, run.qdd)
    other = dl.derive(oscillator(), engine="python").variation(*path, steps=(1e-3, 1e-5))
    assert not other.vanishes
    assert_allclose(other.orders, 1, atol=0.1)


def test_along_another_path_the_action_changes_at_first_order():
    eom = dl.derive("slider-crank-2", engine="python")
    slow = eom.simulate(0.5, samples=41, integrator="dop853", parameters={"g": 4.0})
    found = eom.variation(slow.t, slow.q, slow.qd, slow.qdd, count=2, steps=(1e-3, 1e-5))
    assert not found.vanishes
    assert found.ratios.max() > 1e-2
    assert_allclose(found.orders, 1, atol=0.05)
    assert "order" in str(found)
    assert len(str(found).splitlines()) == 2 + 2


def test_the_principle_with_a_moving_constraint():
    # a pendulum in Cartesian coordinates whose length is pulled in
    model = dl.Model("pulled", gravity=(0, -9.81, 0)).coordinate("x", start=0.6).coordinate("y", start=-0.8)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2.0)
    model.holonomic("x**2 + y**2 - (1 - 0.2*t**2)**2", name="rope")
    found = variation(run_of(model))
    assert found.vanishes
    assert_allclose(found.orders, 2, atol=0.05)


def test_wrong_arguments_raise():
    eom, zero = dl.derive("simple-pendulum", engine="python"), np.zeros((1, 3))
    with pytest.raises(dl.InputError, match="at least two increasing times"):
        eom.action([0.0, 0.0, 1.0], zero, zero, zero)
    with pytest.raises(dl.InputError, match=r"qd has shape \(1, 2\)\. Expected \(1, 3\)"):
        eom.action([0.0, 0.5, 1.0], zero, zero[:, :2], zero)
    with pytest.raises(dl.InputError, match="positive decreasing steps"):
        eom.variation([0.0, 0.5, 1.0], zero, zero, zero, steps=(0.1, 0.2))
