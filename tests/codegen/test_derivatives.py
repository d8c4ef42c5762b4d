"""Derivatives of programs against SymPy, against finite differences in sixty digits, and against each other."""

import pickle

import mpmath
import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.codegen.function import ENGINES, function_of, nodes
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.codegen.program_derivatives import (
    DirectionalDerivatives,
    directional,
    gradient,
    jacobian,
    jacobian_vector,
    vector_jacobian,
)
from dalembert.errors import InputError
from dalembert.symbolic.algebra_base import choose, vector
from dalembert.symbolic.elimination import ldl_solve, orthogonal_solve
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lookup_tables import table
from dalembert.symbolic.operations import BLOCKS, CONDITIONS, FUNCTIONS, OPERATIONS

ROLLED = choose("rolled")
NONE = np.zeros(0)
X, Y = GRAPH.symbols(["x", "y"])
SX, SY = sympy.symbols("x y")
POINTS = np.random.default_rng(5).uniform(0.1, 0.9, (2, 9))

# one formula of x and y for every operation that has a derivative
FORMULAS = {
    "add": (X + Y, SX + SY),
    "subtract": (X - Y * Y, SX - SY**2),
    "negative": (-(X * Y), -SX * SY),
    "multiply": (X * Y, SX * SY),
    "divide": (X / Y, SX / SY),
    "atan2": (GRAPH.function("atan2", X, X * Y), sympy.atan2(SX, SX * SY)),
    "pow": (GRAPH.function("pow", X, Y), SX**SY),
    "select": (
        GRAPH.select(GRAPH.less(X, Y, or_equal=False), X * X, GRAPH.sin(Y)),
        sympy.Piecewise((SX**2, SX < SY), (sympy.sin(SY), True)),
    ),
    "interpolate": (
        GRAPH.interpolate(table([0, 0.5, 1], [1, 3, 2]), X) * Y,
        sympy.Piecewise((1 + 4 * SX, SX < 0.5), (4 - 2 * SX, True)) * SY,
    ),
} | {
    name: (GRAPH.function(name, X * Y), getattr(sympy, name)(SX * SY))
    for name in FUNCTIONS
    if OPERATIONS[name].arity == 1
}


def test_every_operation_with_a_derivative_is_tested():
    assert set(FORMULAS) == set(OPERATIONS) - BLOCKS - CONDITIONS


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_of_an_operation_are_those_of_sympy(name, engine):
    ours, theirs = FORMULAS[name]
    program = program_of([ours], ["x", "y"])
    assert name in [operation for operation, _ in program.lines]
    slopes = [sympy.lambdify((SX, SY), theirs.diff(s)) for s in (SX, SY)]
    expected = np.array([[float(slope(*point)) for point in POINTS.T] for slope in slopes])
    found = function_of(gradient(program), engine)(POINTS, NONE)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    along = np.array([0.3, -1.7])
    moved = np.concatenate([POINTS, np.repeat(along[:, None], POINTS.shape[1], axis=1)])
    for derived, inputs in [
        (jacobian_vector(program), moved),
        (directional(program, {"x": 0.3, "y": -1.7}), POINTS),
    ]:
        np.testing.assert_allclose(function_of(derived, engine)(inputs, NONE)[0], along @ expected, rtol=1e-12)
    weighed = np.concatenate([POINTS, np.full((1, POINTS.shape[1]), -2.5)])
    found = function_of(vector_jacobian(program), engine)(weighed, NONE)
    np.testing.assert_allclose(found, -2.5 * expected, rtol=1e-13, atol=1e-13)


# right-hand sides


def in_mpmath(program, inputs, parameters):
    """The outputs in mpmath numbers, line by line."""
    values = [*inputs, *map(mpmath.mpf, parameters), *map(mpmath.mpf, program.numbers)]
    for name, places in program.lines:
        known, arguments = OPERATIONS[name], [values[a] for a in places]
        is_arithmetic = known.llvm or name in BLOCKS
        values.append(
            known.array(*arguments)
            if is_arithmetic
            else mpmath.power(*arguments)
            if name == "pow"
            else getattr(mpmath, name)(*arguments)
        )
    return [values[place] for place in program.outputs]


