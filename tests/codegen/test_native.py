"""Machine code: the same numbers as Python, in every lane, on every thread, and the same program in every process."""

import gc
import pickle
import subprocess
import sys
import threading
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import NativeFunction, compile_function
from dalembert.codegen.llvm._emit import module_source
from dalembert.codegen.llvm._library import MachineTarget
from dalembert.codegen.llvm._machine_code import MachineCode, host_target
from dalembert.codegen.llvm.native_entry import batch_call
from dalembert.codegen.program import Program, program_of
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lookup_tables import table

RNG = np.random.default_rng(7)


def everything():
    """A program with every operation, on x, y and the parameter k."""
    x, y, k = GRAPH.symbols(["x", "y", "k"])
    call = GRAPH.function
    small = x / (1 + x * x)
    interpolation = GRAPH.interpolate(table([0, 1, 3], [0, 2, -1]), x + k)
    outputs = [
        x + y * k - x * y,
        call("sin", x) * call("cos", x) - call("tan", small),
        call("asin", small) + call("acos", small) + call("atan", x) + call("atan2", x, y),
        call("sqrt", x * x + 1) + call("exp", small) + call("log", 1 + x * x) + call("pow", 2 + small, k),
        GRAPH.select(GRAPH.logical("or", GRAPH.less(x, y, or_equal=False), GRAPH.less(y, k, or_equal=True)), -x, k / y),
        GRAPH.select(GRAPH.logical("and", GRAPH.less(x, y, or_equal=False), GRAPH.less(y, k, or_equal=True)), x, y),
        interpolation,
        GRAPH.gradient(interpolation * x, vector([x]))[0],
        call("exp", k) * call("sin", k),  # independent of the state
        k,
        x,
        2.5,
    ]
    return vector(outputs), vector([x, y]), vector([k])


@pytest.fixture(scope="module")
def pair():
    outputs, inputs, parameters = everything()
    return tuple(compile_function(GRAPH, inputs, outputs, parameters, engine) for engine in ("native", "python"))


def test_results_agree_with_python(pair):
    native, python = pair
    states = RNG.uniform(-4, 4, (2, 500))
    found, expected = (f(states, np.array([0.7])) for f in pair)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    for state in states.T[:20]:
        np.testing.assert_allclose(
            native(state, np.array([0.7])), python(state, np.array([0.7])), rtol=1e-13, atol=1e-14
        )


def test_results_do_not_depend_on_lane_batch_or_thread(pair):
    native, _ = pair
    k = np.array([0.7])
    states = RNG.uniform(-4, 4, (2, 4001))
    batch = native(states, k)
    single = np.stack([native(state, k) for state in states.T[:50]], axis=1)
    assert np.array_equal(single, batch[:, :50])
    for count in (1, 2, 3, 4, 5, 7, 8, 9, 17):
        assert np.array_equal(native(states[:, :count], k), batch[:, :count])
        assert np.array_equal(native(states[:, count:], k), batch[:, count:])
    assert np.array_equal(native(states, k, threads=2), batch)
    assert np.array_equal(native(states, np.full((1, 4001), 0.7)), batch)
    assert native(states[:, :0], k).shape == (12, 0)


def test_many_threads_may_call_one_function(pair):
    native, _ = pair
    states = RNG.uniform(-4, 4, (2, 200))
    expected = native(states, np.array([0.7]))
    wrong = []

    def work():
        for _ in range(20):
            for j, state in enumerate(states.T):
                if not np.array_equal(native(state, np.array([0.7])), expected[:, j]):
                    wrong.append(j)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_code_is_freed_with_its_function():
    outputs, inputs, parameters = everything()
    function: Any = compile_function(GRAPH, inputs, outputs, parameters, "native")
    function(np.array([1.0, 2.0]), np.array([0.7]))
    code = weakref.ref(function._one)
    del function
    gc.collect()
    assert code() is None


def checked_program(rows):
    """Sums of neighbors among `rows` inputs with the time, which is not used, and x0 as validity check."""
    x = GRAPH.symbols([f"x{i}" for i in range(rows)])
    results = [GRAPH.sin(a) + a * b for a, b in zip(x, [*x[1:], x[0]], strict=True)]
    return program_of([*results, x[0] * 1], [*(f"x{i}" for i in range(rows)), "t"])


