"""Taylor arithmetic against closed forms and finite differences of floats."""

from typing import Any

import numpy as np
import pytest
import symengine as se

from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, SERIES, TruncatedSeries, series
from dalembert.symbolic.symbols import Lowering

s = se.Symbol("s")
FORMULAS = {
    "sin": se.sin(2 * s + 0.3),
    "cos": se.cos(s**2 - 1),
    "tan": se.tan(s / 2),
    "asin": se.asin(0.4 * s),
    "acos": se.acos(0.3 * s**2),
    "atan": se.atan(3 * s),
    "atan2": se.atan2(s - 2, se.cos(s) - 2),
    "sqrt": se.sqrt(1 + s**2),
    "exp": se.exp(-(s**2)),
    "log": se.log(2 + s),
    "power": (1 + s) ** 7,
    "root": (2 + s) ** se.Rational(5, 3),
    "formula in the exponent": (2 + s) ** (s * 1.5),
    "ratio": (1 + s) / (3 - s**3),
    "inverse": 2 / (1 + s**2),
}


def along(formula: se.Basic, at: TruncatedSeries) -> Any:
    """The formula of s as a series."""
    return Lowering(SERIES, {"s": at})(formula)


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_those_of_the_formula(name):
    formula, at = FORMULAS[name], np.array([0.7, 0.2, 1.1])
    found = along(formula, TruncatedSeries(at, np.ones(3), np.zeros(3)))
    for order, got in enumerate((found.value, found.rate, found.second)):
        slope = se.diff(formula, s, order) if order else formula
        expected = [float(slope.subs({s: x}).n(53, real=True)) for x in at]
        assert got == pytest.approx(expected, rel=1e-13)


def test_derivatives_along_a_path_agree_with_finite_differences():
    # f(q(σ)) along q = q + q̇ σ + ½ q̈ σ², by seven-point central differences
    q, qd, qdd = 0.4, -1.3, 2.2

    def f(algebra, x):
        return algebra.sqrt(1.5 + algebra.sin(x)) * x / (2 + algebra.cos(x))

    found = f(SERIES, TruncatedSeries(q, qd, qdd))
    h, weights = 0.02, np.array([2, -27, 270, -490, 270, -27, 2]) / 180
    steps = h * np.arange(-3, 4)
    values = f(FLOATS, q + qd * steps + 0.5 * qdd * steps**2)
    assert found.second == pytest.approx(values @ weights / h**2, rel=1e-8)


def test_branches_have_their_own_derivatives():
    line = se.Piecewise((s**2, se.Lt(s, 1)), (3 * s, True))
    found = along(line, TruncatedSeries(np.array([0.5, 2.0]), np.ones(2), np.zeros(2)))
    assert [x.tolist() for x in (found.value, found.rate, found.second)] == [[0.25, 6.0], [1.0, 3.0], [2.0, 0.0]]


def test_batches_and_object_arrays_defer_to_the_series():
    x = TruncatedSeries(np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.zeros(2))
    product = np.array([3.0, 4.0]) * x
    assert isinstance(product, TruncatedSeries)
    assert isinstance(product.value, np.ndarray)
    assert product.value.tolist() == [3.0, 8.0]
    squared: Any = vector([x, 2]) @ vector([x, 1])
    assert squared.second.tolist() == [2.0, 2.0]
    assert series(5).rate == 0.0
