"""The unrolled linear algebra agrees with LAPACK, over every algebra and for batches of states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.codegen.function import compile_function
from dalembert.errors import SingularError
from dalembert.symbolic.algebra_base import choose, identity, stack, zeros
from dalembert.symbolic.elimination import kkt_solve, ldl, ldl_solve, lu_solve, orthogonal_solve, pivot_order
from dalembert.symbolic.floats import FLOATS, numbers

ALGEBRAS = {algebra.name: algebra for algebra in (FLOATS, choose("symbolic"), choose("graph"))}
COMMON = settings(max_examples=8, derandomize=True, deadline=None)
over_every_algebra = pytest.mark.parametrize("algebra", ALGEBRAS.values(), ids=ALGEBRAS)


def run(algebra, work, *arrays):
    """Apply `work` of object arrays to arrays of numbers (batch, ...); return each result as numbers (batch, ...)."""
    batch = len(arrays[0])
    if algebra is FLOATS:
        entries = []
        for array in arrays:
            rows = zeros(*array.shape[1:])
            for index in np.ndindex(*rows.shape):
                column = array[(slice(None), *index)]
                rows[index] = column if column.any() else 0
            entries.append(rows)
        results = work(*entries)
        return [np.moveaxis(numbers(result, batch), -1, 0) for result in results]
    # a symbol for every entry, except entries that are zero at all states, which are structurally zero
    entries, names, columns = [], [], []
    for k, array in enumerate(arrays):
        rows = zeros(*array.shape[1:])
        for index in np.ndindex(*rows.shape):
            column = array[(slice(None), *index)]
            if column.any():
                names.append(f"x{k}_{'_'.join(map(str, index))}")
                columns.append(column)
                (rows[index],) = algebra.symbols(names[-1:])
        entries.append(rows)
    results = work(*entries)
    flat = stack(*(result.ravel() for result in results))
    values = compile_function(algebra, algebra.symbols(names), flat, zeros(0))(np.array(columns), np.zeros(0))
    ends = np.cumsum([result.size for result in results])[:-1]
    return [part.T.reshape(batch, *result.shape) for part, result in zip(np.split(values, ends), results, strict=True)]


def definite(random, batch, n):
    root = random.normal(size=(batch, n, n))
    return root @ np.swapaxes(root, 1, 2) + 0.3 * np.eye(n)


@over_every_algebra
@COMMON
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4))
def test_ldl_factors_multiply_to_the_matrix(algebra, seed, n):
    M = definite(np.random.default_rng(seed), 3, n)
    L, D = run(algebra, lambda M: ldl(algebra, M), M)
    assert np.allclose(L, np.tril(L))
    assert np.allclose(np.diagonal(L, axis1=1, axis2=2), 1)
    assert (D > 0).all()
    assert np.allclose(L @ (D[:, :, None] * np.swapaxes(L, 1, 2)), M, rtol=1e-12)


@over_every_algebra
@COMMON
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4), columns=st.integers(0, 2))
def test_ldl_solve_is_numpy_solve(algebra, seed, n, columns):
    random = np.random.default_rng(seed)
    M = definite(random, 3, n)
    b = random.normal(size=(3, n, columns) if columns else (3, n))
    (x,) = run(algebra, lambda M, b: [ldl_solve(algebra, M, b)], M, b)
    assert np.allclose(x, np.linalg.solve(M, b if columns else b[..., None]).reshape(b.shape), rtol=1e-9, atol=1e-11)


@over_every_algebra
def test_ldl_solve_preserves_decoupled_blocks(algebra):
    M = np.array([[[2.0, 0, 0], [0, 3.0, 1.0], [0, 1.0, 4.0]]])
    b = np.array([[0.0, 1.0, 2.0]])
    (x,) = run(algebra, lambda M, b: [ldl_solve(algebra, M, b)], M, b)
    assert np.allclose(x[0], np.linalg.solve(M[0], b[0]))


@over_every_algebra
@COMMON
@given(seed=st.integers(0, 10**6), n=st.integers(2, 4), k=st.integers(1, 2))
def test_kkt_solution_solves_the_full_system(algebra, seed, n, k):
    random = np.random.default_rng(seed)
    k = min(k, n - 1)
    M, A = definite(random, 3, n), random.normal(size=(3, k, n))
    h, beta = random.normal(size=(3, n)), random.normal(size=(3, k))
    x, lam = run(algebra, lambda *parts: kkt_solve(algebra, *parts), M, A, h, beta)
    system = np.block([[M, -np.swapaxes(A, 1, 2)], [A, np.zeros((3, k, k))]])
    expected = np.linalg.solve(system, np.concatenate([h, beta], axis=1)[..., None])[..., 0]
    scale = np.linalg.cond(system).max()
    assert np.allclose(np.concatenate([x, lam], axis=1), expected, rtol=1e-14 * scale, atol=1e-14 * scale)


@over_every_algebra
@COMMON
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4))
def test_lu_solve_is_numpy_solve(algebra, seed, n):
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(4, n, n)), random.normal(size=(4, n, 2))
    (x,) = run(algebra, lambda A, b: [lu_solve(algebra, A, b, pivot_order(A_numbers))], A_numbers := A, b)
    scale = np.linalg.cond(A).max()
    assert np.allclose(x, np.linalg.solve(A, b), rtol=1e-13 * scale, atol=1e-13 * scale)


@over_every_algebra
def test_lu_solve_where_the_first_pivots_are_zero(algebra):
    A = np.array([[[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [5.0, 1.0, 0.0]]])
    b = np.array([[4.0, 6.0, 7.0]])
    order = pivot_order(A)
    assert order.n_constant_pivots == 3
    (x,) = run(algebra, lambda A, b: [lu_solve(algebra, A, b, order)], A, b)
    assert np.allclose(x, [[1.0, 2.0, 2.0]])


@over_every_algebra
def test_lu_solve_where_a_pivot_vanishes_along_the_motion(algebra):
    # a rotation matrix is regular everywhere, but each of its entries vanishes somewhere
    def rotations(angles):
        c, s, zero, one = np.cos(angles), np.sin(angles), np.zeros_like(angles), np.ones_like(angles)
        return np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [c, zero, one]]), -1, 0)

    order = pivot_order(rotations(np.array([0.4, 0.6, 1.1])))
    assert (order.rank, order.n_constant_pivots) == (3, 1)
    A = rotations(np.array([0.0, np.pi / 2, np.pi, 2.0]))
    (X,) = run(algebra, lambda A: [lu_solve(algebra, A, identity(3), order)], A)
    assert np.allclose(X, np.linalg.inv(A), atol=1e-14)


@over_every_algebra
def test_orthogonal_solve_needs_no_pivots(algebra):
    A = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 2.0], [3.0, 1.0]]])
    b = np.array([[[1.0], [2.0]], [[4.0], [5.0]]])
    (x,) = run(algebra, lambda A, b: [orthogonal_solve(algebra, A, b)], A, b)
    assert np.allclose(x, np.linalg.solve(A, b))


@COMMON
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 5), rank=st.integers(0, 4))
def test_pivot_order_finds_the_rank(seed, rows, rank):
    random = np.random.default_rng(seed)
    A = random.normal(size=(3, rows, rank)) @ random.normal(size=(3, rank, 5))
    order = pivot_order(A)
    assert order.rank == np.linalg.matrix_rank(A, tol=1e-9).max()
    assert sorted(order.columns) == list(range(5))
    assert np.linalg.matrix_rank(A[:, order.rows, :], tol=1e-9).max(initial=0) == order.rank
    assert 0 < order.quality <= 1


def test_pivot_order_of_an_empty_matrix_has_rank_0():
    assert pivot_order(np.zeros((3, 0, 4))).rank == 0
    assert pivot_order(np.zeros((3, 2, 4))).rank == 0


def test_lu_solve_rejects_a_singular_matrix():
    A = np.array([[[1.0, 2.0], [2.0, 4.0]]])
    with pytest.raises(SingularError) as caught:
        lu_solve(FLOATS, A[0].astype(object), np.array([1.0, 1.0], dtype=object), pivot_order(A))
    assert str(caught.value) == (
        "a 2x2 matrix has rank 1 at the sample states. "
        "Expected an invertible matrix. Check that the speeds and constraints are independent."
    )
