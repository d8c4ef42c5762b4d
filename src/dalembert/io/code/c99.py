"""Equations as C99: a header and a source that allocate nothing and need nothing but the C library."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from dalembert.codegen.program import Program
from dalembert.io.code.code_source import CodeFunction, Language, Source, body_of, indented, plain, wrapped

C = Language(
    words={
        "interpolate": "interpolated(&{}, {})",
        "select": "({} ? {} : {})",
        "and": "({} && {})",
        "or": "({} || {})",
    },
    base="c",
    line="const double {} = {};",
    condition="const int {} = {};",
    factor="double {name}[{size}] = {{{entries}}};\n{operation}({n}, {name});",
    solve="double {name}[{size}] = {{{entries}}};\n{operation}({n}, {factor}, {name});",
    field="p->{}",
)


def c_files(source: Source, path: Path) -> dict[str, str]:
    """The header and the source, by file name."""
    stem = path.stem
    return {f"{stem}.h": header(source, plain(stem)), f"{stem}.c": "\n".join(_source(source, plain(stem), f"{stem}.h"))}


def text_of(name: str) -> str:
    """A text that is written as it stands."""
    return (files("dalembert.io.code") / "texts" / name).read_text(encoding="utf-8")


def comment(lines: list[str]) -> list[str]:
    """A comment of several lines."""
    safe = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    if len(safe) == 1:
        return [f"/* {safe[0]} */"]
    return [f"/* {safe[0]}", *(f" * {line}".rstrip() for line in safe[1:]), " */"]


def signature(name: str, each: CodeFunction) -> str:
    """The declaration of a function, without its end."""
    given = "const double *q, const double *qd" if each.given == "start" else "const double *y"
    if each.name == "constants":
        return f"void {name}_constants(double t, {given},\n    {name}_parameters *p)"
    first = f"void {name}_{each.name}(double t, {given},"
    seed = " const double *seed," if each.given == "along" else ""
    return f"{first}\n    const {name}_parameters *p,{seed} double *out)"


def header(source: Source, name: str) -> str:
    """The header."""
    guard = f"{name.upper()}_H"
    lines = [*comment(source.heading), f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {']
    lines += ["#endif", "", "enum {"]
    counts = {
        "COORDINATES": len(source.coordinates),
        "VELOCITIES": len(source.velocities),
        "STATES": len(source.states),
    }
    lines += indented([f"{name.upper()}_{key} = {count}," for key, count in counts.items()])
    lines[-1] = lines[-1].rstrip(",")
    lines += ["};", "", "typedef struct {"]
    lines += indented(list(_fields(source)))
    lines += [f"}} {name}_parameters;", "", "/* the values of the model, and its initial state (q, v) */"]
    lines += [f"extern const {name}_parameters {name}_defaults;", f"extern const double {name}_initial[];", ""]
    for each in source.functions:
        lines += [*comment(_described(each)), f"{signature(name, each)};", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _described(each: CodeFunction) -> list[str]:
    """What a function returns."""
    if each.name == "constants":
        return [f"{each.meaning}, written into p."]
    size = " x ".join(map(str, each.shape)) + (", row by row" if len(each.shape) > 1 else "")
    lines = [f"{each.meaning}: {size}."]
    return lines + ([f"Rows: {', '.join(each.rows)}."] if each.rows else [])


def _fields(source: Source) -> Iterator[str]:
    for key in source.values:
        words = source.descriptions.get(key, "")
        yield f"double {source.names[key]};{' ' + comment([words])[0] if words else ''}"
    if not source.values:
        yield "double none; /* the model has no parameters */"


def _source(source: Source, name: str, own_header: str) -> Iterator[str]:
    yield from comment(source.heading)
    yield f'#include "{own_header}"'
    yield ""
    yield "#include <math.h>"
    yield ""
    yield from solvers(source)
    yield from _tables(source)
    yield f"const {name}_parameters {name}_defaults = {{"
    values = [f".{source.names[key]} = {value!r}," for key, value in source.values.items()]
    yield from indented(values or [".none = 0.0,"])
    yield "};"
    yield ""
    yield f"const double {name}_initial[] = {{{wrapped([repr(x) for x in source.initial])}}};"
    for each in source.functions:
        yield ""
        yield from _function(source, name, each)
    yield ""


def solvers(source: Source) -> Iterator[str]:
    """The small dense solvers that the functions call."""
    used = [kind for kind in ("symmetric", "general") if f"{kind}_factor" in source.operations]
    if used:
        yield text_of("blocks.c")
    for kind in used:
        yield text_of(f"{kind}.c")


def _tables(source: Source) -> Iterator[str]:
    """The interpolation, where a table is used; tables themselves stand in the functions that use them."""
    if "interpolate" in source.operations:
        yield text_of("interpolated.c")


def _table_lines(program: Program) -> Iterator[str]:
    for i, held in enumerate(program.tables):
        for word, values in (("times", held.times), ("values", held.values)):
            numbers = wrapped([repr(float(x)) for x in values])
            yield f"static const double table{i + 1}_{word}[] = {{{numbers}}};"
        yield f"static const table table{i + 1} = {{{held.order}, {len(held)}, table{i + 1}_times, table{i + 1}_values}};"


def _function(source: Source, name: str, each: CodeFunction) -> Iterator[str]:
    body = body_of(each.program, C, source.names)
    yield signature(name, each)
    yield "{"
    used = {"t": "t" in body.inputs, "p": body.parameters or each.name == "constants"}
    arrays = places(source, each)
    read = {arrays[x][0] for x in body.inputs if x != "t"}
    used |= {array: array in read for array, _ in arrays.values()}
    lines = [f"(void){key};" for key, is_used in used.items() if not is_used]
    lines += [f"const double {source.names[x]} = {arrays[x][0]}[{arrays[x][1]}];" for x in body.inputs if x != "t"]
    lines += [*_table_lines(each.program), *body.lines]
    if each.name == "constants":
        lines += [f"p->{source.names[key]} = {text};" for key, text in zip(source.constants, body.outputs, strict=True)]
    else:
        lines += [f"out[{i}] = {text};" for i, text in enumerate(body.outputs)]
    if not body.outputs:
        lines.append("(void)out;")
    yield from indented(lines)
    yield "}"


def places(source: Source, each: CodeFunction) -> dict[str, tuple[str, int]]:
    """For every input but t the array it comes in, and its place there."""
    n, inputs = len(source.coordinates), each.program.inputs
    if each.given != "start":
        seeds = inputs[len(source.states) + 1 :]
        return {x: ("y", i) for i, x in enumerate(source.states)} | {x: ("seed", i) for i, x in enumerate(seeds)}
    return {x: ("q", i) if i < n else ("qd", i - n) for i, x in enumerate(inputs[:-1])}
