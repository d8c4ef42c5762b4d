"""The web viewer as it is built from `viewer/`: one script and one style sheet, to be put into a page."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from dalembert.errors import InputError


class Bundle(NamedTuple):
    """What a page needs besides its data."""

    script: str
    style: str


def bundle() -> Bundle:
    """The built viewer.

    >>> "dalembert" in bundle().script
    True
    """
    folder = files(__name__)
    try:
        return Bundle(*((folder / name).read_text("utf-8") for name in ("viewer.js", "viewer.css")))
    except FileNotFoundError as error:
        raise InputError(
            f"the viewer is not built: {error.filename} is missing. Expected it in the package, where `pip install` puts it."
            " In a tree of sources run `pip install -e .` or `python viewer/build.py`."
        ) from error
