"""Selects the reader of a file: by its suffix, and for TOML by the key `convention` at its top."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path

from dalembert.errors import InputError, suggest_name
from dalembert.io._redysim import loads_redysim, read_redysim
from dalembert.io._robot_csv import read_csv
from dalembert.io.robot_rows import from_links
from dalembert.io.toml_reader import from_sections, read_text, tables
from dalembert.io.urdf._urdf_reader import read_urdf
from dalembert.model.model import Model


def read(path: str | Path, **options: object) -> Model:
    """Read a model from a file of any supported format; options are passed to its reader.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read("no-such-folder/robot.urdf")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    model = READERS[Path(path).suffix.lower()](path, **options)
    model.shapes = tuple(replace(shape, folder=str(Path(path).parent)) for shape in model.shapes)
    return model


def loads(content: str, source: str = "<text>", **options: object) -> Model:
    """Read a model from a TOML string: a model file, or a robot table if it has the key `convention`.

    >>> loads('convention = "mdh"\\nname = "arm"\\n[[link]]\\nname = "upper"\\ntype = "revolute"\\nmass = 1\\ncenter = [1, 0, 0]')
    <Model 'arm': 1 bodies, 1 coordinates, 0 constraints>
    """
    data = tables(content, source)
    if data.get("convention") == "redysim":
        return _checked(loads_redysim, "ReDySim's arrays", content, source, **options)
    return _checked(from_links if "convention" in data else from_sections, "this file", data, source, **options)


def _checked(reader: Callable[..., Model], what: str, /, *arguments: object, **options: object) -> Model:
    """Call a reader; raise for options it does not accept."""
    known = signature(reader).parameters.keys() - {"path", "content", "data", "source", "kind"}
    for name in options:
        if name not in known:
            advice = suggest_name(name, known) if known else "It accepts no options."
            raise InputError(f"load: {what} has no option '{name}'. {advice}")
    return reader(*arguments, **options)


READERS: dict[str, Callable[..., Model]] = {
    ".toml": lambda path, **options: loads(read_text(path), str(path), **options),
    ".urdf": partial(_checked, read_urdf, "a URDF file"),
    ".csv": partial(_checked, read_csv, "a CSV table"),
    ".json": partial(_checked, read_redysim, "ReDySim's arrays"),
    ".m": partial(_checked, read_redysim, "ReDySim's arrays"),
    ".mat": partial(_checked, read_redysim, "ReDySim's arrays"),
}
