"""Model files in TOML: `docs/model-files.md` is their reference, `schema` their format, and this the way to a model.

A file is read with suspicion: its size, the number of its elements and the size of each formula are bounded, and
nothing in it is ever evaluated as code. Everything that is wrong with it is reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from dalembert.errors import Problem, nearest
from dalembert.io import toml_schema
from dalembert.io.toml_source import Enough, Findings, Table, read_text, tables
from dalembert.model import keys
from dalembert.model.keys import MAX_ELEMENTS, Check, Keys, attempt, quote, wrong
from dalembert.model.model import Model
from dalembert.model.values import is_name, is_text


def read_toml(path: str | Path) -> Model:
    """The model described by a TOML file.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_toml("no-such-place/pendulum.toml")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    return loads_toml(read_text(path), str(path))


def loads_toml(text: str, source: str = "<text>") -> Model:
    """The model described by a text in TOML; `source` is what messages call it.

    >>> loads_toml('''
    ... name = "falling stone"
    ... gravity = [0, 0, -9.81]
    ... coordinates.z = { start = 10 }
    ... [[body]]
    ... name = "stone"
    ... mass = 1
    ... joint = { type = "prismatic", axis = [0, 0, 1], displacement = "z" }
    ... ''')
    <Model 'falling stone': 1 bodies, 1 coordinates, 0 constraints>
    """
    return from_sections(tables(text, source), source)


def from_sections(data: Table, source: str) -> Model:
    """The model described by the tables of a file, or one error with everything that is wrong."""
    builder = Builder(begin(data), source)
    with suppress(Enough):
        builder.require_name(data)
        builder.require_known(data)
        builder.build(data)
    builder.require_sound()
    return builder.model


def begin(data: Table) -> Model:
    """An empty model with what the head of the file says, as far as it is sound."""
    name, about, gravity = data.get("name"), data.get("description"), data.get("gravity")
    return Model(
        name if is_name(name) else "model",
        gravity if isinstance(gravity, list) and len(gravity) == 3 else (0, 0, 0),
        about if isinstance(about, str) and is_text(about) else "",
    )


def title(kind: str, given: object, place: int) -> str:
    """What messages call an element: its name, or its place in the file if it has none."""
    name = given.get("name") if isinstance(given, dict) else None
    return f"{kind} {quote(name)}" if isinstance(name, str) and name else f"{kind} number {place + 1}"


