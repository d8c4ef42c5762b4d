"""Expression graph: values, derivatives and substitution against SymEngine and complex steps; sharing, depth, memory, NumPy."""

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import symengine as se
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.codegen.function import compile_function
from dalembert.symbolic.algebra_base import choose, identity, vector, zeros
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import _NODES, ZERO, Node, node, numbers_in, ordered

SYMBOLIC = choose("symbolic")
NAMES = ("x", "y", "z")
POINT = np.array([0.7, -0.4, 1.3])
COMMON = settings(max_examples=60, derandomize=True, deadline=None)

# every function is defined and smooth for all values of its arguments
SMOOTH = {
    "sum": lambda f, a, b: a + b,
    "difference": lambda f, a, b: a - 0.5 * b,
    "product": lambda f, a, b: a * b,
    "quotient": lambda f, a, b: a / (2 + f("cos", b)),
    "square": lambda f, a, b: f("sin", a) ** 2 - 1,
    "minus": lambda f, a, b: -a,
    "tangent": lambda f, a, b: f("tan", 0.9 * f("sin", a)),
    "arcs": lambda f, a, b: f("asin", 0.5 * f("sin", a)) + f("acos", 0.5 * f("cos", b)),
    "arc tangent": lambda f, a, b: f("atan", a * 2),
    "angle": lambda f, a, b: f("atan2", a, 2 + b * b),
    "root": lambda f, a, b: f("sqrt", 1 + a * a),
    "exponential": lambda f, a, b: f("exp", f("cos", a)),
    "logarithm": lambda f, a, b: f("log", 2 + f("sin", a)),
    "power": lambda f, a, b: f("pow", 1.5 + f("sin", a), f("cos", b)),
    "fixed power": lambda f, a, b: f("pow", 1.5 + f("sin", a), 2.5),
}
recipes = st.lists(
    st.tuples(st.sampled_from(sorted(SMOOTH)), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=14
)


def cooked(algebra, recipe, symbols):
    """The last three values of a recipe, in which each step uses any of the previous values."""
    known = [*symbols, 2, 0.3]
    for name, i, j in recipe:
        a, b = known[i % len(known)], known[j % len(known)]
        # bound the growth, so that values are of order one
        known.append(SMOOTH[name](algebra.function, algebra.sin(a), b))
    return vector(known[-3:])


def values(entries, point: npt.ArrayLike = POINT, names=NAMES) -> np.ndarray:
    function = compile_function(GRAPH, GRAPH.symbols(names), vector(list(entries.ravel())), zeros(0))
    return function(np.asarray(point, dtype=float), np.zeros(0)).reshape(entries.shape)


def by_symengine(entries):
    """Numeric values of SymEngine expressions at the point, by SymEngine."""
    table = dict(zip(map(se.Symbol, NAMES), POINT.tolist(), strict=True))
    return np.array([float(se.sympify(e).subs(table).n(real=True)) for e in entries.ravel()]).reshape(entries.shape)


@COMMON
@given(recipes)
def test_values_agree_with_symengine_and_floats(recipe):
    found = values(cooked(GRAPH, recipe, GRAPH.symbols(NAMES)))
    np.testing.assert_allclose(found, by_symengine(cooked(SYMBOLIC, recipe, SYMBOLIC.symbols(NAMES))), atol=1e-11)
    np.testing.assert_allclose(found, cooked(FLOATS, recipe, POINT.tolist()).astype(float), atol=1e-12)


@pytest.mark.slow(2)
@COMMON
@given(recipes)
def test_jacobians_are_those_of_symengine(recipe):
    ours, theirs = GRAPH.symbols(NAMES), SYMBOLIC.symbols(NAMES)
    found = GRAPH.jacobian(cooked(GRAPH, recipe, ours), ours)
    expected = by_symengine(SYMBOLIC.jacobian(cooked(SYMBOLIC, recipe, theirs), theirs))
    np.testing.assert_allclose(values(found), expected, rtol=1e-9, atol=1e-9)


@COMMON
@given(recipes)
def test_forward_and_reverse_derivatives_equal_the_complex_step(recipe):
    symbols = GRAPH.symbols(NAMES)
    f = cooked(GRAPH, recipe, symbols)
    steps = [cooked(FLOATS, recipe, (POINT + 1e-40j * e).tolist()) for e in np.eye(3)]
    expected = np.array([[np.imag(e) / 1e-40 for e in step] for step in steps], dtype=float).T
    full = GRAPH.jacobian(f, symbols)
    by_rows = np.array([GRAPH.gradient(e, symbols) for e in f])
    by_columns = np.array([GRAPH.jacobian(f, symbols[j : j + 1])[:, 0] for j in range(3)]).T
    for found in (full, by_rows, by_columns):
        np.testing.assert_allclose(values(found), expected, rtol=1e-10, atol=1e-10)
    rates = np.array([0.3, -2.0, 0.0])
    moving = GRAPH.total_derivative(f, (symbols[:1], vector([0.3])), (symbols[1:], vector([-2, 0])))
    np.testing.assert_allclose(values(moving), expected @ rates, rtol=1e-10, atol=1e-10)


@pytest.mark.slow(3)
@COMMON
@given(recipes, recipes)
def test_substitution_is_the_function_at_other_arguments(recipe, other):
    symbols = GRAPH.symbols(NAMES)
    inner = cooked(GRAPH, other, symbols)
    replaced = GRAPH.substitute(cooked(GRAPH, recipe, symbols), {"x": inner[-1], "y": symbols[0], "z": 2})
    point = [float(values(inner[-1:])[0]), POINT[0], 2.0]
    np.testing.assert_allclose(values(replaced), values(cooked(GRAPH, recipe, symbols), point), rtol=1e-11, atol=1e-11)


def test_forward_and_reverse_mode_agree():
    # many outputs of one input, and one output of many inputs: each mode is used once, and both agree
    names = [f"x{i}" for i in range(8)]
    symbols = GRAPH.symbols(names)
    mixed = vector([GRAPH.sin(a * b) / (2 + a) for a, b in zip(symbols, np.roll(symbols, 1), strict=True)])
    total = vector([mixed @ mixed])
    down = GRAPH.jacobian(total, symbols)[0]
    up = np.array([GRAPH.jacobian(total, symbols[j : j + 1])[0, 0] for j in range(8)])
    point = np.random.default_rng(3).uniform(-1, 1, 8)
    np.testing.assert_allclose(values(down, point, names), values(up, point, names), rtol=1e-13)
    # a gradient costs a small multiple of its function, whatever the number of inputs
    assert len(ordered(down)) < 5 * len(ordered(total))


def test_a_branch_that_is_not_taken_leaves_derivatives_finite():
    x, y = symbols = GRAPH.symbols(["x", "y"])
    law = GRAPH.select(GRAPH.less(0, x, or_equal=False), GRAPH.sqrt(x) * y, 3 * y)
    for slope in (GRAPH.gradient(law, symbols), GRAPH.total_derivative(vector([law]), (symbols, identity(2)[1]))):
        assert np.isfinite(values(slope, (0.0, 2.0), ["x", "y"])).all()
    assert values(GRAPH.gradient(law, symbols), (-1.0, 2.0), ["x", "y"]).tolist() == [0.0, 3.0]
    assert values(GRAPH.gradient(law, symbols), (4.0, 2.0), ["x", "y"]).tolist() == [0.5, 2.0]


# folded operations


def test_numbers_zeros_and_ones_are_folded():
    x, y = GRAPH.symbols(["x", "y"])
    same = [x + 0, 0 + x, x - 0, x * 1, 1.0 * x, x / 1, x**1, -1 * (-x), -(-1 * x)]
    assert all(e is x for e in same)
    assert all(e is ZERO for e in (x * 0, 0 / x, x - x, 0 * x + 0, GRAPH.sin(0)))
    pairs = [(-1 * x, -x), (0 - x, -x), (x + (-y), x - y), (-(x - y), y - x), (x**2, x * x), (x**-1, 1 / x)]
    assert all(a is b for a, b in pairs)
    assert (x**0).value == 1.0
    assert x**0.5 is GRAPH.sqrt(x)
    assert GRAPH.function("pow", 2, 10).value == 1024.0  # pyright: ignore[reportAttributeAccessIssue]
    assert GRAPH.select(GRAPH.less(1, 2, or_equal=False), x, y) is x
    assert GRAPH.select(GRAPH.less(x, y, or_equal=False), x, x) is x


def test_operations_on_numbers_follow_ieee_754():
    constants: list[Any] = [GRAPH.function("sin", 0), GRAPH.function("cos", 0)]
    zero, one = constants
    assert (one / zero).value == np.inf
    assert (-one / zero).value == -np.inf
    assert np.isnan((zero / zero).value)
    assert np.isnan(value(GRAPH.sqrt(-1)))
    assert value(GRAPH.function("log", 0)) == -np.inf
    assert value(GRAPH.function("exp", 1000)) == np.inf


def value(y):
    return numbers_in(ordered([y]))[y]


def test_numbers_are_never_rounded():
    assert (node(0.1) + node(0.2)).value == Fraction(3, 10)  # pyright: ignore[reportAttributeAccessIssue]
    assert (node(9.81) / 3).value == Fraction(327, 100)  # pyright: ignore[reportAttributeAccessIssue]
    assert GRAPH.sin(0.5).operation == "sin"  # pyright: ignore[reportAttributeAccessIssue]
    assert GRAPH.sqrt(Fraction(9, 4)).value == Fraction(3, 2)  # pyright: ignore[reportAttributeAccessIssue]
    assert GRAPH.cos(GRAPH.pi / 2).value == 0  # pyright: ignore[reportAttributeAccessIssue]
    assert GRAPH.sin(-3 * GRAPH.pi / 2).value == 1  # pyright: ignore[reportAttributeAccessIssue]


def test_long_fractions_are_not_folded():
    product, factor = node(1), node(Fraction(10**60 + 1, 10**60 - 1))
    for _ in range(8):
        product = product * factor
    assert product.operation == "multiply"
    assert value(product) == pytest.approx(1.0)


def test_equal_operations_are_one_node():
    x, y = GRAPH.symbols(["x", "y"])
    assert GRAPH.symbols(["x"])[0] is x
    assert GRAPH.sin(x + y) * 3 is 3 * GRAPH.sin(y + x)
    assert x - y is not y - x
    assert x / y is not y / x


def test_str_of_a_symbol_is_its_name():
    names = ["q1", "dot(q1)", "rate of x"]
    assert [str(s) for s in GRAPH.symbols(names)] == names
    assert f"{GRAPH.symbols(['x'])[0]}" == "x"


def test_a_large_expression_has_a_short_repr():
    (x,) = GRAPH.symbols(["x"])
    assert repr(-GRAPH.function("atan2", x, 2) + x / 3) == "((x / 3) - atan2(x, 2))"
    for _ in range(200):
        x = x * x + 1
    assert len(repr(x)) < 400


# NumPy


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.int64(2), np.float32(2)], ids=lambda v: type(v).__name__)
def test_numbers_of_every_type_work_on_both_sides(two):
    (x,) = GRAPH.symbols(["x"])
    entries = [two + x, x + two, two - x, x - two, two * x, x * two, two / x, x / two, two**x, x**two]
    assert all(isinstance(e, Node) for e in entries)
    found = values(vector(entries), (5.0,), ["x"])
    assert np.allclose(found, [7, 7, -3, 3, 10, 10, 0.4, 2.5, 32, 25])


