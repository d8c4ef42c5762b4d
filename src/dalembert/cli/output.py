"""What the commands print: tables for people, one JSON document for programs, a sentence when something is wrong."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPE_WIDTH = 160


class _Console(Console):
    """A console that leaves a closed pipe to the program."""

    def on_broken_pipe(self) -> NoReturn:
        """Say so, instead of ending the process."""
        raise BrokenPipeError


def show(*parts: RenderableType, width: int | None = None) -> None:
    """Print text and tables for people; nothing in them is taken for markup."""
    fixed = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = _Console(markup=False, emoji=False, highlight=False, width=None if fixed else PIPE_WIDTH)
    if width is not None and console.width > width:
        console.width = width
    for part in parts:
        console.print(part)


def table(*columns: str, title: str = "", numbers: Iterable[str] = ()) -> Table:
    """An empty table; the columns in `numbers` are set flush right."""
    right = set(numbers)
    made = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False)
    for name in columns:
        if name in right:
            made.add_column(name, justify="right", no_wrap=True)
        else:
            made.add_column(name, overflow="fold")
    return made


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Names and values below each other."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        made.add_row(name, value)
    return made


def number(value: float | None, digits: int = 3) -> str:
    """A number as people read it, and a dash for nothing.

    >>> number(0.00012345), number(12), number(None)
    ('0.000123', '12', '–')
    """
    return "–" if value is None else f"{value:.{digits}g}"


def small(value: float | None) -> str:
    """An error or a difference, and a dash for nothing.

    >>> small(9.5e-13)
    '9.50e-13'
    """
    return "–" if value is None else f"{value:.2e}"


def document(data: Any) -> None:
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


def failure(error: BaseException, *, json: bool) -> None:
    """Say on stderr what went wrong, and with `json` also as a document on stdout."""
    problems = [vars(problem) for problem in getattr(error, "problems", ())]
    if json:
        document({"error": str(error), "kind": type(error).__name__, "problems": problems})
        sys.stdout.flush()
    print(f"error: {_printable(str(error))}", file=sys.stderr)


def _printable(text: str) -> str:
    """Text without characters that play tricks on a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def forgive_encoding() -> None:
    """Let the standard streams replace what their encoding cannot write."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
