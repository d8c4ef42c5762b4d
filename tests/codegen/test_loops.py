"""Compiled loops: the same numbers as Python, and clear errors for unsupported code."""

from typing import NamedTuple

import numpy as np
import pytest

from dalembert.codegen.compiled_loop import CallableProgram, CompiledLoop, as_record, call
from dalembert.codegen.function import compile_function
from dalembert.errors import EngineError
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.graph import GRAPH

RNG = np.random.default_rng(5)
LIMIT, FIRST = 0.25, 1


class Columns(NamedTuple):
    x: np.ndarray
    wide: np.ndarray
    weight: float
    on: bool


def count_until(columns: Columns, limit: int, out: np.ndarray) -> tuple[int, float, bool]:
    """Loops, branches and all exits from them."""
    total, visited, done = 0.0, 0, False
    for i in range(len(columns.x)):
        if columns.x[i] < -0.9:
            continue
        for j in range(columns.wide.shape[1] - 1, -1, -1):
            if columns.wide[i, j] > 0.95 and columns.on:
                break
            out[i] += columns.wide[i, j] * columns.weight if j % 2 else -columns.wide[i, j] / 3
            visited += 1
        while True:
            total += _largest(columns.wide[i])
            if not (-LIMIT < total - 5 < LIMIT) or visited >= limit:
                break
            total, done = total + 1, True
    return visited, total, done


def _largest(row: np.ndarray) -> float:
    """A function with two return statements."""
    maximum = -np.inf
    for k in range(FIRST, len(row)):
        maximum = max(maximum, row[k])
    if maximum > 0.5:
        return maximum
    return min(maximum, abs(maximum))


def elementary(x: float, y: float, out: np.ndarray) -> None:
    """Each function, and NaN."""
    out[0], out[1] = np.sqrt(x), np.arctan2(y, x)
    out[2], out[3] = np.floor(y), np.spacing(abs(y))
    out[4], out[5] = abs(y) ** 0.3, y**2
    out[6] = 1.0 if np.isfinite(y / x) else 2.0
    bad = np.inf - np.inf
    out[7] = 1.0 if bad != bad and not bad < 1 else 0.0
    out[8], out[9] = max(1.0, bad), min(bad, 1.0)
    out[10] = float(3) - (2 if (x > y and 1 / x > 0) or y > 100 else 0.5)


def made(n: int, source: np.ndarray) -> float:
    """Local arrays, slices of them, and a choice between two."""
    total = 0.0
    for k in range(1, n):
        a, b, fixed = np.zeros((k, n)), np.empty(n), np.empty((2, 2))
        fixed[0, 0] = fixed[1, 1] = k
        for i in range(n):
            b[i] = source[i]
        a[k - 1, 0] += fixed[1, 1]
        part = b[1:k] if k % 2 else b[k:]
        row = Columns(part, a, 2.0, True)
        for i in range(len(row.x)):
            total += row.x[i] * row.weight + row.wide[k - 1, 0]
    return total


def call_program(machine: CallableProgram, x: np.ndarray, out: np.ndarray) -> None:
    """Call a program by its address."""
    call(machine.one, x, machine.p, machine.tables, out)


class Numbers(NamedTuple):
    count: int  # pyright: ignore[reportIncompatibleMethodOverride] (of tuple)
    size: float


def recorded(numbers: np.ndarray, out: np.ndarray) -> tuple[int, float]:
    """A record at the beginning of an array, integers and floats."""
    found = as_record(Numbers, numbers)
    out[found.count] = found.size
    return found.count, found.size


def both(loop, *arguments):
    """The results of Python and of machine code, with the arrays that each wrote."""
    found = []
    for run in (loop, CompiledLoop(loop)):
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        with np.errstate(all="ignore"):
            found.append((run(*given), [each for each in given if isinstance(each, np.ndarray)]))
    return found


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("limit", [3, 1000])
def test_loops_and_branches(on, limit):
    for _ in range(5):
        columns = Columns(RNG.uniform(-1, 1, 40), RNG.uniform(-1, 1, (40, 7)), 0.3, on)
        (first, a), (second, b) = both(count_until, columns, limit, np.zeros(40))
        assert first == second
        assert [type(each) for each in second] == [int, float, bool]
        np.testing.assert_array_equal(a[0], b[0])


@pytest.mark.parametrize(("x", "y"), [(2.5, -3.25), (0.0, 1.0), (1e-300, -1e300), (0.7, 0.2)])
def test_elementary_functions_and_nan(x, y):
    (_, a), (_, b) = both(elementary, np.float64(x), np.float64(y), np.zeros(11))
    np.testing.assert_allclose(b[0], a[0], rtol=1e-15)


def test_local_arrays():
    (first, _), (second, _) = both(made, 9, RNG.uniform(-1, 1, 9))
    assert first == second


def test_programs_are_called_by_their_address():
    x, y = GRAPH.symbols(["x", "y"])
    function = compile_function(GRAPH, vector([x, y]), vector([x * y, x + y]), vector([]), "native")
    native = function.native
    assert native is not None
    out = np.zeros(2)
    CompiledLoop(call_program)(
        CallableProgram(native.address, np.zeros(1), np.append(native.tables, 0.0)), np.array([3.0, 4.0]), out
    )
    np.testing.assert_array_equal(out, [12.0, 7.0])


def test_records_are_read_from_arrays():
    (first, a), (second, b) = both(recorded, np.array([1.0, 0.25, 7.0]), np.zeros(2))
    assert first == second == (1, 0.25)
    assert np.array_equal(a[1], b[1])


def lists(x: float) -> float:
    return [x][0]


def changes(x: float) -> int:
    n = 1
    n = x
    return n + 1  # pyright: ignore[reportReturnType] (as intended)


def unknown(x: float) -> float:
    return later + x  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


def foreign(x: float) -> float:
    return np.cbrt(x)


def strings(x: float) -> str:
    return "x"


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (lists, r"lists, line 2: machine code does not support `\[x\]`"),
        (changes, "changes, line 3: expected an int, got a float in `n`"),
        (unknown, "unknown, line 2: variable used before assignment: `later`"),
        (foreign, r"foreign, line 2: machine code does not support `np.cbrt\(x\)`"),
        (strings, "strings: machine code does not support functions that return str"),
    ],
)
def test_unsupported_code_is_rejected(loop, message):
    with pytest.raises(EngineError, match=message):
        CompiledLoop(loop)(1.0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((3, 3)).T[:, :2], "C order"),
        (np.zeros(3, dtype=np.int32), "int32"),
        ("x", "a value of str"),
    ],
)
def test_unsupported_arguments_are_rejected(value, message):
    with pytest.raises(EngineError, match=message):
        CompiledLoop(lists)(value)
