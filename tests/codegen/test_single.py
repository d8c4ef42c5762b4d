"""32-bit floats: the same functions to the rounding of a float32, with twice as many lanes."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import function_of, nodes
from dalembert.codegen.program import program_of
from dalembert.codegen.program_derivatives import jacobian
from dalembert.errors import EngineError
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.lookup_tables import table

EPSILON = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("cart-pendulum", "kane"),
        pytest.param("three-bodies", "lagrange", marks=pytest.mark.slow(3)),
        ("four-bar", "kane"),
    ],
)
def test_right_hand_sides_agree_with_doubles(name, key):
    eom = dl.derive(dl.load(name), key)
    program = eom.kernel.program
    q, qd = eom.model.initial
    v, constants = eom.kernel.start(q, qd, 0.0, eom.values)
    p = np.concatenate([eom.values, constants]).astype(np.float32)
    start = np.concatenate([q, v, [0.0]])
    x = (start[:, None] + np.random.default_rng(6).uniform(-0.1, 0.1, (len(start), 50))).astype(np.float32)
    double: Any = function_of(program)
    single: Any = function_of(program, single=True)
    found, expected = single(x, p), double(x, p)
    assert single._many.lanes == 2 * double._many.lanes
    # the effect of rounding the inputs, and M, whose system is solved
    slope = np.abs(function_of(jacobian(program))(x, p)).reshape(len(expected), len(start), 50)
    moved = (slope * np.abs(x)).sum(axis=1) + np.abs(expected).max(axis=0)
    M = function_of(
        program_of(nodes(eom.form.system.algebra, eom.form.linear.M.ravel()), program.inputs, program.parameters)
    )(x, p)
    M = M.T.reshape(50, *eom.form.linear.M.shape)
    varied = single(x, np.repeat(p[:, None], 50, axis=1))  # a different program, with different rounding
    for each in (found, varied):
        assert each.dtype == np.float32
        assert (np.abs(each - expected) < 20 * EPSILON * moved * np.linalg.cond(M)).all()
    assert np.abs(found - expected).max() > 0  # different code
    one_by_one = np.stack([single(state, p) for state in x.T], axis=1)
    assert np.array_equal(one_by_one, found)


def test_doubles_are_rounded_and_tables_are_read():
    (x,) = GRAPH.symbols(["x"])
    program = program_of([GRAPH.interpolate(table([0, 1, 3], [0, 2, -1]), x), x * 1e300, x + 0.1], ["x"])
    function = function_of(program, single=True)
    expected = np.array([0.5, np.inf, np.float32(0.25) + np.float32(0.1)], dtype=np.float32)
    assert np.array_equal(function(np.array([0.25]), np.zeros(0)), expected)
    assert np.array_equal(function(np.full((1, 20), 0.25), np.zeros(0)), np.repeat(expected[:, None], 20, axis=1))
    assert function(np.zeros((1, 0)), np.zeros(0)).dtype == np.float32


def test_loops_on_doubles_do_not_use_it():
    (x,) = GRAPH.symbols(["x"])
    program = program_of([x * x], ["x"])
    assert function_of(program, "native").native is not None
    assert function_of(program, "native", single=True).native is None


def test_python_supports_doubles_only():
    (x,) = GRAPH.symbols(["x"])
    with pytest.raises(EngineError, match=r"the engine 'python' supports 64-bit floats only\. Use engine='native'"):
        function_of(program_of([x], ["x"]), "python", single=True)
