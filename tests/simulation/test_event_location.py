"""All zero crossings of event functions are located, compared with dense sampling of independent motions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as dl
from dalembert.model.elements import Direction
from dalembert.simulation._crossings import Root, _ordered

DURATION = 10.0
TIMES = np.linspace(0.0, DURATION, 40001)
# the accuracy of event times is that of the method: errors of the motion at default tolerances
INTEGRATORS = {"taylor": 1e-11, "dop853": 1e-8, "radau": 1e-7, "rk45": 2e-2, "rk4": 1e-6, "ida": 1e-6}


@dataclass(frozen=True)
class Motion:
    """A model of one coordinate x, and an independent solution x(t), v(t)."""

    model: dl.Model
    at: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def block(x=0.0, v=1.0, force=None, **options):
    model = dl.Model("block", **options).coordinate("x", x, v)
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    return model if force is None else model.force("block", (force, 0, 0), name="push")


def free():
    return Motion(block(0.1, 1.0), lambda t: (0.1 + t, np.ones_like(t)))


def falling():
    return Motion(block(0.0, 10.0, gravity=(-2.0, 0, 0)), lambda t: (10.0 * t - t**2, 10.0 - 2.0 * t))


def oscillator():
    """x'' + 4 x = cos(t) from x = 1, v = 0: x = (2 cos 2t + cos t) / 3."""
    return Motion(
        block(1.0, 0.0, "cos(t) - 4*x"),
        lambda t: ((2 * np.cos(2 * t) + np.cos(t)) / 3, -(4 * np.sin(2 * t) + np.sin(t)) / 3),
    )


def pendulum():
    model = dl.Model("pendulum", gravity=(0, 0, -9.81)).coordinate("x", 2.0, 0.0)
    model.body("bob", joint=model.revolute((0, 1, 0), "x"), mass=1, center=(0, 0, -1), inertia=np.zeros((3, 3)))
    known = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0])],
        (0, DURATION),
        [2.0, 0.0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-14,
        max_step=0.02,
        dense_output=True,
    )
    return Motion(model, lambda t: tuple(known.sol(t)))


MOTIONS = {"free": free, "falling": falling, "oscillator": oscillator, "pendulum": pendulum}


def value(formula, motion, t):
    """A formula along the motion, by NumPy alone."""
    x, v = motion.at(t)
    names = {"x": x, "v": v, "t": t, "sin": np.sin, "cos": np.cos, "exp": np.exp, "abs": np.abs}
    return eval(formula.replace("dot(x)", "v"), names) + np.zeros_like(t)  # noqa: S307 (our own formulas)


def crossings(formula, motion, end=DURATION):
    """Times and directions of all zero crossings of a formula before `end`, by dense sampling and Brent's method."""
    t = np.sort(np.append(end * np.modf(np.arange(len(TIMES)) * 0.6180339887498949)[0], [0.0, end]))
    g = value(formula, motion, t)
    found = np.flatnonzero(g[:-1] * g[1:] < 0)

    def at(s):
        return float(value(formula, motion, np.array([s]))[0])

    root: Any = brentq
    return [(root(at, t[k], t[k + 1], xtol=1e-14, rtol=1e-14), bool(g[k + 1] > 0)) for k in found]


def clear(formula, motion, allowed):
    """True if errors of the motion up to `allowed` cannot change the number of crossings or move one far."""
    g, rate = value(formula, motion, TIMES), np.gradient(value(formula, motion, TIMES), TIMES)
    scale = np.abs(g).max()
    lowest = (np.abs(g[1:-1]) < np.abs(g[:-2])) & (np.abs(g[1:-1]) < np.abs(g[2:])) & (g[:-2] * g[2:] > 0)
    near = np.abs(g) < 20 * allowed * scale
    ends = min(abs(g[0]), abs(g[-1])) > 20 * allowed * scale
    return bool(
        ends and (np.abs(g[1:-1][lowest]) > 20 * allowed * scale).all() and (np.abs(rate[near]) > 0.02 * scale).all()
    )


def random_formula(random):
    """A polynomial, a sum of sines, or a product of both, of time, coordinate and velocity."""

    def number(size=1.0):
        return f"({size * random.normal():.6f})"

    def polynomial():
        variable = random.choice(["x", "dot(x)", "t/3"])
        roots = [f"({variable} - {number(4.0)})" for _ in range(random.integers(1, 5))]
        return " * ".join(roots)

    def sines():
        terms = (
            f"{number()}*{random.choice(['sin', 'cos'])}({number(4.0)}*{random.choice(['x', 't', 'dot(x)'])} + {number()})"
            for _ in range(random.integers(1, 4))
        )
        return f"({' + '.join(terms)} + {number(0.3)})"

    kind = random.integers(3)
    return polynomial() if kind == 0 else sines() if kind == 1 else f"({polynomial()}) * {sines()}"


