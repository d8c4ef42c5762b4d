"""Each level of a constraint is the derivative of the one before, along any curve."""

import numpy as np
import pytest

from dalembert.mechanics.constraint_levels import Constraints, levels
from dalembert.mechanics.motion import move
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

STEP = 1e-30


def curved() -> Model:
    """Holonomic and nonholonomic, linear and nonlinear, at rest and moving with time."""
    model = Model("curved").parameters(l=1.3, w=0.7).coordinates("x", "y", "theta")
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "theta")]
    model.body("plate", joint=joints, mass=1, inertia=(1, 1, 1))
    model.holonomic("x**2 + y**2 - l**2", name="circle")
    model.holonomic("x*sin(theta) - exp(-w*t)*y", name="closing")
    model.nonholonomic("dot(x)*sin(theta) - dot(y)*cos(theta) - w*t", name="blade")
    return model.nonholonomic("dot(x)**2 + dot(y)**2 - l*dot(theta)**2 + x*t", name="fan")


def at(model, q, qd, t):
    motion = move(model, FLOATS, t, vector(list(q)), vector(list(qd)), model.parameter_values)
    return Constraints(motion, levels(model))


def single(array):
    return numbers(array, 1)[..., 0]


@pytest.fixture
def curve():
    random = np.random.default_rng(5)
    q, qd, qdd = random.uniform(-1, 1, (3, 3))
    return q, qd, qdd, 0.8


def test_velocity_level_is_the_rate_of_the_position_level(curve):
    q, qd, _, t = curve
    moved = at(curved(), q + 1j * STEP * qd, qd, t + 1j * STEP)
    here = at(curved(), q, qd, t)
    assert np.allclose(np.imag(single(moved.phi)) / STEP, single(here.velocity)[:2], atol=1e-14)


def test_acceleration_level_is_the_rate_of_the_velocity_level(curve):
    q, qd, qdd, t = curve
    moved = at(curved(), q + 1j * STEP * qd, qd + 1j * STEP * qdd, t + 1j * STEP)
    here = at(curved(), q, qd, t)
    assert np.allclose(np.imag(single(moved.velocity)) / STEP, single(here.A) @ qdd - single(here.beta), atol=1e-14)


def test_a_and_b_reproduce_linear_velocity_levels(curve):
    q, qd, _, t = curve
    here = at(curved(), q, qd, t)
    assert np.allclose((single(here.A) @ qd + single(here.b))[:3], single(here.velocity)[:3], atol=1e-14)


def test_rows_are_in_order_of_declaration_holonomic_first():
    facts = levels(curved())
    assert facts.names == ("circle", "closing", "blade", "fan")
    assert facts.linear == (True, True, True, False)


@pytest.mark.parametrize(
    ("psi", "linear"),
    [
        ("x*dot(x) + sin(t)*dot(y) + 1", True),
        ("(dot(x) + 1)**2 - dot(x)**2", True),  # the squares cancel
        ("dot(x)*dot(y)", False),
        ("sqrt(1 + dot(x)**2)", False),
    ],
)
def test_linearity_does_not_depend_on_the_form_of_the_formula(psi, linear):
    model = Model("m").coordinates("x", "y").nonholonomic(psi)
    assert levels(model).linear == (linear,)


def test_without_constraints_every_level_is_empty():
    model = Model("free").coordinates("x")
    model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    here = at(model, [0.0], [0.0], 0.0)
    assert (here.k, here.phi.shape, here.A.shape, here.beta.shape, here.b.shape) == (0, (0,), (0, 1), (0,), (0,))
