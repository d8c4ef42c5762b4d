"""Export as a Julia module, with the signatures of its integrators: f!(out, y, p, t)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


def julia_files(source: ExportedEquations, path: Path) -> dict[str, str]:
    """The module, by file name."""
    return {path.name: "\n".join(_module(source, plain(path.stem)))}


def _module(source: ExportedEquations, name: str) -> Iterator[str]:
    yield from (f"# {line}".rstrip() for line in source.heading)
    yield f"module {name}"
    yield ""
    yield "Base.@kwdef struct Parameters{T}"
    yield from (f"    {key}::T = {value!r}{f' # {words}' if words else ''}" for key, value, words in source.fields)
    yield "end"
    yield ""
    yield "# the initial state of the model"
    yield f"const INITIAL = [{wrapped([repr(x) for x in source.initial])}]"
    for definition in _definitions(source):
        yield ""
        yield definition.rstrip("\n")
    for each in source.functions:
        yield ""
        yield from _function(source, each)
    yield ""
    yield "end"
    yield ""


def _definitions(source: ExportedEquations) -> Iterator[str]:
    used = [kind for kind in ("symmetric", "general") if f"{kind}_factor" in source.operations]
    for name in [*["blocks"][: len(used)], *used, *["interpolated"] * ("interpolate" in source.operations)]:
        yield read_template(f"{name}.jl")
    for each in source.functions:
        for i, table in enumerate(each.program.tables):
            arrays = [f"[{wrapped([repr(float(x)) for x in values])}]" for values in (table.times, table.values)]
            yield f"const {each.name}_table{i + 1} = ({table.order}, {arrays[0]}, {arrays[1]})"


def _function(source: ExportedEquations, each: CodeFunction) -> Iterator[str]:
    body = body_of(each.program, JULIA, source.names)
    arguments = "y" if each.arguments == "state" else "q, qd"
    rows = f" Rows: {', '.join(each.rows)}." if each.rows else ""
    lines = [*JULIA.reads(source, each, body), *each.table_lines, *body.lines]
    if each.name == "constants":
        yield f"# {each.meaning}"
        yield f"function constants({arguments}, p, t)"
        parameters = [f"p.{source.names[key]}" for key in source.parameters]
        lines.append(f"return Parameters({wrapped([*parameters, *body.outputs])})")
    else:
        yield f"# {each.meaning}: {each.dimensions}.{rows}"
        yield f"function {each.name}!(out, {arguments}, p, t)"
        lines += [f"out[{each.index(i)}] = {expression}" for i, expression in enumerate(body.outputs)]
        lines.append("return out")
    yield from indented(lines)
    yield "end"