def formulas_for(motion, seed, count, allowed):
    random, found = np.random.default_rng(seed), []
    while len(found) < count:
        formula = random_formula(random)
        if clear(formula, motion, allowed):
            found.append(formula)
    return found


def counted(found, direction):
    return [t for t, up in found if direction in ("both", "up" if up else "down")]


def require_all_crossings(name, integrator, seed, count):
    motion, allowed = MOTIONS[name](), INTEGRATORS[integrator]
    directions: list[Direction] = ["both", "up", "down"]
    formulas = formulas_for(motion, seed, count, allowed)
    model = motion.model
    for k, formula in enumerate(formulas):
        model = model.event(f"e{k}", formula, direction=directions[k % 3])
    run = dl.simulate(model, DURATION, integrator=integrator, samples=11)
    times = [each.t for each in run.events]
    assert times == sorted(times)
    for k, formula in enumerate(formulas):
        expected = counted(crossings(formula, motion), directions[k % 3])
        found = [each.t for each in run.events if each.name == f"e{k}"]
        assert len(found) == len(expected), (formula, directions[k % 3], found, expected)
        assert np.allclose(found, expected, rtol=0, atol=100 * allowed), formula


DIRECTIONS: list[Direction] = ["down", "up", "both"]


def require_stops(name, integrator, seed, count):
    motion, allowed = MOTIONS[name](), INTEGRATORS[integrator]
    for k, formula in enumerate(formulas_for(motion, seed, count, allowed)):
        direction = DIRECTIONS[k % 3]
        model = (
            motion.model.copy().event("end", formula, direction=direction, stop=True).event("turn", "dot(x) - 0.123")
        )
        run = dl.simulate(model, DURATION, integrator=integrator, samples=11)
        expected = [*counted(crossings(formula, motion), direction), DURATION][0]
        assert run.t[-1] == pytest.approx(expected, abs=100 * allowed), (formula, direction)
        others = [t for t, _ in crossings("dot(x) - 0.123", motion, expected)]
        assert len(others) == len([each for each in run.events if each.name == "turn"])


ROOTS = {  # in 10 s of x = t
    "sin(t)": np.pi * np.arange(1, 4),
    "cos(3*x)": np.pi * (np.arange(10) + 0.5) / 3,
    "sin(5*t + 0.5)": (np.pi * np.arange(1, 17) - 0.5) / 5,
    "(x - 5)*(x - 5.1)": np.array([5.0, 5.1]),
    "(x - 5)*(x - 5.0001)": np.array([5.0, 5.0001]),
}


@pytest.mark.parametrize("integrator", [*INTEGRATORS, "algorithm3"])
@pytest.mark.parametrize("formula", ROOTS)
def test_locates_all_roots_of_a_step(integrator, formula):
    """A free mass x = t, which `taylor` moves in a single step."""
    model = block()
    for direction in ("both", "up", "down"):
        model = model.event(direction, formula, direction=direction)
    run = dl.simulate(model, DURATION, integrator=integrator, samples=3)
    found = {key: [each.t for each in run.events if each.name == key and each.t > 0] for key in ("both", "up", "down")}
    assert found["both"] == pytest.approx(ROOTS[formula], abs=1e-9)
    assert found["both"] == sorted(found["up"] + found["down"])
    assert found["down"] == found["both"][::2]


