"""One rank with one tolerance, independent of units and the same in all modules."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.api.equations import Equations
from dalembert.formalisms import catalog
from dalembert.mechanics import rank
from dalembert.mechanics.facts import facts_of
from dalembert.model.model import Model
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of


def rows_of_rank(seed: int, r: int, n: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(r, count)) @ rng.normal(size=(count, n))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("r", "n", "count"), [(3, 5, 3), (4, 5, 2), (6, 4, 4), (5, 5, 1)])
def test_the_rank_of_a_product_is_that_of_its_factors(seed, r, n, count):
    assert rank.numeric_rank(rows_of_rank(seed, r, n, count)) == count


@pytest.mark.parametrize("seed", range(10))
def test_units_change_neither_rank_nor_independence(seed):
    rng = np.random.default_rng(seed)
    A = rows_of_rank(seed, 5, 6, 3)
    row_units, column_units = 10 ** rng.uniform(-6, 6, 5), 10 ** rng.uniform(-6, 6, 6)
    other = A * row_units[:, None] / column_units
    assert np.allclose(
        rank.relative_singular_values(A, np.ones(6)), rank.relative_singular_values(other, column_units), atol=1e-12
    )
    assert rank.independent_rows(A, np.ones(6)) == rank.independent_rows(other, column_units)
    inverse, again = rank.pseudo_inverse(A, np.ones(6)), rank.pseudo_inverse(other, column_units)
    b = A @ rng.normal(size=6)
    assert np.allclose(inverse @ b, (again @ (b * row_units)) / column_units, rtol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_inertia_measures_coordinates_in_any_unit(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    M, A, units = root @ root.T, rows_of_rank(seed, 4, 6, 2), 10 ** rng.uniform(-6, 6, 6)
    M[0] = M[:, 0] = 0  # a coordinate without inertia is scaled by its column
    other = M / units[:, None] / units, A / units
    assert np.allclose(rank.inertia_scale(*other) / units, rank.inertia_scale(M, A), rtol=1e-9)


def test_pseudo_inverse_and_null_space_belong_to_the_rows():
    A = rows_of_rank(4, 5, 7, 3)
    pseudo, N = rank.pseudo_inverse_and_null_space(A)
    assert N.shape == (7, 4)
    assert np.allclose(A @ pseudo @ A, A)
    assert np.abs(A @ N).max() < 1e-12
    # for right sides that the rows can reach it is the Moore–Penrose inverse
    assert np.allclose(pseudo @ A, np.linalg.pinv(A, rcond=1e-12) @ A)
    assert np.allclose(rank.pseudo_inverse(A[None]), pseudo)


def test_combinations_are_orthonormal_and_span_the_rows():
    A = np.array([[1.0, 0.0, 0.0], [1.0, 1e-6, 0.0], [2.0, 1e-6, 0.0]])
    T = rank.combined(A, np.ones(3), 2)
    assert np.allclose((T @ A) @ (T @ A).T, np.eye(2), atol=1e-9)


def test_rounding_row_counts_as_zero():
    assert rank.numeric_rank(np.array([[1.0, 0.0], [0.0, 1e-16]])) == 1
    assert rank.numeric_rank(np.array([[1.0, 0.0], [0.0, 1e-12]])) == 2


def slides(factor: str, mass: float = 2.0) -> Model:
    """x = 0 and x + factor y = 0 hold x and y; only z is free."""
    model = Model("slides").coordinates("x", "y", "z")
    along = [model.prismatic(tuple(axis), name) for axis, name in zip(np.eye(3).tolist(), "xyz", strict=True)]
    model.body("block", joint=along, mass=mass).force("block", (1, 4, 3))
    return model.holonomic("x", name="first").holonomic(f"x + {factor}*y", name="second")


@pytest.mark.parametrize("factor", ["1e-4", "1e-7"])
def test_nearly_dependent_constraints_count_as_two(factor):
    model = slides(factor)
    report = dl.mobility(model)
    assert (report.degrees_of_freedom, report.redundant) == (1, ())
    assert any("nearly dependent" in warning for warning in report.warnings)
    expected = np.array([0.0, 0.0, 1.5])  # F_z / m; x and y are constrained
    q, qd = np.array([0.0, 0.0, 0.3]), np.array([0.0, 0.0, 0.7])
    assert np.allclose(dl.forward_dynamics(model, q, qd), expected, atol=1e-9)
    for mode in (None, "assembled"):
        space = workspace_of(setup(model, "python", mode))
        for key in catalog.KEYS:
            assert np.allclose(Equations(derivation_of(space.setup, key)).accelerations(q, qd), expected, atol=1e-9), (
                key,
                mode,
            )


@pytest.mark.parametrize("factor", ["1e-4", "1e-7"])
def test_nearly_dependent_constraints_are_compared_and_agree(factor):
    agreement = dl.verify(slides(factor), states=10)
    assert (agreement.states, agreement.agrees) == (10, True)


def test_multipliers_of_nearly_dependent_constraints_balance_the_forces():
    # λ₂ = −F_y / factor, λ₁ = −F_x − λ₂
    lam = dl.derive(slides("1e-4"), "lagrange").multipliers(np.zeros(3), np.zeros(3))
    assert np.allclose(lam, [4e4 - 1, -4e4], rtol=1e-9)


def test_constraints_below_tolerance_count_as_one():
    report = dl.mobility(slides("1e-11"))
    assert (report.degrees_of_freedom, len(report.redundant)) == (2, 1)


@pytest.mark.parametrize("factor", ["1e-9", "1e9"])
def test_a_constraint_may_be_written_in_any_unit(factor):
    model = slides("1").holonomic(f"{factor}*(z - 0.5*t)", name="third").start([0, 0, 0], [0, 0, 0.5])
    known = facts_of(model)
    assert (known.d, known.rows) == (0, (0, 1, 2))
    assert dl.verify(model, states=5, engines=["python"]).agrees


def test_a_row_that_cancels_is_redundant_and_named():
    model = slides("1").nonholonomic("(sin(z)**2 + cos(z)**2 - 1)*dot(z)", name="nothing")
    assert facts_of(model).dropped == ("nothing",)
