"""Where models come from: the gallery by name, and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from dalembert.arguments import checked
from dalembert.errors import InputError, nearest
from dalembert.io import gallery
from dalembert.io.file_formats import READERS, read
from dalembert.io.sympy_systems import read_sympy, understands
from dalembert.mechanics import assembly
from dalembert.model.description import Description, Elements
from dalembert.model.model import Model

Source = Elements | str | Path  # a model, or where it is found
P = ParamSpec("P")
R = TypeVar("R")


def load(source: str | Path | object, **options: Any) -> Model:
    """A model from the gallery, by name, or from a file: a model file or robot table (.toml, .csv, .json, .m, .mat), or a URDF.

    SymPy's `System`, `KanesMethod` and `LagrangesMethod` are read, too: `load(system, parameters={m: 1.0, ...})`.

    Options go to the reader: `floating`, `merge_fixed`, `friction` for a URDF; `quaternion`, `model`, `initials` for ReDySim's
    inputs; the options of a gallery family, such as `loops`; `parameters`, `start`, `rates` and `name` for SymPy. A file that
    says `assemble = true` is assembled here.

    >>> load("double-pendulum").coordinate_names
    ('theta1', 'theta2')
    """
    if understands(source):
        return read_sympy(source, **options)
    if not isinstance(source, str | Path):
        raise InputError(f"load: got {_shown(source)}. Expected the name of a gallery example or the path of a file.")
    path = Path(source)
    if str(source) in gallery.names():
        model = gallery.load(str(source), **options)
    elif path.suffix.lower() in READERS:
        model = read(path, **options)
    elif os.path.exists(path):
        raise InputError(f"'{source}' is not a model file that can be read. Expected one of {', '.join(READERS)}.")
    else:
        raise InputError(
            f"there is no model '{source}'. {nearest(str(source), gallery.names())} "
            f"Expected a gallery name or the path of a file ({', '.join(READERS)})."
        )
    return assembly.assembled(model) if model.assemble_start else model


def described(source: Source) -> Description:
    """The description of a model, or of what a name or path leads to.

    >>> described("simple-pendulum").coordinate_names
    ('theta',)
    """
    if isinstance(source, Elements):
        return source.description
    if isinstance(source, str | Path):
        return load(source).description
    raise InputError(
        f"got {_shown(source)} in place of a model. Expected a Model, a Description, the name of a gallery example or the path "
        "of a model file."
    )


def accepts_source(function: Callable[Concatenate[Elements, P], R]) -> Callable[Concatenate[Source, P], R]:
    """Let a public function of a model also take a gallery name or the path of a model file; its arguments are checked."""
    function = checked(function)
    first = next(iter(signature(function).parameters))

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> R:
        if arguments:
            arguments = (described(arguments[0]), *arguments[1:])
        elif first in options:
            options[first] = described(options[first])
        return function(*arguments, **options)

    return called


assemble = accepts_source(assembly.assemble)
assembled = accepts_source(assembly.assembled)
branches = accepts_source(assembly.branches)


def _shown(value: object) -> str:
    return f"a value of type {type(value).__name__}"
