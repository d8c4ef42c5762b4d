"""Errors of simulations: each reports the invalid input, the expected one, and the state of the motion."""

import re

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import EngineError, InconsistentStateError, InputError, SimulationError
from dalembert.model.model import Model
from dalembert.simulation.integrators.registry import NAMES

by_every_integrator = pytest.mark.parametrize("integrator", NAMES)


def line(force: str, start: float = 1.0, rate: float = 0.0) -> Model:
    """A unit mass on a line under a force."""
    model = Model("line").coordinate("x", start, rate)
    return model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1).force("mass", (force, 0, 0))


def bob() -> Model:
    model = Model("bob", gravity=(0, -9.81, 0)).coordinate("x", 1.0).coordinate("y", 0.0)
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    return model.holonomic("x**2 + y**2 - 1", name="rod")


@pytest.fixture(scope="module")
def pendulum():
    return dl.derive(bob(), "lagrange", engine="python")


def rejection(eom, *arguments, kind: type[Exception] = InputError, **options):
    with pytest.raises(kind) as caught:
        eom.simulate(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "integrator", [pytest.param(name, marks=pytest.mark.nightly if name == "radau" else ()) for name in NAMES]
)
def test_reports_time_and_state_of_finite_escape(integrator):
    # ẍ = 6x² from x = 1, ẋ = 2 is x = 1/(1 − t)²: infinite at t = 1
    formalism = {"algorithm5": "hamilton", "collocation": "phong"}.get(integrator, "lagrange")
    eom = dl.derive(line("6*x**2", 1.0, 2.0), formalism)
    message = rejection(eom, 2.0, integrator=integrator, kind=SimulationError)
    time = float(re.search(r"at t = (\S+) ", message)[1])
    # the first-order schemes of the textbook escape late
    assert time == pytest.approx(1.0, abs=0.05 if integrator.startswith("algorithm") else 0.02)
    x, rate = map(float, re.search(r"State: x = (\S+), (?:dot|p)\(x\) = ([^,\s]+)[.,]", message).groups())
    assert x > 1000
    assert rate > 1000
    assert "not finite" in message or "too small to continue" in message


@pytest.mark.parametrize("integrator", ["taylor", "rk45", "dop853", "radau"])  # fixed steps may jump over it
def test_reports_time_and_state_at_a_singular_force(integrator):
    # ẍ = −1/x³ from x = 1 at rest is x = √(1 − t²): it falls into the center at t = 1
    eom = dl.derive(line("-1/x**3"), "lagrange")
    message = rejection(eom, 3.0, integrator=integrator, kind=SimulationError)
    assert float(re.search(r"at t = (\S+) ", message)[1]) >= 0.99
    assert "State: x = " in message


def test_reports_step_size_collapse():
    message = rejection(dl.derive(line("6*x**2", 1.0, 2.0), "lagrange"), 2.0, integrator="dop853", kind=SimulationError)
    assert re.search(r"at t = \S+ the step size fell to \S+, too small to continue\. State: x = ", message)
    assert message.endswith("The motion has a singularity here, or the tolerances are too tight for it.")


def test_names_states_that_are_not_finite():
    # the root has no value beyond x = 1.5, which is reached at t = 1
    eom = dl.derive(line("0.001*sqrt(1.5 - x)", 1.0, 0.5), "lagrange", engine="python")
    message = rejection(eom, 2.0, integrator="rk4", kind=SimulationError)
    assert "the next step gives values that are not finite for" in message
    assert "State: x = 1.4" in message


def test_rejects_inconsistent_positions(pendulum):
    message = rejection(pendulum, 1.0, q0=[2.0, 0.0], kind=InconsistentStateError)
    assert message == (
        "the state at t = 0 does not satisfy the constraints: position of 'rod' is 3. Expected 0. "
        "State: x = 2 (rate 0), y = 0 (rate 0). Start from a state that satisfies them."
    )


def test_rejects_inconsistent_velocities(pendulum):
    message = rejection(pendulum, 1.0, qd0=[0.5, 2.0], kind=InconsistentStateError)
    assert "velocity of 'rod' is 1." in message
    assert "x = 1 (rate 0.5), y = 0 (rate 2)" in message


def test_rejects_initial_states_of_wrong_shape_or_name(pendulum):
    assert rejection(pendulum, 1.0, q0=[1.0]) == "simulate, q0: got shape (1,). Expected 2 values, for x, y."
    assert rejection(pendulum, 1.0, qd0=[[1.0, 2.0]]) == "simulate, qd0: got shape (1, 2). Expected 2 values, for x, y."
    assert rejection(pendulum, 1.0, q0={"z": 1.0}) == "simulate, q0: there is no coordinate 'z'. Known names: x, y."
    assert (
        rejection(pendulum, 1.0, q0=[np.nan, 0.0]) == "simulate, q0, 'x': the value is nan. Expected a finite number."
    )


