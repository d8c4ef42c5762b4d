"""What a studio begins with: the text of a model from the gallery or from a file, and what is understood of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalembert.api import load
from dalembert.errors import DalembertError, InputError
from dalembert.io import gallery
from dalembert.io.toml_source import read_text
from dalembert.io.toml_writer import to_toml
from dalembert.studio.folder import Folder
from dalembert.studio.payload import MAX_TEXT
from dalembert.studio.task_process import told
from dalembert.studio.tasks import TASKS

DEFAULT = "four-bar"


def opened(model: str, folder: Folder) -> dict[str, Any]:
    """Text and description for the first picture; raises where there is no such model, or its file is broken.

    A model file may still have problems: the page shows them beside its text.
    """
    text = _text(model or DEFAULT, folder)
    if len(text) > MAX_TEXT:
        raise InputError(f"{model}: the model has {len(text)} characters. Expected at most {MAX_TEXT}.")
    try:
        described = TASKS["describe"].work({"text": text}, folder, _silent)
    except DalembertError as error:
        described = {"problems": [{"path": "the model", "fact": told(error)["text"], "advice": ""}]}
    return {"text": text, "described": described}


def _text(model: str, folder: Folder) -> str:
    """The text of a model; a file in another format becomes one in ours."""
    if model in gallery.names():
        return TASKS["example"].work({"name": model}, folder, _silent)["text"]
    if Path(model).suffix.lower() == ".toml":
        return read_text(model, MAX_TEXT)
    return to_toml(load.load(model))


def _silent(share: float, words: str = "") -> None:
    """Nobody is told."""
