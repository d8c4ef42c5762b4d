"""Loads against closed forms: springs, friction, rotors and motors in joints, time tables, drives, gravity."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import dalembert as dl
from dalembert.errors import InputError, ModelError
from dalembert.formalisms import catalog
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.model.model import Model

G = 9.81
EXACT = {"integrator": "dop853", "rtol": 1e-12, "atol": 1e-13}


def slider(start: float = 0.0, rate: float = 0.0, mass: float = 2.0) -> Model:
    """A mass on a rail."""
    model = Model("slider").coordinate("x", start, rate)
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=mass)


def wheel(start: float = 0.0, rate: float = 0.0, inertia: float = 0.4) -> Model:
    """A wheel on an axle."""
    model = Model("wheel").coordinate("turn", start, rate)
    return model.body("wheel", joint=model.revolute((0, 1, 0), "turn"), mass=1, inertia=(0.3, inertia, 0.3))


def pendulum(start: float = 0.4, rate: float = 0.0) -> Model:
    model = Model("pendulum", gravity=(0, -G, 0)).coordinate("a", start, rate)
    return model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass=1.5, center=(0, -0.8, 0), inertia=(0, 0, 0.1))


# springs in joints


@pytest.mark.parametrize("key", catalog.KEYS)
def test_a_spring_in_a_joint_swings_with_its_period_about_its_rest(key):
    model = slider(0.5).joint_spring("block", stiffness=18.0, rest=0.2)
    period = 2 * math.pi / 3  # ω = √(18 / 2)
    run = dl.derive(model, key, engine="python").simulate(times=np.linspace(0, 2 * period, 33), **EXACT)
    assert np.allclose(run.q[0], 0.2 + 0.3 * np.cos(3 * run.t), atol=1e-9)
    assert np.allclose(run.energy, 0.5 * 18 * 0.3**2, rtol=1e-9)
    assert np.allclose(run.potential, 0.5 * 18 * (run.q[0] - 0.2) ** 2, atol=1e-12)


def test_a_torsion_spring_swings_a_wheel_and_its_damping_dies_out():
    # θ̈ + 2 d θ̇ + ω₀² (θ − rest) = 0
    I, k, c = 0.4, 3.6, 0.4  # noqa: E741
    model = wheel(1.0).joint_spring("wheel", stiffness=k, rest="0.3", damping=c)
    d, w0 = c / (2 * I), math.sqrt(k / I)
    w = math.sqrt(w0**2 - d**2)
    run = dl.simulate(model, 4.0, samples=41)
    expected = 0.3 + 0.7 * np.exp(-d * run.t) * (np.cos(w * run.t) + d / w * np.sin(w * run.t))
    assert np.allclose(run.q[0], expected, atol=1e-12)
    assert run.energy_error < 1e-13
    lost = cumulative_simpson(-c * run.qd[0] ** 2, x=run.t, initial=0)
    assert np.allclose(run.energy - run.energy[0], run.work.total, atol=1e-13)
    assert np.allclose(run.work.total, lost, atol=1e-3)


def test_a_spring_acts_along_the_motion_of_the_joint_not_along_a_coordinate():
    # the joint angle is b − a, so the spring couples both
    model = Model("two").coordinates("a", "b").parameters(k=5.0, r=0.1)
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 2))
    model.body("second", parent="first", joint=model.revolute((0, 0, 1), "b - a"), mass=1, inertia=(2, 2, 3))
    model.joint_spring("second", stiffness="k", rest="r")
    stretch = 0.7 - 0.2 - 0.1
    assert np.allclose(dl.derive(model).accelerations([0.2, 0.7], [0, 0]), [5 * stretch / 2, -5 * stretch / 3])


def test_a_spring_in_each_motion_of_a_joint():
    model = Model("cylindrical").coordinates("turn", "slide")
    model.body("sleeve", joint=model.cylindrical((0, 0, 1), "turn", "slide"), mass=2, inertia=(1, 1, 0.5))
    model.joint_spring("sleeve", stiffness=4.0).joint_spring("sleeve", stiffness=6.0, damping=1.0, motion=1)
    assert np.allclose(dl.derive(model).accelerations([0.3, 0.2], [0.7, 0.5]), [-4 * 0.3 / 0.5, (-6 * 0.2 - 0.5) / 2])


# friction in joints


def test_viscous_friction_dies_out_exponentially():
    run = dl.simulate(wheel(rate=3.0).joint_friction("wheel", viscous=0.2), 5.0, samples=26)
    assert np.allclose(run.qd[0], 3 * np.exp(-0.5 * run.t), atol=1e-12)
    assert run.energy_error < 1e-13
    assert np.allclose(run.work.total, run.energy - run.energy[0], atol=1e-12)


def test_coulomb_friction_slows_down_evenly():
    # far above the smoothing: v̇ = −c / m, within (smoothing / v)² / 2 of it
    model = slider(rate=5.0).joint_friction("block", coulomb=4.0, smoothing=1e-4)
    run = dl.simulate(model, 2.0, samples=21)
    assert run.qd[0].min() > 0.9
    assert np.allclose(run.qd[0], 5 - 2 * run.t, atol=1e-7)
    assert np.allclose(run.q[0], 5 * run.t - run.t**2, atol=1e-7)
    # the energy loss is force times distance
    assert np.allclose(run.work.total, -4 * run.q[0], atol=1e-6)
    assert run.energy_error < 1e-12


def test_coulomb_friction_stops_the_motion():
    model = slider(rate=1.0).joint_friction("block", coulomb=4.0, smoothing=1e-3)
    run = dl.simulate(model, 1.0, samples=11)
    assert np.allclose(run.qd[0, -5:], 0, atol=1e-6)
    assert run.q[0, -1] == pytest.approx(0.25, abs=1e-3)  # v² / (2 c / m)
    # the wrench of friction never pushes: |F| ≤ c
    force = 2.0 * run.qdd[0]
    assert np.abs(force).max() <= 4.0 + 1e-9


def test_friction_at_smoothing_speed_has_one_over_root_two_of_its_size():
    model = slider().joint_friction("block", viscous=0.5, coulomb=3.0, smoothing=0.2)
    eom = dl.derive(model)
    for v in (-0.2, 0.2, 0.0, 1.0):
        expected = -(0.5 * v + 3 * v / math.hypot(v, 0.2)) / 2.0
        assert eom.accelerations([0.0], [v])[0] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("key", ["lagrange", "kane", "hamilton", "gauss", "newton_euler"])
def test_the_work_of_friction_is_the_loss_of_energy(key):
    model = pendulum(2.0).joint_friction("bob", viscous=0.3, coulomb=0.5, smoothing=0.05)
    run = dl.derive(model, key).simulate(3.0, samples=301)
    assert run.energy[0] - run.energy[-1] > 3
    assert run.energy_error < 1e-11
    power = -(0.3 * run.qd[0] + 0.5 * run.qd[0] / np.hypot(run.qd[0], 0.05)) * run.qd[0]
    assert np.allclose(run.work.total, cumulative_simpson(power, x=run.t, initial=0), atol=2e-4)


# rotors and motors


@pytest.mark.parametrize("key", catalog.KEYS)
def test_a_rotor_adds_its_reflected_inertia(key):
    model = wheel(rate=0.5).joint_torque("wheel", 6.0).rotor("wheel", 0.01, ratio=-8)
    eom = dl.derive(model, key, engine="python")
    pace = 6.0 / (0.4 + 8**2 * 0.01)
    assert eom.accelerations([0.2], [0.5])[0] == pytest.approx(pace, rel=1e-12)
    run = eom.simulate(1.0, samples=5, **EXACT)
    assert np.allclose(run.qd[0], 0.5 + pace * run.t, atol=1e-10)
    assert np.allclose(run.kinetic, 0.5 * (0.4 + 0.64) * run.qd[0] ** 2, rtol=1e-10)


@pytest.mark.slow(7)
def test_all_formalisms_agree_on_an_arm_with_geared_motors():
    model = Model("arm", gravity=(0, -G, 0)).parameters(J=0.02, N=5.0).coordinates("a", "b")
    rod = {"mass": 1.2, "center": (0.3, 0, 0), "inertia": (0, 0.05, 0.05)}
    model.body("upper", joint=model.revolute((0, 0, 1), "a"), **rod)
    model.body("lower", parent="upper", joint=model.revolute((0, 0, 1), "b - a", position=(0.6, 0, 0)), **rod)
    without = dl.mass_matrix(model, [0.3, 0.8])
    model.rotor("upper", "J", ratio="N").rotor("lower", "2*J", ratio="N/2")
    # the second rotor rotates with b − a
    added = 0.02 * 25 * np.array([[1, 0], [0, 0]]) + 0.04 * 6.25 * np.array([[1, -1], [-1, 1]])
    assert np.allclose(dl.mass_matrix(model, [0.3, 0.8]) - without, added)
    agreement = dl.verify(model, states=20, engines=["native"])
    assert {v.status for v in agreement.formalisms.values()} == {"agrees"}
    assert agreement.recursion is not None
    assert agreement.recursion.status == "agrees"


def test_a_rotor_takes_its_share_of_the_torque_in_the_joint():
    model = wheel().joint_torque("wheel", 6.0).rotor("wheel", 0.01, ratio=8)
    eom = dl.derive(model, engine="python")
    pace = eom.accelerations([0.0], [0.0])[0]
    assert eom.joint_reactions([0.0], [0.0])["wheel"].moment[1] == pytest.approx(0.4 * pace)


def test_a_rotor_on_a_slide_is_a_mass():
    model = slider().force("block", (6, 0, 0)).rotor("block", 0.5, ratio=2)
    assert dl.derive(model).accelerations([0.0], [0.0])[0] == pytest.approx(6 / (2 + 2))


def test_actuator_saturates_at_its_limit():
    # −50 (x − 1) would be 50 at the start; the motor gives 4 until x > 0.92
    model = slider().actuator("block", "50*(1 - x)", limit=4.0)
    eom = dl.derive(model)
    for x in (-3.0, 0.0, 0.9, 0.95, 1.0, 1.07, 1.2, 8.0):
        assert eom.accelerations([x], [0.0])[0] == pytest.approx(np.clip(50 * (1 - x), -4, 4) / 2, abs=1e-13)
    run = eom.simulate(times=[0, 0.3, 0.6, 0.9])
    assert np.allclose(run.q[0], run.t**2, atol=1e-9)  # still cut off: 0.81 < 0.92


@pytest.mark.parametrize(
    ("limit", "low", "high"), [((-1, 3), -1.0, 3.0), ("top", -2.0, 2.0), (["-top/4", "top"], -0.5, 2.0), (0, 0.0, 0.0)]
)
def test_an_actuator_may_push_more_than_it_pulls(limit, low, high):
    model = slider().parameters(top=2.0).actuator("block", "10*x", limit=limit)
    eom = dl.derive(model, engine="python")
    for x in (-1.0, -0.03, 0.0, 0.1, 1.0):
        assert eom.accelerations([x], [0.0])[0] == pytest.approx(np.clip(10 * x, low, high) / 2, abs=1e-14)


def test_an_actuator_without_limit_is_a_joint_torque():
    free = slider().actuator("block", "10*x - dot(x)")
    plain = slider().joint_torque("block", "10*x - dot(x)", name="actuator1")
    assert free.loads == plain.loads


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.actuator("block", "x", limit=(3, 1)), "limit: the upper limit is 2 below the lower limit."),
        (lambda m: m.actuator("block", "x", limit=-1), "limit: the upper limit is 2 below the lower limit."),
        (lambda m: m.actuator("block", "x", limit=(1, 2, 3)), "limit: got 3 values. Expected one, or the lowest"),
        (lambda m: m.actuator("block", "x", limit="x"), "limit: 'x' depends on x."),
        (
            lambda m: m.joint_spring("block", stiffness="x"),
            "joint_spring 'joint_spring1', stiffness: 'x' depends on x.",
        ),
        (lambda m: m.joint_friction("block", coulomb="t"), "joint_friction 'joint_friction1', coulomb: 't' depends"),
        (lambda m: m.rotor("block", "x"), "rotor 'rotor1', inertia: 'x' depends on x."),
        (lambda m: m.rotor("block", 1, name="r").rotor("block", 1, name="r"), "rotor 'r': declared twice."),
    ],
)
def test_invalid_arguments_of_joint_loads(call, message):
    with pytest.raises(InputError) as caught:
        call(slider())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.joint_spring("blok", stiffness=1), "there is no body 'blok'. Did you mean 'block'?"),
        (lambda m: m.joint_spring("block", stiffness=1, joint=1), "body 'block' has no joint 1."),
        (lambda m: m.joint_friction("block", viscous=1, motion=1), "joint 0 of body 'block' has no motion 1."),
        (lambda m: m.rotor("block", 1, motion=2), "Its motions are 0 (displacement)."),
        (lambda m: m.rotor("shaft", 1), "there is no body 'shaft'."),
    ],
)
def test_check_reports_invalid_joint_loads(call, message):
    with pytest.raises(ModelError) as caught:
        call(slider()).require_valid()
    assert message in str(caught.value)


def test_no_load_pushes_along_the_parts_of_a_quaternion():
    model = Model("ball").coordinates("w", "x", "y", "z").start({"w": 1}, {})
    ball = model.spherical(quaternion=("w", "x", "y", "z"))
    model.body("ball", joint=[model.fixed(), ball], mass=1, inertia=(1, 1, 1))
    for call in (lambda m: m.joint_torque("ball", 1, joint=1), lambda m: m.rotor("ball", 1, joint=1, motion=3)):
        with pytest.raises(ModelError, match="is a quaternion joint, which has no joint angle to act along"):
            call(model.copy()).require_valid()
    with pytest.raises(ModelError, match="joint 0 of body 'ball' is fixed and cannot be driven"):
        model.copy().joint_spring("ball", stiffness=1).require_valid()


# time tables


TIMES = [0.5, 1.0, 1.2, 2.0]
PUSH = [1.0, 3.0, -2.0, 4.0]


def impulse(t: float) -> float:
    """The time integral of the table by the trapezoidal rule."""
    grid = np.array([0.0, *TIMES, 9.0])
    values = np.array([PUSH[0], *PUSH, PUSH[-1]])
    inner = np.sort(np.append(grid[grid < t], t))
    return float(np.trapezoid(np.interp(inner, grid, values), inner))


def test_a_table_of_force_gives_its_impulse():
    rows = [[value, 0, -value] for value in PUSH]
    model = Model("block").coordinates("x", "z")
    model.body("block", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=2)
    model.wrench_table("block", TIMES, force=rows)
    run = dl.simulate(model, 3.0, samples=31, rtol=1e-11, atol=1e-12)
    expected = [impulse(t) / 2 for t in run.t]
    assert np.allclose(run.qd[0], expected, atol=1e-8)
    assert np.allclose(run.qd[1], np.negative(expected), atol=1e-8)
    assert run.energy_error < 1e-7


def test_table_is_exact_at_its_times_and_constant_outside():
    model = slider().wrench_table("block", TIMES, force=[[value, 0, 0] for value in PUSH])
    eom = dl.derive(model, engine="python")
    for t in (-1.0, 0.0, *TIMES, 0.6, 0.99, 1.1, 1.9, 2.5):
        expected = np.interp(t, TIMES, PUSH) / 2
        assert eom.accelerations([0.0], [0.0], t)[0] == pytest.approx(expected, abs=1e-13)
    in_machine_code = dl.derive(model)
    t = np.linspace(-0.5, 2.5, 61)
    assert np.allclose(
        in_machine_code.accelerations(np.zeros((1, 61)), np.zeros((1, 61)), t)[0], np.interp(t, TIMES, PUSH) / 2
    )


def test_a_table_of_torque_turns_a_wheel():
    model = wheel().wrench_table("wheel", TIMES, torque=[[0, value, 0] for value in PUSH], name="motor")
    assert [load.name for load in model.loads] == ["motor"]
    run = dl.simulate(model, 3.0, samples=16, rtol=1e-11, atol=1e-12)
    assert np.allclose(run.qd[0], [impulse(t) / 0.4 for t in run.t], atol=1e-8)


def test_force_and_torque_of_one_table_act_at_a_point_in_the_axes_of_a_frame():
    # force (0, 3, 0) in body axes at (0.5, 0, 0) of a turning arm: the moment about z is 0.5 · 3 at every angle
    model = Model("arm").coordinate("a", 0.7)
    model.body("arm", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 2))
    model.wrench_table("arm", [0.0], force=[[9, 3, 0]], torque=[[0, 0, 0.4]], point=(0.5, 0, 0), frame="arm")
    assert [load.name for load in model.loads] == ["wrench_table1", "wrench_table1, torque"]
    eom = dl.derive(model, engine="python")
    for angle in (0.0, 0.7, 2.0):
        assert eom.accelerations([angle], [0.0])[0] == pytest.approx((0.5 * 3 + 0.4) / 2)


def test_a_table_of_joint_torques():
    model = slider().torque_table("block", TIMES, PUSH)
    eom = dl.derive(model, engine="python")
    t = np.linspace(0, 3, 31)
    found = eom.accelerations(np.zeros((1, 31)), np.zeros((1, 31)), t)[0]
    assert np.allclose(found, np.interp(t, TIMES, PUSH) / 2, atol=1e-13)


def test_long_tables_are_exact():
    times = np.linspace(0, 10, 2000)
    values = np.sin(times)
    model = slider().torque_table("block", times.tolist(), values.tolist())
    t = np.random.default_rng(1).uniform(0, 10, 50)
    found = dl.derive(model, engine="python").accelerations(np.zeros((1, 50)), np.zeros((1, 50)), t)[0]
    assert np.allclose(found, np.interp(t, times, values) / 2, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.wrench_table("block", [0, 1]), "got neither force nor torque."),
        (lambda m: m.wrench_table("block", [0, 1], force=[[1, 0, 0]]), "Expected 2 rows of 3"),
        (lambda m: m.wrench_table("block", [0, 1], force=[[1, 0], [1, 0]]), "Expected 2 rows of 3"),
        (
            lambda m: m.wrench_table("block", [1, 1], force=[[1, 0, 0]] * 2),
            "times: times[1] is 1 and times[0] is 1. Expected increasing times",
        ),
        (
            lambda m: m.wrench_table("block", [], force=[]),
            "times: got 0 times. Expected 1 to 1000000 increasing times.",
        ),
        (lambda m: m.wrench_table("block", range(1_000_001), force=[]), "got 1000001 times."),
        (lambda m: m.wrench_table("block", [0, math.nan], force=[[0, 0, 0]] * 2), "Expected a finite number."),
        (lambda m: m.wrench_table("block", [0], torque=[[0, math.inf, 0]]), "torque[0]: the value is inf."),
        (lambda m: m.torque_table("block", [0, 1], [1]), "got 1 values for 2 times. Expected one for each time."),
        (lambda m: m.torque_table("block", [0, 10**400], [0, 1]), "times[1]: "),
        (
            lambda m: m.wrench_table("block", [0, 1], force=[[1, 0, 0]] * 2, torque=[[0, 0, 0]]),
            "Expected 2 rows of 3",
        ),
    ],
)
def test_invalid_table_arguments(call, message):
    model = slider()
    with pytest.raises(InputError) as caught:
        call(model)
    assert message in str(caught.value)
    assert model.loads == ()


def test_table_description_and_its_negative():
    (load,) = slider().torque_table("block", np.array([0, 2]), ["1/2", -3]).loads
    assert isinstance(load, JointTorque)
    assert load.law() == ("torque_table", "a table from t = 0 to 2")
    kind, element = load.reversed().element(set())
    assert (kind, element["times"], element["values"]) == ("torque_table", [0, 2], [-0.5, 3])


# drives


@pytest.mark.parametrize("key", ["lagrange", "maggi", "udwadia_kalaba", "gauss", "dirac"])
def test_the_multiplier_of_a_drive_is_the_torque_it_takes(key):
    # (m l² + I) θ̈ + m g l sin θ for θ = 0.4 + 0.3 sin 2t
    model = pendulum(0.4, 0.6).drive("a", "0.4 + 0.3*sin(2*t)")
    assert model.constraint_names == ("drive of a",)
    assert model.holonomic_constraints[0].description == "prescribed motion of a"
    run = dl.derive(model, key).simulate(3.0, samples=31)
    angle = 0.4 + 0.3 * np.sin(2 * run.t)
    assert np.allclose(run.q[0], angle, atol=1e-11)
    torque = (1.5 * 0.64 + 0.1) * (-1.2 * np.sin(2 * run.t)) + 1.5 * G * 0.8 * np.sin(angle)
    assert np.allclose(run.multipliers[0], torque, atol=1e-9)
    assert np.allclose(run.reactions[0], torque, atol=1e-9)
    assert run.energy_error < 1e-9


def test_a_drive_moves_one_joint_and_leaves_the_others_free():
    # a shaken pendulum: l θ̈ + g sin θ + ẍ cos θ = 0, and the rail takes m (ẍ + d²/dt² (l sin θ))
    m, l = 1.5, 0.8  # noqa: E741
    model = Model("shaken", gravity=(0, -G, 0)).coordinate("x", 0.0, 0.6).coordinate("a", 0.5)
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.body("bob", parent="cart", joint=model.revolute((0, 0, 1), "a"), mass=m, center=(0, -l, 0))
    model.drive("x", "0.2*sin(3*t)", name="shaker")
    run = dl.derive(model, "lagrange").simulate(2.0, samples=21)
    pace = -1.8 * np.sin(3 * run.t)
    a, rate, bent = run.q[1], run.qd[1], run.qdd[1]
    assert np.allclose(run.q[0], 0.2 * np.sin(3 * run.t), atol=1e-12)
    assert np.allclose(l * bent + G * np.sin(a) + pace * np.cos(a), 0, atol=1e-10)
    push = 2 * pace + m * (pace + l * (bent * np.cos(a) - rate**2 * np.sin(a)))
    assert np.allclose(run.multipliers[0], push, atol=1e-9)


def test_a_drive_with_feedback_may_start_off_its_motion():
    # the error e obeys ë + 6 ė + 9 e = 0: e = (e₀ + 3 e₀ t) exp(−3t) from rest against a standing target
    model = pendulum(0.9).drive("a", "0.4", feedback=(9, 6))
    run = dl.derive(model, "lagrange").simulate(2.0, samples=21)
    assert np.allclose(run.q[0] - 0.4, 0.5 * (1 + 3 * run.t) * np.exp(-3 * run.t), atol=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.drive("y", "t"), "drive: there is no coordinate 'y'."),
        (lambda m: m.drive("x", "2*x"), "'drive of x'"),
        (lambda m: m.drive("x", "dot(x)"), "'drive of x'"),
        (lambda m: m.drive("x", "t", feedback=3), "feedback"),
    ],
)
def test_invalid_drive_arguments(call, message):
    with pytest.raises(InputError) as caught:
        call(slider())
    assert message in str(caught.value)


# gravity


@pytest.mark.parametrize("g", [(0, 0, 0), (0, 0, -G), (1.0, -2.0, 3.0), ("g", "-g/2", 0)])
def test_gravity_points_anywhere_or_nowhere(g):
    model = Model("stone", gravity=g).parameters(g=4.0).coordinates("x", "y", "z")
    model.body("stone", joint=[model.prismatic(e, c) for e, c in zip(np.eye(3), "xyz", strict=True)], mass=3)
    expected: list[Any] = [{"g": 4.0, "-g/2": -2.0}.get(x, x) for x in g]
    run = dl.simulate(model, 2.0, samples=5)
    assert np.allclose(run.q, np.outer(expected, run.t**2 / 2), atol=1e-12)
    assert np.allclose(run.energy, 0, atol=1e-11)
    assert dl.derive(model).ignorable == tuple(c for c, x in zip("xyz", g, strict=True) if x == 0)


def test_gravity_acts_at_the_mass_center_of_a_tilted_body():
    # a pendulum about an axis that leans by 0.6 from the horizontal feels g cos 0.6
    model = Model("leaning", gravity=(0, 0, -G)).coordinate("a", 0.3)
    hinge = model.revolute((0, 1, 0), "a", rotation=(0.6, 0, 0))
    model.body("bob", joint=hinge, mass=2, center=(0, 0, -0.5), inertia=(0, 0, 0))
    expected = -G * math.cos(0.6) / 0.5 * math.sin(0.3)
    assert dl.derive(model).accelerations([0.3], [0.0])[0] == pytest.approx(expected)


def test_gravity_has_three_components():
    with pytest.raises(InputError, match=r"gravity has 2 components\. Expected 3"):
        Model("flat", gravity=(0, -G))


def test_two_loads_may_not_share_a_name():
    with pytest.raises(InputError, match="push"):
        slider().force("block", (1, 0, 0), name="push").joint_spring("block", stiffness=1, name="push")
