"""Explicit methods in machine code and in Python: against SciPy, closed forms and each other; projection, errors, orders."""

import ctypes
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import DOP853

import dalembert as dl
from dalembert.codegen.compiled_loop import CallableProgram, c_functions
from dalembert.errors import SimulationError
from dalembert.simulation.integrators import integrate as base
from dalembert.simulation.integrators.base import (
    CompiledRates,
    InitialValueProblem,
    Settings,
    SimpleSystem,
    Status,
    StepMonitor,
    StepParts,
)
from dalembert.simulation.integrators.compiled_projection import PROJECT, ProjectionData
from dalembert.simulation.integrators.dop853 import DENSE_RTOL
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.registry import find

G = 9.81
FREE = StepParts()
by_engine = pytest.mark.parametrize("native", [True, False], ids=["native", "python"])
EXPLICIT = {
    "dop853": {"rtol": 1e-10, "atol": 1e-12},
    "rk45": {"rtol": 1e-8, "atol": 1e-10},
    "rk4": {"step": 0.01},
    "algorithm3": {"step": 0.01},
    "algorithm5": {"step": 0.01},
}


def kepler(x, p, tables, out):
    k = -p[0] / (x[0] * x[0] + x[1] * x[1]) ** 1.5
    out[0], out[1], out[2], out[3] = x[2], x[3], k * x[0], k * x[1]


def blow_up(x, p, tables, out):
    out[0], out[1] = x[1], 6 * x[0] * x[0]


def oscillator(x, p, tables, out):  # under cos 2t, with the work of that force
    push = np.cos(2 * x[2])
    out[0], out[1], out[2] = x[1], push - x[0], push * x[1]


def rootless(x, p, tables, out):  # no value beyond x = 1.5
    out[0], out[1] = x[1], 0.001 * np.sqrt(1.5 - x[0])


def bob(x, p, tables, out):  # x² + y² = 1 under gravity, with masses p of x and y
    lam = (p[2] * x[1] - x[2] * x[2] - x[3] * x[3]) / (x[0] * x[0] / p[0] + x[1] * x[1] / p[1])
    out[0], out[1], out[2], out[3] = x[2], x[3], lam * x[0] / p[0], lam * x[1] / p[1] - p[2]


def rod(x, p, tables, out):  # φ, its rate, A and M
    out[0], out[1] = x[0] * x[0] + x[1] * x[1] - 1, 2 * (x[0] * x[2] + x[1] * x[3])
    out[2], out[3] = 2 * x[0], 2 * x[1]
    out[4], out[5], out[6], out[7] = p[0], 0.0, 0.0, p[1]


def second_half(x, p, tables, out):
    out[0], out[1] = x[2], x[3]


def machine_code(function) -> int:
    """The address of a function (x, p, tables, out)."""
    return c_functions({function: ()})[0]


def called(one, size: int, p=()):
    """Machine code as a Python function of an array."""
    values, none = np.array(p, dtype=float), np.zeros(1)
    code = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(machine_code(one))

    def function(x):
        out = np.empty(size)
        code(*(a.ctypes.data for a in (np.array(x, dtype=float), values, none, out)))
        return out

    return function


def problem(
    code, names, y0, native: bool, inputs: int | None = None, p=(), parts=FREE, surface=None
) -> InitialValueProblem:
    inputs = len(y0) if inputs is None else inputs
    function = called(code, len(y0), p)
    machine = CompiledRates(CallableProgram(machine_code(code), np.array(p, dtype=float), np.zeros(0)), inputs, surface)
    return InitialValueProblem(
        names,
        0.0,
        np.array(y0, dtype=float),
        SimpleSystem(
            lambda t, y: function(np.append(y[:inputs], t)),
            positions=inputs // 2,
            machine=machine if native else None,
        ),
        parts=parts,
    )


def planet(native: bool) -> InitialValueProblem:
    """An ellipse of eccentricity 0.5, in a time of 2π."""
    names = ("x", "y", "dot(x)", "dot(y)")
    return problem(kepler, names, [0.5, 0.0, 0.0, np.sqrt(3.0)], native, p=[1.0])


def run(ivp: InitialValueProblem, name: str, times, **options):
    settings = Settings(**options)
    return integrate(ivp, find(name)(ivp, settings, times[-1]), np.array(times), settings)