def test_roots_within_rounding_have_one_instant_and_the_order_of_declaration():
    half = 0.5 + 2**-53
    roots = [
        Root(1, half, 0, True),
        Root(1, 0.5, 2, False),
        Root(1, half, 1, True),
        Root(0, half, 3, True),
        Root(1, 0.6, 0, False),
    ]
    assert [(root.step, root.share, root.which) for root in _ordered(roots)] == [
        (0, half, 3),
        (1, 0.5, 0),
        (1, 0.5, 1),
        (1, 0.5, 2),
        (1, 0.6, 0),
    ]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_search_continues_after_a_root_in_the_other_direction(integrator):
    model = dl.Model("ball", gravity=(0, 0, -9.81)).coordinate("z", 0.0, 10.0)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    model.event("low", "z - 1", direction="down", stop=True)
    run = dl.simulate(model, 2.5, integrator=integrator, samples=3)
    assert run.t[-1] == pytest.approx((10 + np.sqrt(100 - 2 * 9.81)) / 9.81, abs=1e-12)
    assert run.q[0, -1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("integrator", ["taylor", "dop853", "radau"])
@pytest.mark.parametrize("velocity", [1.0, -1.0])
def test_event_that_is_zero_at_the_start_fires_in_its_direction(integrator, velocity):
    """With `up` or `down` the direction defines the side before the start; with `both` it is undefined."""
    model = block(0.0, velocity)
    for direction in ("both", "up", "down"):
        model = model.event(direction, "x*(x**2 - 4)", direction=direction)
    run = dl.simulate(model, 5.0, integrator=integrator, samples=3)
    first, second = ("down", "up") if velocity > 0 else ("up", "down")
    assert [(each.name, round(each.t, 9)) for each in run.events] == [
        (first, 0.0),
        *sorted([("both", 2.0), (second, 2.0)], key=lambda each: ["both", "up", "down"].index(each[0])),
    ]


def test_event_does_not_fire_twice_at_the_same_root():
    """Each crossing halves the rate; the function is zero where it fired, and returns later."""
    model = block(0.0, 8.0).parameters(k=0.0).event("start", "x", direction="up", set={"k": "k + 1"})
    model.event("wave", "sin(x)", direction="down", reset={"x": "dot(x)/2"})
    run = dl.simulate(model, 10.0, samples=3)
    assert [each.t for each in run.events if each.name == "start"] == [0.0]
    expected = np.cumsum(np.pi * np.array([1, 4, 8, 16]) / 8)
    assert [each.t for each in run.events if each.name == "wave"] == pytest.approx(expected[expected < 10], abs=1e-12)


def test_events_accumulate_with_increasing_frequency():
    """Each crossing doubles the rate: only the first root of many in a step counts, up to the accumulation at 3 pi."""
    model = block(0.0, 1.0).event("wave", "sin(x)", direction="down", reset={"x": "2*dot(x)"})
    run = dl.simulate(model, 10.0, samples=3)
    found = np.array([each.t for each in run.events])
    assert found[:20] == pytest.approx(3 * np.pi - 2 * np.pi * 0.5 ** np.arange(20), abs=1e-12)
    assert run.t[-1] == pytest.approx(3 * np.pi, abs=1e-8)


def test_touching_zero_is_not_a_crossing():
    model = block(0.0, 1.0).event("square", "(x - 5)**2").event("cosine", "cos(x) + 1").event("cube", "(x - 5)**3")
    run = dl.simulate(model, 10.0, samples=3)
    assert [(each.name, round(each.t, 4)) for each in run.events] == [("cube", 5.0)]


@pytest.mark.parametrize("integrator", ["taylor", "dop853"])
def test_locates_kinks_jumps_and_poles(integrator):
    model = (
        block(0.0, 1.0)
        .event("kink", "abs(x - 5) - 0.001")
        .event("jump", "sign(x - 3.3) + 0.5")
        .event("pole", "1/(x - 7.7)")
    )
    run = dl.simulate(model, 10.0, integrator=integrator, samples=3)
    assert [each.name for each in run.events] == ["jump", "kink", "kink", "pole"]
    assert [each.t for each in run.events] == pytest.approx([3.3, 4.999, 5.001, 7.7], abs=1e-12)


def test_locates_many_crossings_in_one_step():
    run = dl.simulate(block().event("fast", "sin(1000*x + 0.5)"), DURATION, integrator="taylor", samples=3)
    expected = (np.arange(1, 1 + len(run.events)) * np.pi - 0.5) / 1000
    assert len(run.events) == int((1000 * DURATION + 0.5) / np.pi)
    assert np.allclose([each.t for each in run.events], expected, rtol=0, atol=1e-12)


def test_event_at_the_end_of_a_run_fires():
    run = dl.simulate(block().event("end", "x - 2"), 2.0, integrator="taylor", samples=3)
    assert [each.t for each in run.events] == pytest.approx([2.0], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "integrator"),
    [
        *(("falling", integrator) for integrator in INTEGRATORS),
        *(("oscillator", integrator) for integrator in INTEGRATORS if integrator != "radau"),
        pytest.param("oscillator", "radau", marks=pytest.mark.slow(6)),
    ],
)
def test_locates_all_random_events(name, integrator):
    require_all_crossings(name, integrator, 1, 9)


def test_many_events_in_one_step_are_ordered():
    """Enough roots in a step for several windows of the root isolation."""
    require_all_crossings("falling", "dop853", 13, 15)


@pytest.mark.parametrize(("name", "integrator"), [("oscillator", "taylor"), ("pendulum", "dop853")])
def test_random_events_stop_at_the_first_crossing(name, integrator):
    require_stops(name, integrator, 2, 3)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10, 16))
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", MOTIONS)
def test_locates_many_random_events(name, integrator, seed):
    require_all_crossings(name, integrator, seed, 15)


@pytest.mark.nightly
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", MOTIONS)
def test_many_random_events_stop_at_the_first_crossing(name, integrator):
    require_stops(name, integrator, 30, 6)
