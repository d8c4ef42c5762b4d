"""Motion profiles: end conditions, derivatives, published formulas, and driven motions."""

import math

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.analysis.controllers import desired_motion
from dalembert.errors import InputError
from dalembert.symbolic.symbols import coordinate

T = 3.0
RESTING = {
    "cycloidal": dl.cycloidal([0.0, 1.0], [2.0, -1.0], T, after=0.5),
    "quintic": dl.quintic([0.0, 1.0], [2.0, -1.0], T, after=0.5),
    "trapezoidal": dl.trapezoidal([0.0, 1.0], [2.0, -1.0], T, after=0.5),
    "triangle": dl.trapezoidal([0.0, 1.0], [2.0, -1.0], T, ramp=0.5, after=0.5),
    "spline": dl.spline([0.5, 1.0, 2.0, 3.5], [[0, 0.7, 1, 2], [1, 1.5, 0, -1]], rates=(0, 0)),
}


@pytest.mark.parametrize("name", RESTING)
def test_profile_moves_from_rest_to_rest_and_is_constant_outside(name: str) -> None:
    way = RESTING[name]
    ends = way([0.5, 3.5])
    np.testing.assert_allclose(ends.position, [[0, 2], [1, -1]], atol=1e-15)
    np.testing.assert_allclose(ends.rate, 0, atol=1e-13)
    outside = way([-1.0, 0.2, 3.6, 9.0])
    np.testing.assert_array_equal(outside.position, [[0, 0, 2, 2], [1, 1, -1, -1]])
    assert not outside.rate.any()
    assert not outside.acceleration.any()
    if name in ("cycloidal", "quintic"):
        np.testing.assert_allclose(ends.acceleration, 0, atol=1e-12)


@pytest.mark.parametrize("name", RESTING)
def test_rates_and_accelerations_are_slopes(name: str) -> None:
    way, t, h = RESTING[name], np.random.default_rng(3).uniform(0.55, 3.45, 40), 1e-5
    np.testing.assert_allclose((way.position(t + h) - way.position(t - h)) / (2 * h), way.rate(t), atol=1e-8)
    np.testing.assert_allclose((way.rate(t + h) - way.rate(t - h)) / (2 * h), way.acceleration(t), atol=1e-6)


def test_the_cycloid_is_that_of_the_paper() -> None:
    t = np.linspace(0, 10, 101)
    way = dl.cycloidal(0.2, 1.7, 10.0)
    printed = 0.2 + 1.5 / 10 * (t - 10 / (2 * np.pi) * np.sin(2 * np.pi / 10 * t))  # (34) of papers/denoc
    np.testing.assert_allclose(way.position(t), printed, atol=1e-15)
    assert way.rate(5.0) == pytest.approx(2 * 1.5 / 10)  # the fastest, in the middle


def test_the_quintic_meets_six_conditions() -> None:
    way = dl.quintic(1.0, 2.0, T, rates=(0.3, -0.4), accelerations=(0.5, 0.6))
    ends = way([0.0, T])
    np.testing.assert_allclose(np.array(ends), [[1, 2], [0.3, -0.4], [0.5, 0.6]], atol=1e-12)


def test_fastest_trapezoid_satisfies_both_limits() -> None:
    way = dl.trapezoidal([0.0, 0.0], [4.0, 1.0], speed=1.0, acceleration=0.5)
    t = np.linspace(0, way.duration, 1001)
    assert way.duration == pytest.approx(4 / 1.0 + 1.0 / 0.5)
    assert np.abs(way.rate(t)).max() == pytest.approx(1.0)
    assert np.abs(way.acceleration(t)).max() == pytest.approx(0.5)
    short = dl.trapezoidal(0.0, 0.5, speed=1.0, acceleration=0.5)  # never reaches the speed
    assert short.duration == pytest.approx(2 * math.sqrt(0.5 / 0.5))


def test_a_spline_is_that_of_scipy() -> None:
    from scipy.interpolate import CubicSpline

    rng = np.random.default_rng(1)
    t, y = np.cumsum(rng.uniform(0.2, 1, 9)), rng.uniform(-1, 1, (2, 9))
    way, peer, at = dl.spline(t, y), CubicSpline(t, y.T), np.linspace(t[0], t[-1], 97)[1:-1]
    for level, found in enumerate(way(at)):
        np.testing.assert_allclose(found, peer(at, level).T, atol=1e-11 * 10**level)


