"""A progress bar on a terminal, and nothing on a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PAUSE = 0.1  # seconds between two looks at the fraction


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
