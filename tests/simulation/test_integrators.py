"""Every integrator on closed-form motions; samples, dense output, progress, drift."""

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.model import Model
from dalembert.simulation.integrators.registry import NAMES

TIGHT = {
    "taylor": {},
    "rk45": {"rtol": 1e-10, "atol": 1e-12},
    "dop853": {"rtol": 1e-12, "atol": 1e-13},
    "rk4": {"step": 1e-3},
    "radau": {"rtol": 1e-10, "atol": 1e-12},
    "ida": {"rtol": 1e-11, "atol": 1e-13},
}
TEXTBOOK = ("algorithm3", "algorithm4", "algorithm5")  # of first order: see test_drift
by_every_integrator = pytest.mark.parametrize("integrator", NAMES)
by_every_accurate_one = pytest.mark.parametrize("integrator", TIGHT)


def oscillator() -> Model:
    """ẍ = −9x, started at x = 0.5 with ẋ = 1.2."""
    model = Model("oscillator").coordinate("x", 0.5, 1.2)
    return model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=2).spring(("world", "mass"), stiffness=18)


def exact(t):
    return 0.5 * np.cos(3 * t) + 0.4 * np.sin(3 * t)


@pytest.fixture(scope="module")
def spring():
    return dl.derive(oscillator(), "lagrange")


@pytest.fixture
def equations(spring, integrator):
    """The oscillator by the formalism that an integrator requires, if any."""
    own = {"algorithm5": "hamilton", "collocation": "phong"}
    return dl.derive(oscillator(), own[integrator]) if integrator in own else spring


def bob() -> Model:
    """A pendulum in Cartesian coordinates, x² + y² = 1."""
    model = Model("bob", gravity=(0, -9.81, 0)).coordinate("x", 1.0).coordinate("y", 0.0)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    return model.holonomic("x**2 + y**2 - 1", name="rod")


def test_names_of_the_integrators():
    assert ("taylor", "rk45", "dop853", "rk4", "radau", "ida", "collocation", *TEXTBOOK) == NAMES


@by_every_accurate_one
def test_harmonic_oscillator(spring, integrator):
    run = spring.simulate(4.0, samples=41, integrator=integrator, **TIGHT[integrator])
    assert run.integrator == integrator
    assert np.allclose(run.q[0], exact(run.t), atol=2e-9)
    assert np.allclose(run.qdd[0], -9 * run.q[0], atol=1e-12)
    assert run.status == "The simulation reached its end."


@by_every_accurate_one
def test_arbitrary_sample_times_and_initial_time(integrator):
    # ẍ = cos t from rest at t = 2: explicit time must be t, not the time since the start
    model = Model("pushed").coordinates("x")
    model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1).force("mass", ("cos(t)", 0, 0))
    times = [2.0, 2.1, 2.7, 4.5]
    run = dl.derive(model, "kane").simulate(times=times, integrator=integrator, **TIGHT[integrator])
    assert run.t.tolist() == times
    closed = -np.cos(run.t) + math.cos(2) - math.sin(2) * (run.t - 2)
    assert np.allclose(run.q[0], closed, atol=1e-9)
    late = dl.derive(model, "kane").simulate(2.5, t0=2.0, samples=2, integrator=integrator, **TIGHT[integrator])
    assert late.t.tolist() == [2.0, 4.5]
    assert late.q[0, -1] == pytest.approx(closed[-1], abs=1e-9)


@by_every_accurate_one
def test_dense_output_interpolates_the_samples(spring, integrator):
    run = spring.simulate(2.0, samples=21, integrator=integrator, dense=True, **TIGHT[integrator])
    for t, state in zip(run.t, np.concatenate([run.q, run.v]).T, strict=True):
        assert np.allclose(run.at(t), state, atol=1e-9)
    for t in (0.0, 0.123, 1.01, 1.999, 2.0):
        assert run.at(t)[0] == pytest.approx(exact(t), abs=1e-8)


@by_every_integrator
def test_reports_progress_up_to_one(equations, integrator):
    fractions = []
    equations.simulate(1.0, samples=11, integrator=integrator, progress=fractions.append)
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] <= fractions[-1] == 1.0


@by_every_integrator
def test_progress_callback_can_stop_a_run(equations, integrator):
    run = equations.simulate(50.0, samples=501, integrator=integrator, progress=lambda done: done > 0.3)
    assert run.status == "The simulation was stopped by its progress callback before its end."
    assert 15 <= run.t[-1] < 30
    assert run.q.shape == (1, len(run.t))
    assert len(run.energy) == len(run.t)


