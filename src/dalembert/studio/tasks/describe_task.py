"""From a text to what a page shows of it: problems at their lines, what forms show, and a scene to be moved by hand."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.display.scene.scene_builder import scene_of
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.io.file_formats import READERS, read
from dalembert.io.toml_source import read_text
from dalembert.io.toml_writer import to_toml
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer, Given, Tell
from dalembert.studio.tasks.forms import outline
from dalembert.studio.tasks.message_lines import Text
from dalembert.studio.tasks.tab_model import model_of


def describe(given: Given, folder: Folder | None, tell: Tell) -> Answer:
    """What is wrong with a text and where, what it says for each key, and parameters, coordinates and the scene of its model."""
    text = given.text("text")
    try:
        model = model_of(given)
        problems, scene = list(model.check()), None
    except ModelError as error:
        wrong = error.problems or [Problem("the model", str(error))]
        return {"outline": outline(text), "problems": located(wrong, text)}
    shown = located(problems, text)
    if model.bodies and not any(problem.blocking for problem in problems):
        try:
            scene = scene_of(model.description).to_dict()
        except DalembertError as error:
            shown += located([Problem("the scene", str(error))], text)
    return {
        "outline": outline(text),
        "problems": shown,
        "name": model.name,
        "parameters": [
            {"name": each.name, "value": each.value, "unit": each.unit, "text": each.description}
            for each in model.declared_parameters
        ],
        "duration": model.duration,
        "scene": scene,
    }


def located(problems: Sequence[Problem], text: str) -> list[Answer]:
    """Problems with the lines and places they are about, those of the first lines first."""
    known = Text.of(text)
    spots = [(*known.spot(problem), problem) for problem in problems]
    return [
        {"path": p.path, "fact": p.fact, "advice": p.advice, "blocking": p.blocking, "line": line, "place": list(place)}
        for line, place, p in sorted(spots, key=lambda spot: spot[0] or 0)
    ]


def taken_in(given: Given, folder: Folder, tell: Tell) -> Answer:
    """A file that came from the page as the text of a model file, with what the reader had to say.

    A file in TOML stays as it is, right or wrong: the page shows its problems at their lines.
    """
    key = given.text("key", most=40)
    name, path = folder.upload(key)
    suffix = path.suffix.lower()
    if suffix not in READERS:
        known = ", ".join(READERS)
        raise ModelError(f"{name}: a file that ends in '{suffix}' cannot be read. Expected one of {known}.")
    if suffix == ".toml":
        return {"text": read_text(path), "notes": [], "name": name}
    try:
        model = read(path)
    except ModelError as error:
        raise ModelError(_own_words(str(error), str(path), name), error.problems) from None
    model.name = model.name.removeprefix(f"{key}-")
    notes = [_own_words(note, str(path), name) for note in model.notes]
    model.notes = tuple(notes)
    return {"text": to_toml(model), "notes": notes, "name": name}


def _own_words(text: str, path: str, name: str) -> str:
    """A message that calls a file as its owner does."""
    return text.replace(path, name)
