"""The examples that come with dalembert: each a folder with a model file, a story and the numbers it should give."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from dalembert.errors import InputError, nearest
from dalembert.importers import loads_toml
from dalembert.model import Model


def names() -> tuple[str, ...]:
    """The names of all examples.

    >>> "cart-pendulum" in names()
    True
    """
    return tuple(sorted(entry.name for entry in files(__name__).iterdir() if entry.joinpath("model.toml").is_file()))


def path(name: str) -> Traversable:
    """The folder of an example.

    >>> path("simple-pendulum").joinpath("model.toml").is_file()
    True
    """
    known = names()
    if name not in known:
        raise InputError(f"gallery: there is no example '{name}'. {nearest(name, known)}")
    return files(__name__).joinpath(name)


def load(name: str) -> Model:
    """The model of an example.

    >>> load("double-pendulum").coordinate_names
    ('theta1', 'theta2')
    """
    return loads_toml(_text(name, "model.toml"), f"gallery/{name}/model.toml")


def story(name: str) -> str:
    """What an example is about, in Markdown.

    >>> story("simple-pendulum").splitlines()[0]
    '# Simple pendulum'
    """
    return _text(name, "story.md")


def expected(name: str) -> dict[str, Any]:
    """The numbers an example should give, and where they come from.

    >>> expected("simple-pendulum")["closed_form"]["period"]
    2.367841947576237
    """
    return tomllib.loads(_text(name, "expected.toml"))


def _text(name: str, file: str) -> str:
    return path(name).joinpath(file).read_text(encoding="utf-8")
