"""From a text to what a page shows of it: problems, or what was understood and a scene to be moved by hand."""

from __future__ import annotations

from typing import Any

from dalembert import gallery as examples
from dalembert.errors import DalembertError, ModelError
from dalembert.exporters import to_toml
from dalembert.show.scene import scene_of
from dalembert.studio.folder import Folder
from dalembert.studio.given import Given, Tell
from dalembert.studio.tasks.models import model_of
from dalembert.studio.worker import told


def gallery(given: Given, folder: Folder, tell: Tell) -> dict[str, Any]:
    """All examples with their titles."""
    return {"examples": [{"name": name, "title": _title(name)} for name in examples.names()]}


def _title(name: str) -> str:
    return examples.story(name).splitlines()[0].lstrip("# ")


def example(given: Given, folder: Folder, tell: Tell) -> dict[str, Any]:
    """An example as text of a model file, with its story."""
    name = given.choice("name", examples.names())
    place = examples.path(name) / "model.toml"
    text = place.read_text("utf-8") if place.is_file() else to_toml(examples.load(name))
    return {"text": text, "story": examples.story(name)}


def describe(given: Given, folder: Folder | None, tell: Tell) -> dict[str, Any]:
    """What is wrong with a text, or parameters, coordinates and the scene of its model."""
    try:
        model = model_of(given)
        problems = model.check()
    except ModelError as error:
        return {"problems": told(error)["problems"] or [{"path": "the model", "fact": str(error), "advice": ""}]}
    found: dict[str, Any] = {
        "problems": [{"path": p.path, "fact": p.fact, "advice": p.advice} for p in problems],
        "name": model.name,
        "parameters": [
            {"name": each.name, "value": each.value, "unit": each.unit, "text": each.description}
            for each in model.parameter_list
        ],
        "duration": model.duration,
        "scene": None,
    }
    if model.bodies and not any(problem.blocking for problem in problems):
        try:
            found["scene"] = scene_of(model.description).to_dict()
        except DalembertError as error:
            found["problems"].append({"path": "the scene", "fact": str(error), "advice": ""})
    return found
