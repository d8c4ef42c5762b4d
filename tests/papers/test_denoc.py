"""papers/denoc: reproduced tables and figures, and physical checks of the figures without printed numbers.

The paper plots and prints few numbers. The data of the figures are known: the motion (34)(35), the design of the step, and
the numbers of ReDySim's own runs, in denoc_runs.json.
"""

import math
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import cumulative_simpson, trapezoid

import dalembert as dl
from dalembert import papers
from dalembert.io import gallery
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.motion import move
from dalembert.papers import denoc_figures as figures
from dalembert.papers.denoc_figures import DesignedStep, hip, lift
from dalembert.papers.page import pose_bodies
from dalembert.papers.printed_values import published
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

RUN = published("denoc")["biped"]
G = 9.81


def moving(model, q, qd):
    return move(model, FLOATS, 0.0, vector(q.tolist()), vector(qd.tolist()), dict(model.parameter_values))


def energy(model, q, qd):
    state = moving(model, q, qd)
    T: Any = kinetic(state, state.qd)
    V: Any = potential(state)
    return float(T) + float(V)


# the tables


def test_every_number_agrees_except_misprints():
    paper = dl.paper("denoc", tables=list(papers.choices("denoc").tables))
    assert not paper.unexplained
    off = {(table.number, cell.row) for table in paper for cell in table.cells if not cell.same}
    assert {number for number, _ in off} == {"Section 2", "Section 3", "Section 4"}
    # equations with misprints have errors of order one; the corrected ones vanish
    for number, row in off - {pair for pair in off if pair[0] == "Section 4"}:
        assert "as printed" in row or "as 2.7.2 prints" in row
        assert min(cell.computed for cell in paper.table(number).cells if cell.row == row) > 0.5  # pyright: ignore[reportArgumentType]
    assert len(paper.misprints) == 7


def test_jacobian_is_the_derivative_of_the_closure():
    table = dl.paper("denoc", tables=["Section 4"]).table("Section 4")
    model, q, h = dl.load("four-bar"), np.array([0.4, 1.1, -1.7]), 1e-6
    values = model.parameter_values
    names: dict[Any, Any] = {"a1": values["a"], "a2": values["c"], "a3": values["b"]}
    sums = {"1": q[0], "2": q[1], "23": q[1] + q[2]}
    names |= {letter + key: f(x) for key, x in sums.items() for letter, f in (("s", math.sin), ("c", math.cos))}

    def gap(q):
        at = pose_bodies(model, q)
        return (at.points("crank", [(values["a"], 0, 0)]) - at.points("coupler", [(values["b"], 0, 0)]))[0, :2]

    slopes = np.stack([(gap(q + e) - gap(q - e)) / (2 * h) for e in h * np.eye(3)], axis=1)
    for k, row in enumerate(list(table.computed)[:2]):
        formulas: list[Any] = [sympy.sympify(entry) for entry in table.computed[row]]
        found = [float(formula.subs(names)) for formula in formulas]
        np.testing.assert_allclose(found, slopes[k], atol=1e-9)


# Figures 5 and 6


@pytest.fixture(scope="module")
def arm():
    """The Stanford arm without drives."""
    return figures.without_drives("stanford-arm")


def test_figure_5_force_and_torques_of_the_stanford_arm(arm):
    t, q, qd, _ = figures.stanford_motion()
    tau = np.array([panel.lines[0].y for panel in figures.stanford_torques()])
    np.testing.assert_allclose(q[:, -1], [math.pi / 2, math.pi / 2, 0.3, math.pi / 2, math.pi / 2, math.pi / 2])
    # the boom is vertical at first and carries all later links; at the end it is horizontal, and gravity loads the shoulder
    assert tau[2, 0] == pytest.approx((4.25 + 1.08 + 0.63 + 0.51) * G)
    assert tau[2, -1] == pytest.approx(0, abs=1e-12)
    # at rest there is no torque about the vertical axis, nor about the axis of the hand
    assert tau[[0, 5]][:, [0, -1]] == pytest.approx(0, abs=1e-12)
    # at rest the torques are the gradient of the potential energy
    h = 1e-6
    for k in (0, -1):
        slope = [(energy(arm, q[:, k] + e, 0 * e) - energy(arm, q[:, k] - e, 0 * e)) / (2 * h) for e in h * np.eye(6)]
        assert tau[:, k] == pytest.approx(slope, abs=1e-6)
    # the work of the torques is the increase of the energy
    work = cumulative_simpson((tau * qd).sum(axis=0), x=t, initial=0)
    gained = [energy(arm, q[:, k], qd[:, k]) - energy(arm, q[:, 0], qd[:, 0]) for k in range(0, 401, 40)]
    np.testing.assert_allclose(work[::40], gained, atol=1e-6 * np.abs(gained).max())


def test_figure_6_free_fall_of_the_stanford_arm(arm):
    boom, angles = figures.stanford_fall()
    np.testing.assert_allclose(boom.lines[0].y, -G * boom.lines[0].x ** 2 / 2, atol=1e-9)
    assert not any(line.y.any() for line in angles.lines)
    # off the vertical all joints move, and the energy is conserved
    tilted = dl.simulate(arm, 1.0, formalism="denoc", q0=[0, 0.1, 0, 0, 0.1, 0], qd0=np.zeros(6), samples=11)
    assert (np.abs(tilted.q[:, -1] - tilted.q[:, 0]) > 1e-4).all()
    np.testing.assert_allclose(tilted.energy, tilted.energy[0], rtol=1e-9)