@pytest.mark.parametrize("rows", [3, 90])  # read in place, and through a tile
@pytest.mark.parametrize("shift", [0, 1, 5])  # of the arrays in memory, in numbers
@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 67, 200])
def test_a_batch_is_one_call_with_one_check(rows, shift, count):
    function = NativeFunction(checked_program(rows))
    code = function.native_batch
    assert code is not None
    call = batch_call(code, [rows], [rows])
    x = np.empty((rows, count + 8))[:, shift : shift + count]
    x[...] = RNG.uniform(-1, 1, x.shape)
    padded = np.full(rows * count + 16, 7.0)
    out = padded[8 - shift : 8 - shift + rows * count].reshape(rows, count)
    single = np.stack([function(np.append(state, 0.0), np.zeros(0)) for state in x.T], axis=1)[:-1]
    assert call(x, 0.0, out) is out
    np.testing.assert_array_equal(out, single)
    np.testing.assert_array_equal(call(x, 0.0), single)
    assert np.count_nonzero(padded == 7.0) == 16
    for k in {0, count // 2, count - 1}:
        for bad in (1.5, -1.5, np.nan):
            x[0, k], kept = bad, x[0, k]
            assert call(x, 0.0) is None
            assert not function.spread_checked([x, np.zeros((1, count))], out, threads=2)
            x[0, k] = kept
    assert function.spread_checked([x, np.zeros((1, count))], out, threads=2)
    np.testing.assert_array_equal(out, single)


@pytest.mark.parametrize("count", [20000, 20003])  # rows aligned to the vectors, and not
def test_results_larger_than_the_cache_are_the_same(count):
    function = NativeFunction(checked_program(90))
    x = np.vstack([RNG.uniform(-1, 1, (90, count)), np.zeros((1, count))])
    large = np.full((90, count + 8), 7.0)
    assert function.spread_checked([x], large[:, :count], threads=2)
    ends = range(0, count + 500, 500)
    parts = [function(np.ascontiguousarray(x[:, a:b]), np.zeros(0)) for a, b in pairwise(ends)]
    np.testing.assert_array_equal(large[:, :count], np.hstack(parts)[:-1])
    assert (large[:, count:] == 7.0).all()


def test_a_batch_call_declines_what_it_cannot_do():
    function = NativeFunction(checked_program(3))  # owns the code
    code = function.native_batch
    assert code is not None
    call, x = batch_call(code, [3], [3]), np.full((3, 20), 0.5)
    out, locked = np.zeros((3, 20)), np.zeros((3, 20))
    locked.flags.writeable = False
    wrong = [x.tolist(), x[:2], x.T.copy().T, x.astype(np.float32), x[:, :0], x[0], None]
    declined = [(a, 0.0) for a in wrong] + [(x, 0), (x, np.inf), (x, np.nan), (x,), (x, 0.0, out, out)]
    declined += [(x, 0.0, each) for each in (x, x[::-1], out[:, ::2], out[:2], out.T, locked, out[0], "out")]
    before = sys.getrefcount(out)
    for arguments in declined:
        assert call(*arguments) is None, arguments
    assert (out == 0).all()
    assert call(x, 0.0, out) is out
    assert sys.getrefcount(out) == before
    with_time = program_of([*GRAPH.symbols(["x", "t"]), GRAPH.symbols(["x"])[0]], ["x", "t"])
    assert NativeFunction(with_time).native_batch is None


@pytest.mark.parametrize("count", [1, 3, 4, 63, 64, 65, 131])
def test_batches_of_any_number_of_states_write_nothing_else(count):
    outputs, inputs, parameters = everything()
    function: Any = compile_function(GRAPH, inputs, outputs, parameters, "native")
    x = RNG.uniform(-3, 3, (2, count))
    single = np.stack([function(x[:, k].copy(), np.array([0.7])) for k in range(count)], axis=1)
    np.testing.assert_array_equal(function(x, np.array([0.7])), single)
    moving = function.with_varying_parameters
    padded = np.full((len(outputs), count + 2), 7.0)
    moving.spread([x, np.full((1, count), 0.7)], [padded[:, 1:-1]])
    np.testing.assert_allclose(padded[:, 1:-1], single, rtol=1e-14)
    assert (padded[:, [0, -1]] == 7.0).all()


def test_reordered_long_programs_give_the_same_bits():
    x, y = GRAPH.symbols(["x", "y"])
    terms = [x, y]
    for i in range(800):
        terms.append(terms[-1] * 0.5 + terms[(7 * i) % (len(terms) - 1)] * (i % 3 - 0.9))
    function = compile_function(GRAPH, vector([x, y]), vector([*terms[-3:], terms[50]]), vector([]), "native")
    states = RNG.uniform(-1, 1, (2, 70))
    single = np.stack([function(states[:, k].copy(), np.zeros(0)) for k in range(70)], axis=1)
    np.testing.assert_array_equal(function(states, np.zeros(0)), single)


@pytest.mark.parametrize("fused", [True, False])
def test_32_bit_floats(fused):
    x, y, k = GRAPH.symbols(["x", "y", "k"])
    program = program_of([GRAPH.sin(x) * 3 + y * k], ["x", "y"], ["k"])
    code = MachineCode(program, MachineTarget(8, fused and host_target(many=True).fused, single=True))
    x = RNG.uniform(-3, 3, (2, 20)).astype(np.float32)
    p, out = np.array([0.7], dtype=np.float32), np.zeros((1, 20), dtype=np.float32)
    rows, results = np.array([x.ctypes.data, x.strides[0], 2]), np.array([out.ctypes.data, out.strides[0], 1])
    code.many(rows.ctypes.data, p.ctypes.data, 0, results.ctypes.data, 0, 20, 20)
    np.testing.assert_allclose(out[0], np.sin(x[0]) * 3 + x[1] * np.float32(0.7), rtol=1e-5, atol=1e-5)


# programs as values

SCRIPT = """
import dalembert as dl
for name, key in [("three-bodies", "kane"), ("four-bar", "hamilton"), ("rolling-disk", "newton_euler")]:
    {first}
    print(dl.derive(dl.load(name), key).kernel.program.digest)
"""


def test_the_same_equations_give_the_same_program_in_every_process():
    others = 'dl.derive(dl.load("double-pendulum"), "lagrange").accelerations([0.1, 0.2], [0.0, 0.1])'
    digests = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT.format(first=first)], capture_output=True, text=True, check=True
        ).stdout
        for first in ("pass", others)
    ]
    assert digests[0] == digests[1]
    assert len(set(digests[0].split())) == 3