@by_engine
@pytest.mark.parametrize("rtol", [1e-6, 1e-10, 1e-13])
def test_dop853_steps_equal_those_of_scipy(native, rtol):
    ivp = planet(native)
    other = DOP853(ivp.system.rates, 0.0, ivp.y0, 20.0, rtol=rtol, atol=1e-12)
    ends, states = [], []
    while other.status == "running":
        other.step()
        ends.append(other.t)
        states.append(other.y)
    found = run(ivp, "dop853", [0.0, *ends], rtol=rtol, atol=1e-12)
    assert found.steps == len(ends)
    # samples at step ends need no evaluation, unless rounding puts an end after its sample: then 3, or 12 more with a small rtol
    assert 0 <= found.evaluations - other.nfev <= (15 if rtol < DENSE_RTOL else 3) * found.steps
    np.testing.assert_allclose(found.y[:, 1:].T, states, atol=2e-10)


@by_engine
def test_dop853_dense_output_equals_that_of_scipy(native):
    ivp, times = planet(native), np.linspace(0.0, 20.0, 997)
    other: Any = DOP853(ivp.system.rates, 0.0, ivp.y0, 20.0, rtol=1e-8, atol=1e-10)
    states = [ivp.y0]
    while other.status == "running":
        other.step()
        inside = times[(times > other.t_old) & (times <= other.t)]
        states += list(other.dense_output()(inside).T)
    found = run(ivp, "dop853", times, rtol=1e-8, atol=1e-10)
    assert found.y.shape == (4, 997)
    np.testing.assert_allclose(found.y.T, states, atol=1e-11)


@pytest.mark.parametrize("name", EXPLICIT)
def test_machine_code_and_python_agree(name):
    options = EXPLICIT[name] | {"dense": True}
    times = np.linspace(0.0, 7.0, 29)
    ivp: Any = planet(native=True)
    if name == "algorithm5":
        ivp = replace(ivp, names=("x", "y", "p(x)", "p(y)"))
    first, second = (
        run(ivp, name, times, **options),
        run(replace(ivp, system=replace(ivp.system, machine=None)), name, times, **options),
    )
    assert (first.steps, first.evaluations) == (second.steps, second.evaluations)
    np.testing.assert_allclose(first.y, second.y, rtol=1e-11, atol=1e-11)
    assert len(first.dense) == len(second.dense) == first.steps
    np.testing.assert_allclose(first.dense[3](first.dense[3].t1), first.dense[4](first.dense[4].t0), atol=1e-12)


@by_engine
@pytest.mark.parametrize(
    ("name", "h", "order"), [("rk4", 0.1, 4), ("rk45", 0.2, 5), ("dop853", 0.5, 8), ("algorithm3", 0.002, 1)]
)
def test_orders_of_convergence(native, name, h, order):
    # ẍ = cos 2t − x from x = 2/3, ẋ = 0 is x = cos t − (cos 2t)/3
    ivp = problem(oscillator, ("x", "dot(x)", "work"), [2 / 3, 0.0, 0.0], native, inputs=2)
    exact = np.cos(4.0) - np.cos(8.0) / 3

    def error(h: float) -> float:
        # tolerances so loose that all steps have the largest length
        options = {"step": h} if not find(name).capabilities.adaptive else {"max_step": h, "rtol": 1e3, "atol": 1e3}
        return abs(run(ivp, name, [0.0, 4.0], **options).y[0, -1] - exact)

    assert np.log2(error(h) / error(h / 2)) == pytest.approx(order, abs=0.45)


@by_engine
@pytest.mark.parametrize("name", ["rk4", "rk45", "dop853"])
def test_work_is_integrated(native, name):
    ivp = problem(oscillator, ("x", "dot(x)", "work"), [2 / 3, 0.0, 0.0], native, inputs=2)
    options = EXPLICIT[name] if name != "rk4" else {"step": 1e-3}
    found = run(ivp, name, np.linspace(0, 5, 51), **options)
    x, v, work = found.y
    np.testing.assert_allclose(x, np.cos(found.t) - np.cos(2 * found.t) / 3, atol=1e-7)
    np.testing.assert_allclose(work, (v**2 + x**2) / 2 - 2 / 9, atol=1e-7)


# projection

MASSES = (1.0, 3.0, G)


