"""Processes that work for tabs: each runs one task at a time, can be ended at any moment, and takes nothing else with it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from dalembert.studio import task_process

Tell = Callable[[dict[str, object]], None]
TRIES = 3  # to find a process that begins with a task


# on Linux workers are copies of one process that has loaded everything, so that a new one is there at once
_CONTEXT = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")


if sys.platform == "linux":
    _CONTEXT.set_forkserver_preload([task_process.__name__, "dalembert.studio.tasks", "heyoka", "llvmlite.binding"])


class WorkLost(Exception):
    """A task that came to no end: its time was over, or its process died."""


class NotBegun(WorkLost):
    """A task to which its process never came: it had died before."""


class Worker:
    """One process and the pipe to it."""

    def __init__(self, folder: Path, memory: int, patient: bool, threads: ThreadPoolExecutor) -> None:
        self._memory, self._threads = memory, threads
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=task_process.work, args=(theirs, str(folder), memory, patient))
        self._process.start()
        atexit.register(self.end)  # before multiprocessing waits for it
        theirs.close()
        self.tab = ""  # whose models its store holds
        self.usable = True  # for another task

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid or 0

    def is_alive(self) -> bool:
        """Whether it can take a task."""
        return self.usable and self._process.is_alive()

    async def ask(self, question: bytes, tell: Tell) -> bytes:
        """The answer to a request [task, arguments], both as JSON; progress goes to `tell`."""
        loop = asyncio.get_running_loop()
        self.usable, begun = False, False
        await loop.run_in_executor(self._threads, _send, self._pipe, question)
        while (said := await loop.run_in_executor(self._threads, _receive, self._pipe)) is not None:
            if said == task_process.BEGUN:
                begun = True
            elif said.startswith(b'{"progress"'):
                tell(json.loads(said))
            else:
                self.usable = not said.endswith(task_process.LAST)
                return said
        await loop.run_in_executor(self._threads, self._process.join, 5)
        raise (WorkLost if begun else NotBegun)(_exit_reason(self._process.exitcode, self._memory))

    def kill(self) -> None:
        """Ends the process at once, and those that it started; who listens to it hears of that."""
        self.usable = False
        with contextlib.suppress(OSError):
            if os.name == "posix" and os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()

    def end(self) -> None:
        """Ends the process and waits until it has gone."""
        atexit.unregister(self.end)
        self.kill()
        self._process.join(5)


def _send(pipe: Connection, question: bytes) -> None:
    with contextlib.suppress(OSError):  # the receiver notices the closed pipe
        pipe.send_bytes(question)


def _receive(pipe: Connection) -> bytes | None:
    try:
        return pipe.recv_bytes(2 * task_process.MAX_ANSWER)
    except (EOFError, OSError):
        return None


def _exit_reason(code: int | None, memory: int) -> str:
    """A message on a process that died during its task."""
    how = f"with code {code}"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            how = f"by the signal {signal.Signals(-code).name}"
    return f"the process that worked on this has ended {how}, perhaps for want of memory (its bound is {memory / 2**30:g} GB)"


class Workers:
    """A few workers; who asks gets the one that knows the tab, or any that is free."""

    def __init__(self, folder: Path, count: int, seconds: float, memory: int, *, patient: bool = False) -> None:
        self._folder, self._count, self._seconds = folder, count, seconds
        self._memory, self._patient = memory, patient  # patient ones give way to all others
        self._turns = Turns(count)
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []
        self._starting = 0
        self._threads = ThreadPoolExecutor(3 * count + 1, "studio-worker")  # those of asyncio are for files

    async def start(self) -> None:
        """A process, before the first task comes."""
        if not self._idle and len(self._busy) + self._starting < self._count:
            self._idle.append(await self._start_worker())

    async def _start_worker(self) -> Worker:
        self._starting += 1
        try:
            make = asyncio.get_running_loop().run_in_executor(
                self._threads, Worker, self._folder, self._memory, self._patient, self._threads
            )
            try:
                return await asyncio.shield(make)
            except asyncio.CancelledError:
                make.add_done_callback(lambda made: made.cancelled() or made.exception() or made.result().end())
                raise
            except OSError as error:
                raise WorkLost(f"no process could be started for this ({error.strerror})") from None
        finally:
            self._starting -= 1

    @property
    def pids(self) -> list[int]:
        """The numbers of all processes."""
        return [each.pid for each in (*self._idle, *self._busy)]

    async def ask(self, tab: str, question: bytes, tell: Tell) -> bytes:
        """The answer to a question; a worker whose task is cancelled, too long or lost is replaced by a new one."""
        async with self._turns.place(tab):
            for _ in range(TRIES - 1):
                with contextlib.suppress(NotBegun):
                    return await self._ask_worker(tab, question, tell)
            return await self._ask_worker(tab, question, tell)

    async def _ask_worker(self, tab: str, question: bytes, tell: Tell) -> bytes:
        chosen = await self._choose_worker(tab)
        self._busy.append(chosen)
        try:
            async with asyncio.timeout(self._seconds):
                return await chosen.ask(question, tell)
        except TimeoutError:
            raise WorkLost(f"this took longer than {self._seconds:g} s and was ended") from None
        finally:
            self._busy.remove(chosen)
            if chosen.is_alive():
                self._idle.append(chosen)
            else:
                self._dismiss(chosen)

    async def _choose_worker(self, tab: str) -> Worker:
        for gone in [each for each in self._idle if not each.is_alive()]:
            self._idle.remove(gone)
            self._dismiss(gone)
        chosen = next((each for each in self._idle if each.tab == tab), None)
        chosen = chosen or next((each for each in self._idle if not each.tab), None)
        if chosen is None and self._idle and len(self._idle) + len(self._busy) + self._starting >= self._count:
            chosen = self._idle[0]  # the one that has rested longest
        if chosen is None:
            chosen = await self._start_worker()
        else:
            self._idle.remove(chosen)
        chosen.tab = tab
        return chosen

    def _dismiss(self, gone: Worker) -> None:
        gone.kill()
        with contextlib.suppress(RuntimeError):  # all has ended
            self._threads.submit(gone.end)

    def end(self) -> None:
        """Ends all processes."""
        every = (*self._idle, *self._busy)
        for each in every:
            each.kill()
        for each in every:
            each.end()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)


class Turns:
    """Places for tasks. Tabs take turns, and a tab that has a place never takes the last free one."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by tab; who is first comes next

    def _may_start(self, tab: str) -> bool:
        free = self._places - self._running.total()
        return free > 1 or (free == 1 and (self._places == 1 or not self._running[tab]))

    @asynccontextmanager
    async def place(self, tab: str) -> AsyncIterator[None]:
        """A place for one task of a tab, as soon as there is one."""
        if tab not in self._waiting and self._may_start(tab):
            self._running[tab] += 1
        else:
            await self._wait_for_place(tab)
        try:
            yield
        finally:
            self._leave(tab)

    async def _wait_for_place(self, tab: str) -> None:
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tab, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if not called.cancelled():  # the place came at the same moment
                self._leave(tab)
            raise

    def _leave(self, tab: str) -> None:
        self._running[tab] -= 1
        self._running += Counter()  # forgets tabs that hold nothing
        if tab in self._waiting:
            self._waiting[tab] = self._waiting.pop(tab)  # to the end of the row
        for other in list(self._waiting):
            queue = self._waiting[other]
            while queue and queue[0].cancelled():
                queue.popleft()
            if queue and self._may_start(other):
                queue.popleft().set_result(None)
                self._running[other] += 1
                self._waiting[other] = self._waiting.pop(other)
            if not queue:
                del self._waiting[other]
