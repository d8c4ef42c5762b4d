"""Programs from the graph: one state and many, singular states, long programs, and the content of their source."""

import builtins
import itertools
from typing import Any

import numpy as np
import pytest

from dalembert.codegen import _python_backend
from dalembert.codegen._python_backend import ON_ARRAYS, ON_FLOATS, InterpretedProgram, source
from dalembert.codegen.function import ENGINES, MAX_SCALAR_COLUMNS, compile_function
from dalembert.codegen.program import program_of
from dalembert.errors import EngineError
from dalembert.symbolic.algebra_base import choose, stack, vector, zeros
from dalembert.symbolic.graph import GRAPH

call = GRAPH.function
NAMES = ("x", "y")


def everywhere(entries, x, y):
    """The outputs at one state, and inside a batch, on every engine."""
    for engine in ENGINES:
        function = compile_function(GRAPH, GRAPH.symbols(NAMES), vector(entries), zeros(0), engine)
        yield function(np.array([x, y]), np.zeros(0))
        batch = np.full((2, MAX_SCALAR_COLUMNS + 5), 0.5)
        batch[:, 7] = x, y
        many = function(batch, np.zeros((0, MAX_SCALAR_COLUMNS + 5)))
        assert many.shape == (len(entries), MAX_SCALAR_COLUMNS + 5)
        yield many[:, 7]


@pytest.mark.parametrize(
    ("formula", "point", "expected"),
    [
        (lambda x, y: x / y, (1.0, 0.0), np.inf),
        (lambda x, y: x / y, (-1.0, 0.0), -np.inf),
        (lambda x, y: x / y, (0.0, 0.0), np.nan),
        (lambda x, y: call("sqrt", x), (-1.0, 0.0), np.nan),
        (lambda x, y: call("log", x), (0.0, 0.0), -np.inf),
        (lambda x, y: call("log", x), (-2.0, 0.0), np.nan),
        (lambda x, y: call("asin", x), (2.0, 0.0), np.nan),
        (lambda x, y: call("acos", x), (2.0, 0.0), np.nan),
        (lambda x, y: call("exp", x), (1000.0, 0.0), np.inf),
        (lambda x, y: call("pow", x, y), (-1.0, 0.5), np.nan),
        (lambda x, y: call("pow", x, y), (0.0, -1.5), np.inf),
        (lambda x, y: call("sin", x / y), (1.0, 0.0), np.nan),
        (lambda x, y: call("atan", x / y), (1.0, 0.0), np.pi / 2),
        (lambda x, y: x * 1e308 * 10, (1.0, 0.0), np.inf),
        (lambda x, y: GRAPH.select(GRAPH.less(x, 0, or_equal=False), y, call("sqrt", x)), (-1.0, 3.0), 3.0),
    ],
)
def test_singular_states_give_inf_and_nan(formula, point, expected):
    # next to a regular output, which does not change
    for found in everywhere([formula(*GRAPH.symbols(NAMES)), 2 * GRAPH.symbols(NAMES)[0]], *point):
        assert np.array_equal(found, [expected, 2 * point[0]], equal_nan=True)


def test_conditions_are_the_same_everywhere():
    x, y = GRAPH.symbols(NAMES)
    less, loose = GRAPH.less(x, y, or_equal=False), GRAPH.less(x, y, or_equal=True)
    small = GRAPH.less(x * x, 1, or_equal=False)
    entries = [
        GRAPH.select(condition, x, y * y)
        for condition in (less, loose, GRAPH.logical("and", less, small), GRAPH.logical("or", less, small, loose))
    ]
    for a, b in ((0.5, 2.0), (2.0, 0.5), (2.0, 2.0), (-3.0, -2.0), (0.5, -2.0)):
        strict, equal, tiny = a < b, a <= b, a * a < 1
        expected = [a if c else b * b for c in (strict, equal, strict and tiny, strict or tiny or equal)]
        for found in everywhere(entries, a, b):
            assert found.tolist() == expected


def test_inputs_numbers_and_duplicates_may_be_outputs():
    x, y = GRAPH.symbols(NAMES)
    for found in everywhere([y, 3, x, x * y, y * x, x], 2.0, 5.0):
        assert found.tolist() == [5.0, 3.0, 2.0, 10.0, 10.0, 2.0]
    for found in everywhere([1.5, call("log", 0)], 2.0, 5.0):
        assert found.tolist() == [1.5, -np.inf]


