"""The web viewer, built from `viewer/`: one script and one style sheet to embed in a page, and the math font."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from dalembert.errors import InputError

_FILES = {
    "viewer.js": "</script",
    "viewer.css": "</style",
    "math.css": "</style",
}  # files and the strings that would end their elements in a page
_BUILD_HINT = "Build it once: pip install -e . in the source tree, or python viewer/build.py."


class Bundle(NamedTuple):
    """Script and style sheet of a page."""

    script: str
    style: str


def is_built() -> bool:
    """True if the viewer is built; in a source tree only after the build step."""
    return all((files(__name__) / name).is_file() for name in _FILES)


def bundle() -> Bundle:
    """Return the built viewer.

    >>> "dalembert" in bundle().script
    True
    """
    return Bundle(_text("viewer.js"), _text("viewer.css") + math_style())


def math_style() -> str:
    """Return the style sheet of equations: a math font as data, and the rule that MathML uses it.

    A page that contains it must allow fonts as data (`font-src data:`) in its content security policy.

    >>> math_style().count("@font-face")
    1
    """
    return _text("math.css")


def _text(name: str) -> str:
    file = files(__name__) / name
    if not file.is_file():
        raise InputError(f"the viewer of this installation is not built: {name} is missing. {_BUILD_HINT}")
    text = file.read_text("utf-8")
    if found := [word for word in (_FILES[name], "<!--") if word in text.lower()]:
        raise InputError(
            f"the viewer of this installation cannot be embedded in a page: {name} contains '{found[0]}'. {_BUILD_HINT}"
        )
    return text


def studio_file(name: str) -> str:
    """Return the script or the style sheet of the studio page, built from the same sources."""
    file = files(__name__) / name
    if not file.is_file():
        raise InputError(f"the studio of this installation is not built: {name} is missing. {_BUILD_HINT}")
    return file.read_text("utf-8")
