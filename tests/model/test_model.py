"""Building a model in Python: elements that the methods create, and error messages."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from dalembert.errors import FormulaError, InputError
from dalembert.model.loads.damper import Damper
from dalembert.model.loads.force import Force
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.model.loads.spring import Spring
from dalembert.model.loads.torque import Torque
from dalembert.model.model import Model


def sample() -> Model:
    return Model("sample").parameters(m=2.0, l=0.5).coordinates("x", "theta")


def error_message(work) -> str:
    with pytest.raises(InputError) as caught:
        work()
    return str(caught.value)


def test_methods_chain_and_keep_order():
    model = sample().parameter("k", "2*m", "stiffness", "N/m").coordinate("y", "pi/2", -1, "height", "m")
    assert model.parameter_values == {"m": 2.0, "l": 0.5, "k": 4.0}
    assert model.coordinate_names == ("x", "theta", "y")
    q0, qd0 = model.initial
    assert q0.tolist() == [0, 0, math.pi / 2]
    assert qd0.tolist() == [0, 0, -1]
    assert (model.generalized_coordinates[2].description, model.generalized_coordinates[2].unit) == ("height", "m")
    assert (model.declared_parameters[2].description, model.declared_parameters[2].unit) == ("stiffness", "N/m")
    assert repr(model) == "<Model 'sample': 0 bodies, 3 coordinates, 0 constraints>"


def test_start_takes_names_or_the_order_of_coordinates():
    model = sample().start({"theta": 1}, {"x": "2*m"})
    assert model.initial[0].tolist() == [0, 1]
    assert model.initial[1].tolist() == [4, 0]
    assert model.start([5, 6], np.array([7.0, 8.0])).initial[1].tolist() == [7, 8]


def test_sympy_symbols_name_coordinates_and_parameters():
    x: Any = dynamicsymbols("x")
    m = sp.Symbol("m", positive=True)
    model = Model("sympy").parameters({m: 2}).coordinates(x)
    model.body("a", joint=model.prismatic((1, 0, 0), x**2), mass=2 * m)
    assert model.coordinate_names == ("x",)
    assert str(model.bodies[0].mass) == "2*m"
    assert str(model.bodies[0].joints[0].values[0]) == "x**2"
    assert model.sympy_symbols == {"x": x, "m": m}


def test_inertia_takes_three_forms():
    model = sample()
    forms = {"a": (1, 2, 3), "b": (1, 2, 3, 4, 5, 6), "c": np.arange(9.0).reshape(3, 3)}
    for name, inertia in forms.items():
        model.body(name, joint=model.fixed(), mass=1, inertia=inertia)
    shown = [[[float(entry) for entry in row] for row in body.inertia] for body in model.bodies]
    assert shown[0] == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    assert shown[1] == [[1, 4, 5], [4, 2, 6], [5, 6, 3]]
    assert shown[2] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_axes_become_unit_vectors():
    assert sample().revolute((0, 3, 4), "theta").axis == (0, 0.6, 0.8)


def test_loads_are_named_or_numbered():
    model = sample().body("a", joint=sample().fixed(), mass=1)
    model.force("a", (1, 0, 0)).torque("a", (0, 0, "t"), name="twist").joint_torque("a", "-x")
    model.spring(("a", "world"), stiffness=1).damper(("a", "world"), damping=1)
    assert [load.name for load in model.loads] == ["force1", "twist", "joint_torque3", "spring4", "damper5"]
    assert [type(load) for load in model.loads] == [Force, Torque, JointTorque, Spring, Damper]


def test_constraints_come_holonomic_first():
    model = sample().nonholonomic("dot(x)", name="skate").holonomic("x - theta").speeds("dot(x)", "dot(theta)")
    assert model.constraint_names == ("holonomic1", "skate")
    assert [speed.name for speed in model.generalized_speeds] == ["u1", "u2"]


def test_copies_are_independent():
    model = sample()
    other = model.copy().coordinates("y")
    assert other.coordinate_names == ("x", "theta", "y")
    assert model.coordinate_names == ("x", "theta")
    assert "y" not in error_message(lambda: model.formula("y + 1")).split("Known names:")[1]


def test_with_parameters_changes_a_copy():
    model = sample()
    assert model.with_parameters({"m": 3}, l="m").parameter_values == {"m": 3.0, "l": 2.0}
    assert model.parameter_values == {"m": 2.0, "l": 0.5}


def test_formula_reads_like_elements():
    model = sample()
    assert str(model.formula("m*dot(x)")) == "m*dot(x)"
    assert str(model.formula("m*l", constant=True)) == "l*m"
    with pytest.raises(FormulaError, match="velocities are not allowed here"):
        model.formula("dot(x)", rates=False)
    with pytest.raises(FormulaError, match=r"weight: 'm\*x' depends on x\. Expected a constant"):
        model.formula("m*x", "weight", constant=True)


def test_energies_take_forces_by_name_or_in_order():
    model = sample().set_energies("m*dot(x)**2 + dot(theta)**2", "x", {"theta": "sin(t)"})
    assert model.energies is not None
    assert [str(force) for force in model.energies.forces] == ["0", "sin(t)"]
    model.set_energies("dot(x)**2", forces=["t", "-t"])
    assert [str(force) for force in model.energies.forces] == ["t", "-t"]
    assert error_message(lambda: sample().set_energies("0", forces=["t"])) == (
        "energies, forces: got ['t']. Expected 2 values, for x, theta."
    )
    assert error_message(lambda: sample().set_energies("0", forces={"tetha": 1})) == (
        "energies, forces: there is no coordinate 'tetha'. Did you mean 'theta'?"
    )


def test_simulation_defaults():
    model = sample().simulation("20*l", 11)
    assert (model.duration, model.samples) == (10.0, 11)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda m: Model("a", gravity=(0, 1)),
            "model 'a': gravity has 2 components. Expected 3, e.g. (0, -9.81, 0).",
        ),
        (
            lambda m: m.parameter("sin", 1),
            "parameter 'sin': invalid name. Expected an identifier of letters, digits and _ that is "
            "not t, pi or the name of a function.",
        ),
        (lambda m: m.parameter("x", 1), "parameter 'x': the name is already in use. Choose a unique name."),
        (lambda m: m.coordinate("m"), "coordinate 'm': the name is already in use. Choose a unique name."),
        (lambda m: m.parameter("k", math.inf), "parameter 'k': the value is inf. Expected a finite number."),
        (lambda m: m.parameter("k", None), "parameter 'k': the value is None. Expected a finite number."),
        (lambda m: m.parameter("k", True), "parameter 'k': the value is True. Expected a finite number."),
        (lambda m: m.parameter("k", "sqrt(-m)"), "parameter 'k': the value is sqrt(-m). Expected a finite number."),
        (lambda m: m.parameter("k", Decimal("nan")), "parameter 'k': the value is NaN. Expected a finite number."),
        (
            lambda m: m.coordinate("y", "1/(m - 2)"),
            "coordinate 'y', initial position: the value is 1/(m - 2). Expected a finite number.",
        ),
        (
            lambda m: m.coordinate("y", 0, math.nan),
            "coordinate 'y', initial rate: the value is nan. Expected a finite number.",
        ),
        (lambda m: m.start({"y": 1}, {}), "start, q: there is no coordinate 'y'. Known names: theta, x."),
        (lambda m: m.start({}, {"tetha": 1}), "start, qd: there is no coordinate 'tetha'. Did you mean 'theta'?"),
        (lambda m: m.start([1], [0, 0]), "start, q: got shape (1,). Expected 2 values, for x, theta."),
        (lambda m: m.with_parameters(k=1), "model 'sample': there is no parameter 'k'. Known names: l, m."),
        (lambda m: m.simulation(0), "simulation, duration: got 0. Expected a positive number of seconds."),
        (lambda m: m.simulation(1, 1), "simulation, samples: got 1. Expected an int >= 2."),
        (lambda m: m.simulation(1, 2.5), "simulation, samples: got 2.5. Expected an int >= 2."),
        (
            lambda m: m.revolute((0, 0, 0), "x"),
            "joint (revolute): the axis has length 0. Expected a nonzero vector, got (0, 0, 0). Give `axis` a "
            "finite, nonzero direction.",
        ),
        (lambda m: m.prismatic((0, 1), "x"), "joint (prismatic): the axis has 2 components. Expected 3."),
        (
            lambda m: m.prismatic((0, 0, 0), "x", where="body 'a', joint 2"),
            "body 'a', joint 2 (prismatic): the axis has length 0. Expected a nonzero vector, got (0, 0, 0). "
            "Give `axis` a finite, nonzero direction.",
        ),
        (
            lambda m: m.fixed(("x", 0, 0)),
            "joint (fixed), position[0]: 'x' depends on x. Expected a constant: a number or a formula of "
            "parameters. Move the time-varying part to a joint or a load.",
        ),
        (lambda m: m.fixed(rotation=(0, 0)), "joint (fixed), rotation: got (0, 0). Expected 3 components."),
        (
            lambda m: m.body("world", joint=m.fixed()),
            "body 'world': invalid body name. Expected letters, digits, _ or -, and not 'world'.",
        ),
        (
            lambda m: m.body("a", joint=m.fixed()).body("a", joint=m.fixed()),
            "body 'a': declared twice. Give each body a unique name.",
        ),
        (
            lambda m: m.body("a", joint=m.fixed(), inertia=(1, 2)),
            "body 'a', inertia: got 2 numbers. Expected 3 (diagonal), 6 (Ixx Iyy Izz Ixy Ixz Iyz) or 3x3.",
        ),
        (lambda m: m.force("a", "abc"), "force 'force1': got 'abc'. Expected 3 components."),
        (
            lambda m: m.force("a", (0, 0, 0), name="f").torque("a", (0, 0, 0), name="f"),
            "torque 'f': declared twice. Give each load a unique name.",
        ),
        (
            lambda m: m.spring("ab", stiffness=1),
            "spring 'spring1', bodies: got 'ab'. Expected two names, of bodies or 'world'.",
        ),
        (
            lambda m: m.damper(("a", "b"), damping=1, points=[(0, 0, 0)]),
            "damper 'damper1', points: got 1. Expected 2 points, one on each body.",
        ),
        (
            lambda m: m.speed("dot(x)", "x"),
            "speed 'x': invalid or used name. Expected an unused identifier.",
        ),
        (
            lambda m: Model.from_energies("a", coordinates=["x"], kinetic="dot(x)**2", non_ideal=[1, 2]),
            "non_ideal: got shape (2,). Expected 1 values, for x.",
        ),
        (lambda m: m.non_ideal({"tetha": 1}), "non_ideal: there is no coordinate 'tetha'. Did you mean 'theta'?"),
    ],
)
def test_invalid_arguments(work, message):
    assert error_message(lambda: work(sample())) == message


def test_invalid_element_does_not_modify_the_model():
    model = sample()
    error_message(lambda: model.body("a", joint=model.fixed(), mass="k"))
    error_message(lambda: model.force("a", (0, 0, "k")))
    error_message(lambda: model.parameter("k", "j"))
    assert model.bodies == model.loads == ()
    assert model.parameter_values == {"m": 2.0, "l": 0.5}
