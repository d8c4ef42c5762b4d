"""Loading of models: gallery examples by name, and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from dalembert.arguments import validate_arguments
from dalembert.errors import InputError, suggest_name
from dalembert.io import gallery
from dalembert.io.file_formats import READERS, read
from dalembert.io.sympy_systems import is_sympy_system, read_sympy
from dalembert.mechanics import assembly
from dalembert.model.description import Description, Elements
from dalembert.model.model import Model

Source = Elements | str | Path  # a model, the name of a gallery example, or a path
P = ParamSpec("P")
R = TypeVar("R")


def load(source: str | Path | object, **options: Any) -> Model:
    """Load a model from the gallery, from a file, or from SymPy. A file with `assemble = true` is assembled.

    Parameters
    ----------
    source : str, Path or SymPy object
        The name of a gallery example, the path of a file (.toml, .csv, .json, .m, .mat or .urdf), or a SymPy `System`,
        `KanesMethod` or `LagrangesMethod`, as in `load(system, parameters={m: 1.0, ...})`.
    **options
        Options of the reader: `floating`, `merge_fixed` and `friction` for URDF; `quaternion`, `model` and `initials` for
        ReDySim; options of a gallery family, such as `loops`; `parameters`, `start`, `rates` and `name` for SymPy.

    Returns
    -------
    Model
        The model.

    Raises
    ------
    InputError
        If there is no such gallery example or file, or if an option is unknown.
    ModelFileError
        If the file cannot be read or does not define a valid model.

    Examples
    --------
    >>> load("double-pendulum").coordinate_names
    ('theta1', 'theta2')
    """
    if is_sympy_system(source):
        return read_sympy(source, **options)
    if not isinstance(source, str | Path):
        raise InputError(f"load: got {_type_of(source)}. Expected the name of a gallery example or the path of a file.")
    path = Path(source)
    if str(source) in gallery.names():
        model = gallery.load(str(source), **options)
    elif path.suffix.lower() in READERS:
        model = read(path, **options)
    elif os.path.exists(path):
        raise InputError(f"'{source}' is not a supported model file. Expected the suffix {', '.join(READERS)}.")
    else:
        raise InputError(
            f"there is no model '{source}'. {suggest_name(str(source), gallery.names())} "
            f"Expected a gallery name or the path of a file ({', '.join(READERS)})."
        )
    return assembly.assemble_model(model) if model.assemble_start else model


def description_of(source: Source) -> Description:
    """The description of a model, a gallery example or a model file.

    >>> description_of("simple-pendulum").coordinate_names
    ('theta',)
    """
    if isinstance(source, Elements):
        return source.description
    if isinstance(source, str | Path):
        return load(source).description
    raise InputError(
        f"model: got {_type_of(source)}. Expected a Model, a Description, the name of a gallery example or the path of a model "
        "file."
    )


def accepts_source(function: Callable[Concatenate[Elements, P], R]) -> Callable[Concatenate[Source, P], R]:
    """Wrap a public function of a model to also accept a gallery name or a path, and to check its arguments."""
    function = validate_arguments(function)
    first = next(iter(signature(function).parameters))

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> R:
        if arguments:
            arguments = (description_of(arguments[0]), *arguments[1:])
        elif first in options:
            options[first] = description_of(options[first])
        return function(*arguments, **options)

    return called


assemble_state = accepts_source(assembly.assemble_state)
assemble_model = accepts_source(assembly.assemble_model)
branches = accepts_source(assembly.branches)


def _type_of(value: object) -> str:
    return f"a value of type {type(value).__name__}"
