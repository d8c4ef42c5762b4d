"""Export as Python: for NumPy and JAX one state or a batch, for Numba one state, for CasADi symbols or numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dalembert.io.code.code_source import (
    CodeFunction,
    ExportedEquations,
    Language,
    body_of,
    indented,
    read_template,
    wrapped,
)


@dataclass(frozen=True)
class PythonDialect:
    """Python for one library."""

    language: Language
    imports: tuple[str, ...]
    array: str  # template of an array of numbers
    note: str  # types of states
    end: tuple[str, ...]  # the lines that return `rows`, of a vector and of a matrix (r, c)
    before: str = ""  # decorator of every function
    read: str = ""  # conversion of array arguments
    interpolation: str = "interpolated.txt"
    footer: str = ""  # name of a template for the end of the module


def _functions(prefix: str, **others: str) -> dict[str, str]:
    """The templates of functions of a library."""
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"} | others
    both = ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log")
    one = {key: f"{prefix}.{names.get(key, key)}({{}})" for key in both}
    one["interpolate"] = "interpolated({}, {})"
    return one | {key: f"{prefix}.{names[key]}({{}}, {{}})" for key in ("atan2", "pow")}


_ARRAYS = {"and": "np.logical_and({}, {})", "or": "np.logical_or({}, {})", "select": "np.where({}, {}, {})"}
_PLAIN = {key: key for key in ("asin", "acos", "atan", "atan2")}
_STACKED = (
    "return np.stack([np.broadcast_to(row, y.shape[1:]) for row in rows])",
    "return np.stack([np.broadcast_to(row, y.shape[1:]) for row in rows]).reshape({r}, {c}, *y.shape[1:])",
)

NUMPY = PythonDialect(
    Language(_functions("np") | _ARRAYS, "python"),
    ("import numpy as np",),
    "np.array([{}])",
    "States y are (n,) or (n, batch), and so are results: the batch is the last axis.",
    _STACKED,
    read="{0} = np.asarray({0}, dtype=float)",
)
JAX = PythonDialect(
    Language(_functions("np") | _ARRAYS, "python"),
    (
        "import jax",
        "import jax.numpy as np",
        "",
        'jax.config.update("jax_enable_x64", True)  # double precision',
    ),
    "np.array([{}])",
    "States y are (n,) or (n, batch). All functions are pure and support jax.jit, jax.grad and jax.vmap.",
    _STACKED,
    read="{0} = np.asarray({0})",
)
NUMBA = PythonDialect(
    Language(_functions("np"), "python"),
    ("import numpy as np", "from numba import njit"),
    "np.array([{}])",
    "One state y of shape (n,) at a time; every function is compiled at its first call, and may be called from compiled code.",
    ("return np.array(rows)", "return np.array(rows).reshape({r}, {c})"),
    before="@njit",
    interpolation="interpolated_numba.txt",
)
CASADI = PythonDialect(
    Language(
        _functions("ca", **_PLAIN)
        | {"and": "ca.logic_and({}, {})", "or": "ca.logic_or({}, {})", "select": "ca.if_else({}, {}, {})"},
        "python",
    ),
    ("import casadi as ca",),
    "[{}]",
    "States y and results are CasADi column vectors (DM, SX or MX).",
    ("return ca.vertcat(*rows)", "return ca.reshape(ca.vertcat(*rows), {c}, {r}).T"),
    interpolation="interpolated_casadi.txt",
    footer="function_casadi.txt",
)


def python_files(source: ExportedEquations, path: Path, dialect: PythonDialect) -> dict[str, str]:
    """The module, by file name."""
    return {path.name: "\n".join(_module(source, dialect))}


def _module(source: ExportedEquations, dialect: PythonDialect) -> Iterator[str]:
    head = [line.replace("\\", "/").replace('"""', "'''") for line in [*source.heading, "", dialect.note]]
    yield from (f'"""{head[0]}', "", *head[1:], '"""', "")
    yield from ("from typing import NamedTuple", "", *dialect.imports, "", "")
    yield "class Parameters(NamedTuple):"
    yield '    """The values of the model, and of the constants of the motion."""'
    yield ""
    yield from (f"    {key}: float = {value!r}{f'  # {words}' if words else ''}" for key, value, words in source.fields)
    yield from ("", "", "# the initial state of the model")
    yield f"INITIAL = {dialect.array.format(wrapped([repr(x) for x in source.initial]))}"
    yield from _tables(source, dialect)
    for definition in _definitions(source, dialect):
        yield from ("", "", definition.rstrip("\n"))
    for each in source.functions:
        yield from ("", "", *_function(source, dialect, each))
    if dialect.footer:
        yield from ("", "", read_template(dialect.footer).rstrip("\n"))
    yield ""


def _definitions(source: ExportedEquations, dialect: PythonDialect) -> Iterator[str]:
    for kind in ("symmetric", "general"):
        if f"{kind}_factor" in source.operations:
            yield _decorated(read_template(f"{kind}.txt"), dialect)
    if "interpolate" in source.operations:
        yield _decorated(read_template(dialect.interpolation), dialect)


def _decorated(definition: str, dialect: PythonDialect) -> str:
    return re.sub("^def ", f"{dialect.before}\ndef ", definition, flags=re.M) if dialect.before else definition


def _tables(source: ExportedEquations, dialect: PythonDialect) -> Iterator[str]:
    for each in source.functions:
        for i, data in enumerate(each.program.tables):
            arrays = [
                dialect.array.format(wrapped([repr(float(x)) for x in values])) for values in (data.times, data.values)
            ]
            yield f"{each.name}_table{i + 1} = ({data.order}, {arrays[0]}, {arrays[1]})"


def _function(source: ExportedEquations, dialect: PythonDialect, each: CodeFunction) -> Iterator[str]:
    body = body_of(each.program, dialect.language, source.names)
    if dialect.before:
        yield dialect.before
    elif dialect is NUMPY and "select" in {name for name, _ in each.program.lines}:
        yield '@np.errstate(all="ignore")  # both branches are computed, one is selected'
    arrays = ("y",) if each.arguments == "state" else ("q", "qd")
    yield f"def {each.name}(t, {', '.join(arrays)}, p):"
    rows = f" Rows: {', '.join(each.rows)}." if each.rows else ""
    end = "." if each.name == "constants" else f": {each.dimensions}."
    docstring = f"{each.meaning}{end}{rows}".replace("\\", "/").replace('"', "'")
    lines = [f'"""{docstring}"""', *([dialect.read.format(x) for x in arrays] if dialect.read else [])]
    lines += [*dialect.language.reads(source, each, body), *each.table_lines, *body.lines]
    if each.name == "constants":
        parameters = [f"p.{source.names[key]}" for key in source.parameters]
        lines.append(f"return Parameters({wrapped([*parameters, *body.outputs])})")
    else:
        lines += [f"rows = [\n    {wrapped(body.outputs)},\n]", *_end(dialect, each)]
    yield from indented(lines)


def _end(dialect: PythonDialect, each: CodeFunction) -> Iterator[str]:
    statement = dialect.end[len(each.shape) - 1]
    if len(each.shape) > 1:
        statement = statement.format(r=each.shape[0], c=each.shape[1])
    yield statement if each.arguments == "state" else statement.replace("y.shape", "q.shape")