def pendulum(native: bool, monitors: tuple[StepMonitor, ...] = ()) -> InitialValueProblem:
    """x² + y² = 1, projected in machine code or by the batched Python function."""
    from dalembert.mechanics import newton, rank

    look = called(rod, 8, MASSES)
    ones, rows = np.ones(2), np.zeros(1, dtype=np.int64)

    def nearest(x, place, pick):
        def value(x, which):
            out = look(place(x[0]))
            return out[[pick]][None], out[2:4].reshape(1, 1, 2)

        root = newton.mass_root(np.diag(MASSES[:2])[None], np.ones((1, 1, 2)))
        return newton.project(value, x[None], ones, np.ones(1), lambda x, A, which: root, 10).x[0]

    def project(t, y):
        q = nearest(y[:2], lambda x: np.array([*x, 0, 0, t]), 0)
        return np.concatenate([q, nearest(y[2:], lambda x: np.array([*q, *x, t]), 1)])

    none = np.zeros(0)
    half = CallableProgram(machine_code(second_half), none, none)
    limits = np.array([newton.ROUNDING, newton.FULL_STEP_REDUCTION, rank.TOLERANCE, rank.MASSLESS])
    known = CallableProgram(machine_code(rod), np.array(MASSES), none)
    surface = ProjectionData(
        PROJECT, known, half, half, False, 2, 4, 2, 1, 1, rows, rows, ones, ones, ones[:1], ones[:1], limits, 10
    )
    names, parts = ("x", "y", "dot(x)", "dot(y)"), StepParts(projection=project, monitors=monitors)
    return problem(bob, names, [1.0, 0.0, 0.0, 0.0], native, p=MASSES, parts=parts, surface=surface)


def off(y: np.ndarray) -> float:
    x, y, u, v = y
    return max(np.abs(x * x + y * y - 1).max(), np.abs(x * u + y * v).max())


@pytest.mark.parametrize(
    ("name", "options"), [("dop853", {"rtol": 1e-7}), ("rk45", {"rtol": 1e-5}), ("rk4", {"step": 0.01})]
)
def test_projected_runs_satisfy_constraints(name, options):
    times = np.linspace(0, 20, 401)
    found, by_python = (run(pendulum(native), name, times, **options) for native in (True, False))
    assert off(found.y) < 1e-12
    assert (found.steps, found.evaluations) == (by_python.steps, by_python.evaluations)
    np.testing.assert_allclose(found.y, by_python.y, atol=1e-9)
    free = run(replace(pendulum(native=True), parts=StepParts()), name, times, **options)
    assert off(free.y) > 1e-9


def test_projected_run_conserves_energy():
    found = run(pendulum(native=True), "dop853", np.linspace(0, 20, 401), rtol=1e-12)
    _, y, u, v = found.y
    np.testing.assert_allclose(u * u / 2 + 3 * v * v / 2 + 3 * G * y, 0, atol=1e-8)


def test_python_projects_where_machine_code_fails():
    # with these limits rows count as dependent: every step and sample is projected in Python
    projected = []
    ivp: Any = pendulum(native=True)
    machine, project = ivp.system.machine_code(), ivp.parts.projection
    assert machine is not None
    assert machine.surface is not None
    assert project is not None
    strict = machine.surface._replace(limits=np.array([1e-14, 0.1, 2.0, 1e-26]))  # no M is definite enough
    hard = replace(
        ivp,
        system=replace(ivp.system, machine=machine._replace(surface=strict)),
        parts=StepParts(projection=lambda t, y: (projected.append(t), project(t, y))[1]),
    )
    times = np.linspace(0, 2, 21)
    found, usual = run(hard, "rk4", times, step=0.01), run(ivp, "rk4", times, step=0.01)
    assert len(projected) > 50
    np.testing.assert_allclose(found.y, usual.y, atol=1e-11)


@pytest.mark.parametrize("name", ["dop853", "rk45", "rk4"])
@pytest.mark.parametrize(
    ("model", "key"),
    [("four-bar", "lagrange"), ("four-bar", "kane"), ("rolling-disk", "hamilton"), ("cart-pendulum", "kane")],
)
def test_models_agree_on_both_engines(model, key, name):
    options: dict[str, Any] = {"dop853": {"rtol": 1e-8}, "rk45": {"rtol": 1e-6}, "rk4": {"step": 0.01}}[name]
    first, second = (
        dl.derive(dl.load(model), key, engine=engine).simulate(0.4, integrator=name, samples=9, **options)
        for engine in ("native", "python")
    )
    assert (first.steps, first.notes) == (second.steps, second.notes)
    np.testing.assert_allclose(first.q, second.q, atol=1e-10)
    np.testing.assert_allclose(first.qd, second.qd, atol=1e-8)
    assert np.abs(first.violation).max() < 1e-12


