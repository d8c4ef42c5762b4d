"""Which reader a file needs: by its suffix, and for TOML by the convention that stands at its top."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path

from dalembert.errors import InputError, nearest
from dalembert.io._redysim import loads_redysim, read_redysim
from dalembert.io._robot_csv import read_csv
from dalembert.io.robot_rows import from_links
from dalembert.io.toml_reader import from_sections
from dalembert.io.toml_source import read_text, tables
from dalembert.io.urdf._urdf_reader import read_urdf
from dalembert.model.model import Model


def read(path: str | Path, **options: object) -> Model:
    """The model in a file of any kind that can be read; options go to the reader of that kind.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read("no-such-place/robot.urdf")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    model = READERS[Path(path).suffix.lower()](path, **options)
    model.shapes = tuple(replace(shape, folder=str(Path(path).parent)) for shape in model.shapes)
    return model


def loads(text: str, source: str = "<text>", **options: object) -> Model:
    """The model in a text in TOML: a model file, or a robot table when it says `convention`.

    >>> loads('convention = "mdh"\\nname = "arm"\\n[[link]]\\nname = "upper"\\ntype = "revolute"\\nmass = 1\\ncenter = [1, 0, 0]')
    <Model 'arm': 1 bodies, 1 coordinates, 0 constraints>
    """
    data = tables(text, source)
    if data.get("convention") == "redysim":
        return _checked(loads_redysim, "ReDySim's arrays", text, source, **options)
    return _checked(from_links if "convention" in data else from_sections, "this file", data, source, **options)


def _checked(reader: Callable[..., Model], what: str, /, *given: object, **options: object) -> Model:
    """What a reader gives; the options it does not know are named."""
    known = signature(reader).parameters.keys() - {"path", "text", "data", "source", "kind"}
    for name in options:
        if name not in known:
            advice = nearest(name, known) if known else "It takes none."
            raise InputError(f"load: {what} has no option '{name}'. {advice}")
    return reader(*given, **options)


READERS: dict[str, Callable[..., Model]] = {
    ".toml": lambda path, **options: loads(read_text(path), str(path), **options),
    ".urdf": partial(_checked, read_urdf, "a URDF file"),
    ".csv": partial(_checked, read_csv, "a CSV table"),
    ".json": partial(_checked, read_redysim, "ReDySim's arrays"),
    ".m": partial(_checked, read_redysim, "ReDySim's arrays"),
    ".mat": partial(_checked, read_redysim, "ReDySim's arrays"),
}
