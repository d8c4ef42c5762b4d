"""Equations as a Julia module, with the signatures of its integrators: f!(out, y, p, t)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dalembert.io.code.c99 import places, text_of
from dalembert.io.code.code_source import CodeFunction, Language, Source, body_of, indented, plain, wrapped

JULIA = Language(
    words={
        "and": "({} && {})",
        "or": "({} || {})",
        "select": "ifelse({}, {}, {})",
        "atan2": "atan({}, {})",
        "pow": "({})^({})",
    },
    base="c",
    first=1,
)


def julia_files(source: Source, path: Path) -> dict[str, str]:
    """The module, by file name."""
    return {path.name: "\n".join(_module(source, plain(path.stem)))}


def _module(source: Source, name: str) -> Iterator[str]:
    yield from (f"# {line}".rstrip() for line in source.heading)
    yield f"module {name}"
    yield ""
    yield "Base.@kwdef struct Parameters{T}"
    for key, value in source.values.items():
        words = source.descriptions.get(key, "")
        yield f"    {source.names[key]}::T = {value!r}{f' # {words}' if words else ''}"
    if not source.values:
        yield "    none::T = 0.0 # the model has no parameters"
    yield "end"
    yield ""
    yield "# the initial state of the model"
    yield f"const INITIAL = [{wrapped([repr(x) for x in source.initial])}]"
    for text in _texts(source):
        yield ""
        yield text.rstrip("\n")
    for each in source.functions:
        yield ""
        yield from _function(source, each)
    yield ""
    yield "end"
    yield ""


def _texts(source: Source) -> Iterator[str]:
    """What the functions call."""
    used = [kind for kind in ("symmetric", "general") if f"{kind}_factor" in source.operations]
    for name in [*["blocks"][: len(used)], *used, *["interpolated"] * ("interpolate" in source.operations)]:
        yield text_of(f"{name}.jl")
    for each in source.functions:
        for i, held in enumerate(each.program.tables):
            arrays = [f"[{wrapped([repr(float(x)) for x in values])}]" for values in (held.times, held.values)]
            yield f"const {each.name}_table{i + 1} = ({held.order}, {arrays[0]}, {arrays[1]})"


def _function(source: Source, each: CodeFunction) -> Iterator[str]:
    body, known = body_of(each.program, JULIA, source.names), places(source, each)
    given = "y" if each.given == "state" else "q, qd"
    size = " x ".join(map(str, each.shape))
    rows = f" Rows: {', '.join(each.rows)}." if each.rows else ""
    lines = [f"{source.names[x]} = {known[x][0]}[{known[x][1] + 1}]" for x in body.inputs if x != "t"]
    lines += [f"table{i + 1} = {each.name}_table{i + 1}" for i in range(len(each.program.tables))]
    lines += body.lines
    if each.name == "constants":
        yield f"# {each.meaning}"
        yield f"function constants({given}, p, t)"
        kept = [f"p.{source.names[key]}" for key in source.parameters]
        lines.append(f"return Parameters({wrapped([*kept, *body.outputs])})")
    else:
        yield f"# {each.meaning}: {size}.{rows}"
        yield f"function {each.name}!(out, {given}, p, t)"
        lines += [f"out[{_place(each, i)}] = {text}" for i, text in enumerate(body.outputs)]
        lines.append("return out")
    yield from indented(lines)
    yield "end"


def _place(each: CodeFunction, i: int) -> str:
    """Where an entry stands, row by row, in an array that may be a matrix."""
    if len(each.shape) == 1:
        return str(i + 1)
    row, column = divmod(i, each.shape[1])
    return f"{row + 1}, {column + 1}"
