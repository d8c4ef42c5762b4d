"""Processes that work for tabs: each runs one task at a time, can be ended at any moment, and takes nothing else with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dalembert.studio import worker

Tell = Callable[[dict[str, Any]], None]


class WorkLost(Exception):
    """A task that came to no end: its time was over, or its process died."""


class Worker:
    """One process and the pipe to it."""

    def __init__(self, folder: Path, memory: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=worker.work, args=(theirs, str(folder), memory), daemon=True)
        self._process.start()
        theirs.close()
        self.tab = ""  # whose models its store holds

    @property
    def alive(self) -> bool:
        """Whether it can take a task."""
        return self._process.is_alive()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid or 0

    async def ask(self, task: str, values: object, tell: Tell) -> bytes:
        """The answer to a task, as JSON; words of progress go to `tell`."""
        await asyncio.to_thread(self._pipe.send_bytes, json.dumps([task, values]).encode())
        while True:
            said = await asyncio.to_thread(_received, self._pipe)
            if said is None:
                self._process.join(1)
                raise WorkLost(f"the process that worked on this has ended with code {self._process.exitcode}")
            if said == b"ready":
                continue
            if said.startswith(b'{"progress"'):
                tell(json.loads(said))
                continue
            return said

    def end(self) -> None:
        """Ends the process at once."""
        self._process.kill()  # which closes the other end, so that who listens hears of it
        self._process.join(5)


def _received(pipe: Connection) -> bytes | None:
    try:
        return pipe.recv_bytes()
    except (EOFError, OSError):
        return None


class Workers:
    """A few workers; who asks gets the one that knows the tab, or any that is free."""

    def __init__(self, folder: Path, count: int, seconds: float, memory: int) -> None:
        self._folder, self._seconds, self._memory = folder, seconds, memory
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._room = asyncio.Semaphore(count)
        self._count = count

    def start(self) -> None:
        """All processes, before the first task comes."""
        while len(self._idle) + len(self._busy) < self._count:
            self._idle.append(Worker(self._folder, self._memory))

    @property
    def pids(self) -> list[int]:
        """The numbers of all processes."""
        return [each.pid for each in (*self._idle, *self._busy)]

    async def ask(self, tab: str, task: str, values: object, tell: Tell) -> bytes:
        """The answer to a task; a worker whose task is cancelled, too long or lost is replaced by a new one."""
        async with self._room:
            chosen = self._taken(tab)
            done = False
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await chosen.ask(task, values, tell)
                done = True
                return answer
            except TimeoutError:
                raise WorkLost(f"this took longer than {self._seconds:g} s and was ended") from None
            finally:
                self._busy.discard(chosen)
                if not done:
                    chosen.end()
                    chosen = Worker(self._folder, self._memory)
                self._idle.append(chosen)

    def _taken(self, tab: str) -> Worker:
        for gone in [each for each in self._idle if not each.alive]:
            self._idle.remove(gone)
            gone.end()
        self.start()
        chosen = next((each for each in self._idle if each.tab == tab), None)
        chosen = chosen or next((each for each in self._idle if not each.tab), self._idle[0])
        self._idle.remove(chosen)
        self._busy.add(chosen)
        chosen.tab = tab
        return chosen

    def end(self) -> None:
        """Ends all processes."""
        for each in (*self._idle, *self._busy):
            with contextlib.suppress(OSError):
                each.end()
        self._idle.clear()
        self._busy.clear()