def test_rates_and_constraints_are_machine_code():
    from dalembert.simulation.segment_problem import mechanics_of

    eom = dl.derive(dl.load("four-bar"), "kane", engine="native")
    machine = mechanics_of(eom, eom.kernel, eom.values, eom.model.inputs).machine
    assert machine is not None
    assert machine.surface is not None
    plain = dl.derive(dl.load("four-bar"), "kane", engine="python")
    assert mechanics_of(plain, plain.kernel, plain.values, plain.model.inputs).machine is None


# monitors, progress, errors


class Notes(StepMonitor):
    """A monitor that records the steps."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def adjust_step(self, stepper, step, end):
        assert np.allclose(step.at(step.t1), step.y1, atol=1e-9)
        self.ends.append(step.t1)
        return step


@by_engine
def test_monitors_receive_every_step_once(native):
    notes = Notes()
    found = run(replace(planet(native), parts=StepParts(monitors=(notes,))), "rk4", [0.0, 6.0], step=0.01)
    assert found.steps == len(notes.ends) == 600
    np.testing.assert_allclose(notes.ends, 0.01 * np.arange(1, 601), atol=1e-12)


@by_engine
def test_repartition_ends_the_run_at_that_step(native):
    late = StepParts(repartition=lambda t, y: next((int(k) for k in np.flatnonzero(t > 1.005)), None))
    ivp = replace(planet(native), parts=late)
    found = run(ivp, "rk4", np.linspace(0, 6, 61), step=0.01)
    assert found.status is Status.REPARTITION
    assert found.steps == 101
    assert found.evaluations == 1 + 4 * 101
    assert found.end is not None
    assert found.end[0] == pytest.approx(1.01)
    assert found.t[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(found.end[1], run(planet(native), "rk4", [0.0, 1.01], step=0.01).y[:, -1], atol=1e-13)


@by_engine
@pytest.mark.parametrize("name", EXPLICIT)
def test_progress_can_stop_a_run(native, name):
    ivp = replace(planet(native), names=("x", "y", "p(x)", "p(y)")) if name == "algorithm5" else planet(native)
    fractions: list[float] = []
    found = run(
        ivp,
        name,
        np.linspace(0, 40, 401),
        progress=lambda done: fractions.append(done) or done > 0.3,
        **EXPLICIT[name],
    )
    assert found.status is Status.STOPPED
    assert fractions == sorted(fractions)
    assert 0.3 < fractions[-1] < 0.35
    assert 12 <= found.t[-1] <= 14
    assert found.y.shape == (4, len(found.t))


@by_engine
@pytest.mark.parametrize("name", ["rk45", "dop853"])
def test_reports_step_size_collapse(native, name):
    ivp = problem(blow_up, ("x", "dot(x)"), [1.0, 2.0], native)
    with pytest.raises(SimulationError) as caught:
        run(ivp, name, [0.0, 2.0])
    message = str(caught.value)
    assert re.search(
        r"at t = (1|0\.99\d*|1\.0\d*) the step size fell to \S+, too small to continue\. State: x = ", message
    )
    assert message.endswith("The motion has a singularity here, or the tolerances are too tight for it.")


@by_engine
def test_names_states_that_are_not_finite(native):
    ivp = problem(rootless, ("x", "dot(x)"), [1.0, 0.5], native)
    with pytest.raises(SimulationError) as caught:
        run(ivp, "rk4", [0.0, 2.0])
    message = str(caught.value)
    assert "the next step gives values that are not finite for dot(x). State: x = 1.4" in message or (
        "the next step gives values that are not finite for x, dot(x). State: x = 1.4" in message
    )


@by_engine
def test_reports_too_many_steps_and_missing_progress(native, monkeypatch):
    with pytest.raises(
        SimulationError, match=r"the simulation reached the maximum of 300 steps at t = 3\. State: x = "
    ):
        run(planet(native), "rk4", [0.0, 6.0], step=0.01, max_steps=300)
    monkeypatch.setattr(base, "_WINDOW", 50)
    with pytest.raises(SimulationError, match=r"collapsed: the last 50 steps advanced by 0\.5 in total\. State: x = "):
        run(planet(native), "rk4", [0.0, 6.0], step=0.01, max_steps=599)


def test_explicit_steps_and_inverse_kinematics_do_not_import_numba():
    code = (
        "import sys, dalembert as dl; dl.simulate('simple-pendulum', 0.1, integrator='rk4'); "
        "dl.inverse_kinematics('two-link-robot', 'link2', (1, 0, 0)); print('numba' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
