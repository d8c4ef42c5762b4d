"""Radau with analytic Jacobians: fewer evaluations of the right-hand side, and the same motion."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.model import Model
from dalembert.simulation.integrators.base import InitialValueProblem, Settings, SimpleSystem
from dalembert.simulation.integrators.integrate import integrate
from dalembert.simulation.integrators.radau import RadauIIA

N = 8


def stiff_sliders():
    """Sliders with stiff control to x_i = sin(t + i): errors decay within 10⁻⁴ s, with state-dependent gains."""
    model = Model("held")
    for i in range(N):
        model.coordinate(f"x{i}", float(np.sin(i)), float(np.cos(i)))
        model.body(f"block{i}", joint=model.prismatic((1, 0, 0), f"x{i}"), mass=1)
    for i in range(N):
        off, rate = f"(x{i} - sin(t + {i}))", f"(dot(x{i}) - cos(t + {i}))"
        hold = f"1e4*(1 + 5*x{i}**2 + 3*x{(i + 1) % N}**2)"
        model.joint_torque(f"block{i}", f"-sin(t + {i}) - {hold}*({rate} + {off})")
    return model


def exact(t):
    """The states of the sliders."""
    return np.concatenate([np.sin(t + np.arange(N)), np.cos(t + np.arange(N))])


def test_stiff_problem_with_jacobian_and_finite_differences():
    eom = dl.derive(stiff_sliders(), "lagrange")
    times, settings, calls = np.linspace(0, 6, 5), Settings(rtol=1e-5, atol=1e-6), []

    def rates(t, y):
        calls.append(t)
        return eom.kernel.state_rates(y, t, eom.values)[: 2 * N]  # without the work

    def run(problem):
        calls.clear()
        found = integrate(problem, RadauIIA(problem, settings, 6.0), times, settings)
        assert found.evaluations == len(calls)
        return found

    start = np.concatenate(eom.model.initial)
    plain = InitialValueProblem(tuple(f"y{i}" for i in range(len(start))), 0.0, start, SimpleSystem(rates))
    differences = run(plain)
    system = SimpleSystem(rates, slope=lambda t, y: eom.kernel.state_slopes(y, t, eom.values)[: 2 * N])
    slopes = run(replace(plain, system=system))
    assert slopes.steps == differences.steps < 100  # an explicit method would need some 10⁵
    assert slopes.evaluations < 0.5 * differences.evaluations  # pyright: ignore[reportOperatorIssue]
    expected = np.stack([exact(t) for t in times], axis=1)
    for found in (slopes, differences):
        np.testing.assert_allclose(found.y[: 2 * N], expected, atol=1e-6)


@pytest.mark.parametrize("name", ["four-bar", "3-rrr"])
def test_mechanisms_agree_with_jacobian_and_finite_differences(name):
    runs = [
        dl.derive(dl.load(name), "lagrange", mode=mode).simulate(0.05, samples=3, integrator="radau", rtol=1e-7)
        for mode in ("fused", "assembled")
    ]
    slopes, differences = runs
    assert slopes.steps == differences.steps
    assert slopes.evaluations <= differences.evaluations - len(slopes.q) - len(slopes.v) - len(slopes.work)
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)


def test_jacobian_of_states_and_work():
    eom = dl.derive(stiff_sliders(), "kane")
    assert len(eom.kernel.working) == N
    y = np.linspace(-0.3, 0.4, 3 * N)
    J = eom.kernel.state_slopes(y, 0.0, eom.values)
    assert J.shape == (3 * N, 3 * N)
    assert not J[:, 2 * N :].any()
    h = 1e-6
    for j in range(2 * N):
        step = h * (np.arange(3 * N) == j)
        ahead, behind = (eom.kernel.state_rates(y + s * step, 0.0, eom.values) for s in (1, -1))
        np.testing.assert_allclose(J[:, j], (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-4)


def test_finite_differences_replace_an_infinite_jacobian():
    # such as the derivative of |x|^(1/2) at 0
    def slope(t, y):
        return np.array([[np.nan]])

    problem = InitialValueProblem(("x",), 0.0, np.array([1.0]), SimpleSystem(lambda t, y: -1e3 * y, slope=slope))
    settings = Settings(rtol=1e-8)
    found = integrate(problem, RadauIIA(problem, settings, 0.01), np.array([0.0, 0.01]), settings)
    assert found.y[0, -1] == pytest.approx(np.exp(-10), abs=1e-9)
