"""Identities of single formulations."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.formalisms import catalog
from dalembert.formalisms.shared import common_quantities
from dalembert.formalisms.shared.phase_space import canonical_of
from dalembert.mechanics import state_batch
from dalembert.model.immutable import Frozen
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import stack, vector


def coefficients(model: dl.Model) -> np.ndarray:
    """Hamel's coefficients γ[i, j, l] at five consistent states."""
    space = workspace_of(setup(model, "python"))
    system = space.system
    found = common_quantities.hamel_coefficients(system, common_quantities.speeds_and_constraints(system))[0]
    n = len(system.q)
    parameters = system.algebra.symbols(list(model.parameter_values))
    function = compile_function(
        system.algebra, stack(system.q, system.qd, vector([system.t])), found.ravel(), parameters
    )
    states = state_batch.consistent_states(space.model, 5, seed=3)
    out = function(np.concatenate([states.q, states.qd, states.t[None]]), space.values)
    return out.reshape(n, n, n, 5)


@pytest.mark.parametrize("name", ["cart-pendulum", "three-bodies", "rolling-disk"])
def test_hamel_coefficients_are_antisymmetric(name):
    gamma = coefficients(dl.load(name))
    np.testing.assert_allclose(gamma, -np.swapaxes(gamma, 1, 2), atol=1e-11 * (1 + np.abs(gamma).max()))
    assert np.abs(gamma).max() > 0.1


def test_hamel_coefficients_of_a_rotating_body_are_the_levi_civita_symbol():
    # speeds 1 to 3 of the satellite are ω in body axes: dω^i has the structure of so(3)
    gamma = coefficients(dl.load("satellite-boom"))[:3, :3, :3, 0]
    symbol = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        symbol[i, j, k], symbol[i, k, j] = 1, -1
    assert min(np.abs(gamma - symbol).max(), np.abs(gamma + symbol).max()) < 1e-12


def test_hamel_coefficients_vanish_for_true_velocities():
    assert np.abs(coefficients(dl.load("double-pendulum"))).max() == 0


def moving_speeds() -> dl.Model:
    """Quasi-velocities that depend on time, so that γ has rheonomic terms."""
    model = dl.Model("moving speeds").coordinates("x", "y").coordinate("theta", start=0.3)
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "theta")]
    model.body("sled", joint=joints, mass=2, center=(0.3, 0, 0), inertia=(0, 0, 0.4))
    model.speeds("cos(theta + 0.1*t)*dot(x) + sin(theta + 0.1*t)*dot(y) + x*t", "dot(theta) + x*y")
    return model.nonholonomic("cos(theta)*dot(y) - sin(theta)*dot(x) - 0.2*cos(t)", name="blade")


@pytest.mark.parametrize("name", ["rolling-disk", "three-bodies", "moving speeds"])
def test_sum_over_hamel_coefficients_agrees_with_single_terms(name):
    model = moving_speeds() if name == "moving speeds" else dl.load(name)
    system = workspace_of(setup(model, "python")).system
    full = common_quantities.speeds_and_constraints(system)
    hamel, momenta = (
        common_quantities.hamel_coefficients(system, full),
        system.algebra.symbols([f"m{i}" for i in range(len(full.u))]),
    )
    one_by_one = [momenta @ (hamel[0][:, j, :] @ full.u + hamel[1][:, j]) for j in range(len(full.u))]
    together = common_quantities.hamel_terms(system, full, momenta)
    inputs = stack(system.q, full.u, momenta, vector([system.t]))
    parameters = system.algebra.symbols(list(model.parameter_values))
    function = compile_function(system.algebra, inputs, stack(vector(one_by_one), together), parameters)
    first, second = np.split(function(np.random.default_rng(2).normal(size=(len(inputs), 4)), _values(model)), 2)
    assert np.abs(first).max() > 0.1
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)


def _values(model: dl.Model) -> np.ndarray:
    return np.array(list(model.parameter_values.values()), dtype=float)


