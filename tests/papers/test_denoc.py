"""papers/denoc: the Stanford arm of Figures 5 and 6, and the biped's step of Figures 12 to 15 with the run ReDySim prints.

The paper plots these figures and prints no numbers. What stands behind them is known: the motion (34)(35), the design of the
step, and the numbers of ReDySim's own run of it (example spatial_biped), in redysim_biped_run.json.
"""

import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.interpolate import CubicSpline

import dalembert as dl
from dalembert import gallery
from dalembert.algebra import FLOATS, vector
from dalembert.analysis.following import designed
from dalembert.importers.dh import from_links
from dalembert.kinematics import kinetic, move, potential

RUN = json.loads(Path(__file__).with_name("redysim_biped_run.json").read_text(encoding="utf-8"))
G = 9.81


def moving(model, q, qd):
    return move(model, FLOATS, 0.0, vector(q.tolist()), vector(qd.tolist()), dict(model.parameter_values))


def energy(model, q, qd):
    state = moving(model, q, qd)
    return float(kinetic(state, state.qd)) + float(potential(state))


def place(state, name):
    return state.body(name).frame.p.astype(float)


# Figures 5 and 6


@pytest.fixture(scope="module")
def arm():
    """The Stanford arm without drives."""
    data = tomllib.loads(gallery.path("stanford-arm").joinpath("model.toml").read_text(encoding="utf-8"))
    del data["joint_torque"]
    return from_links(data, "stanford-arm")


def cycloid(ends, T, t):
    """(34) and (35) from zero, with rates and accelerations."""
    ends, turn = np.array(ends)[:, None], 2 * math.pi / T
    q = ends / T * (t - np.sin(turn * t) / turn)
    return q, ends / T * (1 - np.cos(turn * t)), ends / T * turn * np.sin(turn * t)


def test_figure_5_force_and_torques_of_the_stanford_arm(arm):
    t = np.linspace(0, 10, 401)
    q, qd, qdd = cycloid([math.pi / 2, math.pi / 2, 0.3, math.pi / 2, math.pi / 2, math.pi / 2], 10.0, t)
    tau = dl.inverse_dynamics(arm, q, qd, qdd)
    # the boom stands at first and carries all behind it; level at the end, it carries nothing, and gravity bends at the shoulder
    assert tau[2, 0] == pytest.approx((4.25 + 1.08 + 0.63 + 0.51) * G)
    assert tau[2, -1] == pytest.approx(0, abs=1e-12)
    # at rest nothing turns the vertical axis, nor the hand about its own
    assert tau[[0, 5]][:, [0, -1]] == pytest.approx(0, abs=1e-12)
    # at rest the torques are the slope of the potential energy
    h = 1e-6
    for k in (0, -1):
        slope = [(energy(arm, q[:, k] + e, 0 * e) - energy(arm, q[:, k] - e, 0 * e)) / (2 * h) for e in h * np.eye(6)]
        assert tau[:, k] == pytest.approx(slope, abs=1e-6)
    # what the torques work is what the energy gains
    work = cumulative_simpson((tau * qd).sum(axis=0), x=t, initial=0)
    gained = [energy(arm, q[:, k], qd[:, k]) - energy(arm, q[:, 0], qd[:, 0]) for k in range(0, 401, 40)]
    np.testing.assert_allclose(work[::40], gained, atol=1e-6 * np.abs(gained).max())


def test_figure_6_free_fall_of_the_stanford_arm(arm):
    equations = dl.derive(arm, "kane")
    run = equations.simulate(1.0, q0=np.zeros(6), qd0=np.zeros(6), samples=11, integrator="dop853")
    expected = np.zeros((6, 11))
    expected[2] = -G * run.t**2 / 2
    np.testing.assert_allclose(run.q, expected, atol=1e-9)
    # off the vertical all joints move, and energy is kept
    tilted = equations.simulate(1.0, q0=[0, 0.1, 0, 0, 0.1, 0], qd0=np.zeros(6), samples=11, integrator="dop853")
    assert (np.abs(tilted.q[:, -1] - tilted.q[:, 0]) > 1e-4).all()
    np.testing.assert_allclose(tilted.energy, tilted.energy[0], rtol=1e-10)


# Figures 12 to 15


@pytest.fixture(scope="module")
def biped():
    return dl.load("biped")


def pendulum(t, T=0.5, h=0.92, d=0.15, s=0.06):
    """x and y of the hip at the height h, and the rate and acceleration of y: the inverted pendulum of Figure 12."""
    w = math.sqrt(G / h)
    x, sway = d * np.sinh(w * (t - T / 2)) / math.sinh(w * T / 2), s * np.cosh(w * (t - T / 2)) / math.cosh(w * T / 2)
    return x, s - sway, -s * w * np.sinh(w * (t - T / 2)) / math.cosh(w * T / 2), -w * w * sway


def lifted(t, T=0.5, f=0.05):
    """The height of the swinging ankle, its rate and acceleration."""
    turn = 2 * math.pi / T
    return f * (1 - np.cos(turn * t)), f * turn * np.sin(turn * t), f * turn**2 * np.cos(turn * t)


