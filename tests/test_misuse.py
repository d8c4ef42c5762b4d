"""Wrong calls of the public API raise a `DalembertError` with a readable message, or work if their meaning is clear."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as dl

# wrong values for arguments of each type
NUMBERS = {
    "text": "three",
    "nothing": None,
    "a list": [1.0, 2.0],
    "complex": 1 + 2j,
    "nan": float("nan"),
    "infinite": float("inf"),
    "yes": True,
    "an object": object(),
    "a mapping": {"x": 1},
}
VECTORS = {
    "text": "abc",
    "a number": 3.0,
    "nothing": None,
    "two": (1, 2),
    "four": (1, 2, 3, 4),
    "ragged": [[1, 2], [3], 4],
    "nan": (float("nan"), 0, 0),
    "complex": (1j, 0, 0),
    "unknown names": ("nowhere", 0, 0),
    "objects": (object(), 0, 0),
    "a set": {1, 2, 3},
    "a mapping": {"x": 1, "y": 2, "z": 3},
}
STATES = {
    "text": "abc",
    "a number": 3.0,
    "nothing": None,
    "too few": [0.1],
    "too many": [0.1, 0.2, 0.3],
    "ragged": [[0.1, 0.2], [0.3]],
    "nan": [float("nan"), 0.0],
    "complex": [1j, 0.0],
    "words": ["a", "b"],
    "three axes": np.zeros((2, 2, 2)),
    "empty": [],
    "objects": [object(), object()],
    "a mapping": {"theta1": 0.1, "theta2": 0.2},
}
FORMULAS = {
    "a broken formula": "x +",
    "an unknown name": "nowhere",
    "an attack": "__import__('os')",
    "nothing": None,
    "a list": ["x"],
    "an object": object(),
    "complex": 1j,
    "nan": float("nan"),
    "a foreign symbol": sympy.Symbol("foreign"),
    "a matrix": sympy.eye(2),
    "empty": "",
    "an array": np.zeros(3),
}
NAMES = {"a number": 3, "nothing": None, "empty": "", "spaces": "a b", "a list": ["a"], "an object": object()}


def pendulum() -> dl.Model:
    return dl.load("double-pendulum")


def slider() -> dl.Model:
    model = dl.Model("slider").parameters(m=1.0).coordinates("x")
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass="m")


_EOM: dict[str, dl.Equations] = {}
_RUN: dict[str, dl.Trajectory] = {}


def eom() -> dl.Equations:
    if not _EOM:
        _EOM["it"] = dl.derive(pendulum(), "lagrange")
    return _EOM["it"]


def run() -> dl.Trajectory:
    if not _RUN:
        _RUN["it"] = eom().simulate(0.1, samples=3)
    return _RUN["it"]


CALLS: dict[str, Callable[[], object]] = {}


def each(label: str, wrong: dict[str, object], call: Callable[[Any], object]) -> None:
    """Add one call for each wrong value."""
    for what, value in wrong.items():
        CALLS[f"{label}: {what}"] = lambda value=value: call(value)


# models
each("Model name", NAMES, lambda x: dl.Model(x).coordinates("x"))
each("gravity", VECTORS, lambda x: slider_with(gravity=x))
each("parameter value", NUMBERS, lambda x: dl.Model("m").parameters(a=x))
each("parameter name", NAMES, lambda x: dl.Model("m").parameter(x, 1.0))
each("coordinate name", NAMES, lambda x: dl.Model("m").coordinate(x))
each("coordinate start", NUMBERS, lambda x: dl.Model("m").coordinate("x", x))
each("axis", VECTORS, lambda x: dl.Model("m").coordinates("x").revolute(x, "x"))
each("angle", FORMULAS, lambda x: dl.Model("m").coordinates("x").revolute((0, 0, 1), x))
each("position", VECTORS, lambda x: dl.Model("m").coordinates("x").prismatic((1, 0, 0), "x", position=x))
each("rotation", VECTORS, lambda x: dl.Model("m").coordinates("x").fixed(rotation=x))
each("body name", NAMES, lambda x: slider().body(x, joint=slider().fixed(), mass=1))
each(
    "joint of a body", {**NUMBERS, "its name": "revolute", "its class": dl.Model}, lambda x: slider().body("b", joint=x)
)
each("mass", FORMULAS, lambda x: slider().body("b", joint=slider().fixed(), mass=x))
each("center", VECTORS, lambda x: slider().body("b", joint=slider().fixed(), mass=1, center=x))
each("inertia", VECTORS, lambda x: slider().body("b", joint=slider().fixed(), mass=1, inertia=x))
each("force", VECTORS, lambda x: slider().force("block", x))
each("force on", NAMES, lambda x: dl.derive(slider().force(x, (1, 0, 0)), "lagrange"))
each("torque", VECTORS, lambda x: slider().torque("block", x))
each("spring stiffness", FORMULAS, lambda x: slider().spring(("block", "world"), stiffness=x))
each("spring bodies", NAMES, lambda x: dl.derive(slider().spring(x, stiffness=1), "lagrange"))
each("joint_torque", FORMULAS, lambda x: slider().joint_torque("block", x))
each("holonomic", FORMULAS, lambda x: slider().holonomic(x))
each("nonholonomic", FORMULAS, lambda x: slider().nonholonomic(x))
each("speed", FORMULAS, lambda x: dl.derive(slider().speed(x), "kane"))
each("non_ideal", {**FORMULAS}, lambda x: slider().non_ideal(x))
each("drive", FORMULAS, lambda x: slider().drive("x", x))
each("start", STATES, lambda x: slider().start(x, [0.0]))
each("duration of a model", NUMBERS, lambda x: slider().simulation(duration=x))
each("samples of a model", NUMBERS, lambda x: slider().simulation(samples=x))
each("kinetic", FORMULAS, lambda x: dl.Model.from_energies("m", coordinates=["x"], kinetic=x))
each("times of a table", VECTORS, lambda x: slider().torque_table("block", x, [1, 2, 3]))
each("radius", FORMULAS, lambda x: slider().rolling_disk("block", x))

# misspelled names
MISSPELT: dict[str, Callable[[], object]] = {
    "revolute(axsi)": lambda: slider().revolute(axsi=(0, 0, 1), angle="x"),  # pyright: ignore[reportCallIssue]
    "body(mas)": lambda: slider().body("b", joint=slider().fixed(), mas=1),  # pyright: ignore[reportCallIssue]
    "spring(stifness)": lambda: slider().spring(("block", "world"), stifness=1),  # pyright: ignore[reportCallIssue]
    "force(pont)": lambda: slider().force("block", (1, 0, 0), pont=(0, 0, 0)),  # pyright: ignore[reportCallIssue]
    "derive(formalism)": lambda: dl.derive(pendulum(), "lagrang"),
    "derive(engin)": lambda: dl.derive(pendulum(), "lagrange", engin="python"),  # pyright: ignore[reportCallIssue]
    "simulate(integrater)": lambda: eom().simulate(0.1, integrater="rk4"),  # pyright: ignore[reportCallIssue]
    "simulate integrator": lambda: eom().simulate(0.1, integrator="rk46"),
    "dl.simulate(sample)": lambda: dl.simulate(pendulum(), 0.1, sample=3),
    "verify(state)": lambda: dl.verify(pendulum(), state=3),  # pyright: ignore[reportCallIssue]
    "prove(formalism)": lambda: dl.prove(pendulum(), formalism="kane"),  # pyright: ignore[reportCallIssue]
    "compare(durations)": lambda: dl.compare(pendulum(), ["kane"], durations=1),  # pyright: ignore[reportCallIssue]
    "load(name)": lambda: dl.load("double-pendulm"),
    "load(option)": lambda: dl.load("n-four-bar", loop=3),
    "with_parameters": lambda: eom().with_parameters(nowhere=1.0),
    "model.with_parameters": lambda: pendulum().with_parameters(nowhere=1.0),
    "assemble(kep)": lambda: dl.assemble_state(pendulum(), kep=["theta1"]),  # pyright: ignore[reportCallIssue]
    "mode": lambda: dl.derive(pendulum(), "kane", mode="fussed"),
    "engine": lambda: dl.derive(pendulum(), "kane", engine="heyoke"),
    "frame": lambda: run().joint_reactions("wrold"),
}
CALLS.update({f"misspelt: {name}": call for name, call in MISSPELT.items()})

# derivation and evaluation
each("derive model", {**NAMES, **NUMBERS}, lambda x: dl.derive(x, "kane"))
each("formalism", {**NAMES, "nan": float("nan")}, lambda x: dl.derive(pendulum(), x))
each("q of accelerations", STATES, lambda x: eom().accelerations(x, [0.0, 0.0]))
each("qd of accelerations", STATES, lambda x: eom().accelerations([0.0, 0.0], x))
each("t of accelerations", {**NUMBERS, "two": [0.0, 1.0]}, lambda x: eom().accelerations([0.0, 0.0], [0.0, 0.0], x))
each("q of multipliers", STATES, lambda x: eom().multipliers(x, [0.0, 0.0]))
each("q of reactions", STATES, lambda x: eom().reactions(x, [0.0, 0.0]))
each("q of gaussian", STATES, lambda x: eom().gaussian(x, [0.0, 0.0]))
each("with_parameters", NUMBERS, lambda x: eom().with_parameters({next(iter(eom().parameters)): x}))
each("values of with_parameters", {**NAMES, "a number": 3.0}, lambda x: eom().with_parameters(x))
each("duration", NUMBERS, lambda x: eom().simulate(x))
each("q0", STATES, lambda x: eom().simulate(0.1, q0=x, samples=3))
each("qd0", STATES, lambda x: eom().simulate(0.1, qd0=x, samples=3))
each("samples", NUMBERS, lambda x: eom().simulate(0.1, samples=x))
each("times", {**STATES, "backwards": [1.0, 0.0]}, lambda x: eom().simulate(0.1, times=x))
each("rtol", NUMBERS, lambda x: eom().simulate(0.1, rtol=x, samples=3))
each("t0", NUMBERS, lambda x: eom().simulate(0.1, t0=x, samples=3))
each("integrator", NAMES, lambda x: eom().simulate(0.1, integrator=x, samples=3))
each("stabilization", {**NUMBERS, "three": (1, 2, 3)}, lambda x: eom().simulate(0.1, stabilization=x, samples=3))
each("progress", {"text": "yes", "a number": 3}, lambda x: eom().simulate(0.1, progress=x, samples=3))
each("parameters", {**NAMES, "a number": 3.0}, lambda x: eom().simulate(0.1, parameters=x, samples=3))
CALLS["step of an adaptive method"] = lambda: eom().simulate(0.1, integrator="dop853", step=0.01)

# trajectories
each("time of at", NUMBERS, lambda x: run().at(x))
each("path of save", NUMBERS, lambda x: run().save(x))
each("path of load_run", NUMBERS, lambda x: dl.load_run(x))
each("name of a coordinate", NAMES, lambda x: run()[x])

# other public functions
each("target", VECTORS, lambda x: dl.inverse_kinematics(pendulum(), "lower", x, starts=2))
each("body of a target", NAMES, lambda x: dl.inverse_kinematics(pendulum(), x, (0, 0, 0), starts=2))
each("q0 of postures", STATES, lambda x: dl.inverse_kinematics(pendulum(), "lower", (0, 0, 0), q0=x, starts=2))
each("starts", NUMBERS, lambda x: dl.inverse_kinematics(pendulum(), "lower", (0, 0, 0), starts=x))
each("end of a motion", NUMBERS, lambda x: dl.cycloidal(0.0, x, 1.0))
each("duration of a motion", NUMBERS, lambda x: dl.quintic(0.0, 1.0, x))
each("speed of a motion", NUMBERS, lambda x: dl.trapezoidal(0.0, 1.0, speed=x, acceleration=1.0))
each("rates of a spline", VECTORS, lambda x: dl.spline([0, 1, 2], [0, 1, 0], rates=x))
each("function of a motion", VECTORS, lambda x: dl.spline_from_function(x, 1.0))
each("designed motion", {**NUMBERS, **NAMES}, lambda x: dl.computed_torque(pendulum(), x))
each("body of a table", NAMES, lambda x: dl.dh_table(pendulum(), x))
each("mass_matrix q", STATES, lambda x: dl.mass_matrix(pendulum(), x))
each("inverse_dynamics qdd", STATES, lambda x: dl.inverse_dynamics(pendulum(), [0, 0], [0, 0], x))
each("forward_dynamics tau", STATES, lambda x: dl.forward_dynamics(pendulum(), [0, 0], [0, 0], x))
each("assemble q", STATES, lambda x: dl.assemble_state(pendulum(), x))
each("assemble keep", {**NAMES, "unknown": ["nowhere"]}, lambda x: dl.assemble_state(pendulum(), fixed=x))
each("branches keep", {"unknown": ["nowhere"], "a number": 3}, lambda x: dl.branches(pendulum(), fixed=x))
each("recut", NAMES, lambda x: dl.recut(dl.load("four-bar"), x))
each("mobility", NAMES, lambda x: dl.mobility(x))
each("citation", NAMES, lambda x: dl.citation(x))
each("load", NAMES, lambda x: dl.load(x))
each("verify states", NUMBERS, lambda x: dl.verify("simple-pendulum", states=x, engines=["python"]))
each(
    "verify engines", {"a number": 3, "unknown": ["warp"]}, lambda x: dl.verify("simple-pendulum", states=2, engines=x)
)
each("prove formalisms", {"unknown": ["warp"], "a number": 3}, lambda x: dl.prove("simple-pendulum", x))
each(
    "compare formalisms", {"unknown": ["warp"], "a number": 3}, lambda x: dl.compare("simple-pendulum", x, duration=0.1)
)
each("compare duration", NUMBERS, lambda x: dl.compare("simple-pendulum", ["kane"], duration=x, samples=3))
each("feedforward motion", {**FORMULAS}, lambda x: dl.feedforward("two-link-robot", {"q1": x}, 0.1, 5))
each("computed_torque motion", FORMULAS, lambda x: dl.computed_torque("two-link-robot", {"q1": x}))
each("computed_torque gains", NUMBERS, lambda x: dl.computed_torque("two-link-robot", {"q1": "t"}, x))


def slider_with(**options) -> dl.Model:
    model = dl.Model("slider", **options).coordinates("x")
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=1)


def test_number_of_wrong_calls():
    assert len(CALLS) >= 300


@pytest.mark.parametrize("name", CALLS)
def test_wrong_call_raises_a_readable_error_or_works(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        CALLS[name]()
    except dl.DalembertError as error:
        message = str(error)
        assert 20 < len(message) < 2000
        assert "object at 0x" not in message or "an object" in name
    assert not list(Path(tmp_path).glob("*.part"))


# calls that work

WORKS: dict[str, Callable[[], object]] = {
    "derive by name": lambda: dl.derive("cart-pendulum").n_states,
    "derive from a path": lambda: dl.derive(Path(str(dl.gallery.path("simple-pendulum") / "model.toml"))).n_states,
    "derive from a description": lambda: dl.derive(pendulum().description).n_states,
    "symbols as keys of parameters": lambda: eom().with_parameters({sympy.Symbol(next(iter(eom().parameters))): 0.7}),
    "text as a start": lambda: eom().simulate(0.1, q0={"theta1": "pi/2"}, samples=3),
    "arrays as a start": lambda: eom().simulate(0.1, q0=np.array([0.1, 0.2]), samples=3),
    "integers as numbers": lambda: eom().simulate(1, samples=3, q0=[0, 1]),
    "numpy numbers": lambda: eom().simulate(np.float64(0.1), samples=np.int64(3)),  # pyright: ignore[reportArgumentType]
    "a loop without motions": lambda: spherical_loop().constraint_names,
}


def spherical_loop() -> dl.Model:
    model = dl.Model("loop").coordinates("a", "b")
    model.body("one", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(1, 1, 1))
    model.body("two", joint=model.revolute((0, 0, 1), "b", position=(1, 0, 0)), mass=1, inertia=(1, 1, 1))
    return model.loop("ball", ("one", "two"), model.spherical(position=(1, 0, 0)))


@pytest.mark.parametrize("name", WORKS)
def test_clear_calls_work(name):
    assert WORKS[name]() is not None


@pytest.mark.parametrize("name", ["mobility", "sweep", "pose", "equilibrium", "prove", "inverse_dynamics"])
def test_missing_model_is_reported_with_the_function_name(name):
    with pytest.raises(dl.InputError, match=rf"^{name}: missing a required argument: 'model'\. Expected model"):
        getattr(dl, name)()


def test_model_as_keyword_argument():
    assert dl.mobility(model="four-bar").degrees_of_freedom == 1  # pyright: ignore[reportCallIssue]
