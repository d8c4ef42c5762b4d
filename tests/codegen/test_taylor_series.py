"""Taylor coefficients of every operation: against mpmath's derivatives, closed forms and elliptic functions."""

import mpmath
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import dalembert as dl
from dalembert.codegen import taylor_series
from dalembert.codegen.compiled_loop import CompiledLoop
from dalembert.codegen.program import Program, program_of
from dalembert.codegen.taylor_series import SeriesTable, new_rows, rates_of_series, series_table, write_series
from dalembert.errors import EngineError
from dalembert.simulation.integrators import taylor
from dalembert.symbolic.algebra_base import choose
from dalembert.symbolic.elimination import ldl_solve, orthogonal_solve
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.operations import CONDITIONS, FUNCTIONS

ORDER = 16
X, T, P = GRAPH.symbols(["x", "t", "p"])


def solution(program: Program, t: float, start: np.ndarray, p: np.ndarray, order: int = ORDER) -> np.ndarray:
    """The coefficients of the solution, (states, orders), by machine code."""
    table, x = series_table(program), np.zeros((len(start), order + 1))
    x[:, 0] = start
    machine(table, order, t, p, x)
    return x


def run_series(table: SeriesTable, order: int, t: float, p: np.ndarray, x: np.ndarray) -> None:
    """Write the series with new rows."""
    write_series(table, order, t, new_rows(table, order, p), x)


machine = CompiledLoop(run_series)

OF_TIME = {
    "add and subtract": (lambda A, t: (t + 2) - (3 - t) + (1 - t), lambda m, t: t),
    "multiply": (lambda A, t: t * (t + 1) * (3 * t) * t, lambda m, t: 3 * t**3 * (t + 1)),
    "divide": (lambda A, t: (t + 1) / (t * t + 2) - t / 3 + 1 / t, lambda m, t: (t + 1) / (t**2 + 2) - t / 3 + 1 / t),
    "negative": (lambda A, t: -(t * t), lambda m, t: -(t**2)),
    "sin": (lambda A, t: A.sin(2 * t), lambda m, t: m.sin(2 * t)),
    "cos": (lambda A, t: A.cos(t * t), lambda m, t: m.cos(t * t)),
    "tan": (lambda A, t: A.function("tan", t), lambda m, t: m.tan(t)),
    "asin": (lambda A, t: A.function("asin", t / 2), lambda m, t: m.asin(t / 2)),
    "acos": (lambda A, t: A.function("acos", t / 2), lambda m, t: m.acos(t / 2)),
    "atan": (lambda A, t: A.function("atan", 3 * t), lambda m, t: m.atan(3 * t)),
    "atan2": (lambda A, t: A.function("atan2", -t, A.cos(t) - 2), lambda m, t: m.atan2(-t, m.cos(t) - 2)),
    "sqrt": (lambda A, t: A.sqrt(t * t + t), lambda m, t: m.sqrt(t * t + t)),
    "exp": (lambda A, t: A.function("exp", -t * t), lambda m, t: m.exp(-t * t)),
    "log": (lambda A, t: A.function("log", t + t * t), lambda m, t: m.log(t + t * t)),
    "pow": (lambda A, t: A.function("pow", t, 2.5), lambda m, t: t ** m.mpf(2.5)),
    "pow, whole": (lambda A, t: A.function("pow", A.sin(t), 7), lambda m, t: m.sin(t) ** 7),
    "pow, whole and negative": (lambda A, t: A.function("pow", A.sin(t), -3), lambda m, t: m.sin(t) ** -3),
    "pow, of time": (lambda A, t: A.function("pow", t, A.sin(t)), lambda m, t: t ** m.sin(t)),
}


@pytest.mark.parametrize("name", OF_TIME)
def test_coefficients_of_an_operation_are_derivatives(name):
    """ẋ = f(t): the coefficients of x are those of f divided by their order; mpmath differentiates f in 60 digits."""
    ours, reference = OF_TIME[name]
    found = solution(program_of([ours(GRAPH, T)], ["x", "t"]), 0.7, np.zeros(1), np.zeros(0))[0]
    with mpmath.workdps(60):
        known = mpmath.taylor(lambda t: reference(mpmath, t), mpmath.mpf(0.7), ORDER - 1)
    expected = np.array([0.0, *(float(c / (k + 1)) for k, c in enumerate(known))])
    np.testing.assert_allclose(found, expected, rtol=3e-13, atol=3e-14 * np.abs(expected).max())


def test_every_function_has_a_series():
    """Each function of the table of operations is among the tests above; conditions and `select` have one below."""
    assert set(FUNCTIONS) <= set(OF_TIME)
    assert {*CONDITIONS, "select"} == {"less", "less_equal", "and", "or", "select"}


def test_functions_of_parameters_are_constants():
    """ẋ = f(p) x has the coefficients f(p)ᵏ / k!."""
    f = GRAPH.function(
        "atan2", GRAPH.function("exp", P), GRAPH.sqrt(P) + GRAPH.function("pow", P, 1.5)
    ) / GRAPH.function("log", P)
    f = f - GRAPH.function("tan", P)
    found = solution(program_of([f * X], ["x", "t"], ["p"]), 0.0, np.ones(1), np.array([1.7]))[0]
    rate = np.arctan2(np.exp(1.7), np.sqrt(1.7) + 1.7**1.5) / np.log(1.7) - np.tan(1.7)
    expected = np.cumprod(np.append(1.0, rate / np.arange(1, ORDER + 1)))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(("p", "rate"), [(-1.0, 3.0), (0.5, 2.0), (2.0, 3.0)])