def test_initial_state_by_name_overrides_the_default():
    run = dl.derive(line("0*x"), "lagrange", engine="python").simulate(1.0, qd0={"x": 3.0}, samples=2)
    assert run.q[0].tolist() == pytest.approx([1.0, 4.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": -1.0}, "simulate, duration: got -1.0. Expected a positive number of seconds."),
        ({"duration": 0.0}, "simulate, duration: got 0.0. Expected a positive number of seconds."),
        ({"duration": float("inf")}, "simulate, duration: got inf. Expected a finite number."),
        ({"samples": 1}, "simulate, samples: got 1. Expected an int >= 2."),
        ({"samples": 2.5}, "simulate, samples: got 2.5. Expected an int."),
        ({"samples": 0}, "simulate, samples: got 0. Expected an int >= 2."),
        ({"t0": float("nan")}, "simulate, t0: got nan. Expected a finite number."),
        ({"times": [0.0]}, "simulate: times must be at least two increasing numbers, the first one the start."),
        ({"times": [0.0, 2.0, 1.0]}, "simulate: times must be at least two increasing numbers"),
        (
            {"times": [0.0, float("nan")]},
            "simulate, times contains values that are not finite. Expected finite numbers.",
        ),
        ({"rtol": 0.0}, "simulate, rtol: got 0.0. Expected a positive number."),
        ({"atol": -1e-3}, "simulate, atol: got -0.001. Expected a positive number."),
        ({"max_step": float("inf")}, "simulate, max_step: got inf. Expected a finite number."),
        ({"step": -0.1}, "simulate, step: got -0.1. Expected a positive number."),
        ({"integrator": "rk46"}, "there is no integrator 'rk46'. Did you mean 'rk4"),
    ],
)
def test_rejects_invalid_settings(pendulum, options, message):
    assert message in rejection(pendulum, options.pop("duration", 1.0), **options)


def test_taylor_needs_symbolically_solved_equations(pendulum):
    assert rejection(pendulum, 1.0, integrator="taylor", kind=EngineError) == (
        "the integrator 'taylor' needs symbolically solved equations, but these are solved numerically. "
        "Use integrator='dop853', or derive with engine='native'."
    )


def test_dense_output_requires_option_and_time_range(pendulum):
    run = pendulum.simulate(0.5, samples=3)
    with pytest.raises(InputError, match=r"this run has no dense output\. Simulate with dense=True"):
        run.at(0.2)
    dense = pendulum.simulate(0.5, samples=3, dense=True)
    with pytest.raises(InputError, match=r"t = 0\.7 is outside the run\. Expected 0 to 0\.5\."):
        dense.at(0.7)
    with pytest.raises(InputError, match="at, t: got nan"):
        dense.at(float("nan"))


def test_reports_maximum_number_of_steps(pendulum):
    from dalembert.simulation.integrators.base import InitialValueProblem, Settings, SimpleSystem
    from dalembert.simulation.integrators.integrate import integrate
    from dalembert.simulation.integrators.registry import find

    problem = InitialValueProblem(("x",), 0.0, np.array([1.0]), SimpleSystem(lambda t, y: -y))
    settings = Settings(step=1e-3, max_steps=20)
    with pytest.raises(SimulationError) as caught:
        integrate(problem, find("rk4")(problem, settings, 1.0), np.array([0.0, 1.0]), settings)
    assert "the simulation reached the maximum of 20 steps at t = 0.02. State: x = 0.98" in str(caught.value)
    assert str(caught.value).endswith("Shorten the run, or loosen the tolerances.")


def test_reports_failed_projection():
    from dalembert.simulation.constraint_manifold import onto_positions
    from dalembert.simulation.workspace import setup, workspace_of

    manifold = workspace_of(setup(bob(), "python")).manifold
    near = onto_positions(manifold, np.array([0.9, 0.3]), 0.0, np.zeros(0))
    assert np.hypot(*near) == pytest.approx(1, abs=1e-13)
    # the nearest point in the metric of M lies along the radius
    assert near == pytest.approx(np.array([0.9, 0.3]) / np.hypot(0.9, 0.3), abs=1e-3)
    far = workspace_of(
        setup(bob().holonomic("x**2 + 0.25*y**2 - 1", name="ellipse").start([1, 0], [0, 0]), "python")
    ).manifold
    with pytest.raises(SimulationError) as caught:
        onto_positions(far, np.array([1e6, 1e-200]), 0.5, np.zeros(0))
    assert "at t = 0.5 the state could not be projected onto the constraints" in str(caught.value)


def test_reports_steps_without_progress(monkeypatch):
    from dalembert.simulation.integrators import integrate as base

    monkeypatch.setattr(base, "_WINDOW", 50)
    model = Model("shaken").coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1).force("block", ("1e7*sin(1e7*t)", 0, 0))
    with pytest.raises(SimulationError) as caught:
        dl.simulate(model, 10.0, integrator="dop853", rtol=1e-12)
    message = str(caught.value)
    assert "the step size collapsed: the last 50 steps advanced by" in message
    assert "x = " in message
    assert "close to a singular configuration" in message