# Figures 12 to 15


@pytest.fixture(scope="module")
def step():
    return DesignedStep()


def test_figures_12_and_13_hip_and_ankle_follow_the_design(step):
    # up is x here, forward −y, sideways z; roll and pitch of a leg are computed separately, which leaves 1 to 2 mm
    for k in range(0, 2001, 400):
        t, at = step.t[k], pose_bodies(step.model, step.q[:, k])
        x, y, _, _ = hip(t)
        assert at.points("hip-roll", [(0, 0, 0)])[0] == pytest.approx([0.92, -x, y], abs=2e-3)
        assert at.points("swing-ankle", [(0, 0, 0)])[0] == pytest.approx(
            [lift(t)[0], 0.3 * math.cos(2 * math.pi * t), 2 * y - 0.1], abs=2.5e-3
        )


def test_step_has_the_initial_state_of_redysims_file(step):
    np.testing.assert_allclose(step.q[:, 0], RUN["q"][0], atol=4e-7)
    np.testing.assert_allclose(step.qd[:, 0], RUN["qd"][0], atol=4e-7)
    # its roll joints deviate from the design by 0.005 rad, the others do not
    off = np.abs(step.q[:, ::400].T - RUN["q"]).max(axis=0)
    rolls = [1, 4, 7, 10]
    assert (off[rolls] > 4e-3).all()
    assert np.delete(off, rolls).max() < 1e-4


def test_figure_14_work_of_the_torques_is_the_energy_increase(step):
    work = cumulative_simpson((step.torques * step.qd).sum(axis=0), x=step.t, initial=0)
    start = energy(step.model, step.q[:, 0], step.qd[:, 0])
    gained = [energy(step.model, step.q[:, k], step.qd[:, k]) - start for k in (800, 2000)]
    np.testing.assert_allclose(work[[800, 2000]], gained, atol=1e-9)


def test_redysims_controlled_run_is_that_of_its_wrong_design(step):
    found = step.controlled(np.array(RUN["t"]))
    # to the printed digits and the accuracy of its integration
    np.testing.assert_allclose(found[:12].T, RUN["q"], atol=1e-6)
    np.testing.assert_allclose(found[12:].T, RUN["qd"], atol=1e-5)


def test_figure_15_open_loop_run_of_the_wrong_design_diverges_after_0_1_s(step):
    times = np.array(RUN["t"])
    wrong, right = (
        np.abs(step.open_loop(torques, times) - step.q[:, ::400]).max(axis=0)
        for torques in (step.redysim_torques, step.torques)
    )
    # at 0.1, 0.2, 0.3 and 0.4 s: half a degree, two, eight, and it falls
    assert wrong[1] < 0.01 < wrong[2] < 0.05 < wrong[3] < 0.2
    assert wrong[4] > 1
    # with the correct accelerations it grows equally fast from an error that is 10⁴ times smaller
    assert (right[1:5] < 3e-3 * wrong[1:5]).all()


# Figures 17 to 20


@pytest.mark.nightly
def test_figure_17_total_work_of_a_crank_revolution_is_zero():
    angle, torque = (panel.lines[0] for panel in figures.four_bar_driven())
    assert angle.y[-1] == pytest.approx(2 * math.pi)
    start = dl.load("four-bar").initial[0]
    held = dl.inverse_dynamics("four-bar", start, np.zeros(3), np.zeros(3), actuated=["q1"])
    assert torque.y[[0, -1]] == pytest.approx(held[0], abs=1e-9)
    assert trapezoid(torque.y, angle.y) == pytest.approx(0, abs=1e-3)


@pytest.mark.nightly
def test_figure_18_crank_oscillation_agrees_with_quadrature():
    crank = figures.four_bar_fall()[0].lines[0]
    known = gallery.expected("four-bar")["closed_form"]
    assert crank.y.min() == pytest.approx(known["turning"], abs=1e-4)
    assert crank.x[np.argmax(np.where(crank.x > 0.3, crank.y, -9))] == pytest.approx(known["period"], abs=2e-2)


def test_figures_19_and_20_recursions_are_linear_and_intersecting_axes_cheap():
    found = {letter: figures.costs(joints, 12) for letter, joints in figures.JOINTS.items()}
    for task in ("inverse", "forward"):
        one, two, three, mixed = (found[letter][task] for letter in "abcd")
        assert three < two < one
        assert three < mixed < one
    small, middle, large = (figures.costs((3,), n) for n in (6, 12, 18))
    for task in ("inverse", "forward"):
        assert large[task] - middle[task] == pytest.approx(middle[task] - small[task], rel=0.05)
    assert large["mass_matrix"] - middle["mass_matrix"] > 1.3 * (middle["mass_matrix"] - small["mass_matrix"])


@pytest.mark.nightly
def test_all_figures_are_drawn(tmp_path):
    written = dl.paper("denoc", tables=[], figures=list(papers.choices("denoc").figures)).write(tmp_path)
    assert len(written) == len(papers.choices("denoc").figures) + 1
