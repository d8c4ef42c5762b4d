"""The model that a tab works on, from its text."""

from __future__ import annotations

from functools import lru_cache

from dalembert.io.file_formats import loads
from dalembert.mechanics.assembly import assembled
from dalembert.model.description import Description
from dalembert.model.model import Model
from dalembert.studio.payload import Given

_SOURCE = "the model"


def model_of(given: Given) -> Model:
    """The model of the text that was given, closed where the file asks for that."""
    model = loads(given.text("text"), _SOURCE)
    return assembled(model) if model.assemble_start else model


@lru_cache(maxsize=8)
def _description(text: str) -> Description:
    return model_of(Given({"text": text})).description


def description_of(given: Given) -> Description:
    """The description of the text that was given; the last ones are kept."""
    return _description(given.text("text"))