def test_legendre_identities_against_direct_differentiation_of_the_hamiltonian():
    space = workspace_of(setup(dl.load("cart-pendulum"), "native"))
    system, c = space.system, canonical_of(space.system)
    algebra = system.algebra
    H_p = algebra.gradient(c.H, c.p)
    pairs = stack(
        H_p - c.H_p,
        algebra.gradient(c.H, system.q) - c.H_q,
        (algebra.jacobian(H_p, c.p) - c.H_pp).ravel(),
        (algebra.jacobian(H_p, system.q) - c.H_pq).ravel(),
    )
    parameters = algebra.symbols(list(space.model.parameter_values))
    function = compile_function(algebra, stack(system.q, c.p, vector([system.t])), pairs, parameters)
    rng = np.random.default_rng(2)
    assert np.abs(function(rng.normal(size=(7, 20)), space.values)).max() < 1e-9


def rough() -> dl.Model:
    """A particle on an inclined plane with a viscous, non-ideal constraint force."""
    model = dl.Model("rough", gravity=(0, 0, -9.81)).parameters(m=2.0, c=0.7).coordinates("x", "y", "z")
    model.start([0, 0, 0], [1.0, 0.5, 0.3])
    axes = [model.prismatic(axis, name) for axis, name in (((1, 0, 0), "x"), ((0, 1, 0), "y"), ((0, 0, 1), "z"))]
    model.body("particle", joint=axes, mass="m")
    model.holonomic("z - 0.3*x", name="plane")
    return model.non_ideal({name: f"-c*dot({name})" for name in ("x", "y", "z")})


@pytest.mark.parametrize("key", catalog.KEYS)
def test_reactions_do_the_virtual_work_of_the_non_ideal_force_and_no_other(key):
    model = rough()
    equations = dl.derive(model, key, engine="python")
    states = state_batch.consistent_states(model, 10, seed=8)
    reaction = equations.reactions(states.q, states.qd, states.t)
    directions = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.0]])  # admissible directions of the plane
    C = -0.7 * states.qd
    np.testing.assert_allclose(directions @ reaction, directions @ C, atol=1e-12 * 20)


@pytest.mark.parametrize("key", catalog.KEYS)
def test_a_vanishing_non_ideal_force_changes_nothing(key):
    ideal = rough()
    ideal.non_ideal_forces = Frozen()
    states = state_batch.consistent_states(ideal, 10, seed=8)
    with_zero = dl.derive(rough().with_parameters(c=0.0), key, engine="python")
    without = dl.derive(ideal, key, engine="python")
    got = with_zero.accelerations(states.q, states.qd, states.t)
    np.testing.assert_allclose(got, without.accelerations(states.q, states.qd, states.t), atol=1e-13)


def test_massless_coordinate_is_rejected_by_name():
    model = dl.Model("massless").coordinates("x", "y")
    model.body("a", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.body("b", parent="a", joint=model.prismatic((0, 1, 0), "y"), mass=0)
    model.force("b", (0, 1, 0))
    with pytest.raises(dl.SingularError, match=r"has no inertia, so its acceleration is not determined"):
        dl.derive(model, "kane", engine="python")


def test_singular_mass_matrix_is_supported_if_regular_on_the_constraints():
    model = dl.Model("geared").coordinates("a", "b")
    model.body("wheel", joint=model.revolute((0, 0, 1), "a"), inertia=(1, 1, 1))
    model.body("pinion", joint=model.revolute((0, 0, 1), "b"), inertia=(1, 1, 0))
    model.holonomic("a - 2*b", name="gears").torque("pinion", (0, 0, 3))
    agreement = dl.verify(model, states=10)
    assert agreement.agrees
    for key in ("lagrange", "maggi", "kane", "udwadia_kalaba", "nullspace", "phong"):
        assert agreement.formalisms[key].status == "agrees"
    assert "singular" in (agreement.formalisms["hamilton"].reason or "")
    np.testing.assert_allclose(dl.derive(model, "udwadia_kalaba").accelerations([0, 0], [0, 0]), [1.5, 0.75])
