"""Linear systems as blocks: the same numbers as NumPy on every engine, derivatives by the factor, and expansion for Taylor."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import ENGINES, compile_function, nodes
from dalembert.codegen.program import program_of
from dalembert.symbolic.algebra_base import choose, vector
from dalembert.symbolic.elimination import kkt_solve, ldl_solve, orthogonal_solve
from dalembert.symbolic.graph import is_large

ROLLED, EXPANDED = choose("rolled"), choose("graph")
RNG = np.random.default_rng(3)


def matrices(algebra, n, symmetric):
    """A dense matrix whose entries depend on x, and its numeric values."""
    (x, y) = algebra.symbols(["x", "y"])
    weights = RNG.uniform(-1, 1, (2, n, n))
    if symmetric:
        weights = weights + np.swapaxes(weights, 1, 2)
    A = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            A[i, j] = weights[0, i, j] + weights[1, i, j] * algebra.sin(x) * y + (2 * n if i == j else 0)
    return A, lambda x, y: weights[0] + weights[1] * np.sin(x) * y + 2 * n * np.eye(n)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["symmetric", "general"])
@pytest.mark.parametrize("n", [14, 40])
def test_a_block_solution_agrees_with_numpy(kind, n, engine):
    A, numbers = matrices(ROLLED, n, kind == "symmetric")
    x, y = ROLLED.symbols(["x", "y"])
    b = np.array([[x * i + 1, y - i] for i in range(n)], dtype=object)
    b[0, 0], b[1, 1] = ROLLED.sin(x), ROLLED.cos(y)  # not computed by a line of a batch, but present in its tile
    found = ldl_solve(ROLLED, A, b) if kind == "symmetric" else orthogonal_solve(ROLLED, A, b)
    assert len(program_of(nodes(ROLLED, found.ravel()), ["x", "y"]).lines) < 4 * n * n + 10 * n
    function = compile_function(ROLLED, vector([x, y]), found.ravel(), vector([]), engine)
    states = RNG.uniform(-1, 1, (2, 7))
    many = function(states, np.zeros(0))
    for k, (a, c) in enumerate(states.T):
        right = np.array([[a * i + 1, c - i] for i in range(n)])
        right[0, 0], right[1, 1] = np.sin(a), np.cos(c)
        expected = np.linalg.solve(numbers(a, c), right).ravel()
        np.testing.assert_allclose(many[:, k], expected, rtol=1e-11, atol=1e-13)
        assert np.allclose(function(np.array([a, c]), np.zeros(0)), many[:, k], rtol=1e-12, atol=1e-14)
    if engine == "native":
        single = np.stack([function(state, np.zeros(0)) for state in states.T], axis=1)
        assert np.array_equal(single, many)


@pytest.mark.parametrize("engine", ENGINES)
def test_structural_zeros_of_a_tree_are_omitted(engine):
    """A matrix of four branches on one trunk, with right-hand sides on one branch, on the trunk and on all, agrees with NumPy."""
    n = 16
    branch = [i // 3 if i < 12 else -1 for i in range(n)]
    linked = np.array([[a == b or -1 in (a, b) for a in branch] for b in branch])
    weights = np.where(linked, RNG.uniform(-1, 1, (n, n)), 0)
    weights = weights + weights.T
    x, y = ROLLED.symbols(["x", "y"])
    A = np.array([[weights[i, j] * ROLLED.sin(x) + (i == j) * 20 for j in range(n)] for i in range(n)], dtype=object)
    right = np.zeros((n, 5), dtype=object)
    right[:, 0], right[3:6, 1], right[8, 2], right[14, 3] = y, [x, y, 1], y, x
    found = ldl_solve(ROLLED, A, right)
    assert all(value == 0 for value in found[:, 4])
    function = compile_function(ROLLED, vector([x, y]), found.ravel(), vector([]), engine)
    states = RNG.uniform(-1, 1, (2, 9))
    many = function(states, np.zeros(0)).reshape(n, 5, 9)
    for k, (a, c) in enumerate(states.T):
        b = np.zeros((n, 5))
        b[:, 0], b[3:6, 1], b[8, 2], b[14, 3] = c, [a, c, 1], c, a
        expected = np.linalg.solve(weights * np.sin(a) + 20 * np.eye(n), b)
        assert np.allclose(many[..., k], expected, rtol=1e-12, atol=1e-15)
        assert np.array_equal(function(states[:, k], np.zeros(0)).reshape(n, 5), many[..., k]) or engine == "python"


@pytest.mark.parametrize("kind", ["symmetric", "general"])
def test_a_block_is_differentiated_by_its_factor(kind):
    n = 15
    A, numbers = matrices(ROLLED, n, kind == "symmetric")
    x, y = ROLLED.symbols(["x", "y"])
    b = vector([x * x * i + y for i in range(n)])
    solved = ldl_solve(ROLLED, A, b) if kind == "symmetric" else orthogonal_solve(ROLLED, A, b[:, None])[:, 0]
    slope = ROLLED.jacobian(solved, vector([x, y]))
    program = program_of(nodes(ROLLED, slope.ravel()), ["x", "y"])
    assert sum(name.endswith("factor") for name, _ in program.lines) == 1
    found = compile_function(ROLLED, vector([x, y]), slope.ravel(), vector([]))(np.array([0.3, 0.4]), np.zeros(0))

    def solution(a, c):
        return np.linalg.solve(numbers(a, c), np.array([a * a * i + c for i in range(n)]))

    h = 1e-6
    by_x = (solution(0.3 + h, 0.4) - solution(0.3 - h, 0.4)) / (2 * h)
    by_y = (solution(0.3, 0.4 + h) - solution(0.3, 0.4 - h)) / (2 * h)
    np.testing.assert_allclose(found.reshape(n, 2), np.stack([by_x, by_y], axis=1), rtol=1e-7, atol=1e-9)


def test_multipliers_of_a_large_system():
    n, r = 16, 13
    M, numbers = matrices(ROLLED, n, True)
    x, y = ROLLED.symbols(["x", "y"])
    rows = RNG.uniform(-1, 1, (r, n))
    A = rows.astype(object) + 0 * np.eye(r, n)
    h, beta = vector([x * i for i in range(n)]), vector([y + i for i in range(r)])
    found = np.concatenate(kkt_solve(ROLLED, M, A, h, beta))
    ours = compile_function(ROLLED, vector([x, y]), found, vector([]))(np.array([0.2, -0.3]), np.zeros(0))
    system = np.block([[numbers(0.2, -0.3), -rows.T], [rows, np.zeros((r, r))]])
    right = np.concatenate([0.2 * np.arange(n), -0.3 + np.arange(r)])
    np.testing.assert_allclose(ours, np.linalg.solve(system, right), rtol=1e-9, atol=1e-11)


def test_sparse_systems_are_expanded():
    assert is_large("symmetric", np.ones((16, 16)), 1)
    assert not is_large("symmetric", np.ones((8, 8)), 1)
    assert not is_large("symmetric", np.eye(100), 1)
    band = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) <= 1
    assert not is_large("symmetric", band, 1)


def test_substitution_of_numbers_in_a_block():
    A, numbers = matrices(ROLLED, 14, True)
    (x,) = ROLLED.symbols(["x"])
    found = ldl_solve(ROLLED, A, vector([x] * 14))
    solved = ROLLED.substitute(found, {"x": 0.4, "y": 0.5})
    function = compile_function(ROLLED, vector([x]), solved, vector([]))
    expected = np.linalg.solve(numbers(0.4, 0.5), np.full(14, 0.4))
    np.testing.assert_allclose(function(np.zeros(1), np.zeros(0)), expected, rtol=1e-11)


def test_taylor_expands_blocks():
    model = dl.load("rope", links=16)
    eom = dl.derive(model, "lagrange")
    assert any(name == "symmetric_factor" for name, _ in eom.kernel.program.lines)
    taylor = eom.simulate(0.02, samples=2, integrator="taylor")
    other = eom.simulate(0.02, samples=2, integrator="dop853", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(taylor.q[:, -1], other.q[:, -1], atol=1e-11)
