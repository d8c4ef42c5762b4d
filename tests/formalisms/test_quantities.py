"""Public quantities of formulations: the Gaussian, the constraint space, the Hamiltonian, the directions D."""

from typing import Any

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl


@pytest.fixture(scope="module")
def cart() -> dl.Model:
    return dl.load("cart-pendulum")


def test_the_generalized_constrained_equation_holds(cart):
    equations = dl.derive(cart, "dalembert")
    q, qd = cart.initial
    space = equations.constraint_space(q, qd)
    qdd = equations.accelerations(q, qd)
    left = space.Theta.T @ space.tau
    right = space.M @ qdd + space.b + space.g - space.Phi.T @ (space.alpha + space.rho)  # (5.154)
    np.testing.assert_allclose(left, right, atol=1e-12)
    np.testing.assert_allclose(space.Phi @ space.Phi_bar, np.eye(1), atol=1e-13)
    np.testing.assert_allclose(space.Phi @ space.Theta, 0.0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.inv(space.H), space.Phi @ np.linalg.inv(space.M) @ space.Phi.T)


def test_motion_has_the_smallest_gaussian(cart):
    equations = dl.derive(cart, "gauss")
    q, qd = cart.initial
    least, taken = equations.gaussian(q, qd), equations.accelerations(q, qd)
    _, _, A, _ = equations.workspace.manifold.evaluate(q, qd, 0.0, equations.workspace.values)
    free = np.linalg.svd(A)[2][1:]
    rng = np.random.default_rng(5)
    for _ in range(1000):
        other = taken + free.T @ rng.normal(size=2)
        assert equations.gaussian(q, qd, qdd=other) > least


def test_the_hamiltonian_of_a_pendulum():
    equations = dl.derive(dl.load("simple-pendulum"), "hamilton")
    m, g, l = sympy.symbols("m g l")  # noqa: E741
    theta = dynamicsymbols("theta")
    p: Any
    (p,) = (s for s in equations.hamiltonian.free_symbols if str(s).startswith("p"))
    expected = p**2 / (2 * m * l**2) - m * g * l * sympy.cos(theta)
    assert sympy.simplify(equations.hamiltonian - expected) == 0
    with pytest.raises(dl.InputError, match="has no Hamiltonian"):
        _ = dl.derive(dl.load("simple-pendulum"), "kane", engine="python").hamiltonian


def test_directions_are_orthogonal_to_the_constraints(cart):
    equations = dl.derive(cart, "phong")
    product = equations.constraint_matrix * equations.directions
    assert sympy.simplify(product) == sympy.zeros(*product.shape)
    with pytest.raises(dl.InputError, match="has no matrix D"):
        _ = dl.derive(cart, "lagrange", engine="python").directions
