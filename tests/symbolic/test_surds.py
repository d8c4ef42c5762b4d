"""Numbers with roots: exact with each other, floats with floats; unit vectors have length one."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import symengine as se
from hypothesis import given
from hypothesis import strategies as st

from dalembert.symbolic.surds import Surd, root, unit

fractions = st.fractions(-20, 20, max_denominator=30)
surds = st.dictionaries(st.sampled_from([1, 2, 3, 5, 6, 30]), fractions, max_size=3).map(Surd)


@given(surds, surds)
def test_arithmetic_is_that_of_floats(a, b):
    x, y = float(a), float(b)
    for exact, near in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x), (abs(a), abs(x))):
        assert isinstance(exact, Surd)
        assert math.isclose(float(exact), near, rel_tol=1e-12, abs_tol=1e-10)


@given(surds, surds, surds)
def test_arithmetic_is_exact(a, b, c):
    assert (a + b) - b == a
    assert a * (b + c) == a * b + a * c
    assert (a * b) * c == a * (b * c)
    assert a - a == 0
    assert not (a - a)


@given(surds, fractions)
def test_arithmetic_with_fractions_and_integers_is_exact(a, k):
    assert isinstance(a + k, Surd)
    assert a + k == k + a
    assert k - a == -(a - k)
    assert a * k == k * a
    if k:
        assert a * k / k == a
    assert a / 2 + a / 2 == a


@pytest.mark.parametrize("above", [1, Fraction(1, 2), 0.5, np.float64(2.0)])
def test_division_of_numbers(above):
    assert math.isclose(above / root(Fraction(2)), float(above) / math.sqrt(2))


def test_sizes_compare():
    a, b = root(Fraction(2)), root(Fraction(3))
    assert all((a < b, a <= b, b > a, b >= a, a <= root(Fraction(2)), a >= 1.4))
    assert not any((a > b, a >= b, a > 2))


def test_arithmetic_with_floats_is_float():
    a = root(Fraction(2))
    for found, expected in ((a + 0.5, math.sqrt(2) + 0.5), (0.5 - a, 0.5 - math.sqrt(2)), (a / 2.0, math.sqrt(2) / 2)):
        assert type(found) is float
        assert math.isclose(found, expected, rel_tol=1e-15)
    assert 1.4 < a < 1.5
    assert not a > 1.5
    assert f"{a:.3f}" == "1.414"
    assert repr(a) == repr(math.sqrt(2))


@given(st.fractions(0, 1000, max_denominator=1000))
def test_roots_squared(x):
    found = root(x)
    assert found * found == x
    assert math.isclose(float(found), math.sqrt(x), rel_tol=1e-15)


@given(st.lists(st.fractions(-9, 9, max_denominator=100), min_size=3, max_size=3).filter(any))
def test_unit_vectors_have_exact_length_one(direction):
    found = unit(direction)
    assert sum((x * x for x in found), start=Fraction(0)) == 1
    length = math.hypot(*map(float, direction))
    assert np.allclose([float(x) for x in found], [float(x) / length for x in direction], rtol=1e-15, atol=0)


def test_integer_components_are_int():
    assert [type(x) for x in unit([0, -3, 0])] == [int, int, int]
    assert unit([0, -3, 0]) == (0, -1, 0)


def through_pickle(x: Surd) -> Surd:
    return pickle.loads(pickle.dumps(x))  # noqa: S301 - trusted bytes


@given(st.tuples(*[st.floats(-1e3, 1e3).filter(lambda x: abs(x) > 1e-6)] * 3))
def test_normalizing_twice_changes_nothing(direction):
    once = [float(x) for x in unit([Fraction(x) for x in direction])]
    assert [float(x) for x in unit([Fraction(x) for x in once])] == once


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, through_pickle])
@pytest.mark.parametrize(
    "a", [root(Fraction(1, 2)), Surd({}), unit([1, 2, 3])[1], Surd({1: Fraction(1, 3), 2: Fraction(-1)})]
)
def test_copies_are_the_same_number(a, again):
    b = again(a)
    assert b == a
    assert (b.terms, b.value, hash(b)) == (a.terms, a.value, hash(a))
    assert b * b == a * a


def test_in_arrays():
    a = root(Fraction(2))
    numbers = np.array([1.0, 2.0])
    for found, expected in ((a * numbers, math.sqrt(2) * numbers), (numbers * a, math.sqrt(2) * numbers)):
        assert found.dtype == float
        assert np.allclose(found, expected, rtol=1e-15)
    assert np.allclose(numbers - a, numbers - math.sqrt(2))
    assert np.allclose(a - numbers, math.sqrt(2) - numbers)
    objects = np.array([a, Fraction(1, 2), 1], dtype=object)
    found = a * objects
    assert found.dtype == object
    assert found[0] == 2
    assert found[1] * found[1] == Fraction(1, 2)
    assert (objects @ objects) == Fraction(13, 4)
    assert np.asarray([a, a], dtype=float).dtype == float


def test_in_formulas():
    x = se.Symbol("x")
    a = unit([1, 1, 0])[0]
    assert (a * x) ** 2 == x**2 / 2
    assert se.sympify(a) == se.sqrt(2) / 2


def test_equal_numbers_have_equal_hashes():
    assert root(Fraction(4)) == 2
    assert hash(root(Fraction(4))) == hash(2)
    assert hash(root(Fraction(1, 4))) == hash(Fraction(1, 2)) == hash(0.5)
    assert len({root(Fraction(2)), root(Fraction(8)) / 2, root(Fraction(1, 2)) * 2}) == 1


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e200, 1.7e308])
def test_a_direction_may_have_any_length(size):
    assert unit([Fraction(size) * x for x in (0, 3, 4)]) == unit([0, 3, 4])
    x, _, _ = unit([Fraction(size), Fraction(size), 0])
    assert float(x) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("seed", range(20))
def test_a_rounded_unit_vector_written_and_read_again_is_the_same(seed):
    first = unit([Fraction(repr(x)) for x in np.random.default_rng(seed).normal(size=3).tolist()])
    again = unit([Fraction(repr(float(x))) for x in first])
    assert again == first
    assert [float(x) for x in again] == [float(x) for x in first]