def test_a_program_pickles_and_compares_by_content():
    program = dl.derive("cart-pendulum", "kane").kernel.program
    again = pickle.loads(pickle.dumps(program))  # noqa: S301
    assert isinstance(again, Program)
    assert (again, again.digest, hash(again)) == (program, program.digest, hash(program))
    x = np.linspace(0.1, 1, len(program.inputs))
    p = np.linspace(1, 2, len(program.parameters))
    assert np.array_equal(NativeFunction(again)(x, p), NativeFunction(program)(x, p))


def test_operation_counts_follow_the_table():
    x, y = GRAPH.symbols(["x", "y"])
    assert program_of([x * y + GRAPH.sin(x * y), x * y], ["x", "y"]).operations == 3


def test_names_of_a_model_do_not_enter_machine_code():
    name = '"} define void @evil() {'
    (x,) = GRAPH.symbols([name])
    assert "evil" not in module_source(program_of([x * x], [name]), MachineTarget())


@pytest.mark.parametrize("name", ["three-bodies", "four-bar"])
def test_varied_parameters_round_like_common_parameters(name):
    eom = dl.derive(name, "lagrange")
    function, values = NativeFunction(eom.kernel.program), eom.values
    states = RNG.uniform(-1, 1, (len(eom.kernel.program.inputs), 9))
    spread = np.repeat(values[:, None], 9, axis=1)
    assert np.array_equal(function(states, values), function(states, spread))
    assert np.array_equal(function(states[:, 0], values), function(states, spread)[:, 0])
