"""Floats as an algebra: an entry may be one number or a batch of numbers."""

import math

import numpy as np
import pytest

from dalembert.symbolic.algebra_base import identity, matrix, stack, vector, zeros
from dalembert.symbolic.floats import FLOATS, numbers


def test_entries_may_be_batches():
    angles = np.array([0.0, 0.5, 1.0])
    R = matrix([[FLOATS.cos(angles), -FLOATS.sin(angles)], [FLOATS.sin(angles), FLOATS.cos(angles)]])
    rotated = R @ vector([1.0, 0.0])
    assert rotated.shape == (2,)
    assert np.allclose(numbers(rotated, 3), [np.cos(angles), np.sin(angles)])


def test_numbers_spreads_single_numbers_over_the_batch():
    out = numbers(matrix([[1, np.array([2.0, 3.0])]]), 2)
    assert out.dtype == float
    assert out.tolist() == [[[1.0, 1.0], [2.0, 3.0]]]
    assert numbers(vector([1j, 2.0]), 1).dtype == complex
    assert numbers(zeros(0, 2), 4).shape == (0, 2, 4)


def test_a_batch_is_never_zero_by_structure():
    assert FLOATS.is_zero(0)
    assert FLOATS.is_zero(0.0)
    assert FLOATS.is_zero(np.float64(0))
    assert not FLOATS.is_zero(np.zeros(3))
    assert not FLOATS.is_zero(1e-300)


@pytest.mark.parametrize(("y", "x"), [(1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (-3.0, 0.5)])
def test_atan2_has_the_right_value_and_complex_step(y, x):
    h = 1e-6
    assert FLOATS.function("atan2", y, x) == math.atan2(y, x)
    for dy, dx in ((1, 0), (0, 1), (2, -3)):
        slope = np.imag(FLOATS.function("atan2", y + 1e-50j * dy, x + 1e-50j * dx)) / 1e-50
        difference = (math.atan2(y + h * dy, x + h * dx) - math.atan2(y - h * dy, x - h * dx)) / (2 * h)
        assert slope == pytest.approx(difference, rel=1e-8)


def test_comparisons_of_complex_numbers_use_the_real_part():
    assert FLOATS.less(1 + 5j, 2 + 0j, or_equal=False)
    assert FLOATS.less(np.array([1 + 1j, 3]), 2, or_equal=True).tolist() == [True, False]  # pyright: ignore[reportAttributeAccessIssue]
    assert FLOATS.select(np.array([True, False]), 1.0, np.array([2.0, 3.0])).tolist() == [1.0, 3.0]  # pyright: ignore[reportAttributeAccessIssue]
    assert FLOATS.function("pow", FLOATS.select(True, 2, -2), -5) == 2**-5  # NumPy rejects such powers of integers


def test_arrays_of_exact_entries():
    assert identity(2).tolist() == [[1, 0], [0, 1]]
    assert stack(vector([1]), zeros(0), vector([2, 3])).tolist() == [1, 2, 3]
    assert stack(zeros(0, 2), identity(2)).shape == (2, 2)
    assert matrix([]).shape == (0, 0)