class Step:
    """The designed step at many times."""

    def __init__(self, model):
        self.t = np.linspace(0, 0.5, 2001)
        self.q, self.qd, self.qdd = designed(model, gallery.expected("biped")["motion"], self.t)

    def with_slips(self):
        """q̇ and q̈ as the trajectory of ReDySim's example has them, for the roll a of a leg: tan a = y/z from ankle to hip.

        ȧ = (ẏ − ż tan a) cos²a/z and ä = ((ÿ − z̈ tan a) cos²a − 2 ż ȧ)/z − 2 ȧ² tan a. ReDySim has ẏ + ż tan a in ȧ, and
        −((ÿ + z̈ tan a) cos²a + 2 ż ȧ)/z ± 2 ȧ tan a in ä: the sign of its main term is turned.
        """
        _, y, yd, ydd = pendulum(self.t)
        lift, fall, pull = lifted(self.t)
        qd, qdd = self.qd.copy(), self.qdd.copy()
        for (up, down), side, z, zd, zdd in (((1, 4), 1, 0.92, 0, 0), ((7, 10), -1, 0.92 - lift, -fall, -pull)):
            a = np.arctan2(y, z)
            rate = (yd + zd * np.tan(a)) * np.cos(a) ** 2 / z
            slip = -((ydd + zdd * np.tan(a)) * np.cos(a) ** 2 + 2 * zd * rate) / z + 2 * side * rate * np.tan(a)
            qd[up], qd[down], qdd[up], qdd[down] = rate, -rate, slip, -slip
        return qd, qdd


@pytest.fixture(scope="module")
def step(biped):
    return Step(biped)


def simulated(model, step, torques, samples=6):
    """The run of the biped from the start of its step, by the method and tolerances of ReDySim's example."""

    def rate(t, state):
        q, qd = state[:12], state[12:]
        return np.concatenate([qd, dl.forward_dynamics(model, q, qd, torques(t, q, qd))])

    start = np.concatenate([step.q[:, 0], step.qd[:, 0]])
    times = RUN["t"][:samples]
    return solve_ivp(rate, (0, times[-1]), start, t_eval=times, rtol=1e-4, atol=1e-6).y


def test_figures_12_and_13_hip_and_ankle_go_as_designed(biped, step):
    # up is x here, forward −y, sideways z; roll and pitch of a leg are worked out apart, which leaves a millimetre or two
    for k in range(0, 2001, 400):
        t, state = step.t[k], moving(biped, step.q[:, k], step.qd[:, k])
        x, y, _, _ = pendulum(t)
        assert place(state, "hip-roll") == pytest.approx([0.92, -x, y], abs=2e-3)
        assert place(state, "swing-ankle") == pytest.approx(
            [lifted(t)[0], 0.3 * math.cos(2 * math.pi * t), 2 * y - 0.1], abs=2.5e-3
        )


def test_the_step_begins_as_redysims_file_says(step):
    np.testing.assert_allclose(step.q[:, 0], RUN["q"][0], atol=4e-7)
    np.testing.assert_allclose(step.qd[:, 0], RUN["qd"][0], atol=4e-7)
    # its roll joints leave the design by five thousandths, the others do not
    off = np.abs(step.q[:, ::400].T - RUN["q"]).max(axis=0)
    rolls = [1, 4, 7, 10]
    assert (off[rolls] > 4e-3).all()
    assert np.delete(off, rolls).max() < 1e-4


def test_figure_14_torques_work_what_the_energy_gains(biped, step):
    tau = dl.inverse_dynamics(biped, step.q, step.qd, step.qdd)
    work = cumulative_simpson((tau * step.qd).sum(axis=0), x=step.t, initial=0)
    gained = [
        energy(biped, step.q[:, k], step.qd[:, k]) - energy(biped, step.q[:, 0], step.qd[:, 0]) for k in (800, 2000)
    ]
    np.testing.assert_allclose(work[[800, 2000]], gained, atol=1e-9)


def test_redysims_controlled_run_is_that_of_a_design_with_slips(biped, step):
    qd, qdd = step.with_slips()
    goal = CubicSpline(step.t, np.concatenate([step.q, qd, qdd]).T)

    def torques(t, q, rates):
        aim, rate, pull = goal(t).reshape(3, 12)
        return dl.inverse_dynamics(biped, q, rate, pull + 225 * (aim - q) + 40 * (rate - rates))

    found = simulated(biped, step, torques)
    # to the digits it prints, and the last ones of its integration
    np.testing.assert_allclose(found[:12].T, RUN["q"], atol=1e-6)
    np.testing.assert_allclose(found[12:].T, RUN["qd"], atol=1e-5)


def test_figure_15_the_torques_of_a_design_with_slips_leave_it_after_a_tenth_of_a_second(biped, step):
    tau = CubicSpline(step.t, dl.inverse_dynamics(biped, step.q, *step.with_slips()).T)
    found = simulated(biped, step, lambda t, q, qd: tau(t), samples=5)
    off = np.abs(found[:12] - step.q[:, :2000:400]).max(axis=0)
    # at 0.1, 0.2, 0.3 and 0.4 s: half a degree, two, eight, and it falls; with the right accelerations see test_following
    assert off[1] < 0.01 < off[2] < 0.05 < off[3] < 0.2
    assert off[4] > 1
