"""Dense linear algebra in loops, as Python and as machine code, agrees with NumPy."""

import numpy as np
import pytest

from dalembert.codegen import linear_algebra as dense
from dalembert.codegen.compiled_loop import CompiledLoop
from dalembert.codegen.llvm import _array_expressions

SHAPES = ((1, 1), (3, 5), (5, 3), (4, 4), (6, 9), (0, 3))


def of_rank(seed: int, shape: tuple[int, int], count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(shape[0], count)) @ rng.normal(size=(count, shape[1]))


# NumPy functions available in machine code


def operations(M: np.ndarray, A: np.ndarray, x: np.ndarray, which: np.ndarray, out: np.ndarray) -> None:
    """Operations on arrays, one in each row of `out`."""
    rows = np.zeros(2, dtype=np.int64)
    rows[0] = 1
    out[0] = np.diagonal(M)
    out[1] = A.T @ (A @ x)
    out[2] = (A * x)[1] + (A * (A @ x)[:, None])[2]
    out[3, :3] = np.linalg.norm(A, axis=-1)
    out[4] = np.where(which & ~(x > 0.5), x, -M[0])
    out[5] = (M @ M.mT)[:, 1:3].T[0] if x[0] > 1e9 else (M @ M.mT)[2]
    out[6, :2], out[6, 2:] = (A[rows] @ x), M[1:3, 1]
    out[7] = np.concatenate((x[:1], np.full(2, 0.25), np.ones(1)))
    out[8, 0], out[8, 1] = np.argmax(x), np.count_nonzero(which)
    out[8, 2], out[8, 3] = np.sum(x * x), x @ x
    out[9] = np.sqrt(np.abs(x)) if which.all() else np.nan_to_num(x / (x - x[0]) * 0)
    out[10] += np.eye(4)[2] * 3 - M.reshape((2, 8))[1, 4:]
    out[11] = A[..., 1:2].T[0, 0] * scaled(x)


def scaled(x: np.ndarray, by: np.ndarray | None = None) -> np.ndarray:
    """An argument that is None at compile time."""
    return 2 * x if by is None else x * by


@pytest.mark.parametrize("seed", range(3))
def test_operations_on_arrays(seed):
    rng = np.random.default_rng(seed)
    M, A, x = rng.normal(size=(4, 4)), rng.normal(size=(3, 4)), rng.normal(size=4)
    found = [np.zeros((12, 4)) for _ in range(2)]
    with np.errstate(all="ignore"):
        operations(M, A, x, np.array([True, False, True, False]), found[0])
    CompiledLoop(operations)(M, A, x, np.array([True, False, True, False]), found[1])
    assert np.allclose(*found, rtol=1e-13, atol=1e-14)


def test_the_largest_value_is_at_least_zero():
    assert _array_expressions.largest(np.array([-2.0, -1.0])) == 0.0
    assert _array_expressions.largest(np.array([-2.0, 3.0])) == 3.0


# factors: each as Python and as machine code


def write_svd(A: np.ndarray, U: np.ndarray, sigma: np.ndarray, Vt: np.ndarray) -> None:
    U[:], sigma[:], Vt[:] = dense.svd(A)


def write_qr(A: np.ndarray, Q: np.ndarray, R: np.ndarray) -> None:
    Q[:], R[:] = dense.qr(A)


def write_cholesky(M: np.ndarray, out: np.ndarray) -> None:
    out[:] = dense.cholesky(M)


def write_solution(A: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    out[:] = dense.solve(A, b)


COMPILED = {write: CompiledLoop(write) for write in (write_svd, write_qr, write_cholesky, write_solution)}


def compiled(write, shapes, *arguments):
    out = [np.empty(shape) for shape in shapes]
    COMPILED[write](*arguments, *out)
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_and_vectors(shape, missing, seed):
    A = of_rank(seed, shape, max(min(shape) - missing, 0))
    U, sigma, Vt = dense.svd_by_rotations(A)
    again = compiled(write_svd, [U.shape, sigma.shape, Vt.shape], A)
    assert all(np.allclose(a, b, atol=1e-9) for a, b in zip(again, (U, sigma, Vt), strict=True))
    expected = np.linalg.svd(A, compute_uv=False)
    assert np.allclose(sigma, expected, rtol=1e-13, atol=1e-14 * max(expected, default=0.0))
    assert (np.diff(sigma) <= 0).all()
    assert np.allclose(U * sigma @ Vt, A, atol=1e-13)
    nonzero = sigma > 1e-9
    assert np.allclose(U[:, nonzero].T @ U[:, nonzero], np.eye(nonzero.sum()), atol=1e-13)
    assert np.allclose(Vt[nonzero] @ Vt[nonzero].T, np.eye(nonzero.sum()), atol=1e-13)


def test_small_singular_values_are_found_to_all_digits():
    # rows of very different norms: σ are the norms, 1e-9 apart
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    A = np.diag([1.0, 1e-9, 1e-5]) @ Q[:3]
    for sigma in (dense.svd_by_rotations(A)[1], compiled(write_svd, [(3, 3), 3, (3, 5)], A)[1]):
        assert np.allclose(sigma, [1.0, 1e-5, 1e-9], rtol=1e-12)


@pytest.mark.parametrize("shape", [*SHAPES[:-1], (3, 0)])
def test_orthogonal_factors(shape):
    A = of_rank(5, shape, max(min(shape) - 1, 0))
    for Q, R in (dense.qr_by_reflections(A), compiled(write_qr, [(shape[0], shape[0]), shape], A)):
        assert np.allclose(Q @ R, A, atol=1e-13)
        assert np.allclose(Q @ Q.T, np.eye(shape[0]), atol=1e-13)
        assert np.allclose(np.tril(R, -1), 0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_roots_and_solutions(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else 2.0  # forces pivoting
    M = A @ A.T + np.eye(n)

    def solve(A, b):
        return compiled(write_solution, [n], A, b)[0]

    def cholesky(M):
        return compiled(write_cholesky, [(n, n)], M)[0]

    for solved, root in ((dense.solve_by_elimination, dense.cholesky_by_rows), (solve, cholesky)):
        assert np.allclose(solved(A, b), np.linalg.solve(A, b), rtol=1e-10)
        assert np.allclose(root(M), np.linalg.cholesky(M), rtol=1e-12)
        assert np.isnan(root(-M)).any()
        assert np.isnan(solved(np.zeros((n, n)), b)).all()


def test_the_leading_values_that_are_not_zero():
    for values, count in (([3.0, 2.0, 1.0], 2), ([1.0, 0.0], 2), ([], 0)):
        x = np.array(values)
        assert np.array_equal(dense.leading_at_one_state(x, count), dense.leading(x, count))
