"""Derivatives of trajectories agree with closed forms, with finite differences of runs, and with each other."""

import numpy as np
import pytest
from tests.analysis.differences import slope_of_run

import dalembert as dl
from dalembert.errors import InconsistentStateError, InputError, NotApplicableError

OSCILLATOR = ("m", "k", "x(0)", "dot(x)(0)")
GALLERY = {
    "simple-pendulum": ("l", "g", "theta(0)"),
    "double-pendulum": ("l1", "m2", "theta2(0)"),
    "cart-pendulum": ("m2", "l", "theta1(0)"),
    "spherical-pendulum": ("l", "dot(x)(0)"),
    "chaplygin-sleigh": ("m", "phi(0)", "dot(phi)(0)"),
    "rolling-disk": (),
    "rough-surface": (),
    "gear-train": (),
    "four-bar": (),
    "slider-crank": (),
    "crank-rocker": (),
    "cam-follower": (),
    "three-bodies": (),
    "bricard": (),
}
QUICK = ("spherical-pendulum",)


def oscillator():
    model = dl.Model("oscillator").parameters(m=2.0, k=8.0).coordinates("x").start([1.0], [0.5])
    return model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass="m").force("mass", ("-k*x", 0, 0))


def test_the_oscillator_has_the_derivatives_of_its_closed_form():
    import sympy as sp

    run = dl.sensitivity(oscillator(), 3.0, of=OSCILLATOR, order=2, samples=7)
    t, m, k, x0, v0 = symbols = sp.symbols("t m k x0 v0", positive=True)
    w = sp.sqrt(k / m)
    x = x0 * sp.cos(w * t) + v0 / w * sp.sin(w * t)
    at = lambda f: np.broadcast_to(sp.lambdify(symbols, f)(run.t, 2.0, 8.0, 1.0, 0.5), run.t.shape)  # noqa: E731
    for i, a in enumerate((m, k, x0, v0)):
        assert np.abs(run.dq[0, i] - at(sp.diff(x, a))).max() < 1e-13
        assert np.abs(run.dqd[0, i] - at(sp.diff(x, a, t))).max() < 1e-13
        for j, b in enumerate((m, k, x0, v0)):
            assert np.abs(run.d2q[0, i, j] - at(sp.diff(x, a, b))).max() < 1e-12
    assert np.abs(run["m*dot(x)**2/2 + k*x**2/2", "k"] - 0.5).max() < 1e-12
    assert np.abs(run["m*dot(x)**2/2 + k*x**2/2", "x(0)", "k"] - 1.0).max() < 1e-11


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in GALLERY]
)
def test_the_gallery_agrees_with_finite_differences_of_runs(name):
    model = dl.load(name)
    of = GALLERY[name] or tuple(model.parameter_values)[:3]
    run = dl.sensitivity(model, 0.5, of=of, samples=2)
    for i, each in enumerate(of):
        expected = slope_of_run(model, each, of, 0.5)
        found = np.concatenate([run.dq[:, i, -1], run.dqd[:, i, -1]])
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max()), each


def test_methods_agree_and_second_derivatives_are_those_of_the_first():
    model, of = dl.load("spherical-pendulum"), ("l", "dot(x)(0)")
    run = dl.sensitivity(model, 0.5, of=of, order=2, samples=2, integrator="taylor")
    other = dl.sensitivity(model, 0.5, of=of, order=2, samples=2, integrator="dop853")
    assert np.abs(run.d2q - other.d2q).max() < 1e-8 * np.abs(run.d2q).max()
    length, h = model.parameter_values["l"], 1e-4
    more, less = (dl.sensitivity(model, 0.5, of=of, samples=2, parameters={"l": x}) for x in (length + h, length - h))
    assert np.abs((more.dq - less.dq) / (2 * h) - run.d2q[:, :, 0]).max() < 1e-6 * np.abs(run.d2q).max()


def test_observables_have_the_derivatives_of_the_run():
    model, h = dl.load("spherical-pendulum"), 1e-4
    run = dl.sensitivity(model, 0.3, of=["g"], samples=3)
    value = model.parameter_values["g"]
    more, less = (dl.simulate(model.with_parameters(g=x), 0.3, samples=3) for x in (value + h, value - h))

    def same(found, ask, tolerance=1e-7):
        expected = (ask(more) - ask(less)) / (2 * h)
        assert np.abs(found - expected).max() < tolerance * max(1.0, np.abs(expected).max())

    body = model.bodies[-1].name
    assert np.allclose(run.observe("multipliers").value, run.run.multipliers)
    same(run.observe("multipliers").first[:, 0], lambda each: each.multipliers)
    same(run.observe("reactions").first[:, 0], lambda each: each.reactions)
    same(run["energy", "g"], lambda each: each.energy)
    same(run["ddot(x)", "g"], lambda each: each.qdd[0])
    same(run.path(body, (0.1, 0, 0)).first[:3, 0], lambda each: each.path(body, (0.1, 0, 0)))