def test_functions_are_sampled_to_their_accuracy_and_kinks_raise() -> None:
    way = dl.spline_from_function(lambda t: [math.sin(3 * t), math.exp(-t)], 2.0, accuracy=1e-9)
    t = np.linspace(0, 2, 333)
    np.testing.assert_allclose(way.position(t), [np.sin(3 * t), np.exp(-t)], atol=2e-9)
    assert way.accuracy < 1e-9
    with pytest.raises(InputError, match="Expected a smooth function"):
        dl.spline_from_function(lambda t: float(t > math.sqrt(0.5)), 1.0)


@pytest.mark.slow(4)
def test_all_kinds_of_laws_drive_the_same_motion() -> None:
    t = sympy.Symbol("t")
    times = np.linspace(0, 1, 201)
    laws = ["0.3*sin(2*t)", 0.3 * sympy.sin(2 * t), (times, 0.3 * np.sin(2 * times)), lambda s: 0.3 * math.sin(2 * s)]
    model = dl.Model("arm", gravity=(0, -9.81, 0)).simulation(duration=1.0).coordinates("q")
    model.body("rod", joint=model.revolute((0, 0, 1), "q"), mass=1, center=(0, -0.5, 0), inertia=(0, 0, 0.1))
    at = np.linspace(0, 1, 37)
    for law in laws:
        q, qd, qdd = desired_motion(model, {"q": law}, at)
        np.testing.assert_allclose(q[0], 0.3 * np.sin(2 * at), atol=1e-8)
        np.testing.assert_allclose(qd[0], 0.6 * np.cos(2 * at), atol=1e-5)
        np.testing.assert_allclose(qdd[0], -1.2 * np.sin(2 * at), atol=1e-3)
    run = dl.simulate(dl.computed_torque(model, {"q": laws[2]}), 1.0, samples=6)
    np.testing.assert_allclose(run["q"], 0.3 * np.sin(2 * run.t), atol=1e-8)


def test_a_robot_follows_profiles_by_computed_torque_and_by_a_drive() -> None:
    model = dl.load("two-link-robot")
    way = dl.cycloidal([0.1, 0.2], [0.8, -0.5], 1.0)
    run = dl.simulate(dl.computed_torque(model, way), 1.0, samples=21)
    np.testing.assert_allclose(run.q, way.position(run.t), atol=1e-8)
    np.testing.assert_allclose(run.qdd[:, 1:-1], way.acceleration(run.t)[:, 1:-1], atol=1e-6)
    with pytest.raises(InputError, match="the profile has 3 values"):
        dl.computed_torque(model, dl.cycloidal([0, 0, 0], [1, 1, 1], 1.0))
    with pytest.raises(InputError, match="Expected one: use profile"):
        dl.computed_torque(model, {"q1": way})


def test_hand_follows_the_line_and_the_circle() -> None:
    way = dl.straight_line("puma560", "flange", (0.5, 0.2, 0.6), 2.0, start=(0.5, -0.2, 0.6), fixed=["q4", "q5", "q6"])
    t = np.linspace(0, 2, 57)
    p = dl.position("puma560", way.position(t), "flange")
    share = t / 2 - np.sin(np.pi * t) / (2 * np.pi)
    np.testing.assert_allclose(p, [0.5 + 0 * t, -0.2 + 0.4 * share, 0.6 + 0 * t], atol=2e-6)
    assert way.names == ("q1", "q2", "q3", "q4", "q5", "q6")
    np.testing.assert_allclose(way.rate([0.0, 2.0]), 0, atol=1e-10)
    way = dl.circle(
        "puma560", "flange", (0.4, 0.0, 0.5), (0, 0, 1), 2.0, start=(0.5, 0.0, 0.6), fixed=["q4", "q5", "q6"]
    )
    p = dl.position("puma560", way.position(t), "flange")
    np.testing.assert_allclose(np.hypot(p[0] - 0.4, p[1]), 0.1, atol=2e-6)
    np.testing.assert_allclose(p[2], 0.6, atol=2e-6)


