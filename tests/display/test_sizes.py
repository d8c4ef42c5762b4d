"""Equations are as short as in textbooks: operations of all lines, and each short form is proved equal to the raw one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import symengine as se

from dalembert.api.derive import equations_of
from dalembert.display.math._intermediates import simplify_rows
from dalembert.display.math.simplify import simplify, simplify_matrix
from dalembert.formalisms.shared.phase_space import canonical_of
from dalembert.io import gallery
from dalembert.mechanics.system import System, system_of
from dalembert.symbolic.random_points import proved_equal

x, y, m, d, theta = se.symbols("x y m d theta")  # pyright: ignore[reportAssignmentType]


@cache
def system(name: str) -> System:
    return system_of(gallery.load(name), "symbolic")


def n_operations(name: str, key: str, block: str) -> int:
    """Number of operations of a block, with all names in it."""
    reading = equations_of(gallery.load(name), key)._display
    found, lines = reading.blocks[block], {}
    queue = list(found.entries.flat)
    while queue:
        for symbol in se.sympify(queue.pop()).free_symbols:
            if str(symbol) in reading.meanings and str(symbol) not in lines:
                lines[str(symbol)] = se.sympify(reading.meanings[str(symbol)])
                queue.append(lines[str(symbol)])
    return found.operations + sum(int(se.count_ops(line)) for line in lines.values())


@pytest.mark.parametrize(
    ("name", "most"), [("double-pendulum", 60), ("slider-crank-2", 60), ("heavy-top", 60), ("gyroscope", 500)]
)
def test_hamiltonians_are_short(name: str, most: int) -> None:
    assert n_operations(name, "hamilton", "H") <= most
    found = equations_of(gallery.load(name), "hamilton")._display.blocks["H"]
    whole = found.expanded
    assert proved_equal([canonical_of(system(name)).H], [whole[()]]) == "proved"


def test_velocity_terms_of_a_chain() -> None:
    assert n_operations("serial-arm", "dalembert", "b") <= 150


@pytest.mark.nightly
def test_mass_matrix_of_the_reduced_boom() -> None:
    assert n_operations("satellite-boom", "volterra_reduced", "M_NI") <= 40


def test_page_of_the_reduced_cart_pendulum() -> None:
    assert equations_of(gallery.load("cart-pendulum"), "volterra_reduced")._display.page.operations <= 200


def test_sines_stay_sines() -> None:
    assert simplify(m * d**2 * (1 - se.cos(theta) ** 2)) == m * d**2 * se.sin(theta) ** 2
    assert simplify(se.sin(x) * se.cos(x) * m) == m * se.sin(x) * se.cos(x)
    a, b = se.symbols("a b")  # pyright: ignore[reportAssignmentType]
    found = simplify(a + (b - a) * se.cos(x) ** 2)
    assert found == a * se.sin(x) ** 2 + b * se.cos(x) ** 2


def test_quotients_are_canceled() -> None:
    assert simplify(m - m**2 / (m + d)) == m * d / (m + d)
    assert simplify((1 - se.cos(x) ** 2) / (1 + se.cos(x))) == 1 - se.cos(x)


def test_factor_in_front_of_a_matrix() -> None:
    found = simplify_matrix(np.array([[m * d**2 * 2, m * d * se.cos(x)], [m * d * se.cos(x), m * d]], dtype=object))
    assert found.factor == m * d
    assert (
        found.expanded == np.array([[2 * m * d**2, m * d * se.cos(x)], [m * d * se.cos(x), m * d]], dtype=object)
    ).all()


def test_expressions_stay_equal_without_time() -> None:
    raw = m * se.sin(x) ** 2 + m * se.cos(x) ** 2
    assert simplify(raw, seconds=-1.0) == raw


def test_equality_is_never_guessed() -> None:
    assert proved_equal([se.sin(x) ** 2], [1 - se.cos(x) ** 2]) == "proved"
    assert proved_equal([x * y], [x * y + se.Rational(1, 10**12)]) == "different"
    assert proved_equal([se.sin(x * y + x)], [se.sin(x * (y + 1))]) != "different"
    assert proved_equal([x], [x, y]) == "different"


def test_rows_without_terms_stay_zero() -> None:
    assert simplify_rows([se.Integer(0), se.Integer(0)], (), (), ()) == ([], [0, 0])
