"""Kinks of prescribed motions are impacts, compared with impulse equations from SymPy integrated by SciPy."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.errors import InconsistentStateError, NotApplicableError, SimulationError
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml

G = 9.81
nightly = pytest.mark.nightly
FORMALISMS = [
    "boltzmann_hamel",
    "dalembert",
    "denoc",
    "dirac",
    "gauss",
    "gibbs_appell",
    "hamilton",
    "kane",
    "lagrange",
    "maggi",
    "newton_euler",
    "nullspace",
    "phong",
    "poincare",
    "routh",
    "udwadia_kalaba",
    "volterra",
    "volterra_reduced",
]
INTEGRATORS = {
    "taylor": 1e-11,
    "dop853": 1e-7,
    "rk45": 1e-5,
    "rk4": 1e-6,
    "radau": 1e-6,
    "ida": 1e-5,
    "collocation": 1e-6,
}


def with_bob(model):
    return model.body("bob", parent="cart", joint=model.revolute((0, 1, 0), "a"), mass=1, center=(0, 0, -1))


def by_joint(motion, **parameters):
    """A pendulum of length 1 below a cart whose joint is a formula of time."""
    model = dl.Model("driven cart", gravity=(0, 0, -G)).parameters(**parameters).coordinate("a")
    return with_bob(model.body("cart", joint=model.prismatic((1, 0, 0), motion), mass=1))


def free_cart(rate=0.0, **parameters):
    """The same on a cart that can move."""
    model = dl.Model("cart", gravity=(0, 0, -G)).parameters(**parameters).coordinate("x", 0.0, rate).coordinate("a")
    return with_bob(model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1))


def swung(seconds, rate):
    """The angle of a pendulum of length 1 some seconds after it left its lowest position with a rate."""
    return float(
        solve_ivp(lambda t, y: [y[1], -G * np.sin(y[0])], (0, seconds), [0, rate], rtol=1e-12, atol=1e-12).y[0, -1]
    )


# one kink, in every form


FORMS = {
    "joint": lambda: by_joint("max(t - 1, 0)"),
    "drive": lambda: free_cart().drive("x", "max(t - 1, 0)", name="drive"),
    "holonomic": lambda: free_cart().holonomic("x - max(t - 1, 0)", name="drive"),
    "nonholonomic": lambda: free_cart().nonholonomic("dot(x) - piecewise(0, t < 1, 1)", name="drive"),
    "event": lambda: free_cart(w=0.0).nonholonomic("dot(x) - w", name="drive").event("go", "t - 1", set={"w": 1}),
    "joint by event": lambda: by_joint("w*(t - 1)", w=0.0).event("go", "t - 1", set={"w": 1}),
}


@pytest.mark.parametrize("form", FORMS)
def test_kink_of_a_prescribed_motion_is_an_impact(form):
    run = dl.simulate(FORMS[form](), 1.5, samples=4)
    assert run["a"][-1] == pytest.approx(swung(0.5, 1.0), abs=1e-10)
    assert run["a"][-1] == pytest.approx(0.3206, abs=1e-4)
    assert run.energy_error < 1e-12
    (impulse,) = run.impulses
    assert impulse.t == pytest.approx(1.0, abs=1e-12)
    assert impulse.name == ("cart" if "joint" in form else "drive")
    # the bob hangs below and starts to swing: the cart alone is pushed to 1 m/s
    assert np.abs(impulse.vector).max() == pytest.approx(1.0, abs=1e-12)
    assert run.energy[-1] - run.energy[0] == pytest.approx(run.work.total[-1], abs=1e-11)


@pytest.mark.parametrize("formalism", ["hamilton", "kane", *(pytest.param(f, marks=nightly) for f in FORMALISMS)])
@pytest.mark.parametrize("form", ["joint", "drive"])
def test_every_formalism_passes_a_kink(formalism, form):
    run = dl.simulate(FORMS[form](), 1.5, samples=4, formalism=formalism)
    assert run["a"][-1] == pytest.approx(swung(0.5, 1.0), abs=1e-9)
    assert run.energy_error < 1e-11


PASSED = [(i, f) for i in INTEGRATORS for f in ("joint", "drive") if (i, f) != ("collocation", "joint")]
DAILY = {("rk4", "joint"), ("dop853", "drive")}


@pytest.mark.parametrize(
    ("integrator", "form"), [pair if pair in DAILY else pytest.param(*pair, marks=nightly) for pair in PASSED]
)
def test_every_integrator_passes_a_kink(integrator, form):
    options = {"step": 1e-3} if integrator == "rk4" else {}
    formalism = "phong" if integrator == "collocation" else "lagrange"  # with undifferentiated constraints
    run = dl.simulate(FORMS[form](), 1.5, samples=4, integrator=integrator, formalism=formalism, **options)
    assert run["a"][-1] == pytest.approx(swung(0.5, 1.0), abs=INTEGRATORS[integrator])
    assert len(run.impulses) == 1


def test_reversed_motion_gives_twice_the_impulse():
    run = dl.simulate(by_joint("abs(t - 1)"), 1.5, samples=4)
    assert run["a"][-1] == pytest.approx(swung(0.5, 2.0), abs=1e-10)
    assert run.impulses[0].vector == pytest.approx([2, 0, 0], abs=1e-12)


def test_energy_of_an_impulse_equals_the_energy_change():
    run = dl.simulate(by_joint("0.5*t + abs(t - 1)"), 1.5, samples=4, q0=[0.3])
    (impulse,) = run.impulses
    before = dl.simulate(by_joint("0.5*t + abs(t - 1)"), times=[0, 1 - 1e-9], q0=[0.3]).energy[-1]
    after = dl.simulate(by_joint("0.5*t + abs(t - 1)"), times=[0, 1 + 1e-9], q0=[0.3]).energy[-1]
    assert impulse.energy == pytest.approx(after - before, abs=1e-6)
    assert abs(impulse.energy) > 0.1


def test_simultaneous_jumps_of_several_drives():
    """Two carts joined by a spring, each with a prescribed motion: each needs its own mass times its own jump."""
    model = dl.Model("carts").coordinates("x", "y")
    for name, along, mass in (("one", "x", 2), ("two", "y", 3)):
        model.body(name, joint=model.prismatic((1, 0, 0), along), mass=mass)
    model.drive("x", "max(t - 1, 0)", name="first").drive("y", "-2*max(3*t - 3, 0)", name="second")
    run = dl.simulate(model, 2.0, samples=3)
    assert {each.name: round(float(each.vector[0]), 9) for each in run.impulses} == {"first": 2, "second": -18}
    assert run.q[:, -1] == pytest.approx([1, -6], abs=1e-12)


def test_opposite_simultaneous_jumps_cancel():
    run = dl.simulate(by_joint("sign(t - 1) - sign(2*t - 2) + max(3*t - 3, 0)/3"), 1.5, samples=3)
    assert run["a"][-1] == pytest.approx(swung(0.5, 1.0), abs=1e-10)
    assert len(run.impulses) == 1


def test_platform_that_starts_instantly_throws_the_ball():
    """A ball that rests on a platform: the platform moves at 1 m/s, the ball leaves with 1 + e."""
    model = dl.Model("platform", gravity=(0, 0, -G)).coordinate("z", 0.1)
    model.body("platform", joint=model.prismatic((0, 0, 1), "max(t - 1, 0)"), mass=1)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=0.5)
    model.sphere_on_plane("ball", ground="platform", radius=0.1, restitution=0.5, name="floor")
    run = dl.simulate(model, 1.05, samples=22)
    assert run.qd[0, -1] == pytest.approx(1.5 - G * 0.05, abs=1e-9)
    assert [each.name for each in run.impulses] == ["platform", "floor"]
    assert run.energy_error < 1e-11


def test_kink_releases_a_sticking_joint():
    """Friction is finite: the impulse acts on the pendulum as without friction."""
    model = by_joint("max(t - 1, 0)").joint_friction("bob", coulomb=50.0, name="bearing")
    run = dl.simulate(model, 1.01, samples=12)
    reference = solve_ivp(lambda t, y: [y[1], -G * np.sin(y[0]) - 50], (0, 0.01), [0, 1], rtol=1e-12, atol=1e-12)
    assert run["a"][-1] == pytest.approx(float(reference.y[0, -1]), abs=1e-10)


def test_smooth_profiles_have_no_impulses():
    points = np.linspace(0, 2, 12)
    spline = free_cart(np.pi / 2).drive(
        "x", dl.spline(points, np.sin(np.pi / 2 * points), rates=(np.pi / 2, -np.pi / 2))
    )
    for model in (spline, free_cart().drive("x", dl.trapezoidal(0, 1, 1.0)), by_joint("max(t - 1, 0)**2")):
        run = dl.simulate(model, 1.5, samples=4)
        assert run.impulses == ()
        assert run.energy_error < 1e-11


# rejected cases


@pytest.mark.parametrize("motion", ["piecewise(0, t < 1, t)", "sign(t - 1)/10", "piecewise(0, t < 1, 1e-6)"])
def test_position_jump_is_rejected_with_its_time(motion):
    with pytest.raises(SimulationError, match=r"at t = 1 body 'cart': the position of body 'cart' jumps"):
        dl.simulate(by_joint(motion), 1.5)
    model = free_cart().holonomic(f"x - ({motion}) - ({'0' if 'sign' not in motion else '0.1'})", name="drive")
    with pytest.raises(
        SimulationError, match=r"at t = 1 holonomic 'drive': the position that 'drive' prescribes jumps by"
    ):
        dl.simulate(model, 1.5)


def test_event_that_moves_bodies_instantly_is_rejected():
    model = by_joint("w*t", w=0.5).event("go", "t - 1", set={"w": 1})
    with pytest.raises(SimulationError, match=r"at t = 1 event 'go': the position of body 'cart' jumps by 0.5"):
        dl.simulate(model, 1.5)


def on_path(path, start, rate):
    model = dl.Model("bead", gravity=(0, 0, -G)).coordinate("y", start[0], rate[0]).coordinate("z", start[1], rate[1])
    model.body("bead", joint=[model.prismatic((1, 0, 0), "y"), model.prismatic((0, 0, 1), "z")], mass=1)
    return model.holonomic(path, name="path")


def test_corner_of_a_path_is_rejected_unless_smooth():
    with pytest.raises(SimulationError, match=r"the direction that the constraint 'path' permits jumps"):
        dl.simulate(on_path("z - abs(y)", (-1, 1), (1, -1)), 2.5)
    model = dl.Model("bead").coordinate("y", -1, 1.0)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "y"), model.prismatic((0, 0, 1), "max(y, 0)")], mass=1)
    with pytest.raises(SimulationError, match=r"body 'bead': the direction in which a joint moves its body jumps"):
        dl.simulate(model, 2.5)
    run = dl.simulate(on_path("z - max(-y, 0)**2", (-1, 1), (1, -2)), 1.0, samples=11)
    assert run.energy_error < 1e-12
    assert run["y"][-1] > 0


def test_step_of_the_potential_energy_is_rejected():
    energies = {"coordinates": ["x"], "kinetic": "dot(x)**2/2"}
    model = dl.Model.from_energies("step", potential="piecewise(0, x < 1, 0.2)", **energies).start([0], [1])
    with pytest.raises(SimulationError, match=r"at t = 1 .*the potential energy jumps by 0.2 along the motion"):
        dl.simulate(model, 2.0)
    run = dl.simulate(
        dl.Model.from_energies("later", potential="piecewise(0, t < 1, 0.2)", **energies).start([0], [1]), 2.0
    )
    assert run.energy_error < 1e-13
    assert run.work.total[-1] == pytest.approx(0.2, abs=1e-13)


def test_jump_of_the_kinetic_energy_conserves_the_momentum():
    """L = m(t) v²/2: p is continuous, so the velocity falls from 1 to 1/2."""
    energies = {"coordinates": ["x"], "kinetic": "piecewise(1, t < 1, 2)*dot(x)**2/2"}
    run = dl.simulate(dl.Model.from_energies("growing", **energies).start([0], [1]), 2.0, samples=3)
    assert run.q[0, -1] == pytest.approx(1.5, abs=1e-12)
    assert run.energy_error < 1e-13


def test_contradicting_drives_after_a_kink_are_reported():
    model = free_cart().holonomic("x - max(t - 1, 0)", name="one").holonomic("x - 2*max(t - 1, 0)", name="other")
    with pytest.raises(SimulationError, match=r"at t = 1 .*'o"):
        dl.simulate(model, 1.5)


def test_nonlinear_constraint_has_no_impulse_equations():
    model = dl.Model("point").coordinate("x", 0, 1.0).coordinate("y")
    model.body("point", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.nonholonomic("dot(x)**2 + dot(y)**2 - piecewise(1, t < 1, 2)", name="speed")
    with pytest.raises(SimulationError, match=r"at t = 1 .* constraint 'speed' is not linear in the velocities"):
        dl.simulate(model, 1.5)


def test_rollouts_and_sensitivities_reject_kinks_by_name():
    model = by_joint("max(t - 1, 0)")
    for run in (
        lambda: dl.dynamics(model).simulate(1.5),
        lambda: dl.dynamics(model).rollout([0.0], [0.0], None, 1e-2, 150),
        lambda: dl.sensitivity(model, 1.5, of=["a(0)"]),
    ):
        with pytest.raises(NotApplicableError, match=r"at t = 1"):
            run()
    assert dl.dynamics(model).rollout([0.0], [0.0], None, 1e-2, 50).q[0, -1] == 0.0
    assert dl.dynamics(by_joint("max(t - 1, 0)**2")).simulate(1.2, samples=3).q[0, -1] > 0.01


def test_start_at_a_kink_uses_the_velocity_after_it():
    run = dl.simulate(free_cart(1.0).drive("x", "max(t, 0)"), 0.5, samples=3)
    assert run["a"][-1] == 0.0
    assert run.impulses == ()
    with pytest.raises(InconsistentStateError, match=r"velocity of 'drive of x' is -1"):
        dl.simulate(free_cart().drive("x", "max(t, 0)"), 0.5)


# random motions with kinks


@cache
def double_pendulum():
    """M, forces and the momenta per velocity of the cart, of a double pendulum below a cart, by SymPy."""
    t = sp.Symbol("t")
    x, a, b = (sp.Function(name)(t) for name in "xab")
    lengths, masses = (0.7, 0.5), (1.3, 0.8)
    p1 = sp.Matrix([x - lengths[0] * sp.sin(a), -lengths[0] * sp.cos(a)])
    p2 = p1 + sp.Matrix([-lengths[1] * sp.sin(a + b), -lengths[1] * sp.cos(a + b)])
    points: list[Any] = [p1, p2]
    T = sum(m * (p.diff(t).T @ p.diff(t))[0] / 2 for m, p in zip(masses, points, strict=True))
    V = sum(m * G * p[1] for m, p in zip(masses, points, strict=True))
    rates, symbols = [v.diff(t) for v in (x, a, b)], sp.symbols("x a b u v w A")
    L = T - V
    momenta = [sp.diff(L, rate) for rate in rates]
    accelerations = [v.diff(t, 2) for v in (x, a, b)]
    law = [p.diff(t) - sp.diff(L, q) for p, q in zip(momenta, (x, a, b), strict=True)]
    flat = dict(zip([*rates, x, a, b], [*symbols[3:6], *symbols[:3]], strict=True))
    M = sp.Matrix(momenta).jacobian(rates).subs(flat)
    rest = sp.Matrix(law).subs(dict.fromkeys(accelerations, 0)).doit().subs(flat)
    return sp.lambdify(symbols[:6], M), sp.lambdify(symbols[:6], rest)


def reference(rates, knots, duration, start):
    """The angles at the end: `rates` are those of the cart between the knots, each constant."""
    M, rest = double_pendulum()
    y = np.array(start, dtype=float)
    times = [0.0, *[k for k in knots if k < duration], duration]
    for i, (begin, end) in enumerate(pairwise(times)):
        if i:
            mass = M(0, *y[:2], 0, 0, 0)
            y[2:] -= np.linalg.solve(mass[1:, 1:], mass[1:, 0]) * (rates[i] - rates[i - 1])

        def flow(t, y, u=rates[i]):
            return [*y[2:], *np.linalg.solve(M(0, *y[:2], u, *y[2:])[1:, 1:], -rest(0, *y[:2], u, *y[2:])[1:, 0])]

        y = solve_ivp(flow, (begin, end), y, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return y[:2]


def random_motion(rng):
    """A motion of straight lines as a formula, with its rates, knots and values."""
    knots = np.sort(rng.uniform(0.1, 1.4, int(rng.integers(1, 5)))).round(6)
    changes, rate = rng.uniform(-2, 2, len(knots)).round(6), float(rng.uniform(-1, 1))
    parts = [f"({rate!r})*t"]
    for knot, change in zip(knots.tolist(), changes.tolist(), strict=True):
        match int(rng.integers(3)):
            case 0:
                parts.append(f"({change!r})*max(t - {knot!r}, 0)")
            case 1:  # half the modulus, and half the line below it
                parts.append(f"({change / 2!r})*(abs(t - {knot!r}) + t - {knot!r})")
            case _:
                parts.append(f"({-change!r})*min({knot!r} - t, 0)")
    return " + ".join(parts), rate + np.concatenate([[0.0], np.cumsum(changes)]), knots


def double(rng, kind, duration=1.5):
    motion, rates, knots = random_motion(rng)
    start = rng.uniform(-1, 1, 4).round(3)
    model = dl.Model("double", gravity=(0, 0, -G))
    if kind != "joint":
        model.coordinate("x", 0.0, float(rates[0]))
    model.coordinate("a", start[0], start[2]).coordinate("b", start[1], start[3])
    model.body("cart", joint=model.prismatic((1, 0, 0), motion if kind == "joint" else "x"), mass=2)
    model.body("one", parent="cart", joint=model.revolute((0, 1, 0), "a"), mass=1.3, center=(0, 0, -0.7))
    second = model.revolute((0, 1, 0), "b", position=(0, 0, -0.7))
    model.body("two", parent="one", joint=second, mass=0.8, center=(0, 0, -0.5))
    if kind == "nonholonomic":
        cases = ", ".join(f"{r!r}, t < {k!r}" for r, k in zip(rates.tolist(), knots.tolist(), strict=False))
        model.nonholonomic(f"dot(x) - piecewise({cases}, {float(rates[-1])!r})", name="drive")
    elif kind == "drive":
        model.drive("x", motion, name="drive")
    elif kind == "table":
        times = np.concatenate([[0.0], knots, [2.0]])
        values = np.concatenate([[0.0], np.cumsum(rates * np.diff(times))])
        text = f"times = {times.tolist()}, values = {values.tolist()}, accelerations = {[0] * len(times)}"
        written = f'\n[[drive]]\nname = "drive"\ncoordinate = "x"\nmotion = {{ {text} }}\n'
        model = loads_toml(to_toml(model) + written)
    return model, reference(rates, knots, duration, start), knots


@pytest.mark.parametrize(
    "kind", ["joint", "table", *(pytest.param(k, marks=nightly) for k in ("drive", "nonholonomic"))]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=nightly) for seed in range(1, 8))])
def test_random_motions_with_kinks(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    model, expected, knots = double(rng, kind)
    formalism = str(rng.choice(FORMALISMS)) if seed else "lagrange"
    run = dl.simulate(model, 1.5, samples=4, formalism=formalism)
    assert np.array([run["a"][-1], run["b"][-1]]) == pytest.approx(expected, abs=1e-8)
    assert [each.t for each in run.impulses] == pytest.approx(knots, abs=1e-9)
    assert run.energy_error < 1e-10
    assert run.energy[-1] - run.energy[0] == pytest.approx(run.work.total[-1], abs=1e-9)