def test_path_outside_the_workspace_is_reported() -> None:
    with pytest.raises(InputError, match=r"the path cannot be followed at t = .* of the path: the target was not"):
        dl.straight_line("puma560", "flange", (3.0, 0.0, 0.6), 2.0, start=(0.5, 0.0, 0.6))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: dl.cycloidal(0, 1, 0.0), "cycloidal, duration: got 0.0"),
        (lambda: dl.cycloidal([0, 1], [1, 2, 3], 1.0), "got the shapes"),
        (lambda: dl.trapezoidal(0, 1, 1.0, ramp=0.7), "Expected a fraction of the duration"),
        (lambda: dl.trapezoidal(0, 1), "expected a duration, or a positive speed"),
        (lambda: dl.spline([0, 0], [1, 2]), "increasing times"),
        (lambda: dl.spline([0, 1], [1, 2, 3]), r"Expected \(2,\) or \(n, 2\)"),
        (lambda: dl.cycloidal(0, 1, 1.0)[1], "index 1 is out of range"),
        (lambda: dl.circle("puma560", "flange", (0, 0, 0), (0, 0, 0), 1.0), "a nonzero axis"),
    ],
)
def test_invalid_values_are_reported(made, message: str) -> None:
    with pytest.raises((InputError, IndexError), match=message):
        made()


def test_drives_by_profiles_go_through_model_files() -> None:
    from dalembert.io.toml_reader import loads_toml
    from dalembert.io.toml_writer import to_toml

    for way in (dl.cycloidal(0.0, 1.0, 1.0), dl.quintic(0.0, 1.0, 1.0), dl.trapezoidal(0.0, 1.0, 1.0)):
        model = dl.load("two-link-robot").start([0.0, 0.1], [0.0, 0.0]).drive("q1", way)
        again = loads_toml(to_toml(model))
        t = np.linspace(-0.2, 1.2, 15)
        for phi in (model.holonomic_constraints[-1].phi, again.holonomic_constraints[-1].phi):
            found = dl.Profile((-phi.subs({coordinate("q1"): 0}),), 0.0, 1.0, scalar=True)
            np.testing.assert_allclose(found.position(t), way.position(t), atol=1e-15)


@pytest.mark.parametrize("feedback", [None, (9.0, 6.0)])
@pytest.mark.parametrize(
    "way",
    [
        ([0, 1, 2], [0, 1, 0]),  # both pieces one parabola
        ([0, 1, 2, 3], [0, 1, 0, 1]),  # values as those of the saw that runs through the pieces
        dl.spline([0.0, 0.3, 1.1, 2.0], [0.1, 0.2, -0.7, 1 / 3], rates=(0, 0)),
        dl.spline([0.0, 1.0, 3.0], [0.0, 2.0, 0.0], accelerations=[0.0, 0.0, 0.0]),  # straight lines
        dl.spline_from_function(lambda t: np.sin(3 * t), 2.0),
    ],
)
def test_drives_through_points_survive_model_files_bit_for_bit(way, feedback) -> None:
    from dalembert.io.toml_reader import loads_toml
    from dalembert.io.toml_writer import to_toml

    model = dl.load("two-link-robot").drive("q1", way, feedback=feedback)
    text = to_toml(model)
    assert "[[drive]]" in text
    again = loads_toml(text).holonomic_constraints[-1]
    assert again.phi == model.holonomic_constraints[-1].phi
    assert again == model.holonomic_constraints[-1]


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        ("{ times = [0, 1], values = [0] }", r"spline, points: got shape \(1,\). Expected \(2,\)"),
        (
            "{ times = [0, 1], values = [0, 1], accelerations = [1] }",
            r"spline, accelerations: got shape \(1, 1\). Expected one for each",
        ),
        ("{ times = [1, 0], values = [0, 1] }", "Expected two or more increasing times"),
        ("{ times = [0, 1], valus = [0, 1] }", "there is no key 'valus' here. Did you mean 'values'"),
        ('{ times = [0, "x"], values = [0, 1] }', r"times\[1\].*expected a number"),
    ],
)
def test_invalid_points_in_a_file_are_reported(motion, message) -> None:
    from dalembert.io.toml_reader import loads_toml
    from dalembert.io.toml_writer import to_toml

    text = to_toml(dl.load("two-link-robot"))
    with pytest.raises(dl.DalembertError, match=f"(?is){message}"):
        loads_toml(f'{text}\n[[drive]]\ncoordinate = "q1"\nmotion = {motion}\n')


def test_points_inside_a_formula_raise_with_the_name() -> None:
    from dalembert.io.toml_writer import to_toml

    model = dl.load("two-link-robot")
    (way,) = dl.spline([0, 1, 2], [0, 1, 0]).formulas
    model.drive("q1", dl.Profile((way * coordinate("t"),), 0.0, 2.0, scalar=True))
    with pytest.raises(
        InputError, match=r"drive of q1.*a table of points cannot be written inside a formula.*torque_table"
    ):
        to_toml(model)
