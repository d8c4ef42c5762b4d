"""Export as a package of MATLAB or Octave: a folder +name with a file for each function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dalembert.codegen.program import Program
from dalembert.errors import InputError
from dalembert.io.code.code_source import (
    CodeFunction,
    ExportedEquations,
    Language,
    body_of,
    indented,
    plain,
    read_template,
    wrapped,
)

_ONWARD = " ..."
_TEMPLATES = {
    "symmetric": "symmetric_factor",
    "general": "general_factor",
    "choose": "select",
    "interpolated": "interpolate",
}
MATLAB = Language(
    words={"pow": "power({}, {})", "select": "choose({}, {}, {})"},
    base="c",
    line="{} = {};",
    condition="{} = {};",
    factor="{name} = {operation}([{entries}]);",
    solve="{name} = {operation}({factor}, [{entries}]);",
    entry="{}({})",
    first=1,
    onward=_ONWARD,
)


def matlab_files(source: ExportedEquations, path: Path) -> dict[str, str]:
    """The files of the package, by relative path."""
    folder = path.name
    if not folder.startswith("+") or folder[1:] != plain(folder[1:]):
        raise InputError(f"{path}: not a MATLAB package. Expected '+' and an identifier, such as +{plain(folder)}.")
    files = {"parameters": _parameters(source), "initial": _initial(source)}
    files |= {each.name: _function(source, each) for each in source.functions}
    return {f"{folder}/{name}.m": "\n".join([*lines, ""]) for name, lines in files.items()}


def _comment(source: ExportedEquations) -> list[str]:
    return [f"% {line}".rstrip() for line in source.heading]


def _parameters(source: ExportedEquations) -> Iterator[str]:
    yield "function p = parameters()"
    yield "% The values of the model, and of the constants of the motion."
    yield from _comment(source)
    yield from (f"p.{key} = {value!r};{f' % {words}' if words else ''}" for key, value, words in source.fields)
    yield "end"


def _initial(source: ExportedEquations) -> Iterator[str]:
    yield "function y = initial()"
    yield "% The initial state (q, v) of the model."
    yield from _comment(source)
    yield f"y = [{wrapped([repr(x) for x in source.initial], _ONWARD)}]';"
    yield "end"


def _function(source: ExportedEquations, each: CodeFunction) -> Iterator[str]:
    body = body_of(each.program, MATLAB, source.names)
    arguments, result = "y" if each.arguments == "state" else "q, qd", "p" if each.name == "constants" else "out"
    yield f"function {result} = {each.name}(t, {arguments}, p)"
    yield f"% {each.meaning}" + ("." if result == "p" else f": {each.dimensions}.")
    if each.rows:
        yield f"% Rows: {', '.join(each.rows)}."
    yield from _comment(source)
    lines = [*MATLAB.reads(source, each, body), *_tables(each.program), *body.lines]
    if result == "p":
        lines += [
            f"p.{source.names[key]} = {expression};"
            for key, expression in zip(source.constants, body.outputs, strict=True)
        ]
    else:
        shape = f"{each.shape[0]}, {each.shape[1] if len(each.shape) > 1 else 1}"
        lines.append(f"out = zeros({shape});")
        lines += [f"out({each.index(i)}) = {expression};" for i, expression in enumerate(body.outputs)]
    yield from indented(lines, "")
    yield "end"
    operations = {name for name, _ in each.program.lines}
    for name, operation in _TEMPLATES.items():
        if operation in operations:
            yield ""
            yield read_template(f"{name}.m").rstrip("\n")


def _tables(program: Program) -> Iterator[str]:
    for i, table in enumerate(program.tables):
        arrays = [f"[{wrapped([repr(float(x)) for x in values], _ONWARD)}]" for values in (table.times, table.values)]
        yield f"table{i + 1} = struct('order', {table.order}, 'times', {arrays[0]}, 'values', {arrays[1]});"
