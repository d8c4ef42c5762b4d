"""Numerically solved equations: machine code, Python and NumPy's solvers agree."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import NativeFunction
from dalembert.codegen.program import program_of
from dalembert.formalisms.shared.linear_form import Numeric
from dalembert.mechanics import state_batch
from dalembert.simulation import _assembled
from dalembert.simulation._assembled import AssembledCode, InterpretedSolver, compiled_solution
from dalembert.symbolic.graph import GRAPH

DEPENDENT = tuple(method for method in Numeric if method.takes_dependent_rows)
BY = ("gauss", "udwadia_kalaba", "nullspace", "phong", "lagrange", "newton_euler")


def system(seed: int, n: int, r: int, count: int, massless: int = 0) -> tuple[np.ndarray, ...]:
    """Random M, h, A and β with `count` independent rows; the first coordinates have no inertia and are fixed by the rows."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    M = F @ F.T + np.eye(n)
    M[:massless] = M[:, :massless] = 0
    A = rng.normal(size=(r, count)) @ rng.normal(size=(count, n))
    return M, rng.normal(size=n), A, A @ rng.normal(size=n)


def expected(M: np.ndarray, h: np.ndarray, A: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x and Aᵀλ by least squares of the full system."""
    full = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    found = np.linalg.lstsq(full, np.concatenate([h, beta]), rcond=1e-11)[0]
    return found[: len(h)], A.T @ found[len(h) :]


def solve(method: Numeric, max_rows: int, *parts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """x and λ by Python, and by machine code whose program returns its inputs."""
    M, h, A, beta = parts
    n, r = len(h), len(beta)
    inputs = np.concatenate([M.ravel(), h, A.ravel(), beta, np.eye(n).ravel(), np.zeros(2 * n)])
    names = [f"x{i}" for i in range(len(inputs))]
    program = NativeFunction(program_of(GRAPH.symbols(names), names))
    sizes = {
        "n_q": n,
        "n_v": n,
        "n_x": n,
        "n_rows": r,
        "n_lam": r,
        "equal_energy_units": 1,
        "max_rows": max_rows,
        "accelerations": 1,
    }
    sizes |= {"inputs": len(inputs), "n_parts": len(inputs), "outputs": 2 * n + r}
    sizes |= dict.fromkeys(("parts_tables", "power_tables"), _assembled.HEAD + n + r)
    plan = _assembled.FormLayout(**dict.fromkeys(_assembled.FormLayout._fields, 0) | sizes)._replace(
        parts=program.native.address
    )
    tables = np.concatenate([plan, np.ones(n + r), np.zeros(1)])
    plain = _assembled.unknowns(plan, _assembled.SOLVERS[method], tables, inputs)
    out = np.empty(2 * n + r)
    one = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(compiled_solution(method).address)
    one(*(a.ctypes.data for a in (inputs, np.zeros(1), tables, out)))
    return [plain, (out[n : 2 * n], out[2 * n :])]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "r", "count"), [(1, 1, 1), (5, 2, 2), (6, 5, 3), (4, 9, 3), (4, 5, 4), (5, 3, 0)])
@pytest.mark.parametrize("method", DEPENDENT)
def test_solves_with_dependent_rows(method, n, r, count, seed):
    parts = system(seed, n, r, count)
    x, force = expected(*parts)
    for found, lam in solve(method, min(r, n), *parts):
        assert np.allclose(found, x, rtol=1e-8, atol=1e-8)
        assert np.allclose(parts[2].T @ lam, force, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("r", "count"), [(2, 2), (4, 3)])
@pytest.mark.parametrize("method", [Numeric.MOORE_PENROSE, Numeric.NULL_SPACE, Numeric.GRAM_SCHMIDT])
def test_solves_with_singular_mass_matrix(method, r, count, seed):
    parts = system(seed, 6, r, count, massless=2)
    x, force = expected(*parts)
    for found, lam in solve(method, count, *parts):
        assert np.allclose(found, x, rtol=1e-8, atol=1e-8)
        assert np.allclose(parts[2].T @ lam, force, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_solves_with_independent_rows(seed):
    parts = system(seed, 6, 3, 3)
    x, force = expected(*parts)
    for found, lam in solve(Numeric.FULL_SYSTEM, -1, *parts):
        assert np.allclose(found, x)
        assert np.allclose(parts[2].T @ lam, force)


@pytest.mark.parametrize("method", list(Numeric))
def test_returns_nan_without_a_solution(method):
    M, h, A, beta = system(3, 4, 2, 2)
    max_rows = 2 if method.takes_dependent_rows else -1
    for found, lam in solve(method, max_rows, M, np.where(np.arange(4) == 1, np.nan, h), A, beta):
        assert np.isnan(found).all()
        assert np.isnan(lam).all()
    for found, _ in solve(Numeric.FULL_SYSTEM, -1, 0 * M, h, A, beta):
        assert np.isnan(found).all()


# models


@pytest.fixture(scope="module", params=["n-four-bar", "over-constrained", "rolling-disk"])
def model(request):
    return dl.load(request.param)


def derived(model, key, engine, mode="assembled"):
    return dl.derive(model, key, engine=engine, mode=mode)


@pytest.mark.parametrize("key", BY)
def test_machine_code_and_python_agree(model, key):
    states = state_batch.consistent_states(model, 9, seed=3)
    native, plain = (derived(model, key, engine) for engine in ("native", "python"))
    for quantity in ("accelerations", "multipliers"):
        found = [getattr(eom, quantity)(states.q, states.qd, states.t) for eom in (native, plain)]
        assert np.allclose(*found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("key", BY)
def test_batch_equals_single_states_bit_for_bit(model, key):
    kernel = derived(model, key, "native").kernel
    x = np.random.default_rng(2).normal(size=(kernel.form.n_states + 1, 300))
    p = np.append(list(model.parameter_values.values()), np.zeros(len(kernel.form.constants.symbols)))
    for function in (kernel._rates, kernel._accelerations):
        together = function(x, p)
        assert np.isfinite(together).all()
        assert np.array_equal(together, np.transpose([function(state, p) for state in x.T]))
        assert np.array_equal(together, function(x, p, threads=2))
        assert np.allclose(together, function(x, np.repeat(p[:, None], 300, axis=1)), rtol=1e-6)


@pytest.mark.parametrize("key", ["gauss", "lagrange"])
def test_rates_are_one_native_function(key):
    model = dl.load("over-constrained")
    eom = derived(model, key, "native")
    rates, q, qd = eom.kernel._rates, *model.initial
    assert isinstance(rates, AssembledCode)
    assert isinstance(derived(model, key, "python").kernel._rates, InterpretedSolver)
    x, p = np.concatenate([q, qd, [0.0]]), np.array(list(eom.parameters.values()))
    out = np.empty(rates.n_outputs)
    one = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(rates.native.address)
    tables = np.array(rates.native.tables, dtype=float)  # the caller may store the tables elsewhere
    one(*(a.ctypes.data for a in (x, p, tables, out)))
    assert np.array_equal(out, eom.kernel.state_rates(np.concatenate([q, qd]), 0.0, p))
    assert np.allclose(out[len(q) : 2 * len(q)], eom.accelerations(q, qd), rtol=1e-12)


def test_nothing_needs_numba():
    """Numerically solved equations and constrained forward dynamics without Numba."""
    model = dl.load("over-constrained")
    wanted = derived(model, "nullspace", "python").accelerations(*model.initial)
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import dalembert as dl; model = dl.load('over-constrained')\n"
        "eom = dl.derive(model, 'nullspace', engine='native', mode='assembled')\n"
        "dl.dynamics(model).forward(*model.initial, [0.0] * len(model.initial[1]))\n"
        "print(type(eom.kernel._rates).__name__, *eom.accelerations(*model.initial))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out[0] == AssembledCode.__name__
    assert np.allclose(np.array(out[1:], dtype=float), wanted, rtol=1e-9, atol=1e-9)
