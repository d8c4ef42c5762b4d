"""Gradients by the adjoint equations are those by the variational equations."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, NotApplicableError


@pytest.mark.parametrize(
    "name", ["spherical-pendulum", *(pytest.param(x, marks=pytest.mark.nightly) for x in ("cart-pendulum", "four-bar"))]
)
def test_adjoint_and_variational_gradients_agree(name):
    model = dl.load(name)
    of, cost = tuple(model.parameter_values)[:3], f"{model.coordinate_names[0]}**2 + dot({model.coordinate_names[-1]})"
    found = dl.gradient(model, 0.2, of=of, final=cost, integral=cost)
    nodes, weights = np.polynomial.legendre.leggauss(16 if name == "spherical-pendulum" else 120)
    run = dl.sensitivity(model, of=of, times=[0.0, *(0.1 + 0.1 * nodes), 0.2])
    observed, weights = run.observe(cost), np.array([0.0, *(0.1 * weights), 0.0])
    expected = observed.first[0, :, -1] + observed.first[0] @ weights
    assert np.abs(found.slopes - expected).max() < 1e-9 * np.abs(expected).max()
    assert abs(found.value - observed.value[0, -1] - observed.value[0] @ weights) < 1e-10
    assert found[of[0]] == found.slopes[0]


def test_costs_without_a_gradient_raise():
    with pytest.raises(InputError, match="no cost is defined"):
        dl.gradient("simple-pendulum", 1.0, of=["l"])
    with pytest.raises(InputError, match="Expected a scalar"):
        dl.gradient("double-pendulum", 1.0, of=["l1"], final="momenta")
    ball = dl.Model("ball").parameters(g=10.0).coordinates("y").start([1.25], [0.0])
    ball.body("ball", joint=ball.prismatic((0, 1, 0), "y"), mass=1).force("ball", (0, "-g", 0))
    with pytest.raises(NotApplicableError, match="bounce occurs"):
        dl.gradient(ball.event("bounce", "y", reset={"y": "-dot(y)"}), 1.0, of=["g"], final="y")