def recurrence(x, y, steps, sin):
    """A long computation in which old values are reused much later."""
    known = [x, y]
    for k in range(steps):
        known.append(0.5 * known[-1] + sin(known[(k * 7) // 8] * known[-2]) / (2 + known[k // 2] * known[k // 2]))
    return known


def test_long_programs_are_split_into_parts():
    x, y = GRAPH.symbols(NAMES)
    outputs = vector(recurrence(x, y, 3000, GRAPH.sin)[100::50])
    program = program_of(outputs, NAMES)
    generated = source(program, ON_FLOATS.operators)
    assert len(generated.parts) > 2
    assert generated.registers < _python_backend.LINES
    assert 0 < generated.slots < 3000
    states = np.random.default_rng(1).uniform(-2, 2, (2, 40))
    expected = np.array(recurrence(states[0], states[1], 3000, np.sin)[100::50])
    interpreted = InterpretedProgram(program)
    np.testing.assert_allclose(interpreted.many(states), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        np.transpose([interpreted.one(s) for s in states.T.tolist()]), expected, rtol=1e-9, atol=1e-12
    )


def test_many_states_are_processed_in_blocks(monkeypatch):
    x, y = GRAPH.symbols(NAMES)
    outputs = recurrence(x, y, 40, GRAPH.sin)[-3:]
    states = np.random.default_rng(2).uniform(-2, 2, (2, 501))
    monkeypatch.setattr(_python_backend, "MAX_BLOCK_STATES", 64)
    in_blocks = InterpretedProgram(program_of(outputs, NAMES))
    assert in_blocks._on_arrays[-1] == 64
    expected = recurrence(states[0], states[1], 40, np.sin)[-3:]
    np.testing.assert_allclose(in_blocks.many(states), expected, rtol=1e-12)
    assert in_blocks.many(np.zeros((2, 0))).shape == (3, 0)


def test_registers_are_reused():
    (x,) = GRAPH.symbols(["x"])
    y = x
    for _ in range(500):
        y = GRAPH.sin(y) * 2 + y
    assert source(program_of([y], ["x"]), ON_ARRAYS.operators).registers <= 3


def test_values_cross_parts_in_reused_slots(monkeypatch):
    monkeypatch.setattr(_python_backend, "LINES", 10)
    (x,) = GRAPH.symbols(["x"])
    y = x
    for _ in range(500):
        y = GRAPH.sin(y) * 0.5 + y
    program = program_of([y], ["x"])
    generated = source(program, ON_FLOATS.operators)
    assert len(generated.parts) > 100
    assert generated.slots <= 4
    value = 0.7
    for _ in range(500):
        value = np.sin(value) * 0.5 + value
    assert InterpretedProgram(program).one([0.7]) == pytest.approx([value], rel=1e-13)


def test_no_string_of_a_model_enters_the_source():
    name = "print('got here')\nx"
    (x,) = GRAPH.symbols([name])
    program = program_of([x / 2], [name])
    (generated,) = source(program, ON_FLOATS.operators).parts
    lines = [line.strip() for line in generated.splitlines()]
    assert lines == ["def part(x, out, state):", "r0 = x[0]", "r0 = r0 / (2.0)", "out[0] = r0", "return"]
    assert InterpretedProgram(program).one([4.0]) == [2.0]


def test_programs_have_no_access_to_builtins():
    for dialect in (ON_FLOATS, ON_ARRAYS):
        (part,) = _python_backend.compiled(["def part(x, out, state):\n return state\n"], dialect.names)
        reachable = set(part.__globals__) - {"part", "__builtins__"}
        assert part.__globals__["__builtins__"] == {}
        assert not {"open", "eval", "exec", "getattr", "__import__"} & reachable
        assert all(not hasattr(builtins, name) or name == "pow" for name in reachable)


def test_an_unknown_symbol_is_reported():
    x, y = GRAPH.symbols(NAMES)
    with pytest.raises(EngineError) as caught:
        compile_function(GRAPH, vector([x]), vector([x + y]), zeros(0))
    assert str(caught.value) == "the outputs depend on y. Expected functions of x only."


def test_parameters_may_vary_between_states():
    x, k = GRAPH.symbols(["x", "k"])
    for engine, batch in itertools.product(ENGINES, (3, 2 * MAX_SCALAR_COLUMNS)):
        function = compile_function(GRAPH, vector([x]), vector([k * x]), vector([k]), engine)
        states, stiffness = np.arange(batch) * 1.0, np.linspace(1, 2, batch)
        assert np.allclose(function(states[None], stiffness[None]), [stiffness * states])
        assert np.allclose(function(states[None], np.array([3.0])), [3 * states])


def test_symengine_expressions_run_as_programs():
    algebra: Any = choose("symbolic")
    x, k = algebra.symbols(["x", "k"])
    f = stack(algebra.substitute(vector([algebra.cos(x) ** 2 / k]), {"k": k + 1}), vector([3]))
    found = compile_function(algebra, vector([x]), f, vector([k]))(np.array([0.4]), np.array([1.5]))
    assert np.allclose(found, [np.cos(0.4) ** 2 / 2.5, 3])
