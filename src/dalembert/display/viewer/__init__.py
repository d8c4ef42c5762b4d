"""The web viewer as it is built from `viewer/`: one script and one style sheet, to be put into a page, and the math font."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from dalembert.errors import InputError

_FILES = {
    "viewer.js": "</script",
    "viewer.css": "</style",
    "math.css": "</style",
}  # and what would end their elements in a page
_HOW = "Build it once: pip install -e . in the source tree, or python viewer/build.py."


class Bundle(NamedTuple):
    """What a page needs besides its data."""

    script: str
    style: str


def is_built() -> bool:
    """Whether the viewer is there: a source tree has it only after its build step."""
    return all((files(__name__) / name).is_file() for name in _FILES)


def bundle() -> Bundle:
    """The built viewer.

    >>> "dalembert" in bundle().script
    True
    """
    return Bundle(_text("viewer.js"), _text("viewer.css") + math_style())


def math_style() -> str:
    """The style sheet of equations: a math font as data, and the rule that MathML uses it.

    A page that contains it has to allow fonts as data (`font-src data:`) in its content security policy.

    >>> math_style().count("@font-face")
    1
    """
    return _text("math.css")


def _text(name: str) -> str:
    place = files(__name__) / name
    if not place.is_file():
        raise InputError(f"the viewer of this installation is not built: {name} is missing. {_HOW}")
    text = place.read_text("utf-8")
    if found := [word for word in (_FILES[name], "<!--") if word in text.lower()]:
        raise InputError(
            f"the viewer of this installation cannot stand in a page: {name} contains '{found[0]}'. {_HOW}"
        )
    return text


def studio_file(name: str) -> str:
    """The script or the style sheet of the studio's page, built from the same sources."""
    place = files(__name__) / name
    if not place.is_file():
        raise InputError(f"the studio of this installation is not built: {name} is missing. {_HOW}")
    return place.read_text("utf-8")
