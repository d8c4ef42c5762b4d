"""The bundled example models: each a folder with a model file, a description and the expected numbers.

Some are families, built by a function of `generated` instead of a file.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from inspect import signature
from typing import Any

from dalembert.errors import InputError, suggest_name
from dalembert.io.file_formats import loads
from dalembert.io.gallery.generated import GENERATED
from dalembert.io.urdf._urdf_reader import loads_urdf
from dalembert.model.model import Model


def names() -> tuple[str, ...]:
    """Names of all example models.

    >>> "cart-pendulum" in names()
    True
    """
    with_file = {entry.name for entry in files(__name__).iterdir() if _file(entry) is not None}
    return tuple(sorted(with_file | set(GENERATED)))


def path(name: str) -> Traversable:
    """Folder of an example model.

    >>> path("simple-pendulum").joinpath("model.toml").is_file()
    True
    """
    known = names()
    if name not in known:
        raise InputError(f"gallery: there is no example '{name}'. {suggest_name(name, known)}")
    return files(__name__).joinpath(name)


def load(name: str, **options: object) -> Model:
    """Load an example model; some examples are families with options, such as the number of loops.

    >>> load("double-pendulum").coordinate_names
    ('theta1', 'theta2')
    >>> len(load("n-four-bar", loops=3).bodies)
    7
    """
    folder = path(name)
    make = GENERATED.get(name)
    known = tuple(signature(make).parameters) if make else ()
    for option in options:
        if option not in known:
            expected = f"Expected {', '.join(known)}." if known else "It has no options."
            raise InputError(f"gallery: example '{name}' has no option '{option}'. {expected}")
    if make:
        return make(**options)
    file = _file(folder) or "model.toml"
    document = folder.joinpath(file).read_text(encoding="utf-8")
    if file.endswith(".urdf"):
        model = loads_urdf(document, f"gallery/{name}/{file}")
        model.text = read_description(name).splitlines()[0].lstrip("# ")  # URDF has no description
        return model
    return loads(document, f"gallery/{name}/{file}")


def _file(folder: Traversable) -> str | None:
    """The model file of an example, TOML or URDF."""
    return next((name for name in ("model.toml", "model.urdf") if folder.joinpath(name).is_file()), None)


def read_description(name: str) -> str:
    """Description of an example, in Markdown.

    >>> read_description("simple-pendulum").splitlines()[0]
    '# Simple pendulum'
    """
    return _read(name, "description.md")


def expected(name: str) -> dict[str, Any]:
    """Expected numbers of an example, and their source.

    >>> expected("simple-pendulum")["closed_form"]["period"]
    2.367841947576237
    """
    return tomllib.loads(_read(name, "expected.toml"))


def answers(name: str) -> str | None:
    """Worked solutions of the exercises of an example, in Markdown; None if there are none.

    >>> answers("slider-crank-2").splitlines()[0]
    '# Slider-crank with two links: answers to Exercises 2, 6 and 8'
    >>> answers("simple-pendulum") is None
    True
    """
    return _read(name, "answers.md") if path(name).joinpath("answers.md").is_file() else None


def _read(name: str, file: str) -> str:
    return path(name).joinpath(file).read_text(encoding="utf-8")
