"""Every operation on matrices is the same in loops, for one state, as by NumPy."""

import inspect

import numpy as np
import pytest

from dalembert.mechanics import matrices, small_matrices

SHAPES = ((1, 1), (3, 5), (5, 3), (4, 4), (6, 9), (0, 3))


def of_rank(seed: int, shape: tuple[int, int], count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(shape[0], count)) @ rng.normal(size=(count, shape[1]))


def test_both_have_the_same_operations_with_the_same_arguments():
    found = [
        {
            name: str(inspect.signature(f)).replace("int | np.ndarray", "int")
            for name, f in inspect.getmembers(room)
            if inspect.isfunction(f) and not name.startswith("_")
        }
        for room in (matrices, small_matrices)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(3))
def test_simple_operations(seed):
    rng = np.random.default_rng(seed)
    M, A, x, r = rng.normal(size=(4, 4)), rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=3)
    which = np.array([True, False, True, False])
    for name, arguments in {
        "diagonal": (M,), "turned": (A,), "product": (A, M), "times": (A, x), "scaled": (A, r, x), "lengths": (A,),
        "above": (np.abs(x), 0.5), "positive": (x,), "first": (x, 3), "chosen": (which, x, 2.0), "filled": (x, M[0]),
        "inverse": (which, x, 2.0), "numbers": (x,), "chosen_rows": (which[:3], A), "joined": (x, r),
        "bordered": (M, A, 2 * A), "columns": (A, 1, 3),
    }.items():  # fmt: skip
        assert np.allclose(
            getattr(small_matrices, name)(*arguments), getattr(matrices, name)(*arguments), rtol=1e-14
        ), name
    assert np.array_equal(small_matrices.scaled(A, None, None), A)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_and_vectors(shape, missing, seed):
    A = of_rank(seed, shape, max(min(shape) - missing, 0))
    U, sigma, Vt = small_matrices.singular(A)
    expected = np.linalg.svd(A, compute_uv=False)
    assert np.allclose(sigma, expected, rtol=1e-13, atol=1e-14 * max(expected, default=0.0))
    assert (np.diff(sigma) <= 0).all()
    assert np.allclose(U * sigma @ Vt, A, atol=1e-13)
    kept = sigma > 1e-9
    assert np.allclose(U[:, kept].T @ U[:, kept], np.eye(kept.sum()), atol=1e-13)
    assert np.allclose(Vt[kept] @ Vt[kept].T, np.eye(kept.sum()), atol=1e-13)


def test_small_singular_values_are_found_to_all_digits():
    # rows of very different length: σ are their lengths, 1e-9 apart
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    assert np.allclose(small_matrices.singular(np.diag([1.0, 1e-9, 1e-5]) @ Q[:3])[1], [1.0, 1e-5, 1e-9], rtol=1e-12)


@pytest.mark.parametrize("shape", [*SHAPES[:-1], (3, 0)])
def test_orthogonal_factors(shape):
    A = of_rank(5, shape, max(min(shape) - 1, 0))
    Q, R = small_matrices.factors(A)
    assert np.allclose(Q @ R, A, atol=1e-13)
    assert np.allclose(Q @ Q.T, np.eye(shape[0]), atol=1e-13)
    assert np.allclose(np.tril(R, -1), 0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_roots_and_solutions(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else 2.0  # a pivot has to be looked for
    assert np.allclose(small_matrices.solved(A, b), np.linalg.solve(A, b), rtol=1e-10)
    M = A @ A.T + np.eye(n)
    assert np.allclose(small_matrices.root(M), np.linalg.cholesky(M), rtol=1e-12)
    assert np.isnan(small_matrices.root(-M)).any()
    assert np.isnan(small_matrices.solved(np.zeros((n, n)), b)).all()
