"""Names and descriptions of elements: what files can hold, and a terminal can show."""

from __future__ import annotations

import unicodedata
from typing import TypeGuard

from dalembert.arguments import shown
from dalembert.errors import InputError

MAX_NAME = 100  # characters


def is_name(value: object) -> TypeGuard[str]:
    """True for 1 to MAX_NAME printable characters.

    >>> is_name("left wheel/2"), is_name("a\\nb"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def is_text(value: str) -> bool:
    """True where there are no control characters besides line breaks and tabs, and no half of a surrogate pair."""
    return all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in value)


def require_name(name: object, what: str) -> None:
    """Refuse a name that no file can hold.

    >>> require_name("a\\nb", "model")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: model 'a\\nb': not a name. Expected 1 to 100 printable characters; choose another.
    """
    if not isinstance(name, str):
        raise InputError(f"{what}: the name is {shown(name)}. Expected a str.")
    if not is_name(name):
        shown_name = ascii(name) if len(name) <= MAX_NAME else f"{name[:20]!a}... of {len(name)} characters"
        expected = f"Expected 1 to {MAX_NAME} printable characters; choose another."
        raise InputError(f"{what} {shown_name}: not a name. {expected}")


def require_texts(element: object) -> None:
    """Refuse an element whose name, description or unit no file can hold."""
    what, name = type(element).__name__.lower(), getattr(element, "name", None)
    if isinstance(name, str):
        require_name(name, what)
    for key in ("description", "unit"):
        text = getattr(element, key, None)
        if isinstance(text, str) and not is_text(text):
            expected = "Expected text without control characters; line breaks and tabs are allowed."
            raise InputError(f"{what} '{name}', {key}: got {text[:60]!a}. {expected}")


def require_new_texts(elements: tuple[object, ...], known: tuple[object, ...]) -> None:
    """The same for elements behind the known ones, or for all where none was added."""
    for element in elements[len(known) :] or elements:
        require_texts(element)
