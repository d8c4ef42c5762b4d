"""Taylor series of programs: rows of coefficients and the recurrences between them, as a table that compiled loops execute.

The coefficients of order k of all rows follow from those of lower orders (Griewank and Walther, Evaluating Derivatives, 13.2). A
function y = f(a) is the integral of its derivative: with the operator θ = s d/ds, (θy)ₖ = k yₖ and θy = f'(a) θa, which is
written by the same derivatives as those of the equations. Roots and powers have recurrences of their own. The table is data, so
no machine code is generated for a program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from dalembert.codegen.compiled_loop import CompiledLoop
from dalembert.codegen.program import Program
from dalembert.errors import EngineError
from dalembert.symbolic.operations import BLOCKS, OPERATIONS

if TYPE_CHECKING:
    from dalembert.symbolic.algebra_base import Algebra

PAD = 4  # zeros before the first coefficient of a row, and spare numbers after the last: products are sums of fours
ADD, SUBTRACT, NEGATIVE, MULTIPLY, SCALE, DIVIDE, SHARE, THETA, SQRT, POWER, SELECT = range(11)
LESS, LESS_EQUAL, AND, OR, EXP, LOG, SIN, COS, ASIN, ACOS, ATAN, ATAN2 = range(11, 23)
_NAMES = [
    "add",
    "subtract",
    "negative",
    "multiply",
    "scale",
    "divide",
    "share",
    "theta",
    "sqrt",
    "pow",
    "select",
    "less",
    "less_equal",
    "and",
    "or",
]
_FUNCTIONS = dict(
    zip(["exp", "log", "sin", "cos", "asin", "acos", "atan", "atan2"], range(EXP, ATAN2 + 1), strict=True)
)
_LARGEST_POWER = 16  # whole exponents up to this are products


_Line: TypeAlias = tuple[int, ...]
_Operand: TypeAlias = "_Row | float"
_Operator: TypeAlias = "Callable[[_Row, _Operand], _Row]"


class SeriesTable(NamedTuple):
    """The rows of a program: states, time and parameters, then numbers and lines.

    A line is an operation, its row and three operands.
    """

    constant: np.ndarray  # lines that depend on parameters only
    moving: np.ndarray  # the others, in runs of the same operation
    runs: np.ndarray  # the operation of each run, and its first and last line
    outputs: np.ndarray  # the rows of the rates of the states
    numbers: np.ndarray
    number_rows: np.ndarray
    inputs: int  # the number of states that enter the rates; the time follows them
    parameters: int
    rows: int


def series_table(program: Program) -> SeriesTable:
    """The table of a program whose last input is the time and whose outputs are the rates of the states.

    >>> from dalembert.codegen.program import program_of
    >>> from dalembert.symbolic.graph import GRAPH
    >>> x, t = GRAPH.symbols(["x", "t"])
    >>> table = series_table(program_of([x * GRAPH.function("exp", x)], ["x", "t"]))
    >>> len(table.moving), table.rows  # x, t; θx, eˣ θx, eˣ, x eˣ
    (4, 6)
    """
    if program.tables:
        raise EngineError("Taylor integration does not support long tables. Use integrator='dop853' for this model.")
    writer = _Writer(program)
    outputs = [writer.row(y).index for y in writer.outputs(program)]
    moving, runs = _in_runs(writer.moving)
    return SeriesTable(
        _integers(writer.constant, 5),
        _integers(moving, 5),
        _integers(runs, 3),
        np.array(outputs, dtype=np.int64),
        np.array(list(writer.numbers.values()), dtype=float),
        np.array(list(writer.numbers), dtype=np.int64),
        len(program.inputs) - 1,
        len(program.parameters),
        writer.rows,
    )


def _integers(lines: Sequence[_Line], columns: int) -> np.ndarray:
    return np.array(lines, dtype=np.int64).reshape(-1, columns)


def _in_runs(lines: Sequence[_Line]) -> tuple[list[_Line], list[_Line]]:
    """The lines with those of the same operation together, as far as operands permit, and the runs.

    A processor predicts the branches of long runs, which takes half the time of their mixture.
    """
    by_row = {line[1]: i for i, line in enumerate(lines)}
    # sine and cosine refer to each other: what is written later has its value of the last order
    needed = [{j for a in line[2:] if (j := by_row.get(a, i)) < i} for i, line in enumerate(lines)]
    users: list[list[int]] = [[] for _ in lines]
    for i, before in enumerate(needed):
        for j in before:
            users[j].append(i)
    missing, ready = [len(before) for before in needed], dict[int, deque[int]]()
    for i, count in enumerate(missing):
        if not count:
            ready.setdefault(lines[i][0], deque()).append(i)
    out, runs = list[_Line](), list[_Line]()
    while any(ready.values()):
        code, first = max(ready, key=lambda code: len(ready[code])), len(out)
        while ready[code]:
            i = ready[code].popleft()
            out.append(lines[i])
            for user in users[i]:
                missing[user] -= 1
                if not missing[user]:
                    ready.setdefault(lines[user][0], deque()).append(user)
        runs.append((code, first, len(out)))
    return out, runs


def _operators(name: str) -> tuple[_Operator, _Operator]:
    """An operator with a row on its left, and with a row on its right."""
    return lambda x, other: x.writer.line(name, x, other), lambda x, other: x.writer.line(name, other, x)


class _Row:
    """A row with the operators of numbers, which append lines."""

    def __init__(self, writer: _Writer, index: int, moves: bool) -> None:
        self.writer, self.index, self.moves = writer, index, moves

    def __neg__(self) -> _Row:
        return self.writer.line("negative", self)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")


class _Writer:
    """Writes the lines of a program; it is also the algebra in which derivatives of functions are written."""

    def __init__(self, program: Program) -> None:
        self.constant: list[_Line] = []
        self.moving: list[_Line] = []
        self.numbers: dict[int, float] = {}  # by row
        self.rows = 0
        self._known: dict[tuple[str | int, ...], _Row] = {}
        self._inputs = [self._new(True) for _ in program.inputs] + [self._new(False) for _ in program.parameters]

    def outputs(self, program: Program) -> list[_Operand]:
        """Write all lines; blocks are expanded."""
        values: list[Any] = [*self._inputs, *program.numbers]
        for name, operands in program.lines:
            arguments = [values[a] for a in operands]
            values.append(OPERATIONS[name].array(*arguments) if name in BLOCKS else self.line(name, *arguments))
        return [values[i] for i in program.outputs]

    def row(self, value: _Operand) -> _Row:
        """The row of an operand."""
        if isinstance(value, _Row):
            return value
        key = ("number", float(value).hex())
        if key not in self._known:
            self._known[key] = self._new(False)
            self.numbers[self._known[key].index] = float(value)
        return self._known[key]

    def line(self, name: str, *operands: _Operand) -> _Row:
        """The row of an operation; equal ones are written once."""
        x = [self.row(each) for each in operands]
        key = (name, *(each.index for each in x))
        if key not in self._known:
            found = self._function(name, key, x) if name in _FUNCTIONS else self._line(name, x)
            self._known[key] = found
        return self._known[key]

    def sin(self, a: _Row) -> _Row:
        """The sine in a derivative."""
        return self.line("sin", a)

    def cos(self, a: _Row) -> _Row:
        """The cosine in a derivative."""
        return self.line("cos", a)

    def sqrt(self, a: _Row) -> _Row:
        """The root in a derivative."""
        return self.line("sqrt", a)

    def _new(self, moves: bool) -> _Row:
        self.rows += 1
        return _Row(self, self.rows - 1, moves)

    def _emit(self, code: int, y: _Row, *operands: _Row) -> _Row:
        at = [x.index for x in operands]
        (self.moving if y.moves else self.constant).append((code, y.index, *at, *[0] * (3 - len(at))))
        return y

    def _line(self, name: str, x: Sequence[_Row]) -> _Row:
        if name == "tan":
            return self.line("sin", *x) / self.line("cos", *x)
        if name == "pow":
            return self._power(*x)
        y = self._new(any(each.moves for each in x))
        if name == "multiply":
            a, b = x if x[0].moves else x[::-1]
            return self._emit(SCALE if a.moves and not b.moves else MULTIPLY, y, a, b)
        if name == "divide":
            return self._emit(DIVIDE if x[1].moves else SHARE, y, *x)
        return self._emit(_NAMES.index(name), y, *x)

    def _function(self, name: str, key: tuple[str | int, ...], x: Sequence[_Row]) -> _Row:
        """The integral of the derivative; sine and cosine refer to each other."""
        y = self._known[key] = self._new(any(each.moves for each in x))
        slope, first, last, rate = OPERATIONS[name].slope, x[0], x[-1], x[0]
        if y.moves:
            assert slope is not None
            rate = self.row(slope(cast("Algebra", self), y, *x, *map(self._theta, x)))
        return self._emit(_FUNCTIONS[name], y, first, last, rate)

    def _theta(self, a: _Row) -> _Operand:
        return self.line("theta", a) if a.moves else 0.0

    def _power(self, a: _Row, b: _Row) -> _Row:
        number = self.numbers.get(b.index, np.nan)
        if 0 < abs(number) <= _LARGEST_POWER and number == int(number):
            y: _Operand = a
            for digit in f"{int(abs(number)):b}"[1:]:
                y = y * y * a if digit == "1" else y * y
            return self.row(y if number > 0 else 1.0 / y)
        if b.moves:
            return self.line("exp", b * self.line("log", a))
        return self._emit(POWER, self._new(a.moves), a, b)


def new_rows(table: SeriesTable, order: int, p: np.ndarray) -> np.ndarray:
    """Rows of zeros with the parameters, the numbers, and what depends on nothing else."""
    C = np.zeros((table.rows, order + 3 * PAD))
    for i in range(table.parameters):
        C[table.inputs + 1 + i, PAD] = p[i]
    for i in range(len(table.numbers)):
        C[table.number_rows[i], PAD] = table.numbers[i]
    for j in range(len(table.constant)):
        write_coefficient(table.constant, j, 0, C)
    return C


def product(C: np.ndarray, a: int, b: int, k: int) -> float:
    """(a b)ₖ = Σ aᵢ bₖ₋ᵢ, in four sums."""
    x, y = C[a], C[b]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(PAD, PAD + k + 1, 4):
        j = 2 * PAD + k - i
        s0 += x[i] * y[j]
        s1 += x[i + 1] * y[j - 1]
        s2 += x[i + 2] * y[j - 2]
        s3 += x[i + 3] * y[j - 3]
    return (s0 + s1) + (s2 + s3)


def write_order(lines: np.ndarray, runs: np.ndarray, k: int, C: np.ndarray) -> None:
    """The coefficients of order k of all lines."""
    at = PAD + k
    for r in range(len(runs)):
        code, first, last = runs[r, 0], runs[r, 1], runs[r, 2]
        if code == MULTIPLY:
            for j in range(first, last):
                C[lines[j, 1], at] = product(C, lines[j, 2], lines[j, 3], k)
        elif code == ADD:
            for j in range(first, last):
                C[lines[j, 1], at] = C[lines[j, 2], at] + C[lines[j, 3], at]
        elif code == SUBTRACT:
            for j in range(first, last):
                C[lines[j, 1], at] = C[lines[j, 2], at] - C[lines[j, 3], at]
        elif code == SCALE:
            for j in range(first, last):
                C[lines[j, 1], at] = C[lines[j, 2], at] * C[lines[j, 3], PAD]
        else:
            for j in range(first, last):
                write_coefficient(lines, j, k, C)


def write_coefficient(lines: np.ndarray, j: int, k: int, C: np.ndarray) -> None:
    """The coefficient of order k of line j."""
    code, y, a, b, c = lines[j, 0], lines[j, 1], lines[j, 2], lines[j, 3], lines[j, 4]
    at = PAD + k
    if code == MULTIPLY:
        C[y, at] = product(C, a, b, k)
    elif code == ADD:
        C[y, at] = C[a, at] + C[b, at]
    elif code == SUBTRACT:
        C[y, at] = C[a, at] - C[b, at]
    elif code == SCALE:
        C[y, at] = C[a, at] * C[b, PAD]
    elif code == NEGATIVE:
        C[y, at] = -C[a, at]
    elif code == DIVIDE:
        C[y, at] = 0.0
        C[y, at] = (C[a, at] - product(C, y, b, k)) / C[b, PAD]
    elif code == SHARE:
        C[y, at] = C[a, at] / C[b, PAD]
    elif code == THETA:
        C[y, at] = k * C[a, at]
    elif code == SELECT:
        C[y, at] = C[b, at] if C[a, PAD] != 0.0 else C[c, at]
    elif k == 0:
        C[y, at] = value_of(code, C[a, PAD], C[b, PAD])
    elif code >= EXP:
        C[y, at] = C[c, at] / k
    elif code == SQRT:
        C[y, at] = 0.0
        C[y, at] = (C[a, at] - product(C, y, y, k)) / (2 * C[y, PAD])
    elif code == POWER:  # θy a = α y θa
        total = 0.0
        for i in range(1, k + 1):
            total += ((C[b, PAD] + 1.0) * i - k) * C[a, PAD + i] * C[y, at - i]
        C[y, at] = total / (k * C[a, PAD])


def value_of(code: int, a: float, b: float) -> float:
    """A function at order 0."""
    if code == SIN:
        return np.sin(a)
    if code == COS:
        return np.cos(a)
    if code == SQRT:
        return np.sqrt(a)
    if code == EXP:
        return np.exp(a)
    if code == LOG:
        return np.log(a)
    if code == ASIN:
        return np.arcsin(a)
    if code == ACOS:
        return np.arccos(a)
    if code == ATAN:
        return np.arctan(a)
    if code == ATAN2:
        return np.arctan2(a, b)
    if code == POWER:
        return a**b
    if code == LESS:
        return 1.0 if a < b else 0.0
    if code == LESS_EQUAL:
        return 1.0 if a <= b else 0.0
    if code == AND:
        return 1.0 if a != 0.0 and b != 0.0 else 0.0
    return 1.0 if a != 0.0 or b != 0.0 else 0.0


def write_series(table: SeriesTable, order: int, t: float, C: np.ndarray, x: np.ndarray) -> None:
    """The coefficients up to `order` of the solution through the states x[:, 0] at a time, in x (states, orders)."""
    C[table.inputs, PAD] = t
    C[table.inputs, PAD + 1] = 1.0
    for k in range(order):
        for i in range(table.inputs):
            C[i, PAD + k] = x[i, k]
        write_order(table.moving, table.runs, k, C)
        for i in range(len(table.outputs)):
            x[i, k + 1] = C[table.outputs[i], PAD + k] / (k + 1)


def write_rates(table: SeriesTable, p: np.ndarray, t: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """The coefficients of order 1, (states, K), at K states y with parameters p (parameters, K)."""
    x, here = np.zeros((len(table.outputs), 2)), np.zeros(table.parameters)
    for k in range(len(t)):
        for i in range(table.parameters):
            here[i] = p[i, k]
        for i in range(table.inputs):
            x[i, 0] = y[i, k]
        write_series(table, 1, t[k], new_rows(table, 1, here), x)
        for i in range(len(table.outputs)):
            out[i, k] = x[i, 1]


rates_of_series = CompiledLoop(write_rates)
