"""One JSON document for programs, and a sentence when something is wrong."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def show(data: Any) -> None:
    """Print one JSON document."""
    print(to_json(data))


def to_json(data: Any) -> str:
    """Plain data as JSON that every reader accepts.

    >>> print(to_json({"x": float("nan"), "y": (1, 2.5)}))
    {
      "x": null,
      "y": [
        1,
        2.5
      ]
    }
    """
    return json.dumps(_plain(data), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """The same data of dicts, lists, texts and finite numbers only."""
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def failure(error: BaseException, *, as_json: bool) -> None:
    """Say on stderr what went wrong, and with `as_json` also as a document on stdout."""
    problems = [vars(problem) for problem in getattr(error, "problems", ())]
    with suppress(OSError):  # stdout may be what failed; the sentence on stderr is left
        if as_json:
            show({"error": str(error), "kind": type(error).__name__, "problems": problems})
            sys.stdout.flush()
    print(f"error: {_printable(str(error))}", file=sys.stderr)


def _printable(text: str) -> str:
    """Text without characters that play tricks on a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
