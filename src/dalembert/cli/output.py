"""What the commands print: text, tables and notes for people, one JSON document for programs, a sentence when all went wrong."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType


PIPE_WIDTH = 160
_PAUSE = 0.1  # seconds between two looks at the fraction


class _Console(Console):
    """A console that leaves a closed pipe to the program."""

    def on_broken_pipe(self) -> NoReturn:
        """Say so, instead of ending the process."""
        raise BrokenPipeError


def result(as_json: bool, data: object, *parts: RenderableType) -> None:
    """Print a result: one JSON document for programs, text and tables for people."""
    if as_json:
        text(to_json(data))
    else:
        show(*parts)


def show(*parts: RenderableType, width: int | None = None) -> None:
    """Print text and tables for people; nothing in them is taken for markup."""
    fixed = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = _Console(markup=False, emoji=False, highlight=False, width=None if fixed else PIPE_WIDTH)
    if width is not None and console.width > width:
        console.width = width
    for part in parts:
        if isinstance(part, Table):
            _show_table(console, part)
        else:
            console.print(part)


def _show_table(console: Console, part: Table) -> None:
    """Print a table and an empty line; on a narrow terminal with narrow gaps, but never with numbers cut to pieces."""
    endless = console.options.update(max_width=10_000)
    # a grid has nothing but its padding between columns, and its values wrap
    if part.box is not None and console.measure(part, options=endless).maximum > console.width:
        part.padding = 0
    part.min_width = console.measure(part, options=endless).minimum
    width, console.width = console.width, max(console.width, part.min_width)
    console.print(part)
    console.width = width
    console.print()


def text(body: str) -> None:
    """Print text as it is, however long its lines are."""
    print(body)


def can_show(body: str) -> bool:
    """Whether the encoding of the screen has all characters of a text."""
    try:
        body.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def note(sentence: str) -> None:
    """Say something beside the result, on stderr."""
    print(f"note: {sentence}", file=sys.stderr)


def written(*paths: Path, word: str = "written") -> None:
    """Say where files were written."""
    for path in paths:
        text(f"{word}: {path}")


def table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table; the first column stays in one piece, and the columns in `numbers` are set flush right."""
    right = set(numbers)
    made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        justify = "right" if name in right else "left"
        made.add_column(name, justify=justify, overflow="fold", no_wrap=i == 0 or name in right)
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
    ('0.000123', '12', '-')
    """
    return "-" if value is None else f"{value:.{digits}g}"


def small(value: float | None) -> str:
    """An error or a difference, and a dash for nothing.

    >>> small(9.5e-13)
    '9.50e-13'
    """
    return "-" if value is None else f"{value:.2e}"


def to_json(data: object) -> str:
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


def _plain(value: object) -> object:
    """The same data as dicts, lists, strings and finite numbers only."""
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
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
            text(to_json({"error": str(error), "kind": type(error).__name__, "problems": problems}))
            sys.stdout.flush()
    print(f"error: {_printable(str(error))}", file=sys.stderr)


def warn(notes: Iterable[str], of: str = "") -> None:
    """Say on stderr which checks of a run failed, and of which run where there are several."""
    from dalembert.api.run_checks import CHECK

    which = f"{of}: " if of else ""
    for note in notes:
        if note.startswith(CHECK):
            print(f"warning: {which}{_printable(note.removeprefix(CHECK))}.", file=sys.stderr)


def _printable(text: str) -> str:
    """Text without characters that play tricks on a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def forgive_encoding() -> None:
    """Let the standard streams replace what their encoding cannot write, and send what is closed nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # Python's sign for a stream that was closed from the beginning
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def bar(title: str) -> Iterator[Callable[[float], None]]:
    """A function that takes the fraction done and moves a bar on stderr."""
    if not sys.stderr.isatty():
        yield lambda fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # the bar is drawn by a thread of its own, rarely, so that it does not count in CPU times
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5) as progress:
        task = progress.add_task(title, total=None)
        last = time.monotonic()

        def advance(fraction: float) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _PAUSE or fraction >= 1:
                last = now
                progress.update(task, total=1.0, completed=fraction)

        yield advance