def by_differences(program, x, p, direction):
    """The derivative along a direction; steps of 10⁻²⁰ in sixty digits have an error of 10⁻⁴⁰."""
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -20
        ahead, behind = (
            in_mpmath(program, [mpmath.mpf(a) + s * h * mpmath.mpf(d) for a, d in zip(x, direction, strict=True)], p)
            for s in (1, -1)
        )
        return np.array([float((a - b) / (2 * h)) for a, b in zip(ahead, behind, strict=True)])


def right_hand_side(name, key, **more):
    """A program with a state near the initial state of its model, and parameter values."""
    eom = dl.derive(dl.load(name, **more), key)
    program = eom.kernel.program
    q, qd = eom.model.initial
    v, constants = eom.kernel.start(q, qd, 0.0, eom.values)
    x = np.concatenate([q, v, [0.0]]) + np.random.default_rng(2).uniform(-0.1, 0.1, len(program.inputs))
    return program, x, np.concatenate([eom.values, constants])


SIDES = [
    ("cart-pendulum", "hamilton"),
    ("four-bar", "lagrange"),
    ("rolling-disk", "newton_euler"),
    ("three-bodies", "kane"),
    ("three-bodies", "volterra_reduced"),
]


@pytest.mark.parametrize(("name", "key"), SIDES)
def test_derivatives_of_right_hand_sides(name, key):
    program, x, p = right_hand_side(name, key)
    rng = np.random.default_rng(8)
    v, w = rng.uniform(-1, 1, len(x)), rng.uniform(-1, 1, len(program.outputs))
    expected = by_differences(program, x, p, v)
    size = np.abs(expected).max()
    J = function_of(jacobian(program))(x, p).reshape(len(w), len(v))
    np.testing.assert_allclose(J @ v, expected, rtol=1e-9, atol=1e-10 * size)
    found = function_of(jacobian_vector(program))(np.concatenate([x, v]), p)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * size)
    found = function_of(vector_jacobian(program))(np.concatenate([x, w]), p)
    np.testing.assert_allclose(found, w @ J, rtol=1e-9, atol=1e-10 * np.abs(w @ J).max())
    full = DirectionalDerivatives(program, program.inputs)(x, p, np.eye(len(x)))
    np.testing.assert_allclose(full, J, rtol=1e-9, atol=1e-10 * np.abs(J).max())


def test_derivatives_by_parameters():
    program, x, p = right_hand_side("cart-pendulum", "kane")
    step = np.zeros(len(p))
    step[1] = 1.0
    with_parameters = Program(
        (*program.inputs, *program.parameters),
        (),
        *(getattr(program, n) for n in ("numbers", "tables", "lines", "outputs")),
    )
    expected = by_differences(with_parameters, np.concatenate([x, p]), [], np.concatenate([0 * x, step]))
    found = function_of(jacobian(program, [program.parameters[1]]))(x, p)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.nightly
def test_derivatives_through_blocks_of_a_rope():
    program, x, p = right_hand_side("rope", "lagrange", links=16)
    assert "symmetric_factor" in [name for name, _ in program.lines]
    rng = np.random.default_rng(1)
    v, w = rng.uniform(-1, 1, len(x)), rng.uniform(-1, 1, len(program.outputs))
    expected = by_differences(program, x, p, v)
    size = np.abs(expected).max()
    along = function_of(jacobian_vector(program))(np.concatenate([x, v]), p)
    np.testing.assert_allclose(along, expected, rtol=1e-8, atol=1e-9 * size)
    back = vector_jacobian(program)
    assert sum(name == "symmetric_factor" for name, _ in back.lines) == 1
    assert back.operations < 4 * program.operations  # whatever the number of inputs
    assert float(function_of(back)(np.concatenate([x, w]), p) @ v) == pytest.approx(float(w @ expected), rel=1e-8)


