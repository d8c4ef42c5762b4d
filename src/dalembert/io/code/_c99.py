"""Export as C99: a header and a source without allocation that need only the C library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dalembert.codegen.program import Program
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

C = Language(
    words={"interpolate": "interpolated(&{}, {})", "select": "({} ? {} : {})", "and": "({} && {})", "or": "({} || {})"},
    base="c",
    line="const double {} = {};",
    condition="const int {} = {};",
    factor="double {name}[{size}] = {{{entries}}};\n{operation}({n}, {name});",
    solve="double {name}[{size}] = {{{entries}}};\n{operation}({n}, {factor}, {name});",
    field="p->{}",
)


def c_files(source: ExportedEquations, path: Path) -> dict[str, str]:
    """The header and the source, by file name."""
    stem = path.stem
    return {f"{stem}.h": header(source, plain(stem)), f"{stem}.c": "\n".join(_source(source, plain(stem), f"{stem}.h"))}


def comment(lines: list[str]) -> list[str]:
    """A comment of several lines."""
    safe = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    if len(safe) == 1:
        return [f"/* {safe[0]} */"]
    return [f"/* {safe[0]}", *(f" * {line}".rstrip() for line in safe[1:]), " */"]


def signature(name: str, each: CodeFunction) -> str:
    """The declaration of a function, without semicolon or body."""
    arguments = "const double *q, const double *qd" if each.arguments == "start" else "const double *y"
    if each.name == "constants":
        return f"void {name}_constants(double t, {arguments},\n    {name}_parameters *p)"
    first = f"void {name}_{each.name}(double t, {arguments},"
    seed = " const double *seed," if each.arguments == "along" else ""
    return f"{first}\n    const {name}_parameters *p,{seed} double *out)"


def header(source: ExportedEquations, name: str) -> str:
    """The header."""
    guard = f"{name.upper()}_H"
    lines = [*comment(source.heading), f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {']
    lines += ["#endif", "", "enum {"]
    counts = {"COORDINATES": source.coordinates, "VELOCITIES": source.velocities, "STATES": source.states}
    lines += indented([f"{name.upper()}_{key} = {len(each)}," for key, each in counts.items()])
    lines[-1] = lines[-1].rstrip(",")
    lines += ["};", "", "typedef struct {"]
    fields = [(key, f" {comment([words])[0]}" if words else "") for key, _, words in source.fields]
    lines += indented([f"double {key};{words}" for key, words in fields])
    lines += [f"}} {name}_parameters;", "", "/* the values of the model, and its initial state (q, v) */"]
    lines += [f"extern const {name}_parameters {name}_defaults;", f"extern const double {name}_initial[];", ""]
    for each in source.functions:
        lines += [*comment(_described(each)), f"{signature(name, each)};", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _described(each: CodeFunction) -> list[str]:
    if each.name == "constants":
        return [f"{each.meaning}, written into p."]
    size = each.dimensions + (", row by row" if len(each.shape) > 1 else "")
    lines = [f"{each.meaning}: {size}."]
    return lines + ([f"Rows: {', '.join(each.rows)}."] if each.rows else [])


def _source(source: ExportedEquations, name: str, own_header: str) -> Iterator[str]:
    yield from comment(source.heading)
    yield from (f'#include "{own_header}"', "", "#include <math.h>", "")
    # the small dense solvers and the interpolation that the functions call
    used = [kind for kind in ("symmetric", "general") if f"{kind}_factor" in source.operations]
    templates = [*["blocks"][: len(used)], *used, *["interpolated"] * ("interpolate" in source.operations)]
    yield from (read_template(f"{template}.c") for template in templates)
    yield f"const {name}_parameters {name}_defaults = {{"
    yield from indented([f".{key} = {value!r}," for key, value, _ in source.fields])
    yield from ("};", "")
    yield f"const double {name}_initial[] = {{{wrapped([repr(x) for x in source.initial])}}};"
    for each in source.functions:
        yield ""
        yield from _function(source, name, each)
    yield ""


def _table_lines(program: Program) -> Iterator[str]:
    for i, table in enumerate(program.tables):
        for word, values in (("times", table.times), ("values", table.values)):
            numbers = wrapped([repr(float(x)) for x in values])
            yield f"static const double table{i + 1}_{word}[] = {{{numbers}}};"
        yield f"static const table table{i + 1} = {{{table.order}, {len(table)}, table{i + 1}_times, table{i + 1}_values}};"


def _function(source: ExportedEquations, name: str, each: CodeFunction) -> Iterator[str]:
    body = body_of(each.program, C, source.names)
    yield signature(name, each)
    yield "{"
    used = {"t": "t" in body.inputs, "p": body.parameters or each.name == "constants"}
    arrays = source.input_arrays(each)
    read = {arrays[x][0] for x in body.inputs if x != "t"}
    used |= {array: array in read for array, _ in arrays.values()}
    lines = [f"(void){key};" for key, is_used in used.items() if not is_used]
    lines += [*C.reads(source, each, body), *_table_lines(each.program), *body.lines]
    if each.name == "constants":
        lines += [
            f"p->{source.names[key]} = {expression};"
            for key, expression in zip(source.constants, body.outputs, strict=True)
        ]
    else:
        lines += [f"out[{i}] = {expression};" for i, expression in enumerate(body.outputs)]
    if not body.outputs:
        lines.append("(void)out;")
    yield from indented(lines)
    yield "}"