def test_arrays_apply_operators_elementwise():
    x, y = symbols = GRAPH.symbols(["x", "y"])
    numbers = np.array([1.0, 2.0])
    for found in (x * symbols, symbols * x, x * numbers, numbers * x, x + numbers, numbers - x, numbers / x, -symbols):
        assert found.shape == (2,)
        assert all(isinstance(e, Node) for e in found)
    assert (symbols * x)[1] is x * y
    assert (x - numbers)[0] is x - 1


def test_products_of_matrices_keep_exact_zeros():
    x, y = symbols = GRAPH.symbols(["x", "y"])
    assert (identity(2) @ symbols).tolist() == [x, y]
    product = np.array([[x, 0], [0, 0]], dtype=object) @ np.array([[y, 0], [x, 1]], dtype=object)
    assert product[0, 0] is x * y
    assert [GRAPH.is_zero(e) for e in product.ravel()] == [False, True, True, True]
    jacobian = GRAPH.jacobian(vector([x * x, 3, y]), symbols)
    assert [GRAPH.is_zero(e) for e in jacobian.ravel()] == [False, True, True, True, True, False]


def test_operands_that_are_not_numbers_are_rejected():
    (x,) = GRAPH.symbols(["x"])
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = x + "y"
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = None / x


# size, depth and memory