@pytest.mark.parametrize("kind", ["symmetric", "general"])
def test_a_gradient_through_a_block_solves_the_transposed_system_once(kind):
    n, rng = 15, np.random.default_rng(4)
    names = [f"x{i}" for i in range(n)]
    symbols = ROLLED.symbols(names)
    weights = rng.uniform(-1, 1, (2, n, n))
    if kind == "symmetric":
        weights = weights + np.swapaxes(weights, 1, 2)
    A = weights[0].astype(object) + 2 * n * np.eye(n, dtype=int).astype(object)
    for i in range(n):
        for k in range(n):
            A[i, k] = A[i, k] + weights[1, i, k] * symbols[i] * symbols[k]
    solved = (
        ldl_solve(ROLLED, A, symbols) if kind == "symmetric" else orthogonal_solve(ROLLED, A, symbols[:, None])[:, 0]
    )
    c = rng.uniform(-1, 1, n)
    program = program_of(nodes(ROLLED, vector([c.astype(object) @ solved])), names)
    slope = gradient(program)
    operations = [name for name, _ in slope.lines]
    assert operations.count(f"{kind}_solve") == 2
    assert operations.count(f"{kind}_factor") == (1 if kind == "symmetric" else 2)
    # A u = x and Aᵀw = c give dy = wᵀ(dx − dA u)
    x = rng.uniform(-1, 1, n)
    numbers = weights[0] + 2 * n * np.eye(n) + weights[1] * np.outer(x, x)
    u, w = np.linalg.solve(numbers, x), np.linalg.solve(numbers.T, c)
    expected = w - w * (weights[1] @ (x * u)) - (weights[1].T @ (w * x)) * u
    for engine in ENGINES:
        np.testing.assert_allclose(function_of(slope, engine)(x, NONE), expected, rtol=1e-10, atol=1e-12)


# programs as values


def test_conversion_to_nodes_and_back_gives_the_same_program():
    for name, key in SIDES[:3]:
        program, x, p = right_hand_side(name, key)
        again = program_of(nodes_of(program), program.inputs, program.parameters)
        assert again.operations <= program.operations
        np.testing.assert_allclose(function_of(again)(x, p), function_of(program)(x, p), rtol=1e-12, atol=1e-12)


def test_derived_programs_pickle_and_compare_by_content():
    program, _, _ = right_hand_side("cart-pendulum", "kane")
    for derive in (jacobian, jacobian_vector, vector_jacobian):
        made = derive(program)
        again = pickle.loads(pickle.dumps(made))  # noqa: S301
        assert (again, again.digest, hash(again)) == (made, made.digest, hash(made))
        assert derive(pickle.loads(pickle.dumps(program))) == made  # noqa: S301
        assert made.parameters == program.parameters


def test_second_derivatives_have_distinct_names():
    program = program_of([X**3 * Y], ["x", "y"])
    once = jacobian_vector(program)
    twice = jacobian_vector(once)
    assert len(set(twice.inputs)) == len(twice.inputs) == 8
    x, y, a, b = 0.7, -1.3, 0.4, 0.9
    # d²(x³y) along (a, b) twice, with constant tangents
    found = function_of(twice)(np.array([x, y, a, b, a, b, 0, 0]), NONE)
    assert found[0] == pytest.approx(6 * x * y * a * a + 6 * x * x * a * b, rel=1e-14)


def test_names_of_inputs_may_be_any_string():
    strange = ['"); x = (', "rate(α β)", "α β"]
    a, b, c = GRAPH.symbols(strange)
    program = program_of([a * b * c], strange)
    assert function_of(jacobian(program))(np.array([2.0, 3.0, 5.0]), NONE).tolist() == [15, 10, 6]
    assert function_of(jacobian_vector(program))(np.array([2.0, 3, 5, 1, 0, 0]), NONE).tolist() == [15]


def test_unknown_inputs_are_rejected():
    program = program_of([X * Y, X], ["x", "y"])
    with pytest.raises(InputError, match=r"the program has no input or parameter 'z'\. Known names: x, y\."):
        jacobian(program, ["z"])
    with pytest.raises(
        InputError, match=r"gradient: the program has 2 outputs\. Expected one; use `jacobian` for several outputs\."
    ):
        gradient(program)
