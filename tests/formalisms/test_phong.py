"""Phong: D is orthogonal to the constraints, redundant rows are found in step 1, and D is the paper's."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.formalisms.shared.solvers import directions
from dalembert.model.model import Model
from dalembert.simulation._assembled import free_directions
from dalembert.symbolic.algebra_base import identity
from dalembert.symbolic.floats import FLOATS


def rod() -> Model:
    """Example 2 of papers/phong: the end of a rod in the plane by x, y and its angle."""
    model = Model("rod", gravity=(0, -9.81, 0)).parameters(l=0.7).coordinates("x", "y", "phi")
    model.start([0, -0.7, 0], [0, 0, 0])
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.revolute((0, 0, 1), "phi")]
    model.body("rod", joint=joints, mass=2, inertia=(0.1, 0.1, 0.1))
    return model.holonomic("x - l*sin(phi)").holonomic("y + l*cos(phi)")


def test_the_directions_of_the_papers_second_example():
    # D ∝ (ℓ cos φ, ℓ sin φ, 1)
    found = dl.derive(rod(), "phong", engine="python").directions
    phi, l = dynamicsymbols("phi"), sp.Symbol("l")  # noqa: E741
    expected = sp.Matrix([l * sp.cos(phi), l * sp.sin(phi), 1])
    assert sp.simplify(found.cross(expected)) == sp.zeros(3, 1)


@pytest.mark.parametrize("seed", range(4))
def test_directions_are_orthogonal_to_the_constraints_and_to_each_other(seed):
    G = np.random.default_rng(seed).normal(size=(2, 5))
    rows, D = free_directions(G)
    assert rows.tolist() == [0, 1]
    assert np.allclose(G @ D, 0, atol=1e-13)
    assert np.allclose(D.T @ D, np.eye(3))
    analytic = directions(FLOATS, G.astype(object), identity(5)[:, 2:]).astype(float)
    assert np.allclose(G @ analytic, 0, atol=1e-12)
    gram = analytic.T @ analytic
    assert np.allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    # both span the same space
    assert np.linalg.matrix_rank(np.hstack([D, analytic]), tol=1e-10) == 3


def test_redundant_rows_are_found_in_the_first_step():
    rng = np.random.default_rng(5)
    first, second = rng.normal(size=(2, 6))
    rows, D = free_directions(np.array([first, 2 * first, second, first - second, 0 * first]))
    assert rows.tolist() == [0, 2]
    assert D.shape == (6, 4)
    assert np.allclose(np.array([first, second]) @ D, 0, atol=1e-13)


def test_all_directions_are_admissible_without_constraints():
    rows, D = free_directions(np.zeros((0, 3)))
    assert rows.tolist() == []
    assert np.allclose(D @ D.T, np.eye(3))


def test_reactions_are_found_afterwards():
    # m r̈ at the end of the rod, (2.4); the rod rotates about the origin with inertia I + m l²
    eom = dl.derive(rod(), "phong", engine="python")
    phi, w = 0.6, 1.1
    q = [0.7 * np.sin(phi), -0.7 * np.cos(phi), phi]
    qd = [0.7 * np.cos(phi) * w, 0.7 * np.sin(phi) * w, w]
    angular = -2 * 9.81 * 0.7 * np.sin(phi) / (0.1 + 2 * 0.49)
    along, inwards = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
    force = 2 * 0.7 * (angular * along + w**2 * inwards) + [0, 2 * 9.81]
    assert np.allclose(eom.accelerations(q, qd)[2], angular)
    assert np.allclose(eom.reactions(q, qd), [*force, 0.1 * angular])
    assert eom.n_dynamic == 1


def test_redundant_constraint_is_used_and_named():
    model = rod().holonomic("2*x - 2*l*sin(phi) + y + l*cos(phi)", name="both")
    eom = dl.derive(model, "phong", engine="python")
    once = dl.derive(rod(), "phong", engine="python")
    q, qd = [0.7 * np.sin(0.4), -0.7 * np.cos(0.4), 0.4], [0.7 * np.cos(0.4), 0.7 * np.sin(0.4), 1.0]
    assert np.allclose(eom.accelerations(q, qd), once.accelerations(q, qd))
    assert len(eom.notes) == 1
    assert eom.notes[0].startswith("redundant constraints kept: ")


def test_user_defined_trial_vectors():
    q, qd = [0.7 * np.sin(0.4), -0.7 * np.cos(0.4), 0.4], [0.7 * np.cos(0.4), 0.7 * np.sin(0.4), 1.0]
    first = dl.derive(rod(), "phong", engine="python")
    other = dl.derive(rod(), "phong", engine="python", trials=["y"])
    ones = dl.derive(rod(), "phong", trials=[[1, 1, 1]])
    for eom in (other, ones):
        assert np.allclose(eom.accelerations(q, qd), first.accelerations(q, qd), rtol=1e-12)
        assert np.allclose(eom.reactions(q, qd), first.reactions(q, qd))
    assert list(ones.blocks["x"].value) == [1, 1, 1]  # pyright: ignore[reportArgumentType]
    # the paper's choice: the direction times l sin φ / (1 + l²)
    phi, l = dynamicsymbols("phi"), sp.Symbol("l")  # noqa: E741
    expected = sp.Matrix([l * sp.cos(phi), l * sp.sin(phi), 1]) * l * sp.sin(phi) / (1 + l**2)
    assert sp.simplify(other.directions - expected) == sp.zeros(3, 1)


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        (["x", "y"], "Expected 1, one for each degree of freedom: names of coordinates, or 3 numbers each."),
        (["z"], "trials: there is no coordinate 'z'."),
        ([[1, 2]], r"trials: got [1, 2]. Expected the name of a coordinate, or 3 numbers."),
        ([[0, 0, 0]], "is linearly dependent on the constraint rows and the preceding trial vectors"),
    ],
)
def test_invalid_trial_vectors_are_rejected(trials, message):
    with pytest.raises(dl.InputError) as caught:
        dl.derive(rod(), "phong", engine="python", trials=trials)
    assert message in str(caught.value)


def test_other_formalisms_have_no_trial_vectors():
    with pytest.raises(dl.InputError, match=r"trials: formalism 'kane' has no trial vectors\. Expected 'phong'\."):
        dl.derive(rod(), "kane", engine="python", trials=["x"])