def test_conditions_choose_a_branch_of_the_series(p, rate):
    inside = GRAPH.logical("and", GRAPH.less(0, P, or_equal=False), GRAPH.less(P, 1, or_equal=True))
    outside = GRAPH.logical("or", GRAPH.less(P, 0, or_equal=True), GRAPH.less(1, P, or_equal=False))
    rates = GRAPH.select(inside, 2 * X, GRAPH.select(outside, 3 * X, GRAPH.function("sin", X)))
    found = solution(program_of([rates], ["x", "t"], ["p"]), 0.0, np.ones(1), np.array([p]))
    np.testing.assert_allclose(found[0], np.cumprod(np.append(1.0, rate / np.arange(1, ORDER + 1))), rtol=1e-14)


@pytest.mark.parametrize("kind", ["symmetric", "general"])
def test_blocks_are_solved_as_series(kind):
    """A(t) ẋ = b(t) with large A: the same coefficients as from b and A by NumPy, order by order."""
    algebra, n, rng = choose("rolled"), 14, np.random.default_rng(1)
    (t,) = algebra.symbols(["t"])
    A0, A1, b = rng.uniform(-1, 1, (n, n)) + 2 * n * np.eye(n), rng.uniform(-1, 1, (n, n)), rng.uniform(-1, 1, (n, 1))
    if kind == "symmetric":
        A0, A1 = A0 + A0.T, A1 + A1.T
    A = np.array([[A0[i, j] + A1[i, j] * t for j in range(n)] for i in range(n)], dtype=object)
    solve = ldl_solve if kind == "symmetric" else orthogonal_solve
    rates = solve(algebra, A, np.array([[b[i, 0] * (1 + t)] for i in range(n)], dtype=object))
    program = program_of(list(rates.ravel()), [*(f"x{i}" for i in range(n)), "t"])
    found = solution(program, 0.0, np.zeros(n), np.zeros(0), 6) * np.arange(7)
    rate, expected = np.zeros(n), []
    for k in range(6):
        rate = np.linalg.solve(A0, (b[:, 0] if k < 2 else 0.0) - A1 @ rate)
        expected.append(rate)
    np.testing.assert_allclose(found[:, 1:], np.transpose(expected), rtol=1e-12, atol=1e-15)


def test_interpreted_and_compiled_series_have_the_same_coefficients():
    program = dl.derive(dl.load("double-pendulum")).kernel.program
    table, start = series_table(program), np.linspace(0.3, 1.1, len(program.outputs))
    p = np.linspace(1.0, 2.0, len(program.parameters))
    found, expected = np.zeros((2, len(start), 9))
    found[:, 0] = expected[:, 0] = start
    machine(table, 8, 0.0, p, found)
    run_series(table, 8, 0.0, p, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_coefficients_of_order_one_are_the_rates():
    eom = dl.derive(dl.load("four-bar"))
    program = eom.kernel.program
    y, t = np.random.default_rng(2).uniform(0.2, 1.0, (len(program.inputs) - 1, 5)), np.linspace(0.0, 1.0, 5)
    p = np.repeat(np.append(eom.values, np.zeros(len(program.parameters) - len(eom.values)))[:, None], 5, axis=1)
    out = np.empty((len(program.outputs), 5))
    rates_of_series(eom.kernel.series, p, t, y, out)
    np.testing.assert_allclose(out, eom.kernel.rates_function(np.vstack([y, t]), p), rtol=1e-10)


def test_long_tables_have_no_series(monkeypatch):
    program = program_of([X], ["x", "t"])
    monkeypatch.setattr(Program, "tables", ("a table",), raising=False)
    with pytest.raises(EngineError, match="does not support long tables"):
        taylor_series.series_table(Program(program.inputs, (), (), ("a table",), (), (0,)))  # pyright: ignore[reportArgumentType]


def test_a_pendulum_follows_elliptic_functions():
    model = dl.Model("m", gravity=(0, -9.81, 0)).coordinate("theta", start=2.0)
    model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=1.0, center=(0, -0.5, 0))
    k, w = np.sin(1.0), np.sqrt(9.81 / 0.5)
    run = dl.simulate(model, 20.0, samples=201, integrator="taylor")
    sn = ellipj(ellipk(k * k) - w * run.t, k * k)[0]
    assert np.abs(run.q[0] - 2 * np.arcsin(k * sn)).max() < 2e-13
    assert run.energy_error < 2e-13


@pytest.mark.parametrize("name", ["three-bodies", "four-bar", "rolling-disk"])
def test_runs_agree_with_dop853(name):
    found = dl.simulate(name, 1.0, samples=11, integrator="taylor")
    other = dl.simulate(name, 1.0, samples=11, integrator="dop853", rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found.q, other.q, rtol=1e-10, atol=1e-10 * np.abs(other.q).max())


def test_a_step_is_bounded_by_earlier_orders_where_the_last_two_vanish():
    """x = 1 + s² + s¹²/8: the coefficients of orders 19 and 20 are zero."""
    x = np.zeros((1, 21))
    x[0, [0, 2, 13]] = 1.0, 1.0, 0.125
    h = taylor.step_length(x, np.ones(1), 20)
    assert h == pytest.approx(1.5 * 8 ** (1 / 13) * np.exp(-2 - 0.7 / 19), rel=1e-14)
    x[0, 20] = 2.0**20
    assert taylor.step_length(x, np.ones(1), 20) == pytest.approx(0.5 * np.exp(-2 - 0.7 / 19), rel=1e-14)


def test_a_smaller_order_follows_from_a_larger_tolerance():
    coarse = dl.simulate("double-pendulum", 2.0, integrator="taylor", rtol=1e-6)
    fine = dl.simulate("double-pendulum", 2.0, integrator="taylor")
    assert fine.energy_error < 1e-12 < coarse.energy_error < 1e-4
