"""Equations have the size of a textbook's: operations of all lines together, and each short form proved to be the raw one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import symengine as se

from dalembert import formalisms, gallery, structure
from dalembert.algebra import Array
from dalembert.equations.legendre import canonical_of
from dalembert.equations.named_inverse import hamiltonian
from dalembert.expressions.equality import proved_equal
from dalembert.kinematics import kinetic
from dalembert.show.intermediates import name_parts
from dalembert.show.rows import tidy_rows
from dalembert.show.sheet import prepare
from dalembert.show.tidying import tidy, tidy_matrix
from dalembert.structure import System

x, y, m, d, theta = se.symbols("x y m d theta")


@cache
def system(name: str) -> System:
    return structure.system_of(gallery.load(name), "symbolic")


def short(value: Array) -> Array:
    return tidy_matrix(value).whole


@pytest.mark.parametrize(
    ("name", "most"), [("double-pendulum", 60), ("slider-crank-2", 60), ("heavy-top", 60), ("gyroscope", 500)]
)
def test_hamiltonians_are_short(name: str, most: int) -> None:
    found = hamiltonian(system(name), short)
    assert found.operations <= most
    assert proved_equal([canonical_of(system(name)).H], [found.value], found.lines) == "proved"


def test_velocity_terms_of_a_chain() -> None:
    s = system("serial-arm")
    T = kinetic(s.motion, s.qd)
    raw = s.algebra.total_derivative(s.algebra.gradient(T, s.qd), (s.q, s.qd)) - s.algebra.gradient(T, s.q)
    lines, rows = tidy_rows(list(raw), s.model.coordinate_names, list(map(str, s.qd)), ())
    assert sum(se.count_ops(value) for value in (*rows, *(value for _, value in lines))) <= 150
    assert proved_equal(list(raw), rows, lines) == "proved"


def test_mass_matrix_of_the_reduced_boom() -> None:
    raw = formalisms.find("volterra_reduced").derive(system("satellite-boom")).linear.M
    entries = list(short(raw).ravel())
    mass, guest = se.symbols("m mg")
    lines, written = name_parts(entries, (), {"mu": mass * guest / (mass + guest)})
    assert [name for name, _ in lines] == ["mu"]
    assert sum(se.count_ops(value) for value in {*written, *(value for _, value in lines)}) <= 40
    assert proved_equal(list(raw.ravel()), written, lines) == "proved"


def test_sheet_of_the_reduced_cart_pendulum() -> None:
    sheet = prepare(formalisms.find("volterra_reduced").derive(system("cart-pendulum")))
    lines = {value for section in sheet.sections() for _, value in section.lines}
    assert sum(se.count_ops(value) for value in lines) <= 200
    names = [*sheet.form.linear.M.ravel(), *sheet.form.linear.f]
    assert proved_equal(names, [*sheet.M.ravel(), *sheet.f], sheet.parts) == "proved"


def test_sines_stay_sines() -> None:
    assert tidy(m * d**2 * (1 - se.cos(theta) ** 2)) == m * d**2 * se.sin(theta) ** 2
    assert tidy(se.sin(x) * se.cos(x) * m) == m * se.sin(x) * se.cos(x)
    a, b = se.symbols("a b")
    found = tidy(a + (b - a) * se.cos(x) ** 2)
    assert found == a * se.sin(x) ** 2 + b * se.cos(x) ** 2


def test_quotients_are_cancelled() -> None:
    assert tidy(m - m**2 / (m + d)) == m * d / (m + d)
    assert tidy((1 - se.cos(x) ** 2) / (1 + se.cos(x))) == 1 - se.cos(x)


def test_factor_in_front_of_a_matrix() -> None:
    found = tidy_matrix(np.array([[m * d**2 * 2, m * d * se.cos(x)], [m * d * se.cos(x), m * d]], dtype=object))
    assert found.factor == m * d
    assert (
        found.whole == np.array([[2 * m * d**2, m * d * se.cos(x)], [m * d * se.cos(x), m * d]], dtype=object)
    ).all()


def test_without_time_nothing_is_lost() -> None:
    raw = m * se.sin(x) ** 2 + m * se.cos(x) ** 2
    assert tidy(raw, seconds=-1.0) == raw


def test_equality_is_never_guessed() -> None:
    assert proved_equal([se.sin(x) ** 2], [1 - se.cos(x) ** 2]) == "proved"
    assert proved_equal([x * y], [x * y + se.Rational(1, 10**12)]) == "different"
    assert proved_equal([se.sin(x * y + x)], [se.sin(x * (y + 1))]) != "different"
    assert proved_equal([x], [x, y]) == "different"


def test_rows_without_terms_stay_zero() -> None:
    assert tidy_rows([se.Integer(0), se.Integer(0)], (), (), ()) == ([], [0, 0])
