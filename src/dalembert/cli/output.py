"""Output of the commands: text and tables or one JSON document on stdout, notes on stderr, and checked output paths.

The modules that know the formats are imported when they are needed: those of figures import Matplotlib.
"""

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

from dalembert.errors import InputError
from dalembert.io.files import join_alternatives

if TYPE_CHECKING:
    from rich.console import RenderableType


PIPE_WIDTH = 160
_UPDATE_SECONDS = 0.1  # minimum time between updates of the progress bar


class _Console(Console):
    """A console that raises on a broken pipe."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise instead of ending the process."""
        raise BrokenPipeError


def result(as_json: bool, data: object, *parts: RenderableType) -> None:
    """Print a result: one JSON document, or text and tables."""
    if as_json:
        print_text(to_json(data))
    else:
        show(*parts)


def show(*parts: RenderableType, width: int | None = None) -> None:
    """Print text and tables; markup in them is not interpreted."""
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
    """Print a table and an empty line, with less padding on a narrow terminal; numbers are never wrapped."""
    unlimited = console.options.update(max_width=10_000)
    # a grid has only padding between its columns, and its values wrap
    if part.box is not None and console.measure(part, options=unlimited).maximum > console.width:
        part.padding = 0
    part.min_width = console.measure(part, options=unlimited).minimum
    width, console.width = console.width, max(console.width, part.min_width)
    console.print(part)
    console.width = width
    console.print()


def print_text(body: str) -> None:
    """Print a string unchanged, without wrapping lines."""
    print(body)


def can_encode(body: str) -> bool:
    """True if the encoding of stdout has all characters of a string."""
    try:
        body.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def note(sentence: str) -> None:
    """Print a note on stderr."""
    print(f"note: {sentence}", file=sys.stderr)


def print_paths(*paths: Path) -> None:
    """Print the paths of written files."""
    for path in paths:
        print_text(f"written: {path}")


def table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table; the first column does not wrap, and the columns in `numbers` are right-aligned."""
    right = set(numbers)
    out = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        justify = "right" if name in right else "left"
        out.add_column(name, justify=justify, overflow="fold", no_wrap=i == 0 or name in right)
    return out


def key_value_table(pairs: Iterable[tuple[str, str]]) -> Table:
    """A list of names and values, one pair per row."""
    out = Table.grid(padding=(0, 2))
    out.add_column(style="dim", no_wrap=True)
    out.add_column(overflow="fold")
    for name, value in pairs:
        out.add_row(name, value)
    return out


def number(value: float | None, digits: int = 3) -> str:
    """Format a number; a dash for None.

    >>> number(0.00012345), number(12), number(None)
    ('0.000123', '12', '-')
    """
    return "-" if value is None else f"{value:.{digits}g}"


def format_error(value: float | None) -> str:
    """Format an error or a difference; a dash for None.

    >>> format_error(9.5e-13)
    '9.50e-13'
    """
    return "-" if value is None else f"{value:.2e}"


def to_json(data: object) -> str:
    """Serialize data as standard JSON; values that are not finite become null.

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
    """Convert data to dicts, lists, strings and finite numbers."""
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
    """Print an error on stderr, and with `as_json` also as a JSON document on stdout."""
    problems = [vars(problem) for problem in getattr(error, "problems", ())]
    with suppress(OSError):  # stdout itself may have failed; the message on stderr remains
        if as_json:
            print_text(to_json({"error": str(error), "kind": type(error).__name__, "problems": problems}))
            sys.stdout.flush()
    print(f"error: {_printable(str(error))}", file=sys.stderr)


def warn(notes: Iterable[str], of: str = "") -> None:
    """Print warnings on stderr for failed checks of a run; `of` names the run if there are several."""
    from dalembert.api.simulate import CHECK

    which = f"{of}: " if of else ""
    for note in notes:
        if note.startswith(CHECK):
            print(f"warning: {which}{_printable(note.removeprefix(CHECK))}.", file=sys.stderr)


def _printable(text: str) -> str:
    """Replace control characters, which could manipulate a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def make_streams_lenient() -> None:
    """Make the standard streams replace characters they cannot encode; closed streams become the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the stream was closed when Python started
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A function of the completed fraction that updates a progress bar on stderr."""
    if not sys.stderr.isatty():
        yield lambda fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # a separate thread draws the bar at a low rate, so that it does not affect CPU times
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5) as progress:
        task = progress.add_task(title, total=None)
        last = time.monotonic()

        def advance(fraction: float) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _UPDATE_SECONDS or fraction >= 1:
                last = now
                progress.update(task, total=1.0, completed=fraction)

        yield advance


def table_suffixes() -> tuple[str, ...]:
    """The suffixes of data files."""
    from dalembert.display import dataset

    return tuple(sorted(dataset.FORMATS))


def figure_suffixes() -> Sequence[str]:
    """The suffixes of figures."""
    from dalembert.display.plots import plot

    return plot.FORMATS


def output_file(path: str, option: str, suffixes: Sequence[str] = ()) -> Path:
    """The path of a writable file with one of the suffixes; raises if it is not."""
    out = Path(path)
    _require_usable(path, option)
    if out.is_dir():
        raise InputError(f"{option} {path}: this is a directory. Expected a file name.")
    if suffixes and out.suffix.lower() not in suffixes:
        got = f"unsupported suffix '{out.suffix}'" if out.suffix else "the suffix is missing"
        raise InputError(f"{option} {path}: {got}. Expected a file name that ends in {join_alternatives(suffixes)}.")
    if out.exists() and not os.access(out, os.W_OK):
        raise InputError(
            f"{option} {path}: the file is not writable. Choose another file name, or change its permissions."
        )
    _require_directory(out.parent, f"{option} {path}")
    return out


def output_directory(path: str, option: str) -> Path:
    """The path of a directory that exists or can be created; raises if it cannot."""
    _require_usable(path, option)
    _require_directory(Path(path), f"{option} {path}")
    return Path(path)


def _require_usable(path: str, option: str) -> None:
    """Raise for an invalid file name."""
    reason = "it contains NUL" if "\0" in path else ""
    try:
        Path(path).exists()
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise InputError(f"{option} {path}: invalid file name ({reason}). Choose another one.")


def _require_directory(path: Path, where: str) -> None:
    while not path.exists() and path != path.parent:
        path = path.parent
    if not path.is_dir():
        raise InputError(f"{where}: '{path}' is not a directory. Choose another directory.")
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(
            f"{where}: the directory '{path}' is not writable. Choose another directory, or change its permissions."
        )


def figure_path(path: str, option: str, name: str) -> Path:
    """The path of a figure: `path`, or `name`.png in it if it is a directory (a path without a suffix)."""
    _require_usable(path, option)
    if Path(path).is_dir() or not Path(path).suffix:
        path = str(Path(path) / f"{file_name(name)}.png")
    return output_file(path, option, figure_suffixes())


def figure_paths(path: str, option: str, name: str) -> Path:
    """The path of several figures: a directory, or one file for all of them."""
    suffix = Path(path).suffix.lower()
    if not suffix:
        return output_directory(path, option)
    # a path with another suffix is a directory whose name contains a dot
    known = figure_suffixes()
    return output_file(path if suffix in known else f"{path}/{file_name(name)}.png", option, known)


def file_name(name: str) -> str:
    """Convert the name of a model to a file name, without path separators.

    >>> file_name("../my model")
    'my-model'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
