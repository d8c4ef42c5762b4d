"""Simplification changes the form of an expression, not its value."""

from __future__ import annotations

from typing import Any

import pytest
import symengine as se
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.display.math._factor import factored
from dalembert.display.math._trigonometric_ring import sum_of_waves
from dalembert.display.math.simplify import simplify
from dalembert.symbolic.formula_writer import display_number, exact, with_exact_numbers

x, y, m, v = se.symbols("x y m v")  # pyright: ignore[reportAssignmentType]


def leaves() -> st.SearchStrategy[Any]:
    angles = st.sampled_from([x, y, x - y, 2 * x + y, x / 2, m * x])
    waves = st.builds(lambda f, a: f(a), st.sampled_from([se.sin, se.cos]), angles)
    return st.one_of(
        waves, st.sampled_from([m, v, se.Integer(2), se.RealDouble(0.5), se.RealDouble(1 / 12), se.sqrt(m)])
    )


def trees() -> st.SearchStrategy[Any]:
    def grow(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.builds(lambda a, b: a + b, part, part),
            st.builds(lambda a, b: a * b, part, part),
            st.builds(lambda a: a**2, part),
            st.builds(lambda a: 1 / (a**2 + m), part),
        )

    return st.recursive(leaves(), grow, max_leaves=12)


def number(expression: Any) -> float:
    at = {x: 0.7, y: -1.3, m: 1.9, v: 0.4}
    return float(se.sympify(expression).subs(at).n(53, real=True))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(trees())
def test_simplify_preserves_the_value(expression: Any) -> None:
    assert number(simplify(expression, ["v"])) == pytest.approx(number(expression), rel=1e-9, abs=1e-9)


def test_trigonometry_becomes_short() -> None:
    assert simplify(m * se.sin(x) ** 2 + m * se.cos(x) ** 2) == m
    assert simplify(se.cos(y - x) * se.cos(x) - se.sin(y - x) * se.sin(x)) == se.cos(y)
    assert simplify(se.cos(x) * se.cos(y) + se.sin(x) * se.sin(y)) == se.cos(x - y)
    # products are kept if they are shorter than sums
    assert simplify(se.cos(x) * se.cos(y)) == se.cos(x) * se.cos(y)


def test_large_expressions_only_get_exact_numbers() -> None:
    large = se.RealDouble(0.5)
    for k in range(40):
        large = large * (1 + se.Symbol(f"a{k}")) * 1.0
    assert simplify(large) == with_exact_numbers(large)


def test_numbers_are_exact_and_short() -> None:
    assert [exact(value) for value in (0.5, 1 / 12, 1.0, 0.0)] == [se.Rational(1, 2), se.Rational(1, 12), 1, 0]
    assert float(display_number(exact(9.81))) == 9.81
    assert float(exact(1e-30)) == 1e-30
    assert float(exact(0.1 + 0.2)) == pytest.approx(0.3, rel=1e-15)
    assert with_exact_numbers(1.0 * x**2) == x**2


def test_common_factors() -> None:
    assert factored(-2 * x * m - 4 * y * m) == (-2 * m, x + 2 * y)
    assert factored(x / m + 1 / m) == (1 / m, 1 + x)


def test_sum_of_waves_is_the_product() -> None:
    found = sum_of_waves(((0, "sin", 2), (1, "cos", 1), (1, "sin", 1)), (x, y))
    assert number(found) == pytest.approx(number(se.sin(x) ** 2 * se.cos(y) * se.sin(y)), rel=1e-13)