def test_rk4_takes_equal_steps_to_the_end(spring):
    run = spring.simulate(1.0, samples=2, integrator="rk4", step=0.3, dense=True)
    ends = [piece.t1 for piece in run.dense]
    assert ends == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=1e-15)
    assert ends[-1] == 1.0
    assert run.steps == 4
    assert run.evaluations == 17


@by_every_integrator
def test_steps_do_not_exceed_max_step(equations, integrator):
    run = equations.simulate(20.0, samples=2, integrator=integrator, max_step=0.05, dense=True)
    lengths = [piece.t1 - piece.t0 for piece in run.dense]
    assert max(lengths) <= 0.05 + 1e-11


def test_default_is_dop853_with_a_small_tolerance(spring):
    default, named = spring.simulate(2.0, samples=11), spring.simulate(2.0, samples=11, integrator="auto")
    assert default.integrator == named.integrator == "dop853"
    assert (default.q == named.q).all()
    assert np.abs(default.q[0] - exact(default.t)).max() < 1e-13
    rough = spring.simulate(2.0, samples=11, integrator="auto", rtol=1e-6)
    assert 1e-12 < np.abs(rough.q[0] - exact(rough.t)).max() < 1e-5


def test_default_crosses_singular_configurations_by_taylor():
    # two wires that cross: at the crossing the gradient of the constraint is zero
    wires = dl.Model.from_energies(
        "crossing", coordinates=["x", "y"], kinetic="(dot(x)**2 + dot(y)**2)/2", holonomic=["x*y"]
    ).start([-1.0, 0.0], [1.0, 0.0])
    run = dl.simulate(wires, 2.0, samples=5)
    assert run.q == pytest.approx(np.array([[-1, -0.5, 0, 0.5, 1], [0] * 5]), abs=1e-9)


@pytest.mark.parametrize(("damping", "stiff"), [(2e4, True), (2.0, False)])
def test_stiff_equations_are_noted(damping, stiff):
    model = oscillator().damper(("mass", "world"), damping=damping)
    notes = dl.simulate(model, 1.0, samples=11, integrator="dop853").notes
    assert any("the equations are stiff" in note and "radau" in note for note in notes) is stiff


def test_work_of_forces_does_not_change_the_motion(spring):
    # the same oscillator with two opposite forces, whose powers are in the balance
    model = oscillator().force("mass", ("sin(t)", 0, 0)).force("mass", ("-sin(t)", 0, 0))
    run = dl.derive(model, "lagrange").simulate(2.0, samples=11)
    assert np.allclose(run.q[0], exact(run.t), atol=1e-13)


# drift and projection


def test_projection_prevents_drift_in_a_long_run():
    eom = dl.derive(bob(), "lagrange")
    projected = eom.simulate(50.0, samples=101, integrator="rk45", rtol=1e-6, atol=1e-8)
    drifting = eom.simulate(50.0, samples=101, integrator="rk45", rtol=1e-6, atol=1e-8, project=False)
    assert np.abs(projected.violation[:, -1]).max() <= 1e-10
    assert np.abs(drifting.violation[:, -1]).max() > 1e-5
    assert projected.violation_names == ("rod, position", "rod, velocity")


def test_projection_applies_to_every_sample_of_a_taylor_run():
    run = dl.simulate(bob(), 20.0, samples=201, integrator="taylor")
    assert np.abs(run.violation).max() <= 1e-10
    assert np.allclose(run.energy, 0, atol=1e-9)


def test_projection_of_positions_with_generalized_speeds():
    model = bob().start([0.6, -0.8], [0.8, 0.6])
    eom = dl.derive(model, "kane")
    options = {"integrator": "rk4", "step": 0.02, "samples": 11}
    projected, drifting = eom.simulate(0.4, **options), eom.simulate(0.4, project=False, **options)
    assert np.abs(projected.violation).max() <= 1e-10
    assert 1e-10 < np.abs(drifting.violation).max() < 1e-3
    # velocities follow from speeds, so only positions drift
    assert np.abs(drifting.violation[1]).max() <= 1e-12


def test_satisfies_a_rheonomic_constraint():
    model = Model("lift", gravity=(0, -9.81, 0)).coordinate("x", 0.0, 1.0).coordinate("y", 0.0, 0.1)
    model.body("load", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    run = dl.simulate(model.holonomic("y - 0.1*sin(t)", name="floor"), 20.0, samples=101)
    assert np.allclose(run.q, [run.t, 0.1 * np.sin(run.t)], atol=1e-12)
