"""Derivatives by graphs agree with complex steps over numbers and with SymPy."""

import numpy as np
import numpy.typing as npt
import pytest
import sympy as sp

from dalembert.codegen.function import compile_function
from dalembert.symbolic.algebra_base import choose, vector, zeros
from dalembert.symbolic.floats import FLOATS

ALGEBRAS = {name: choose(name) for name in ("symbolic", "graph")}
over_graphs = pytest.mark.parametrize("algebra", ALGEBRAS.values(), ids=ALGEBRAS)
POINT = np.array([0.7, 0.4, 1.3])


def functions(algebra, x, y, z):
    """One entry for each function of the algebra, over any algebra."""
    f = algebra.function
    return vector(
        [
            algebra.sin(x * y) * algebra.cos(z),
            f("tan", x) + f("exp", -y * z),
            f("asin", x * y) - f("acos", y) + f("atan", z / x),
            f("atan2", y, x * z) * algebra.sqrt(x + z),
            f("log", x + y * y) / z,
            f("pow", x, 2.5) + f("pow", z, y),
            x * x * y - 3,
        ]
    )


def value(algebra, symbols, entries, point: npt.ArrayLike = POINT) -> np.ndarray:
    out = compile_function(algebra, symbols, entries.ravel(), zeros(0))(np.asarray(point), np.zeros(0))
    return out.reshape(entries.shape)


def complex_step(direction):
    step = POINT + 1e-50j * np.asarray(direction, dtype=float)
    return np.array([np.imag(f) / 1e-50 for f in functions(FLOATS, *step)], dtype=float)


@over_graphs
def test_values_agree_with_floats(algebra):
    symbols = algebra.symbols(["x", "y", "z"])
    expected = [float(f) for f in functions(FLOATS, *POINT)]
    assert np.allclose(value(algebra, symbols, functions(algebra, *symbols)), expected, rtol=1e-14)


@over_graphs
def test_jacobian_is_the_complex_step(algebra):
    symbols = algebra.symbols(["x", "y", "z"])
    jacobian = value(algebra, symbols, algebra.jacobian(functions(algebra, *symbols), symbols))
    assert jacobian.shape == (7, 3)
    assert np.allclose(jacobian, np.column_stack([complex_step(e) for e in np.eye(3)]), rtol=1e-13)


@over_graphs
def test_total_derivative_is_the_complex_step_along_the_motion(algebra):
    x, y, z = symbols = algebra.symbols(["x", "y", "z"])
    rates = vector([y, 2.0, x * z])
    along = np.array([POINT[1], 2.0, POINT[0] * POINT[2]])
    derivative = algebra.total_derivative(
        functions(algebra, *symbols), (symbols[:2], rates[:2]), (symbols[2:], rates[2:])
    )
    assert np.allclose(value(algebra, symbols, derivative), complex_step(along), rtol=1e-13)


@over_graphs
def test_second_derivatives_are_those_of_sympy(algebra):
    symbols = algebra.symbols(["x", "y"])
    x, y = sp.symbols("x y")
    f = sp.sin(x * y) * sp.exp(x) / y
    expected = np.array(sp.hessian(f, (x, y)).subs({x: 0.7, y: 0.4}), dtype=float)
    ours = algebra.sin(symbols[0] * symbols[1]) * algebra.function("exp", symbols[0]) / symbols[1]
    hessian = algebra.jacobian(algebra.gradient(ours, symbols), symbols)
    assert np.allclose(value(algebra, symbols, hessian, POINT[:2]), expected, rtol=1e-13)


@over_graphs
def test_derivatives_of_matrices_keep_their_shape(algebra):
    x, y = symbols = algebra.symbols(["x", "y"])
    matrix = np.array([[x, x * y], [0, 2], [y, algebra.sin(x)]], dtype=object)
    jacobian = algebra.jacobian(matrix, symbols)
    assert jacobian.shape == (3, 2, 2)
    a, b = 0.7, 0.4
    expected = [[[1, 0], [b, a]], [[0, 0], [0, 0]], [[0, 1], [np.cos(a), 0]]]
    assert np.allclose(value(algebra, symbols, jacobian, (a, b)), expected)
    assert algebra.total_derivative(matrix, (symbols, symbols)).shape == (3, 2)


@over_graphs
def test_derivatives_of_empty_arrays(algebra):
    symbols = algebra.symbols(["x"])
    assert algebra.jacobian(zeros(0, 3), symbols).shape == (0, 3, 1)
    assert algebra.jacobian(zeros(2), zeros(0)).shape == (2, 0)
    assert algebra.total_derivative(zeros(0), (symbols, symbols)).shape == (0,)
    assert algebra.substitute(zeros(0, 2), {"x": 1.0}).shape == (0, 2)
    derivative_at_rest = algebra.total_derivative(vector([symbols[0] * 2]), (symbols, zeros(1)))
    assert algebra.is_zero(derivative_at_rest[0])


@over_graphs
def test_substitution_is_simultaneous(algebra):
    x, y = symbols = algebra.symbols(["x", "y"])
    swapped = algebra.substitute(vector([x - 2 * y, x * 1]), {"x": y, "y": x})
    assert np.allclose(value(algebra, symbols, swapped, (0.7, 0.4)), [0.4 - 2 * 0.7, 0.4])


@over_graphs
def test_substitution_of_numbers(algebra):
    x, y = symbols = algebra.symbols(["x", "y"])
    fixed = algebra.substitute(vector([x * y + algebra.cos(x)]), {"x": 0})
    assert np.allclose(value(algebra, symbols, fixed, (9.0, 0.4)), [1.0])


@over_graphs
def test_is_zero_uses_structure_only(algebra):
    (x,) = algebra.symbols(["x"])
    assert algebra.is_zero(0)
    assert algebra.is_zero(0.0)
    assert algebra.is_zero(x * 0)
    assert not algebra.is_zero(x)
    assert not algebra.is_zero(1)
    assert not algebra.is_zero(algebra.sin(x))


@over_graphs
def test_select_follows_its_condition_and_so_does_its_derivative(algebra):
    x, y = symbols = algebra.symbols(["x", "y"])
    strict = algebra.select(algebra.less(x, y, or_equal=False), x * x, 3 * y)
    loose = algebra.select(algebra.less(x, y, or_equal=True), x * x, 3 * y)
    slope = algebra.gradient(strict, symbols)
    states = [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]
    found = [value(algebra, symbols, np.concatenate([[strict, loose], slope]), state).tolist() for state in states]
    assert found == [[1.0, 1.0, 2.0, 0.0], [6.0, 4.0, 0.0, 3.0], [6.0, 6.0, 0.0, 3.0]]


@pytest.mark.parametrize("algebra", [FLOATS, *ALGEBRAS.values()], ids=["floats", *ALGEBRAS])
@pytest.mark.parametrize(("x", "both", "either"), [(0.5, 1.0, 1.0), (2.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (4.0, 0.0, 0.0)])
def test_conditions_are_joined(algebra, x, both, either):
    symbol = x if algebra is FLOATS else algebra.symbols(["x"])[0]
    positive, below_one = algebra.less(0, symbol, or_equal=False), algebra.less(symbol, 1, or_equal=False)
    below_three = algebra.less(symbol, 3, or_equal=False)
    entries = vector(
        [
            algebra.select(algebra.logical("and", positive, below_one), 1.0, 0.0),
            algebra.select(algebra.logical("or", below_one, below_three), 1.0, 0.0),
        ]
    )
    found = entries if algebra is FLOATS else value(algebra, algebra.symbols(["x"]), entries, (x,))
    assert [float(e) for e in found] == [both, either]