def test_shared_parts_are_processed_once():
    # expanded, x after 60 steps has 2⁶⁰ terms
    (x,) = symbols = GRAPH.symbols(["x"])
    y = x
    for _ in range(60):
        y = GRAPH.sin(y) * (y + 0.1)
    f = vector([y])
    assert len(ordered(f)) == 2 + 3 * 60
    slope = GRAPH.jacobian(f, symbols)[0]
    assert len(ordered(slope)) < 8 * 60
    assert len(ordered(GRAPH.substitute(slope, {"x": 2 * x}))) < 8 * 60 + 4
    assert len(ordered(GRAPH.total_derivative(slope, (symbols, symbols)))) < 25 * 60


@pytest.mark.slow(7)
def test_depth_does_not_matter():
    (x,) = symbols = GRAPH.symbols(["x"])
    y = x
    for _ in range(3_000):
        y = 0.5 * GRAPH.sin(y) + 1
    f = vector([y])
    # the fixed point of y = sin(y)/2 + 1, which is independent of the start value
    fixed = 1.498701133517848
    assert values(f, (0.3,), ["x"])[0] == pytest.approx(fixed, rel=1e-14)
    assert fixed == pytest.approx(0.5 * np.sin(fixed) + 1, rel=1e-15)
    assert values(GRAPH.substitute(f, {"x": 7 * x}), (0.3,), ["x"])[0] == pytest.approx(fixed, rel=1e-14)
    assert values(GRAPH.gradient(y, symbols), (0.3,), ["x"])[0] == 0.0
    assert values(GRAPH.total_derivative(f, (symbols, vector([1]))), (0.3,), ["x"])[0] == 0.0


