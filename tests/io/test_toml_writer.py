"""Models written as TOML and read back: the same elements, the same accelerations."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.errors import ComputationError, FormulaError, InputError
from dalembert.io import gallery
from dalembert.io.toml_reader import loads_toml, read_toml
from dalembert.io.toml_writer import to_toml, write_toml
from dalembert.model.description import FIELDS
from dalembert.model.evaluation import value
from dalembert.model.joints.revolute import Revolute
from dalembert.model.loads.force import Force
from dalembert.model.model import Model
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.parser import parse

ORDERED_BY_KIND = ("loads", "contacts")
NOT_IN_A_FILE = ("symbols", "gravity_input", "notes")


def content(model: Model) -> dict[str, Any]:
    """The content of a model; elements that are reordered by kind are compared by name."""
    out = {key: getattr(model, key) for key in FIELDS if key not in NOT_IN_A_FILE}
    for key in ORDERED_BY_KIND:
        out[key] = {element.name: element for element in out[key]}
    return {**out, "gravity": model.gravity}


def returned(model: Model) -> Model:
    """The model after a round trip through a file, which must not change it."""
    text = to_toml(model)
    back = loads_toml(text)
    before, after = content(model), content(back)
    assert before.keys() == after.keys()
    for key, entry in before.items():
        assert after[key] == entry, key
    without_comments = "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("#")
    )  # notes are comments
    assert to_toml(back) == without_comments or [load.name for load in back.loads] != [
        load.name for load in model.loads
    ]
    return back


def same_accelerations(model: Model, back: Model, seed: int = 3) -> None:
    random = np.random.default_rng(seed)
    n = len(model.generalized_coordinates)
    q, qd = random.uniform(0.2, 0.9, n), random.uniform(-1, 1, n)
    first, second = (dl.derive(each, engine="python").accelerations(q, qd, t=0.37) for each in (model, back))
    assert np.isfinite(first).all()
    assert np.abs(first).max() > 1e-3
    assert second == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("name", gallery.names())
def test_gallery_round_trip(name):
    returned(gallery.load(name))


@pytest.mark.parametrize("name", ["cart-pendulum", "chaplygin-sleigh", "damped", "heavy-top", "n-four-bar", "tracking"])
def test_models_of_the_gallery_accelerate_the_same(name):
    if name == "damped":
        model = Model("damped").parameters(k=0.1).coordinates("x").set_energies("dot(x)**2/2", "x**2", ["-k*dot(x)"])
    else:
        model = gallery.load(name)
    q, qd = model.initial
    a, b = (dl.derive(each, engine="python").accelerations(q, qd) for each in (model, loads_toml(to_toml(model))))
    assert b == pytest.approx(a, rel=1e-12, abs=1e-15)


JOINTS: dict[str, Callable[[Model], Any]] = {
    "fixed": lambda m: [m.fixed(("a", 0, 0), (0, 0.1, 0)), m.revolute((0, 0, 1), "q1")],
    "revolute": lambda m: m.revolute((1, 2, 2), "q1 + 2*q2", rotation=("a", 0, 1)),
    "prismatic": lambda m: m.prismatic((1, 1, 0), "q1*q2"),
    "screw": lambda m: m.screw((0, 0, 1), "q1", 0.3, ("a", 0, 0)),
    "cylindrical": lambda m: m.cylindrical((3, 0, 4), "q1", "q2"),
    "universal": lambda m: m.universal(((1, 0, 0), (0, 1, 0)), ("q1", "q2"), (0, "a", 0)),
    "planar": lambda m: m.planar((0, 0.6, 0.8), ("q1", "q2"), "q3"),
    "spherical": lambda m: m.spherical(("q1", "q2", "q3"), "zxz"),
    "quaternion": lambda m: m.spherical(quaternion=("w", "x", "y", "z"), rotation=(0, "a", 0)),
    "free": lambda m: m.free(("q1", "q2", "q3"), ("w", "x", "y"), "zyx"),
    "free by quaternion": lambda m: m.free(("q1", "q2", "q3"), quaternion=("w", "x", "y", "z"), position=(1, 0, 0)),
    "chain": lambda m: [m.prismatic((1, 0, 0), "q1"), m.universal(((0, 1, 0), (0, 0, 1)), ("q2", "q3"))],
}


def on(joint: Callable[[Model], Any]) -> Model:
    """A heavy body on a joint, with only the coordinates that move it."""
    names = ("q1", "q2", "q3", "w", "x", "y", "z")
    trial = Model("trial").parameters(a=0.3).coordinates(*names)
    made = joint(trial)
    used = {str(s) for j in (made if isinstance(made, list) else [made]) for v in j.values for s in v.free_symbols}
    model = Model("body on a joint", gravity=(1.5, "-g", -3), description='äöü "quoted" \\ and\na second line')
    model.parameter("g", 9.81, "gravity", "m/s²").parameter("a", "1/3")
    for name in names:
        if name in used:
            model.coordinate(name, 0.1 + 0.2, -1 / 3, f"moves by {name}", "rad")
    matrix = ((1.1, 0.1, 0.2), (0.1, 1.2, 0.3), (0.2, 0.3, "1.3 + a"))
    return model.body(
        "b-1", joint=joint(model), mass="2 + a", center=(0.1, "a", 1 / 3), inertia=matrix, description="heavy"
    )


@pytest.mark.parametrize("kind", JOINTS)
def test_joint_round_trip(kind):
    model = on(JOINTS[kind])
    back = returned(model)
    if kind not in ("revolute", "prismatic"):  # one motion of two coordinates has a singular mass matrix
        same_accelerations(model, back)


LOADS: dict[str, Callable[[Model], Any]] = {
    "force": lambda m: m.force("arm", ("dot(x)*t", "abs(x)", 1), point=(0, "k", 0), frame="cart"),
    "plain force": lambda m: m.force("arm", (0, 0, "k")),
    "torque": lambda m: m.torque("arm", (0, 0, "piecewise(x, x < 1 and y > 0 or t <= 2, k)"), reaction="cart"),
    "joint_torque": lambda m: m.joint_torque("arm", "-k*dot(y)", motion=0),
    "second motion": lambda m: m.joint_torque("slider", "-k*dot(z) + 1", joint=1, motion=1),
    "actuator": lambda m: m.actuator("arm", "-9*x - sign(dot(x))", limit=("-k/2", 2)),
    "even actuator": lambda m: m.actuator("arm", "-9*x*min(x, y, 1)", limit="k"),
    "free actuator": lambda m: m.actuator("arm", "max(x, dot(x))"),
    "joint_spring": lambda m: m.joint_spring("arm", stiffness="k", rest=0.2, damping=0.1),
    "joint_friction": lambda m: m.joint_friction("arm", viscous=0.3, coulomb="k", smoothing=0.01),
    "exact friction": lambda m: m.joint_friction("arm", coulomb=1, static=(2, "2 + k")),
    "spring": lambda m: m.spring(("world", "arm"), stiffness="k", natural_length=0.3, points=((1, 0, 0), (0, "k", 0))),
    "damper": lambda m: m.damper(("cart", "arm"), damping=0.3, points=((0, 1, 0), (0, 0.5, 0.5))),
    "strut": lambda m: m.strut(("cart", "arm"), pull="k*length**3 + abs(rate)*t", points=((0, 1, 0), (0, 0.5, 0.5))),
    "curves": lambda m: m.strut(
        ("world", "arm"), curve=[[0, 1 / 3], [1, -2]], rate_curve=[[-1, "k"], [2, 3]], points=((1, 0, 0), (0, 1, 0))
    ),
    "joint_strut": lambda m: m.joint_strut("arm", pull="k*angle**3 + sign(rate)", curve=[[0, 0], [0.1, 25]]),
    "two frictions": lambda m: m.joint_friction("arm", coulomb=("k", 2), static=3, stribeck=0.1),
    "joint_stop": lambda m: m.joint_stop("arm", lower="-k", upper=0.3, stiffness="k", damping=0.1, exponent=1.5),
    "one stop": lambda m: m.joint_stop("arm", upper=0.3, push="k*depth**2 + rate*t"),
    "backlash": lambda m: m.backlash(("cart", "arm"), "k", play=0.1, internal=True, stiffness=20, phase=0.2),
    "backlash of a motion": lambda m: m.backlash(("cart", "arm"), 2, play=0, motions=(0, 0), push="k*depth"),
    "bushing": lambda m: m.bushing(
        ("world", "arm"), stiffness=[1, 2, "k", 4, 5, 6], damping=np.eye(6).tolist(), rotations=((0, 0, 0), (0, "k", 1))
    ),
    "motor": lambda m: m.motor("arm", stall_torque="k", no_load_speed=9, command="max(-1, min(1, 3 - x))"),
    "dc_motor": lambda m: m.dc_motor("arm", voltage="k*sin(t)", resistance=2, torque_constant=0.1, ratio=-8),
    "drag": lambda m: m.drag("arm", density=1.2, area="k", coefficient=0.3, wind=("sin(t)", 0, 0), point=(0, 1, 0)),
    "still air": lambda m: m.drag("arm", density=1.2, area="k", coefficient=0.3, smoothing=0.1),
    "point_gravity": lambda m: m.point_gravity(("world", "arm"), mu="k", point=(3, 0, 0)),
    "two bodies": lambda m: m.point_gravity(("slider", "arm"), mu=3),
    "tire": lambda m: m.tire(
        "arm", radius="k", load="3*t", stiffness=(3, "k"), mu=0.9, normal=(1, 2, 3), center=(1, 0, 0)
    ),
    "linear tire": lambda m: m.tire(
        "arm", radius=1, load=3, stiffness="k", low_speed=0.5, axis=(0, 0, 1), normal=(0, 1, 0)
    ),
    "sphere_on_plane": lambda m: m.sphere_on_plane(
        "arm",
        radius="k/9",
        center=(0, 1, 0),
        ground="cart",
        point=(0, 0, "k"),
        normal=(1, 2, 2),
        stiffness="k",
        damping=0.3,
        friction=0.1,
        viscous="k",
    ),
    "point on a plane": lambda m: m.sphere_on_plane("arm", push="k*depth**2 + rate*t", friction="k", planar=(0, 1, 0)),
    "sphere_on_sphere": lambda m: m.sphere_on_sphere(
        "arm", radius="k", ground="cart", ground_radius=0.2, ground_center=(0, 0, "k"), stiffness=3
    ),
    "sphere_on_box": lambda m: m.sphere_on_box(
        "arm", (1, "k", 2), position=(0, 1, 0), rotation=(0.1, 0, 0), stiffness=3
    ),
    "disk_on_plane": lambda m: m.disk_on_plane("arm", "k", axis=(0, 1, 1), center=(0, 1, 0), stiffness=3),
    "rigid": lambda m: m.sphere_on_plane(
        "arm", restitution="k/9", friction="k", planar=(0, 1, 0), impact="poisson", rest_speed=1e-4
    ),
    "ellipsoid_on_plane": lambda m: m.ellipsoid_on_plane(
        "arm", (1, "k", 2), rotation=(0, 0, "k"), ground="cart", point=(0, 1, 0), stiffness=3, friction="k"
    ),
    "hunt crossley": lambda m: m.sphere_on_plane("arm", stiffness="k", exponent="3/2", dissipation=0.2),
    "rotor": lambda m: m.rotor("arm", "k/100", ratio=10),
    "table": lambda m: m.wrench_table("arm", [0, 0.3, 0.7, 1], force=[[0, 1, 2], [1, 1 / 3, 2], [4, 5, 6], [0, 0, 2]]),
    "torque table": lambda m: m.torque_table("arm", [0, 0.3, 1e6], [1 / 3, -2, 5]),
    "both tables": lambda m: m.wrench_table(
        "arm",
        [-1, 0.5, 2],
        force=np.eye(3).tolist(),
        torque=[[0, 0, 0], [0, 0, 7], [0, 0, 0]],
        point=(0, 1, 0),
        frame="cart",
    ),
    "limits": lambda m: m.limit("x", lower=-1, upper=1 / 3).limit("y", velocity=2, effort=3),
    "shapes": lambda m: (
        m.shape("arm", "box", (1, 2, 3), position=(0, 0, 1 / 3), rotation=(0.1, 0, 0), color=(1, 0, 0, 0.5))
        .shape("cart", "mesh", (1, 1, 1), mesh="meshes/cart.stl")
        .shape("cart", "sphere", (0.1,))
    ),
    "simulation": lambda m: m.simulation(1 / 3, 77, "rk4", 1e-4, assemble=True),
}


def with_load(add: Callable[[Model], Any]) -> Model:
    model = Model("loads", gravity=(0, -9.81, 0)).parameters(k=0.7).coordinates("x", "y", "w", "z")
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    model.body("arm", parent="cart", joint=model.revolute((0, 0, 1), "y"), mass=1, center=(1, 0, 0), inertia=(1, 1, 1))
    hangs = [model.fixed(), model.cylindrical((0, 0, 1), "w", "z")]
    model.body("slider", joint=hangs, mass=1, center=(0.1, 0, 0), inertia=(1, 1, 1))
    add(model)
    return model


@pytest.mark.parametrize("kind", LOADS)
def test_load_round_trip(kind):
    model = with_load(LOADS[kind])
    back = returned(model)
    assert [type(load) for load in back.loads] == [type(load) for load in model.loads]
    same_accelerations(model, back)


def test_elements_are_written_by_kind():
    def kinds(key: str) -> set[str]:
        return set(tomllib.loads(to_toml(with_load(LOADS[key])))) - {
            "name",
            "gravity",
            "parameters",
            "coordinates",
            "body",
        }

    assert kinds("actuator") == kinds("even actuator") == {"actuator", "simulation"}
    assert kinds("free actuator") == {"joint_torque", "simulation"}
    assert kinds("table") == kinds("both tables") == {"wrench_table", "simulation"}
    data = tomllib.loads(to_toml(with_load(LOADS["actuator"])))["actuator"][0]
    assert data["limit"] == ["-k/2", 2]
    assert tomllib.loads(to_toml(with_load(LOADS["even actuator"])))["actuator"][0]["effort"] == "-9*x*min(x, y, 1)"


def test_long_table_with_constant_segments_round_trip():
    random = np.random.default_rng(5)
    times = np.cumsum(random.uniform(0.01, 0.1, 1500)).tolist()
    rows = random.uniform(-1, 1, (1500, 3))
    rows[100:900, 0] = 0.25
    rows[:, 2] = 1.0
    model = with_load(lambda m: m.wrench_table("arm", times, force=rows.tolist()))
    (force,) = loads_toml(to_toml(model)).loads
    assert isinstance(force, Force)
    for t in (-1.0, *random.uniform(0, times[-1], 15), times[-1] + 1):
        expected = [np.interp(t, times, rows[:, i]) for i in range(3)]
        assert [value(each, {"t": float(t)}) for each in force.force] == pytest.approx(expected, abs=1e-12)


LOOPS: dict[str, Callable[[Model], Any]] = {
    "fixed": lambda m: m.fixed((0, "k", 0)),
    "revolute": lambda m: m.revolute((0, 0, 1), 0),
    "prismatic": lambda m: m.prismatic((1, 1, 0), 0),
    "screw": lambda m: m.screw((0, 0, 1), 0, 0.1),
    "cylindrical": lambda m: m.cylindrical((0, 0, 1), 0, 0),
    "universal": lambda m: m.universal(((1, 0, 0), (0, 1, 0)), (0, 0), rotation=(0.1, 0, 0)),
    "planar": lambda m: m.planar((0, 0, 1), (0, 0), 0),
    "spherical": lambda m: m.spherical((0, 0, 0), "zxz"),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_loop_round_trip(kind):
    model = with_load(lambda m: None)
    more = {"position": (1, "k", 0), "rotation": (0, 0, 0.3), "description": "cut", "feedback": (100, "k")}
    model.loop("pin", ("arm", "slider"), LOOPS[kind](model), **more)
    model.loop("second", ("arm", "world"), LOOPS[kind](model))
    returned(model)


def test_constraints_contacts_speeds_and_forces_round_trip():
    model = with_load(lambda m: None)
    model.drive("x", "k*sin(t)").holonomic("w - y", "tied", "equal", feedback=("k", 2))
    model.drive("y", "1 + t").drive("z", "exp(-t)/2 + k - t", name="lift")
    model.nonholonomic("dot(x) - y*dot(w)", "roll", feedback=3).nonholonomic("dot(z)")
    model.knife_edge("arm", (0, 1, 0), point=("k", 0, 0)).knife_edge("cart", (1, 1, 0))
    model.rolling_disk("slider", "k", axis=(1, 0, 0), center=(0, 0, 0.1), normal=(0, 1, 0), contact=False)
    model.rolling_disk("arm", 1, ground="cart", point=(0, "k", 0)).rolling_ball("arm", "k", normal=(1, 2, 2))
    model.rolling_ellipsoid("arm", (1, "k", 2), rotation=(0, 0, "k"), center=(1, 0, 0), ground="slider", contact=False)
    model.speed("dot(x) + y*dot(w)", "u", "mixed").speed("dot(y)")
    model.non_ideal({"x": "-k*dot(x)", "z": 1})
    back = returned(model)
    # a drive before a formula keeps its order, so it is written as a formula
    assert [c.name for c in back.holonomic_constraints] == ["drive of x", "tied", "drive of y", "lift"]
    data = tomllib.loads(to_toml(model))
    assert (len(data["holonomic"]), [drive["coordinate"] for drive in data["drive"]]) == (2, ["y", "z"])


def test_sympy_model_round_trip():
    x, y = dynamicsymbols("x y")
    m, k = sympy.symbols("m k", positive=True)
    model = Model.from_energies(
        "oscillator",
        coordinates=[x, y],
        kinetic=m * x.diff() ** 2 / 2
        + y.diff() ** 2 * sympy.Rational(3, 7)
        + sympy.cos(x - y) * x.diff() * y.diff() / 10,
        potential=k * x**2 / 2 + sympy.cosh(y) + sympy.sqrt(2) * sympy.exp(-x) / m,
        forces=[sympy.Heaviside(x, sympy.S.Half), -sympy.Abs(y.diff()) * y.diff()],
        parameters={m: 1.1, k: 4.0},
    )
    same_accelerations(model, returned(model))


FORMULAS = (
    *(
        "1/3",
        "-2/7*x",
        "0.1 + x",
        "1e22*x",
        "7.25e-9*x",
        "-0.5*x",
        "2.0*x",
        "x/3.0",
        "pi",
        "-pi/4*x",
        "sqrt(2)*x/2",
        "exp(1)",
    ),
    *(
        "-(x + y)",
        "x - (y - k)",
        "2*(x + y)",
        "(x + y)**2",
        "x**-2",
        "1/(x*y)",
        "1/x/y**2",
        "x**(2/3)",
        "x**-0.5",
        "(-x)**3",
    ),
    *(
        "x**y",
        "x**(y + 1)",
        "(x**y)**k",
        "2**x",
        "(1/2)**x",
        "-x**2",
        "(-2)**3*x",
        "sin(x)**2",
        "exp(-x**2)",
        "exp(x)**2",
    ),
    *("atan2(y, x)", "tan(x + pi/2)", "log(x)/2", "asin(x/9)", "acos(x/9)", "atan(x)", "dot(x)*x*2", "t*dot(y)**2"),
    *("abs(x)", "sign(x - 1)", "min(x, y)", "max(x, y, 1, k)", "abs(abs(x) - 1)", "piecewise(x, x < y, y, x <= 2, 3)"),
    *(
        "piecewise(1, x < 1 and (y > 2 or y < 1), 2)",
        "piecewise(1, x < 1 or y > 2 and y < 3, 2)",
        "piecewise(x, 0 <= x, y)",
    ),
    *("max(0, min(1, x))*sign(y)", "1 + 1/(1 + 1/(1 + 1/x))", "((x + 1)*(y - 1))**(1/2)", "-3*x/(2*y)", "1/sqrt(x)"),
)


NAMES = {"coordinates": ("x", "y"), "parameters": ("k",), "where": "formula"}
TABLE = {"x": 0.37, "y": 1.21, "k": 0.83, "t": 0.4, "dot(x)": -0.6, "dot(y)": 0.7}


@pytest.mark.parametrize("text", FORMULAS)
def test_formula_round_trip(text):
    formula = parse(text, **NAMES)
    assert parse(write_formula(formula), **NAMES) == formula


@pytest.mark.parametrize("text", [text for text in FORMULAS if "piecewise" not in text and "dot" not in text])
def test_formula_strings_match_sympy(text):
    words = {"min": sympy.Min, "max": sympy.Max, "abs": sympy.Abs}
    symbols = {name: sympy.Symbol(name) for name in ("x", "y", "k", "t")}
    formula = parse(text, **NAMES)
    read = sympy.sympify(str(write_formula(formula)), locals={**words, **symbols})  # pyright: ignore[reportCallIssue]
    number = read.subs({symbols[name]: TABLE[name] for name in symbols})
    assert float(number) == pytest.approx(value(formula, TABLE), rel=1e-12)


def random_formula(random: Random, depth: int) -> str:
    """A formula with all operators and functions of the language."""

    def part() -> str:
        return random_formula(random, depth - 1)

    if depth == 0 or random.random() < 0.15:
        return random.choice(
            ("x", "y", "k", "dot(x)", "t", "pi", "2", "3", "0.1", "1/3", "7.25e-9", "2.0", "1e22", "5/7")
        )
    one = random.choice(("sin", "cos", "tan", "atan", "sqrt", "exp", "log", "abs", "sign"))
    two = random.choice(("min", "max", "atan2"))
    power = random.choice(("2", "3", "(1/2)", "(-1)", "(-3/2)", "0.5", "-0.7", "y", "(2/3)"))
    return random.choice(
        (
            lambda: f"({part()} + {part()})",
            lambda: f"({part()} - {part()})",
            lambda: f"({part()}*{part()})",
            lambda: f"({part()}/{part()})",
            lambda: f"({part()})**{power}",
            lambda: f"{one}({part()})",
            lambda: f"{two}({part()}, {part()})",
            lambda: (
                f"piecewise({part()}, {part()} < {part()} and ({part()} >= {part()} or {part()} < {part()}), {part()})"
            ),
            lambda: f"-{part()}",
        )
    )()


def test_random_formula_round_trip():
    random = Random(20)
    exact = near = 0
    for _ in range(600):
        try:
            formula = parse(random_formula(random, random.randint(1, 4)), **NAMES)
        except FormulaError:  # it divides by zero, or takes the root of a negative number
            continue
        back = parse(write_formula(formula), **NAMES)
        exact += back == formula
        if back != formula:  # sums with 0.0 and roots of inverses are shortened when they are read
            near += 1
            first, second = value(formula, TABLE), value(back, TABLE)
            assert second == pytest.approx(first, rel=1e-9, nan_ok=True)
    assert exact > 500
    assert near < 10


def test_numbers_keep_every_digit():
    random = np.random.default_rng(11)
    numbers = [
        *(random.uniform(-1, 1, 40) * 10.0 ** random.integers(-300, 300, 40)).tolist(),
        5e-324,
        1.7976931348623157e308,
    ]
    for number in numbers:
        assert write_formula(parse(number, coordinates=(), parameters=(), where="n")) == number
        product = parse(f"{number!r}*x", coordinates=("x",), parameters=(), where="n")
        assert parse(write_formula(product), coordinates=("x",), parameters=(), where="n") == product


def test_oblique_axes_round_trip_exactly():
    random = np.random.default_rng(2)
    model = Model("axes").coordinates("q")
    axes = [
        (1, 1, 0),
        (1, -2, 3),
        (0.3, 0.1, 0.2),
        *random.normal(size=(60, 3)).tolist(),
        (1, 1e-12, 0),
        (1, 1e-300, 0),
    ]
    for i, axis in enumerate(axes):
        model.body(f"b{i}", joint=model.revolute(axis, "q"), mass=1)
    for body, other in zip(model.bodies, loads_toml(to_toml(model)).bodies, strict=True):
        assert isinstance(body.joints[0], Revolute)
        assert isinstance(other.joints[0], Revolute)
        assert other.joints[0].axis == pytest.approx(body.joints[0].axis, rel=4e-16)
    assert tomllib.loads(to_toml(model))["body"][1]["joint"]["axis"] == [1, -2, 3]


def test_numbers_of_numpy_are_written():
    model = Model("numpy").parameters(k=np.float64(0.1)).coordinates("q")
    joint = model.revolute(np.array([0.0, 0.6, 0.8]), "q", position=np.array([1.0, 2.0, 0.1]))
    returned(model.body("b", joint=joint, mass=np.float64(0.1), inertia=np.eye(3), center=np.array([0.1, 0, 0])))


def test_notes_are_comments():
    model = with_load(lambda m: m.note("the joint 'a' had\nno limits").note("name = 3\x1b[2J"))
    text = to_toml(model)
    assert text.startswith(
        "# the joint 'a' had\n# no limits\n# name = 3\N{REPLACEMENT CHARACTER}[2J\nname = \"loads\"\n"
    )
    assert loads_toml(text).name == "loads"


def long_sum() -> sympy.Expr:
    """More characters than a formula in a file may have."""
    return sympy.Add(*(sympy.cos(i * dynamicsymbols("x")) for i in range(2000)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: setattr(m, "name", "a\x1bb"), "name: got the string 'a\\x1bb'. Expected a name"),
        (
            lambda m: m.holonomic(long_sum(), "long"),
            "holonomic 'long': the formula has more than 10000 characters when written as a string. Expected",
        ),
    ],
)
def test_rejects_models_that_files_cannot_store(spoil, message):
    model = with_load(lambda m: None)
    spoil(model)
    with pytest.raises(InputError) as caught:
        to_toml(model)
    assert "cannot be written as TOML: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda m: m.force("arm", (0, 0, 1), name="f" * 101), "of 101 characters: invalid name"),
        (lambda m: m.speed("dot(x)", "u", "bell \x07"), "Expected a str without control characters"),
    ],
)
def test_rejects_names_and_descriptions_that_files_cannot_store(declare, message):
    model = with_load(lambda m: None)
    with pytest.raises(InputError) as caught:
        declare(model)
    assert message in str(caught.value)


def test_files_are_written_atomically(tmp_path):
    model = gallery.load("cart-pendulum")
    place = tmp_path / "new" / "cart.toml"
    write_toml(model, place)
    assert content(read_toml(place)) == content(model)
    broken = with_load(lambda m: m.holonomic(long_sum(), "long"))
    with pytest.raises(InputError):
        write_toml(broken, place)
    assert read_toml(place).name == "cart-pendulum"
    with pytest.raises(ComputationError, match="cannot write the file"):
        write_toml(model, place.parent)
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "cart.toml"]
