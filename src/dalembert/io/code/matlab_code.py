"""Equations as a package of MATLAB or Octave: a folder +name with a file for each function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dalembert.codegen.program import Program
from dalembert.errors import InputError
from dalembert.io.code.c99 import places, text_of
from dalembert.io.code.code_source import CodeFunction, Language, Source, body_of, indented, plain, wrapped

_ONWARD = " ..."
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


def matlab_files(source: Source, path: Path) -> dict[str, str]:
    """The files of the package, by their places beside it."""
    folder = path.name
    if not folder.startswith("+") or folder[1:] != plain(folder[1:]):
        raise InputError(f"{path}: MATLAB needs a folder whose name is '+' and a word, such as +{plain(folder)}.")
    files = {"parameters": _parameters(source), "initial": _initial(source)}
    files |= {each.name: _function(source, each) for each in source.functions}
    return {f"{folder}/{name}.m": "\n".join([*lines, ""]) for name, lines in files.items()}


def _comment(source: Source) -> list[str]:
    return [f"% {line}".rstrip() for line in source.heading]


def _parameters(source: Source) -> Iterator[str]:
    yield "function p = parameters()"
    yield "% The values of the model, and of the constants of the motion."
    yield from _comment(source)
    for key, value in source.values.items():
        words = source.descriptions.get(key, "")
        yield f"p.{source.names[key]} = {value!r};{f' % {words}' if words else ''}"
    if not source.values:
        yield "p.none = 0.0; % the model has no parameters"
    yield "end"


def _initial(source: Source) -> Iterator[str]:
    yield "function y = initial()"
    yield "% The initial state (q, v) of the model."
    yield from _comment(source)
    yield f"y = [{wrapped([repr(x) for x in source.initial], _ONWARD)}]';"
    yield "end"


def _function(source: Source, each: CodeFunction) -> Iterator[str]:
    body, known = body_of(each.program, MATLAB, source.names), places(source, each)
    given, result = "y" if each.given == "state" else "q, qd", "p" if each.name == "constants" else "out"
    yield f"function {result} = {each.name}(t, {given}, p)"
    size = " x ".join(map(str, each.shape))
    yield f"% {each.meaning}" + ("." if result == "p" else f": {size}.")
    if each.rows:
        yield f"% Rows: {', '.join(each.rows)}."
    yield from _comment(source)
    lines = [f"{source.names[x]} = {known[x][0]}({known[x][1] + 1});" for x in body.inputs if x != "t"]
    lines += [*_tables(each.program), *body.lines]
    if result == "p":
        lines += [f"p.{source.names[key]} = {text};" for key, text in zip(source.constants, body.outputs, strict=True)]
    else:
        shape = f"{each.shape[0]}, {each.shape[1] if len(each.shape) > 1 else 1}"
        lines.append(f"out = zeros({shape});")
        lines += [f"out({_place(each, i)}) = {text};" for i, text in enumerate(body.outputs)]
    yield from indented(lines, "")
    yield "end"
    operations = {name for name, _ in each.program.lines}
    for name, operation in _TEXTS.items():
        if operation in operations:
            yield ""
            yield text_of(f"{name}.m").rstrip("\n")


_TEXTS = {
    "symmetric": "symmetric_factor",
    "general": "general_factor",
    "choose": "select",
    "interpolated": "interpolate",
}


def _tables(program: Program) -> Iterator[str]:
    for i, held in enumerate(program.tables):
        arrays = [f"[{wrapped([repr(float(x)) for x in values], _ONWARD)}]" for values in (held.times, held.values)]
        yield f"table{i + 1} = struct('order', {held.order}, 'times', {arrays[0]}, 'values', {arrays[1]});"


def _place(each: CodeFunction, i: int) -> str:
    if len(each.shape) == 1:
        return str(i + 1)
    row, column = divmod(i, each.shape[1])
    return f"{row + 1}, {column + 1}"