class Builder(Findings):
    """Adds the elements of a file to a model, one after the other, and keeps the problems of each."""

    def __init__(self, model: Model, source: str) -> None:
        super().__init__(source)
        self.model = model

    def require_name(self, data: Table) -> None:
        """A file needs a name."""
        if "name" not in data:
            self.note([Problem("model file", "the key 'name' is missing.", 'Add a line name = "..." at the top.')])

    def require_known(self, data: Table, own: Collection[str] = ()) -> None:
        """A file has no sections but those of model files and the `own` ones of its kind."""
        known = (*own, *toml_schema.sections())
        for section in data:
            if section not in known:
                advice = nearest(section[: keys.MAX_NAME], known)
                self.note([Problem("model file", f"there is no key or section {quote(section)}.", advice)])

    def build(self, data: Table) -> None:
        """Add everything, names before the formulas that use them."""
        model = self.model
        self._sound("name", data, keys.name)
        self._sound("description", data, keys.text)
        if self._sound("published", data, keys.switch):
            model.published = data["published"]
        self._each("parameters", data, self._parameter)
        self._each("coordinates", data, self._coordinate)
        self._sound("gravity", data, keys.fixed_vector)
        self._each("limits", data, self._limit)
        for kind, allowed in toml_schema.elements().items():
            self._elements(kind, allowed, data)
        self._each("speeds", data, self._speed)
        if "energies" in data:
            self._add("energies", data["energies"], toml_schema.ENERGIES, model.set_energies)
        if self._sound("non_ideal", data, toml_schema.forces):
            self.note(attempt("non_ideal", lambda: model.non_ideal(data["non_ideal"])))
        if "simulation" in data:
            self._add("simulation", data["simulation"], toml_schema.SIMULATION, model.simulation)

    def _sound(self, key: str, data: Table, check: Check) -> bool:
        """Whether a key is there and holds what it may."""
        return key in data and self.note(check(data[key], key, self.model))

    def _each(self, section: str, data: Table, add: Callable[[str, object], object]) -> None:
        """The named entries of a section such as [parameters]."""
        given = data.get(section, {})
        if not isinstance(given, dict):
            self.note([wrong(section, f"a table: the header [{section}] and a line for each", given)])
        elif self._few(section, len(given)):
            for name, entry in given.items():
                add(name, entry)

    def _elements(self, kind: str, allowed: Keys, data: Table) -> None:
        """The elements written as [[kind]]."""
        given = data.get(kind, [])
        if not isinstance(given, list):
            advice = f"Write its header with double brackets: [[{kind}]]."
            self.note([Problem(kind, "this is not an array of elements.", advice)])
        elif self._few(kind, len(given)):
            for place, entry in enumerate(given):
                where = title(kind, entry, place)
                self._add(where, entry, allowed, partial(self._element, kind, where))

    def _few(self, kind: str, count: int) -> bool:
        if count <= MAX_ELEMENTS:
            return True
        advice = f"Expected at most {MAX_ELEMENTS} in one file."
        return self.note([Problem(kind, f"the file has {count} of them.", advice)])

    def _add(self, where: str, given: object, allowed: Keys, add: Callable[..., object]) -> bool:
        """Add one element; true if its table and what it says are sound."""
        if not self.note(keys.table(given, allowed, where, self.model)) or not isinstance(given, dict):
            return False
        return self.note(attempt(where, lambda: add(**given)))

    def _element(self, kind: str, where: str, /, **values: Any) -> None:
        if kind == "body":
            sequence = values["joint"] if isinstance(values["joint"], list) else [values["joint"]]
            values["joint"] = [toml_schema.make_joint(each, f"{where}, joint", self.model) for each in sequence]
            if "solid" in values:
                parts = values["solid"] if isinstance(values["solid"], list) else [values["solid"]]
                values["solid"] = [self.model.solid(**part, where=f"{where}, solid") for part in parts]
        elif kind == "loop":
            values["joint"] = toml_schema.make_joint(values["joint"], f"{where}, joint", self.model, loop=True)
        formula = [values.pop("formula")] if "formula" in values else []
        getattr(self.model, kind)(*formula, **values)

    def _parameter(self, name: str, given: object) -> None:
        entry = given if isinstance(given, dict) else {"value": given}
        add = partial(self.model.parameter, name)
        self._declare(f"parameter {quote(name)}", entry, toml_schema.PARAMETER, add, value=1.0)

    def _coordinate(self, name: str, given: object) -> None:
        def add(rate: float | str = 0.0, **values: str) -> Model:
            return self.model.coordinate(name, start_rate=rate, **values)

        self._declare(f"coordinate {quote(name)}", given, toml_schema.COORDINATE, add)

    def _declare(self, where: str, given: object, allowed: Keys, add: Callable[..., Model], **neutral: float) -> None:
        """Add a parameter or coordinate; one without a sound value is still known to the formulas that use it."""
        if not self._add(where, given, allowed, add):
            again = attempt(where, lambda: add(**neutral))
            self.note(problem for problem in again if problem not in self.found)

    def _limit(self, name: str, given: object) -> None:
        self._add(f"limit of {quote(name)}", given, toml_schema.LIMITS, partial(self.model.limit, name))

    def _speed(self, name: str, given: object) -> None:
        entry = given if isinstance(given, dict) else {"formula": given}

        def add(formula: str, description: str = "") -> Model:
            return self.model.speed(formula, name, description)

        self._add(f"speed {quote(name)}", entry, toml_schema.SPEED, add)
