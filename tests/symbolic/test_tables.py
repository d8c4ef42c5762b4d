"""Tables: the same function in every algebra, identified by content."""

import copy
import pickle
import time

import numpy as np
import pytest
import symengine as se

import dalembert as dl
from dalembert.codegen.function import compile_function
from dalembert.symbolic.algebra_base import choose, vector
from dalembert.symbolic.floats import FLOATS, SeriesAlgebra, TruncatedSeries
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lookup_tables import interpolation, split_interpolation, table, tables_in
from dalembert.symbolic.nodes import node, symbol
from dalembert.symbolic.symbols import Lowering

T = se.Symbol("t")
POINTS = table([-1, 0, 0.5, 2], [3, -1, -1, 4])
TIMES = np.array([-5, -1, -0.5, 0, 0.2, 0.5, 1.7, 2, 9])


def slider():
    model = dl.Model("slider").coordinates("x")
    return model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)


def test_values_and_slopes():
    np.testing.assert_allclose(POINTS.at(TIMES), np.interp(TIMES, POINTS.times, POINTS.values), atol=1e-15)
    np.testing.assert_allclose(POINTS.slope.at(TIMES), [0, -4, -4, 0, 0, 10 / 3, 10 / 3, 0, 0])
    assert not POINTS.slope.slope.at(TIMES).any()
    assert POINTS.at(-0.5 + 1e-20j).imag == -4e-20


def test_equal_points_are_one_table():
    same = table([-1.0, -0.0, 0.5, 2.0], [3.0, -1.0, -1.0, 4.0])
    assert same == POINTS
    assert hash(same) == hash(POINTS)
    assert interpolation(same, T) == interpolation(POINTS, T)
    assert table([-1, 0, 0.5, 2], [3, -1, -1, 5]) != POINTS
    assert POINTS.slope != POINTS


def test_copies_of_a_formula_include_its_table():
    formula = 2 * interpolation(POINTS, T) + T
    for again in (pickle.loads(pickle.dumps(formula)), copy.deepcopy(formula)):  # noqa: S301
        assert again == formula
        assert tables_in(again)[0].at(1.0) == POINTS.at(1.0)
    assert split_interpolation(formula) is None
    assert split_interpolation(se.diff(interpolation(POINTS, T), T)) == (POINTS.slope, T)


@pytest.mark.parametrize("name", ["graph", "symbolic"])
@pytest.mark.parametrize("held", [POINTS, POINTS.slope])
def test_every_algebra_gives_the_same_numbers(name, held):
    algebra = choose(name)
    (t,) = algebra.symbols(["t"])
    function = compile_function(algebra, vector([t]), vector([algebra.interpolate(held, t)]), vector([]))
    np.testing.assert_allclose(function(TIMES[None], np.zeros((0, 9)))[0], held.at(TIMES), atol=1e-14)
    assert function(TIMES[4:5], np.zeros(0))[0] == pytest.approx(held.at(TIMES[4]), abs=1e-14)


@pytest.mark.parametrize("name", ["graph", "symbolic"])
def test_every_algebra_differentiates(name):
    algebra = choose(name)
    (t,) = algebra.symbols(["t"])
    slope = algebra.gradient(algebra.interpolate(POINTS, t) * t, vector([t]))
    function = compile_function(algebra, vector([t]), slope, vector([]))
    inside = np.array([-3, -0.5, 0.2, 1.7, 5])
    known = POINTS.at(inside) + inside * POINTS.slope.at(inside)
    np.testing.assert_allclose(function(inside[None], np.zeros((0, 5)))[0], known, atol=1e-13)


def test_series_and_floats():
    out = SeriesAlgebra().interpolate(POINTS, TruncatedSeries(1.0, 2.0, 3.0))
    assert (out.value, out.rate, out.second) == pytest.approx((POINTS.at(1.0), 20 / 3, 10))
    assert Lowering(FLOATS, {"t": 1.0})(interpolation(POINTS, T) + 1) == pytest.approx(POINTS.at(1.0) + 1)


def test_a_node_of_a_table_pickles_and_folds():
    formula = GRAPH.interpolate(POINTS, symbol("t"))
    assert pickle.loads(pickle.dumps(formula)) is formula  # noqa: S301
    assert GRAPH.substitute(vector([formula]), {"t": 1.0})[0] is node(float(POINTS.at(1.0)))


@pytest.mark.slow(4)
def test_a_million_rows():
    times = np.linspace(0, 100, 1_000_000)
    start = time.process_time()
    model = slider().torque_table("block", times, np.cos(times))
    run = dl.derive(model).simulate(3.0, samples=4)
    assert time.process_time() - start < 20  # seconds; a linear search at every step takes hours
    np.testing.assert_allclose(run.q[0], (1 - np.cos(run.t)) / 2, atol=1e-7)


@pytest.mark.slow(5)
def test_tables_are_proved_like_other_loads():
    model = slider().torque_table("block", [0, 1, 2], [1, 3, 1])
    proof = dl.prove(model)
    assert {claim.status for claim in proof.formalisms.values()} == {"proved"}
    assert dl.verify(model).agrees
    assert "torque_table1" in str(proof)