def test_unused_nodes_are_freed():
    symbols = GRAPH.symbols(["forgotten a", "forgotten b"])
    gc.collect()
    before = len(_NODES)
    f = cooked(GRAPH, [(name, i, i + 1) for i, name in enumerate(sorted(SMOOTH))], [*symbols, symbols[0] + 1])
    slopes = GRAPH.jacobian(f, symbols)
    assert len(_NODES) > before + 50
    del f, slopes
    gc.collect()
    assert len(_NODES) <= before


def test_copies_are_the_same_node():
    x, y = GRAPH.symbols(["x", "y"])
    f = GRAPH.sin(x) / (y - 2)
    assert copy.copy(f) is f
    assert copy.deepcopy({"f": f})["f"] is f
    assert pickle.loads(pickle.dumps(f)) is f  # noqa: S301


def test_threads_share_nodes():
    recipe = [(name, i, 3 * i) for i, name in enumerate(sorted(SMOOTH))] * 3

    def build(_):
        return cooked(GRAPH, recipe, GRAPH.symbols(["p", "q", "r"])).tolist()

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(build, range(40))
    assert all(other == first for other in others)


def test_conversion_rejects_other_types():
    assert node(se.Integer(2)) is node(2)
    with pytest.raises(TypeError, match="expected a node or a number, got 'two'"):
        node("two")  # pyright: ignore[reportArgumentType]
