"""The inertia matrix by composite bodies."""

import numpy as np
import pytest
import sympy
from gallery_models import by_size

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.model.model import Model
from dalembert.recursive.composite_inertia import diagonal
from dalembert.recursive.composite_inertia import mass_matrix as composite_matrix
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.link_states import moving
from dalembert.recursive.tree import tree_of
from dalembert.recursive.tree_dynamics import mass_matrix
from dalembert.symbolic.algebra_base import choose, stack
from dalembert.symbolic.floats import FLOATS, numbers


def double_pendulum() -> Model:
    """Two rods in a plane, relative angles."""
    model = Model("double").parameters(m1=1.0, m2=2.0, l1=0.5, c1=0.3, c2=0.4, I1=0.1, I2=0.2).coordinates("a", "b")
    axis = (0, 0, 1)
    model.body("upper", joint=model.revolute(axis, "a"), mass="m1", center=("c1", 0, 0), inertia=(0, 0, "I1"))
    elbow = model.revolute(axis, "b", position=("l1", 0, 0))
    return model.body("lower", parent="upper", joint=elbow, mass="m2", center=("c2", 0, 0), inertia=(0, 0, "I2"))


def symbols_of(model, algebra):
    """Symbols for coordinates, speeds and parameters of a model without quaternions."""
    q, s = algebra.symbols(model.coordinate_names), algebra.symbols([f"dot({n})" for n in model.coordinate_names])
    names = list(model.parameter_values)
    return q, s, dict(zip(names, algebra.symbols(names), strict=True))


def test_double_pendulum_in_closed_form():
    model, algebra = double_pendulum(), choose("symbolic")
    q, s, parameters = symbols_of(model, algebra)
    M = composite_matrix(moving(tree_of(model), algebra, algebra.symbols(["t"])[0], list(q), list(s), parameters))
    m1, m2, l1, c1, c2, I1, I2, b = sympy.symbols("m1 m2 l1 c1 c2 I1 I2 b")
    outer = I2 + m2 * c2**2
    coupling = outer + m2 * l1 * c2 * sympy.cos(b)
    first = I1 + m1 * c1**2 + outer + m2 * (l1**2 + 2 * l1 * c2 * sympy.cos(b))
    for ours, known in zip(M.ravel(), (first, coupling, coupling, outer), strict=True):
        assert sympy.simplify(ours._sympy_() - known) == 0


def in_speeds(model: Model, M: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hᵀ M H with M (K, n, n) of the coordinates, for q̇ = H s: the speeds of quaternions are angular velocities."""
    known = tree_of(model)
    columns = [to_rates(known, FLOATS, list(q), list(e)) for e in np.eye(known.n_speeds)]
    H = np.stack([numbers(column, q.shape[1]) for column in columns], axis=1)
    return np.einsum("niK,Knm,mjK->Kij", H, M, H)


@pytest.mark.parametrize("name", by_size(gallery.names()))
def test_gallery_models_have_the_mass_matrix_of_lagrange(name):
    equations = dl.derive(dl.load(name), engine="python")
    states = state_batch.consistent_states(equations.model, 4, seed=3)
    M, _ = equations._free(states.q, states.qd, states.t)
    ours = np.moveaxis(mass_matrix(dl.load(name), states.q, states.t), -1, 0)
    assert np.abs(ours - in_speeds(dl.load(name), M, states.q)).max() <= 1e-13 * np.abs(M).max()


def test_mass_matrices_of_speeds_and_rates_are_congruent(make, draw):
    """The component along the norm vanishes."""
    model = make("floating")
    q, _, _, _ = draw(model, 3)
    M, _ = dl.derive(model, engine="python")._free(q, 0 * q, 0.0)
    assert np.allclose(np.moveaxis(mass_matrix(model, q), -1, 0), in_speeds(model, M, q), atol=1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_have_symmetric_positive_matrices(seed, random_tree):
    model = random_tree(seed, bodies=4, coordinates=5)
    q = np.random.default_rng(seed).uniform(-1, 1, (len(model.coordinate_names), 4))
    M = np.moveaxis(mass_matrix(model, q, 0.7), -1, 0)
    assert np.abs(M - np.swapaxes(M, 1, 2)).max() <= 1e-14 * np.abs(M).max()
    assert (np.linalg.eigvalsh(M) > -1e-13 * np.abs(M).max()).all()


def test_a_rotor_affects_only_its_own_joint():
    model = double_pendulum()
    bare = mass_matrix(model, [0.3, 0.7])
    model.rotor("lower", 0.01, ratio=20)
    assert np.allclose(mass_matrix(model, [0.3, 0.7]) - bare, [[0, 0], [0, 4.0]], atol=1e-14)


def test_a_rotor_on_a_difference_of_angles_acts_on_both():
    model = Model("absolute").coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.body("second", parent="first", joint=model.revolute((0, 0, 1), "b - a"), mass=1, center=(1, 0, 0))
    bare = mass_matrix(model, [0.3, 0.7])
    model.rotor("second", 0.5)
    assert np.allclose(mass_matrix(model, [0.3, 0.7]) - bare, [[0.5, -0.5], [-0.5, 0.5]], atol=1e-14)


@pytest.mark.parametrize("name", ["every joint", "floating"])
def test_diagonal_is_that_of_the_matrix(name, make, draw):
    model = make(name)
    q, s, _, _ = draw(model, 1)
    known = moving(tree_of(model), FLOATS, 0.0, q[:, 0].tolist(), s[:, 0].tolist(), model.parameter_values)
    assert np.allclose(numbers(diagonal(known), 1), np.diag(mass_matrix(model, q[:, 0]))[:, None], rtol=1e-13)


@pytest.mark.parametrize("engine", ["symbolic", "graph"])
def test_the_same_numbers_over_every_algebra(engine, make, draw):
    model, algebra = make("every joint"), choose(engine)
    q, s, parameters = symbols_of(model, algebra)
    (t,) = algebra.symbols(["t"])
    M = composite_matrix(moving(tree_of(model), algebra, t, list(q), list(s), parameters))
    values = np.array(list(model.parameter_values.values()))
    positions, _, _, times = draw(model, 3)
    function = compile_function(algebra, stack(q, np.array([t])), M.ravel(), np.array(list(parameters.values())))
    ours = function(np.concatenate([positions, times[None]]), values).reshape(12, 12, 3)
    assert np.allclose(ours, mass_matrix(model, positions, times), atol=1e-13)
