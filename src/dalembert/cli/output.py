"""What the commands print: text, tables and notes for people, one JSON document for programs, a sentence when all went wrong."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dalembert.display import dataset
from dalembert.display.plots import plot
from dalembert.errors import InputError
from dalembert.io.files import either

if TYPE_CHECKING:
    from rich.console import RenderableType


PIPE_WIDTH = 160
_PAUSE = 0.1  # seconds between two looks at the fraction
TABLES, PICTURES = tuple(sorted(dataset.FORMATS)), plot.FORMATS


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


def target(path: str, option: str, suffixes: Sequence[str] = ()) -> Path:
    """The path of a file that can be written, with one of the suffixes; raises before any work is done."""
    out = Path(path)
    _require_usable(path, option)
    if out.is_dir():
        raise InputError(f"{option} {path}: this is a directory. Expected the name of a file.")
    if suffixes and out.suffix.lower() not in suffixes:
        got = f"it ends in '{out.suffix}'" if out.suffix else "it has no ending"
        raise InputError(f"{option} {path}: {got}. Expected a file name that ends in {either(suffixes)}.")
    if out.exists() and not os.access(out, os.W_OK):
        raise InputError(
            f"{option} {path}: the file cannot be written. Choose another name, or change its permissions."
        )
    _require_folder(out.parent, f"{option} {path}")
    return out


def folder(path: str, option: str) -> Path:
    """The path of a directory that exists or can be made; raises before any work is done."""
    _require_usable(path, option)
    _require_folder(Path(path), f"{option} {path}")
    return Path(path)


def _require_usable(path: str, option: str) -> None:
    """Raise for a name that no file can have."""
    reason = "it contains NUL" if "\0" in path else ""
    try:
        Path(path).exists()
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise InputError(f"{option} {path}: not a usable name ({reason}). Choose another one.")


def _require_folder(there: Path, where: str) -> None:
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{where}: '{there}' is not a directory. Choose another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(
            f"{where}: the directory '{there}' cannot be written. Choose another place, or change its permissions."
        )


def picture(path: str, option: str, name: str) -> Path:
    """The path of a picture: the one given, or `name`.png in the directory given (a path without an ending)."""
    _require_usable(path, option)
    if Path(path).is_dir() or not Path(path).suffix:
        path = str(Path(path) / f"{file_name(name)}.png")
    return target(path, option, PICTURES)


def pictures(path: str, option: str, name: str) -> Path:
    """Where several figures go: a directory, or one picture for all of them."""
    suffix = Path(path).suffix.lower()
    if not suffix:
        return folder(path, option)
    # a directory with a point in its name would be taken for a file
    return target(path if suffix in PICTURES else f"{path}/{file_name(name)}.png", option, PICTURES)


def file_name(name: str) -> str:
    """The name of a model as the name of a file, without anything that could lead elsewhere.

    >>> file_name("../my model")
    'my-model'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
