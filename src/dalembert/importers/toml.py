"""Model files in TOML: `docs/model-files.md` is their reference, `schema` their format, and this the way to a model.

A file is read with suspicion: its size, the number of its elements and the size of each formula are bounded, and
nothing in it is ever evaluated as code. Everything that is wrong with it is reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dalembert.errors import InputError, ModelFileError, Problem, nearest
from dalembert.importers import schema
from dalembert.importers.source import read_text, tables
from dalembert.model import Model
from dalembert.model.keys import MAX_ELEMENTS, attempt, quote, wrong

MAX_PROBLEMS = 100


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
    data = tables(text, source)
    builder = _Builder(_begin(data))
    with suppress(_Enough):
        builder.head(data)
        builder.build(data)
    builder.require_sound(source)
    return builder.model


def add_sections(
    model: Model, data: Mapping[str, Any], source: str = "<text>", sections: Collection[str] | None = None
) -> Model:
    """Add the sections of a file to a model that something else has begun, and return it.

    `data` holds the tables as a TOML reader gives them, `source` is what messages call the file. With `sections` only these
    are read: declare `("parameters", "coordinates")` first, build bodies with them, and then add the rest. Without it
    everything is read, and a section that does not exist is an error, so take out your own before. The head of a file
    (name, description, gravity) is checked, but the model keeps its own. All problems are raised at once, as a
    `ModelFileError`.

    >>> model = Model("robot")
    >>> _ = add_sections(model, {"coordinates": {"q": {"start": 0.5}}})
    >>> _ = model.body("link", joint=model.revolute((0, 0, 1), "q"), mass=1)
    >>> add_sections(model, {"joint_spring": [{"body": "link", "stiffness": 3}]}).loads[0].name
    'joint_spring1'
    """
    builder = _Builder(model)
    with suppress(_Enough):
        builder.build({key: value for key, value in data.items() if sections is None or key in sections})
    builder.require_sound(source)
    return builder.model


def _begin(data: dict[str, Any]) -> Model:
    """An empty model with what the head of the file says, as far as it is sound."""
    name, about, gravity = data.get("name"), data.get("description"), data.get("gravity")
    return Model(
        name if isinstance(name, str) else "model",
        gravity if isinstance(gravity, list) and len(gravity) == 3 else (0, 0, 0),
        about if isinstance(about, str) else "",
    )


def problems_failure(source: str, found: list[Problem]) -> ModelFileError:
    """One error that lists all problems."""
    shown = found[:MAX_PROBLEMS]
    count = "1 problem" if len(found) == 1 else f"{len(shown)} problems"
    more = "\n  - and more; correct these first." if len(found) > MAX_PROBLEMS else ""
    lines = "\n".join(f"  - {problem}" for problem in shown)
    return ModelFileError(f"{source} has {count}:\n{lines}{more}", shown)


class _Enough(Exception):
    """There are more problems than anybody reads at once."""


class _Builder:
    """Adds the elements of a file to a model, one after the other, and keeps the problems of each."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.found: list[Problem] = []

    def note(self, problems: Iterable[Problem]) -> bool:
        """Keep the problems; true if there were none."""
        before = len(self.found)
        for problem in problems:
            self.found.append(problem)
            if len(self.found) > MAX_PROBLEMS:
                raise _Enough
        return len(self.found) == before

    def require_sound(self, source: str) -> None:
        """Raise all problems, if there are any."""
        if self.found:
            raise problems_failure(source, self.found)

    def head(self, data: dict[str, Any]) -> None:
        """A file needs a name."""
        if "name" not in data:
            self.note([Problem("model file", "the key 'name' is missing.", 'Add a line name = "..." at the top.')])

    def build(self, data: dict[str, Any]) -> None:
        """Add everything, names before the formulas that use them."""
        for section in data:
            if section not in schema.sections():
                advice = nearest(section[: schema.MAX_NAME], schema.sections())
                self.note([Problem("model file", f"there is no key or section {quote(section)}.", advice)])
        if "name" in data:
            self.note(schema.name(data["name"], "name", self.model))
        self.note(schema.text(data.get("description", ""), "description", self.model))
        if "published" in data and self.note(schema.switch(data["published"], "published", self.model)):
            self.model.published = data["published"]
        self._each("parameters", data, self._parameter)
        self._each("coordinates", data, self._coordinate)
        if "gravity" in data:
            self.note(schema.GRAVITY(data["gravity"], "gravity", self.model))
        for kind, keys in schema.elements().items():
            self._elements(kind, keys, data)
        self._each("speeds", data, self._speed)
        self._once("energies", data, schema.ENERGIES, self.model.set_energies)
        if "non_ideal" in data and self.note(schema.forces(data["non_ideal"], "non_ideal", self.model)):
            self.note(attempt("non_ideal", lambda: self.model.non_ideal(data["non_ideal"])))
        self._each("limits", data, self._limit)
        self._once("simulation", data, schema.SIMULATION, self.model.simulation)

    def _each(self, section: str, data: dict[str, Any], add: Callable[[str, Any], None]) -> None:
        """The named entries of a section such as [parameters]."""
        given = data.get(section, {})
        if not isinstance(given, dict):
            self.note([wrong(section, f"a table: the header [{section}] and a line for each", given)])
        elif self._few(section, len(given)):
            for name, entry in given.items():
                add(name, entry)

    def _elements(self, kind: str, keys: schema.Keys, data: dict[str, Any]) -> None:
        """The elements written as [[kind]]."""
        given = data.get(kind, [])
        if not isinstance(given, list):
            advice = f"Write its header with double brackets: [[{kind}]]."
            self.note([Problem(kind, "this is not an array of elements.", advice)])
        elif self._few(kind, len(given)):
            for place, entry in enumerate(given):
                self._element(kind, keys, entry, _title(kind, entry, place))

    def _few(self, kind: str, count: int) -> bool:
        if count <= MAX_ELEMENTS:
            return True
        advice = f"Expected at most {MAX_ELEMENTS} in one file."
        return self.note([Problem(kind, f"the file has {count} of them.", advice)])

    def _element(self, kind: str, keys: schema.Keys, given: Any, where: str) -> None:
        if not self.note(schema.table(given, keys, where, self.model)):
            return
        values = dict(given)
        if kind == "body":
            values["joint"] = self._joints(given["joint"], where)
        elif kind == "loop":
            values["joint"] = schema.make_loop_joint(given["joint"], f"{where}, joint", self.model)
        formula = [values.pop("formula")] if "formula" in values else []
        self.note(attempt(where, lambda: getattr(self.model, kind)(*formula, **values)))

    def _joints(self, given: Any, where: str) -> list[Any]:
        sequence = given if isinstance(given, list) else [given]
        return [schema.make_joint(each, f"{where}, joint", self.model) for each in sequence]

    def _parameter(self, name: str, given: Any) -> None:
        where = f"parameter {quote(name)}"
        entry = given if isinstance(given, dict) else {"value": given}
        self._declare(where, entry, schema.PARAMETER, self.model.parameter, name, {"value": 1.0})

    def _coordinate(self, name: str, given: Any) -> None:
        where = f"coordinate {quote(name)}"
        self._declare(where, given, schema.COORDINATE, self.model.coordinate, name, {})

    def _declare(
        self, where: str, given: Any, keys: schema.Keys, add: Callable[..., Model], name: str, neutral: dict[str, Any]
    ) -> None:
        """Add a parameter or coordinate; one without a sound value is still known to the formulas that use it."""
        if self.note(schema.table(given, keys, where, self.model)):
            values = {"start_rate" if key == "rate" else key: value for key, value in given.items()}
            if self.note(attempt(where, lambda: add(name, **values))):
                return
            with suppress(InputError):
                add(name, **neutral)
        else:
            self.note(attempt(where, lambda: add(name, **neutral)))

    def _limit(self, name: str, given: Any) -> None:
        where = f"limit of {quote(name)}"
        if self.note(schema.table(given, schema.LIMITS, where, self.model)):
            self.note(attempt(where, lambda: self.model.limit(name, **given)))

    def _speed(self, name: str, given: Any) -> None:
        where = f"speed {quote(name)}"
        entry = given if isinstance(given, dict) else {"formula": given}
        if self.note(schema.table(entry, schema.SPEED, where, self.model)):
            about = entry.get("description", "")
            self.note(attempt(where, lambda: self.model.speed(entry["formula"], name, about)))

    def _once(self, section: str, data: dict[str, Any], keys: schema.Keys, add: Callable[..., Any]) -> None:
        """A section that is one element."""
        if section in data and self.note(schema.table(data[section], keys, section, self.model)):
            self.note(attempt(section, lambda: add(**data[section])))


def _title(kind: str, given: Any, place: int) -> str:
    """What messages call an element: its name, or its place in the file if it has none."""
    name = given.get("name") if isinstance(given, dict) else None
    return f"{kind} {quote(name)}" if isinstance(name, str) and name else f"{kind} number {place + 1}"
