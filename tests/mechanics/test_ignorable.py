"""Ignorable coordinates are proved symbolically: late, distant, weak or narrow forces are not overlooked."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.mechanics._ignorable import Ignorable, find_ignorable
from dalembert.mechanics.constraint_levels import Levels, levels, with_contacts
from dalembert.mechanics.facts import facts_of
from dalembert.model.description import Elements
from dalembert.model.model import Model
from dalembert.simulation.workspace import forget_workspaces

FORCE = "the generalized force on x is not zero"
LAGRANGIAN = "the Lagrangian depends on x"
PROVED = "ignorable: the Lagrangian, the constraints and the forces do not contain x, for all parameter values"
GIVEN = "ignorable: the Lagrangian, the constraints and the forces do not contain x, for the current values of the parameters"


def cart() -> Model:
    """A cart of 2 kg with a bob of 1 kg on a rod of 1 m, at rest."""
    model = Model("cart", gravity=(0, -9.81, 0)).coordinate("x").coordinate("theta", 0.5)
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    return model.body("bob", parent="cart", joint=model.revolute((0, 0, 1), "theta"), mass=1, center=(0, -1, 0))


def pushed(force: str) -> Model:
    return cart().force("cart", (force, 0, 0), name="push")


def energies(potential: str, kinetic: str = "dot(x)**2/2 + dot(y)**2/2", **more) -> Model:
    return Model.from_energies("energies", coordinates=["x", "y"], kinetic=kinetic, potential=potential, **more)


def found(model: Elements) -> Ignorable:
    return find_ignorable(model, levels(model))


def reason(model: Elements, name: str = "x") -> str:
    """The reason for a coordinate, which must agree with the indices."""
    known = found(model)
    ignorable = model.coordinate_names.index(name) in known.indices
    assert known.reasons[name].startswith("ignorable: ") is ignorable
    assert "nan" not in known.reasons[name]
    return known.reasons[name]


def test_the_cart_alone_is_free():
    assert reason(cart()) == PROVED
    assert found(cart()).generic


# late, far away, narrow, weak


def late_table() -> Model:
    return cart().wrench_table("cart", [0, 20, 21], force=[[0, 0, 0], [0, 0, 0], [3, 0, 0]])


@pytest.mark.parametrize("force", ["piecewise(3, t > 20, 0)", "1e-12*t", "1e-30", "sin(314*t)"])
def test_late_or_weak_force_refutes_ignorable_coordinate(force):
    assert reason(pushed(force)) == FORCE


def test_a_table_that_begins_late():
    assert reason(late_table()) == FORCE
    model = cart().torque_table("cart", [0, 20, 40], [0, 0, 3])
    assert reason(model) == FORCE


# the force's ∫∫ F dt dt until 40 s: at once, or from 0 to 3 N within a second
LATE = {
    "formula": (pushed("piecewise(3, t > 20, 0)"), 3 * 20**2 / 2),
    "table": (late_table(), 0.5 + 1.5 * 19 + 3 * 19**2 / 2),
}


@pytest.mark.parametrize("key", ["lagrange", "volterra_reduced", "routh"])
@pytest.mark.parametrize(("model", "pushed_by"), LATE.values(), ids=LATE)
def test_formulations_agree_under_late_force(model, pushed_by, key):
    # (M + m) x + m l sin θ moves as ∫∫ F dt dt
    run = dl.simulate(model, 40.0, formalism=key, samples=5)
    x, theta = run.q
    assert np.isclose(3 * x[-1] + np.sin(theta[-1]) - np.sin(0.5), pushed_by, atol=1e-6)
    assert abs(x[-1] - pushed_by / 3) < 0.5


@pytest.mark.parametrize(
    "force", ["-200*max(x-5,0)", "-200*min(x+5,0)", "piecewise(-3, x > 5, 0)", "-abs(x-5) + 5 - x"]
)
def test_distant_bumper_is_a_discontinuity(force):
    assert reason(pushed(force)).startswith("a formula switches with x, where ")


def test_formulations_agree_on_cart_with_bumper():
    # x must not count as ignorable
    model = pushed("-200*max(x-5,0)").start([0, 0], [2.0, 0])
    expected = dl.simulate(model, 5.0, samples=6)
    assert expected.q[0].max() < 5.5
    assert expected.qd[0, -1] < 0
    for key in ("volterra_reduced", "routh"):
        assert np.allclose(dl.simulate(model, 5.0, formalism=key, samples=6).q, expected.q, atol=1e-6)


@pytest.mark.parametrize(
    "potential",
    ["10*exp(-10*(x-5)**2)", "1e12 + 1e-12*x**2/2", "1e-12*x**2/2", "1e-300*x", "x/(1e9+x**2)"],
)
def test_narrow_or_weak_potential_refutes_ignorable_coordinate(potential):
    assert reason(energies(potential)) == LAGRANGIAN


def test_underflowing_potential_refutes_ignorable_coordinate():
    # 500 s after the start, or 10 mm wide at 50 m: exp underflows at all sample points
    assert reason(pushed("3*exp(-(t-500)**2)")).endswith(FORCE)
    assert reason(energies("1e-3*exp(-1e4*(x-50)**2)")).endswith(LAGRANGIAN)


@pytest.mark.parametrize("potential", ["piecewise(1, x > 5, 0)", "sign(x-5)", "0*y + abs(x-5)"])
def test_step_function_refutes_ignorable_coordinate(potential):
    assert reason(energies(potential)).startswith("a formula switches with x, where ")


def test_step_in_time_or_other_coordinate_keeps_ignorable():
    assert reason(energies("piecewise(y, t > 5, 0)")) == PROVED
    assert reason(energies("max(y, 0)")) == PROVED


def test_a_nano_bead_on_a_spring():
    model = Model("nano").parameters(k=1e-12, m=1e-15).coordinate("x", 1e-9)
    model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass="m").joint_spring("bead", stiffness="k")
    assert reason(model) == LAGRANGIAN
    assert facts_of(model).ignorable == ()


# terms that cancel


@pytest.mark.parametrize(
    "zero",
    [
        "sin(x)**2 + cos(x)**2",
        "sin(x)**2 - (1 - cos(2*x))/2",
        "tan(x)*cos(x) - sin(x)",
        "sin(x + y) - sin(x)*cos(y) - cos(x)*sin(y)",
        "sin(x + pi) + sin(x)",
        "sin(x + pi/6) - sqrt(3)/2*sin(x) - cos(x)/2",
        "cos(x/2)**2 - (1 + cos(x))/2",
        "((exp(x) + exp(-x))/2)**2 - ((exp(x) - exp(-x))/2)**2",
        "exp(x)*exp(-x)",
        "exp(2*x) - exp(x)**2",
        "log(exp(x)) - x",
        "exp(log(x**2 + 1)) - x**2",
        "(x + 1)**2 - x**2 - 2*x - 1",
        "(x**2 - 1)/(x - 1) - x",
        "sqrt(x**2 + 1)**2 - x**2",
        "sqrt(4*x**2 + 4) - 2*sqrt(x**2 + 1)",
        "0.1*x + 0.2*x - 0.3*x",
        "sin(x*y)**2 + cos(x*y)**2",
        "cos(asin(x))**2 + x**2",
        "tan(atan(x)) - x",
    ],
)
@pytest.mark.parametrize("factor", ["1", "1e9"])
def test_canceling_terms_keep_ignorable(zero, factor):
    # rounding of 10⁹ times the terms is far above 10⁻¹¹
    assert reason(energies(f"{factor}*({zero}) + y**2")) == PROVED


@pytest.mark.parametrize(
    "small",
    [
        "sin(x)**2 + 0.999999999*cos(x)**2",
        "sin(x)**2 + cos(1.000000001*x)**2",
        "exp(x)*exp(-0.999999999*x)",
        "(x + 1)**2 - x**2 - 1.999999999*x",
        "sin(x + 3.141592653589793) + sin(x)",
        "0.1*x + 0.2*x - 0.30000000000000004*x",
    ],
)
def test_nearly_canceling_terms_refute_ignorable_coordinate(small):
    assert reason(energies(small)) == LAGRANGIAN


@pytest.mark.parametrize("place", range(-6, 7))
def test_root_of_square_is_not_identity(place):
    # √((x − c)²) − x is constant on one side of c and −2x on the other; half of all points are on one side only
    assert reason(energies(f"sqrt((x - {place})**2) - x")) == LAGRANGIAN


def test_unknown_identity_is_reported_as_undecided():
    # reported neither as proved nor as a dependence
    model = energies("sin(x*(y + 1)) - sin(x*y + x)")
    assert reason(model) == "undecided whether the Lagrangian depends on x"
    assert reason(energies("sin(x*(y + 1))")) == LAGRANGIAN


def test_root_in_quadratic_extension_field():
    # √47 has no residue, but one in GF(P²)
    assert reason(energies("sqrt(47)*x*(sin(x)**2 + cos(x)**2 - 1)")).startswith("ignorable")
    assert reason(energies("sqrt(47)*x*(sin(x)**2 + cos(x)**2 - 1.000000001)")) == LAGRANGIAN


# parameters


def top(A: float, B: float, C: float) -> Model:
    """A body that spins by x about the axis of a rod that swings by y."""
    model = Model("top").parameters(A=A, B=B, C=C).coordinate("y", 0.4).coordinate("x")
    joints = [model.revolute((1, 0, 0), "y"), model.revolute((0, 0, 1), "x")]
    return model.body("top", joint=joints, mass=1, inertia=("A", "B", "C"))


def test_equal_inertias_make_the_spin_ignorable_for_these_values_only():
    assert reason(top(A=0.3, B=0.3, C=0.2)) == f"{GIVEN} A, B"
    assert not found(top(A=0.3, B=0.3, C=0.2)).generic
    assert reason(top(A=0.3, B=0.300000001, C=0.2)) == LAGRANGIAN


def test_one_inertia_for_both_makes_it_ignorable_for_all_values():
    model = Model("top").parameters(A=0.3, C=0.2).coordinate("y", 0.4).coordinate("x")
    joints = [model.revolute((1, 0, 0), "y"), model.revolute((0, 0, 1), "x")]
    assert reason(model.body("top", joint=joints, mass=1, inertia=("A", "A", "C"))) == PROVED


@pytest.mark.parametrize(("k", "sentence"), [(0.0, f"{GIVEN} k"), (1e-12, LAGRANGIAN)])
def test_a_stiffness_of_zero_makes_it_ignorable_for_this_value_only(k, sentence):
    model = cart().parameters(k=k).joint_spring("cart", stiffness="k")
    assert reason(model) == sentence


@pytest.mark.parametrize(
    ("k", "sentence"), [(-47.0, f"{GIVEN} k"), (47.0, LAGRANGIAN), (-2.0, f"{GIVEN} k"), (2.0, LAGRANGIAN)]
)
def test_sign_of_a_parameter_value_matters(k, sentence):
    # √(k²) + k is 0 for negative k only, whether k is a square in the field, as 2 is, or not, as 47
    assert reason(energies("(sqrt(k**2) + k)*x", parameters={"k": k})) == sentence


# undefined formulas


@pytest.mark.parametrize("force", ["sqrt(1.5 - x)", "log(x + 0.1)", "asin(x)", "sqrt(1.5 - x) - sqrt(1.5 - x)/2"])
def test_partially_undefined_force_refutes_ignorable_coordinate(force):
    assert reason(pushed(force)) == FORCE


def test_spring_with_zero_initial_length_refutes_ignorable_coordinate():
    # its slope at the start is 0/0; nan is not zero
    model = Model("tie").coordinates("x")
    model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.spring(("world", "bead"), stiffness=3, natural_length=0.2)
    assert reason(model) == LAGRANGIAN


# constraints and their forces


def test_columns_of_constraints():
    model = cart().nonholonomic("1e-9*dot(x) + dot(theta)", name="gear")
    assert reason(model) == "the constraint 'gear' has a non-zero column for x"
    assert reason(cart().nonholonomic("x*dot(theta)", name="lock")) == PROVED  # its velocity is not in it
    assert reason(cart().holonomic("theta - 0.5 + x - x", name="hold")) == PROVED
    late = cart().nonholonomic("piecewise(dot(x), t > 20, 0) + dot(theta)", name="late")
    assert reason(late) == "the constraint 'late' has a non-zero column for x"


def test_contact_rows_refute_ignorable_coordinate():
    model = with_contacts(dl.load("rolling-disk"))
    for name in ("x", "y"):
        assert "has a non-zero column for" in reason(model, name)


def test_a_force_of_non_ideal_constraints():
    model = cart().holonomic("theta - 0.5", name="hold").non_ideal({"x": "piecewise(-dot(x), t > 20, 0)"})
    assert reason(model) == FORCE
    other = cart().holonomic("theta - 0.5", name="hold").non_ideal({"theta": "-dot(theta)"})
    assert reason(other) == PROVED


def test_facts_contain_the_reasons():
    model = pushed("piecewise(3, t > 20, 0)")
    known = facts_of(model)
    assert known.ignorable == ()
    assert known.reasons == {"x": FORCE, "theta": "the Lagrangian depends on theta"}


def test_verify_detects_an_overlooked_late_force(monkeypatch):
    # states are sampled over the time span in which formulas switch
    model = pushed("piecewise(3, t > 20, 0)")
    assert dl.verify(model, states=20, engines=["python"])

    def overlooked(model: Model, levels: Levels) -> Ignorable:
        return replace(find_ignorable(model, levels), indices=(0,))

    monkeypatch.setattr("dalembert.mechanics.facts.find_ignorable", overlooked)
    forget_workspaces()
    agreement = dl.verify(model, states=20, engines=["python"])
    assert not agreement
    differing = {key for key, verdict in agreement.formalisms.items() if verdict.status == "differs"}
    assert {"volterra_reduced", "routh"} & differing