def test_initial_values_that_are_formulas_are_differentiated():
    run = dl.sensitivity(
        "simple-pendulum", 0.1, of=["l", "g"], q0={"theta": "l**2/2"}, order=2, samples=2, integrator="rk4"
    )
    assert run.dq[0, :, 0].tolist() == [1.0, 0.0]
    assert run.d2q[0, :, :, 0].tolist() == [[1.0, 0.0], [0.0, 0.0]]


def bouncing():
    model = dl.Model("ball").parameters(g=10.0, e=0.8).coordinates("y").start([1.25], [0.0])
    model.body("ball", joint=model.prismatic((0, 1, 0), "y"), mass=1).force("ball", (0, "-g", 0))
    return model.event("bounce", "y", direction="down", reset={"y": "-e*dot(y)"})


def test_a_bounce_has_the_derivatives_of_its_closed_form():
    # from y₀ = h the ball hits the ground at t₁ = √(2h/g) with √(2gh), and rebounds with e times that
    run = dl.sensitivity(bouncing(), 0.9, of=("g", "e", "y(0)"), samples=10)
    g, e, h, late = 10.0, 0.8, 1.25, run.t > 0.5
    s = run.t[late] - np.sqrt(2 * h / g)
    v, t_g, t_h = np.sqrt(2 * g * h), -0.5 * np.sqrt(2 * h / g**3), 0.5 * np.sqrt(2 / (g * h))
    rate = e * v - g * s  # ẏ after the bounce
    assert np.abs(run["y", "e"][late] - v * s).max() < 1e-12
    assert np.abs(run["y", "g"][late] - (e * s * h / v - s**2 / 2 - rate * t_g)).max() < 1e-12
    assert np.abs(run["y", "y(0)"][late] - (e * s * g / v - rate * t_h)).max() < 1e-12
    assert np.allclose(run.crossings[0].first, [t_g, 0.0, t_h])


def test_a_corner_of_a_force_is_crossed():
    model = dl.Model("stop").parameters(k=50.0, x1=0.5).coordinates("x").start([0.0], [1.0])
    model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1).force(
        "mass", ("-(2 + k*(x - x1))*(1 + sign(x - x1))/2", 0, 0)
    )
    run = dl.sensitivity(model, 0.7, of=("k", "x1", "dot(x)(0)"), samples=2)
    for i, each in enumerate(run.of):
        assert abs(run.dq[0, i, -1] - slope_of_run(model, each, run.of, 0.7)[0]) < 1e-9


def test_motions_without_derivatives_raise_with_the_reason():
    pendulum, bob = dl.load("simple-pendulum"), dl.load("spherical-pendulum")
    with pytest.raises(InputError, match="neither a parameter nor an initial value"):
        dl.sensitivity(pendulum, 1.0, of=["length"])
    with pytest.raises(InputError, match="Expected names of parameters"):
        dl.sensitivity(pendulum, 1.0, of=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="contains a duplicate"):
        dl.sensitivity(pendulum, 1.0, of=["l", "l"])
    with pytest.raises(InputError, match="there is no coordinate 'x'"):
        dl.sensitivity(pendulum, 1.0, of=["l"], fixed=["x"])
    with pytest.raises(InputError, match="order: got 3"):
        dl.sensitivity(pendulum, 1.0, of=["l"], order=3)
    with pytest.raises(InputError, match="first derivatives only"):
        dl.sensitivity(pendulum, 0.1, of=["l"], samples=2)["theta", "l", "l"]
    with pytest.raises(InputError, match="not differentiated by 'm'"):
        dl.sensitivity(pendulum, 0.1, of=["l"], samples=2)["theta", "m"]
    with pytest.raises(NotApplicableError, match="are not q̇"):
        dl.sensitivity(pendulum, 1.0, of=["l"], formalism="hamilton")
    with pytest.raises(InconsistentStateError, match="cannot satisfy the constraints"):
        dl.sensitivity(bob, 1.0, of=[f"{x}(0)" for x in bob.coordinate_names])
    with pytest.raises(NotApplicableError, match="smooth motions only"):
        dl.sensitivity(bouncing(), 0.9, of=["g"], order=2)
    sliding_block = dl.Model("block").parameters(mu=0.5).coordinates("x").start([0.0], [1.0])
    sliding_block.body("block", joint=sliding_block.prismatic((1, 0, 0), "x"), mass=1).force(
        "block", ("-mu*sign(dot(x))*9.81", 0, 0)
    )
    with pytest.raises(NotApplicableError, match="slides along a switching surface"):
        dl.sensitivity(sliding_block, 1.0, of=["mu"])
