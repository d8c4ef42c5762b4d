"""Models as TOML, the inverse of `importers.toml`: every element is written, and reading the text gives the same model.

Written by hand: tomli-w gives a joint a header of its own and a vector a line for each number, and tomlkit would have to be told
of every table and list where it goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path

from dalembert.errors import InputError
from dalembert.io.files import write_text
from dalembert.io.toml_elements import elements, head, last_sections, sections
from dalembert.io.toml_reader import loads_toml
from dalembert.model.description import Elements
from dalembert.model.file_form import Element, Value, given


def to_toml(model: Elements) -> str:
    """The text of a model file; `loads_toml` reads it back to the same model, and the notes of importers are comments.

    Loads and contacts come back ordered by kind. A model that a file cannot hold, because a formula or a name is too long
    for one, raises an `InputError`.

    >>> from dalembert.model.model import Model
    >>> model = Model("falling stone", gravity=(0, 0, -9.81)).coordinate("z", 10.0)
    >>> _ = model.body("stone", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    >>> print(to_toml(model))
    name = "falling stone"
    gravity = [0, 0, -9.81]
    <BLANKLINE>
    [coordinates]
    z = { start = 10.0 }
    <BLANKLINE>
    [[body]]
    name = "stone"
    joint = { type = "prismatic", axis = [0, 0, 1], displacement = "z" }
    mass = 1
    <BLANKLINE>
    [simulation]
    duration = 10.0
    samples = 501
    <BLANKLINE>
    """
    for controller in model.controllers:
        raise InputError(
            f"model '{model.name}' cannot be written as TOML: '{controller.name}' is given by a law in Python, and a file holds "
            "formulas only. Write the law as a formula, or leave the load out."
        )
    try:
        text = "\n".join(_blocks(model))
        loads_toml(text, "what would be written")
    except InputError as error:
        raise InputError(f"model '{model.name}' cannot be written as TOML: {error}") from error
    return text


def write_toml(model: Elements, path: str | Path) -> None:
    """Write a model to a file, which appears only when it is complete.

    >>> import tempfile
    >>> from dalembert.model.model import Model
    >>> model = Model.from_energies("spring", coordinates=["x"], kinetic="dot(x)**2/2", potential="x**2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_toml(model, Path(folder) / "spring.toml")
    ...     loads_toml((Path(folder) / "spring.toml").read_text(encoding="utf-8")).name
    'spring'
    """
    write_text(Path(path), to_toml(model))


def _blocks(model: Elements) -> Iterator[str]:
    """The head, the tables and the elements, each as a block of lines."""
    yield "".join(f"# {line}\n" for note in model.notes for line in _comment(note)) + lines_of(head(model))
    for name, entries in sections(model):
        yield from _table(name, entries)
    for kind, element in elements(model):
        yield f"[[{kind}]]\n{lines_of(element)}"
    for name, entries in last_sections(model):
        yield from _table(name, entries)


def _comment(note: str) -> list[str]:
    """A note as lines that cannot be anything but comments."""
    return ["".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in note.splitlines()]


def _table(name: str, entries: Element) -> Iterator[str]:
    if entries:
        yield f"[{name}]\n{lines_of(entries)}"


def lines_of(entries: Element) -> str:
    """The entries of a table, a line for each that says something.

    >>> print(lines_of({"name": "arm", "a": 0.4, "parent": None}), end="")
    name = "arm"
    a = 0.4
    """
    return "".join(f"{key} = {_several(value)}\n" for key, value in given(entries).items())


def _several(value: Value) -> str:
    """A value at the end of a line; what has many parts goes on below."""
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], list | dict):
        return "[\n" + "".join(f"  {_value(each)},\n" for each in value) + "]"
    return _value(value)


def _value(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Mapping():
            return f"{{ {', '.join(f'{key} = {_value(each)}' for key, each in value.items())} }}" if value else "{}"
        case Sequence():
            return f"[{', '.join(map(_value, value))}]"
        case Integral():
            return repr(int(value))
        case _:
            return repr(float(value))
