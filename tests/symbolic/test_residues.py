"""Residue arithmetic agrees with fractions; linear systems are solved exactly."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.errors import SingularError
from dalembert.symbolic.prime_field import EXACT, P, Residue, as_residues, eliminated, is_square, rank, residue, solve

fractions = st.fractions(-1000, 1000, max_denominator=1000)
small = st.integers(-9, 9)


def of(x: Fraction) -> Residue:
    return Residue(residue(x))


@given(fractions, fractions)
def test_arithmetic_is_that_of_fractions(x, y):
    a, b = of(x), of(y)
    assert a + b == of(x + y)
    assert a - b == of(x - y)
    assert a * b == of(x * y)
    assert -a == of(-x)
    if y:
        assert a / b == of(x / y)
        assert x / b == of(x / y)


@given(fractions, fractions)
def test_numbers_on_either_side(x, y):
    a = of(x)
    assert a + y == y + a == of(x + y)
    assert a - y == of(x - y)
    assert y - a == of(y - x)
    assert a * y == y * a == of(x * y)
    assert (a == y) == (x == y)


def test_floats_are_read_as_decimals():
    assert Residue(0) + 0.1 + 0.2 == Fraction(3, 10)
    assert Residue(0) + np.float64(0.1) == Fraction(1, 10)
    assert Residue(2) * np.int64(3) == 6


def test_other_types_handle_the_operation():
    assert Residue(1) != "1"
    for operation in (lambda: Residue(1) + "x", lambda: "x" - Residue(1), lambda: Residue(1) / [1]):
        with pytest.raises(TypeError):
            operation()


def test_division_by_zero():
    for zero in (0, Residue(0), Residue(P), 0.0):
        with pytest.raises(ZeroDivisionError):
            _ = Residue(3) / zero


@given(st.integers(1, P - 1), st.integers(1, P - 1), st.integers(0, P - 1))
def test_residues_with_an_imaginary_part_form_a_field(a, b, c):
    x, y = Residue(a, b), Residue(c, a)
    assert x / y * y == x
    assert (x + y) * (x - y) == x * x - y * y
    assert 1 / x * x == 1
    assert hash(x) == hash(Residue(a + P, b - P))


@given(st.integers(1, P - 1))
def test_every_residue_has_a_root(a):
    for x in (a, P - a):
        found = EXACT.sqrt(Residue(x))
        assert found * found == x
        assert isinstance(found, Residue)
        assert bool(found.b) is not is_square(x)


def test_functions_without_an_exact_value_are_rejected():
    for refused in (
        lambda: EXACT.function("sin", Residue(1)),
        lambda: EXACT.sqrt(Residue(1, 2)),
        lambda: EXACT.select(1, 2, 3),
        lambda: EXACT.less(1, 2, or_equal=True),
        lambda: EXACT.logical("and", 1, 2),
    ):
        with pytest.raises(SingularError):
            refused()


matrices = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(small, min_size=n, max_size=n), min_size=n, max_size=n),
        st.lists(small, min_size=n, max_size=n),
    )
)


@given(matrices)
def test_solutions_satisfy_the_system(numbers):
    A, b = (np.array(x, dtype=object) for x in numbers)
    full = np.linalg.matrix_rank(A.astype(float)) == len(A)
    assert rank(A) == np.linalg.matrix_rank(A.astype(float))
    if full:
        x = solve(A, b)
        assert all(row == e for row, e in zip(A @ x, b, strict=True))
    else:
        with pytest.raises(ZeroDivisionError):
            solve(A, b)


def test_a_hilbert_matrix_is_solved_exactly():
    # its condition number exceeds 10²⁰: floats fail
    n = 20
    A = np.array([[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)], dtype=object)
    x = solve(A, A.sum(axis=1))
    assert all(e == 1 for e in x)
    assert rank(A) == n


def test_nearly_dependent_rows_are_independent():
    assert rank(np.array([[1, 0], [1, 1e-300]], dtype=object)) == 2
    assert rank(np.array([[0.1, 0.2], [0.3, 0.6]], dtype=object)) == 1


def test_elimination_returns_its_pivots():
    rows, pivots = eliminated(np.array([[0, 1, 2], [0, 2, 4], [0, 0, 5]], dtype=object), 3)
    assert pivots == [1, 2]
    assert rows.tolist() == [
        as_residues([0, 1, 0]).tolist(),
        as_residues([0, 0, 1]).tolist(),
        as_residues([0, 0, 0]).tolist(),
    ]


def test_pivots_are_searched_in_the_first_columns_only():
    rows, pivots = eliminated(np.array([[0, 7], [2, 4]], dtype=object), 1)
    assert pivots == [0]
    assert rows[0].tolist() == [1, 2]
    assert eliminated(np.empty((0, 3), dtype=object), 3)[1] == []


def test_linear_systems_are_solved_in_the_extension_field():
    i = Residue(0, 1)
    A = np.array([[i, Residue(2)], [Residue(3), i + 1]], dtype=object)
    x = np.array([Residue(5), 2 * i], dtype=object)
    assert (solve(A, A @ x) == x).all()
    assert rank(A) == 2
    assert rank(np.array([[i, Residue(2)], [i * i, 2 * i]], dtype=object)) == 1
