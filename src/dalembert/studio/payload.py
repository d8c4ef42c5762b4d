"""Validation of the JSON arguments that a tab sends with a task."""

from __future__ import annotations

import math
import reprlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dalembert.errors import InputError, suggest_name

ReportProgress = Callable[..., None]  # called with the completed fraction, from 0 to 1, and optionally a message
Answer = dict[str, Any]  # result of a task, sent as JSON
Toml = Mapping[str, Any]  # as returned by tomllib
MAX_STRING = 2_000_000  # characters
MAX_ITEMS = 10_000
MAX_NAME = 200  # characters


class Payload:
    """Named arguments; every getter validates its value and raises `InputError`.

    >>> payload = Payload({"duration": 2, "name": "arm"})
    >>> payload.number("duration", minimum=0), payload.string("name")
    (2.0, 'arm')
    >>> payload.number("name")
    Traceback (most recent call last):
    dalembert.errors.InputError: studio, name: got 'arm'. Expected a number.
    """

    def __init__(self, values: object) -> None:
        if not isinstance(values, dict):
            raise InputError(f"studio: got {_short_repr(values)}. Expected an object with named values.")
        self._values: Toml = values

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def _wrong(self, name: str, expected: str) -> InputError:
        return InputError(f"studio, {name}: got {_short_repr(self._values.get(name))}. Expected {expected}.")

    def string(self, name: str, default: str | None = None, *, max_length: int = MAX_STRING) -> str:
        """Return a string of bounded length."""
        if name not in self and default is not None:
            return default
        value = self._values.get(name)
        if not isinstance(value, str) or len(value) > max_length or not _is_unicode(value):
            raise self._wrong(name, f"a string of at most {max_length} characters")
        return value

    def choice(self, name: str, known: Collection[str], default: str | None = None) -> str:
        """Return one of the known strings."""
        value = self.string(name, default, max_length=200)
        if value not in known:
            raise InputError(f"studio, {name}: got '{value}'. {suggest_name(value, known)}")
        return value

    def number(
        self, name: str, default: float | None = None, *, minimum: float = -math.inf, maximum: float = math.inf
    ) -> float:
        """Return a finite number within bounds."""
        if name not in self and default is not None:
            return default
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            raise self._wrong(name, "a number")
        if not minimum <= value <= maximum:
            raise self._wrong(name, f"a number from {minimum:g} to {maximum:g}")
        return float(value)

    def integer(self, name: str, default: int | None = None, *, minimum: int = 0, maximum: int = MAX_ITEMS) -> int:
        """Return an integer within bounds."""
        value = self.number(name, default, minimum=minimum, maximum=maximum)
        if value != int(value):
            raise self._wrong(name, "an integer")
        return int(value)

    def boolean(self, name: str, default: bool = False) -> bool:
        """Return a Boolean."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def numbers(self, name: str) -> dict[str, float]:
        """Return numbers by name; empty if missing."""
        value = self._values.get(name) or {}
        if not isinstance(value, dict) or len(value) > MAX_ITEMS:
            raise self._wrong(name, "numbers by name")
        if any(len(key) > MAX_NAME or not _is_unicode(key) for key in value):
            raise self._wrong(name, f"numbers by names of at most {MAX_NAME} characters")
        inner = Payload(value)
        return {key: inner.number(key) for key in value}

    def items(self, name: str) -> list[Any]:
        """Return a list of bounded length; empty if missing."""
        value = self._values.get(name) or []
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise self._wrong(name, f"a list of at most {MAX_ITEMS} items")
        return value

    def rows(self, name: str) -> list[Payload]:
        """Return a list of objects."""
        return [Payload(each) for each in self.items(name)]

    def choices(self, name: str, known: Collection[str]) -> list[str]:
        """Return a list of known strings."""
        return [Payload({name: each}).choice(name, known) for each in self.items(name)]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _short_repr(value: object) -> str:
    short = reprlib.Repr()  # limits the depth
    short.maxlevel, short.maxdict, short.maxlist, short.maxstring, short.maxlong = 2, 3, 3, 60, 60
    return short.repr(value)
