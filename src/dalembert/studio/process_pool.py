"""Worker processes of the studio: each runs one task at a time and can be killed at any time without side effects.

Server and worker exchange JSON: a request [task, arguments], then BEGUN, any number of {"progress"}, one {"result"} or {"error"}.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from dalembert.analysis.worker_pool import CLOSED, WorkerProcess, limit_resources, peak_memory
from dalembert.errors import DalembertError, InputError, ModelError
from dalembert.studio import tasks
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Answer

OnProgress = Callable[[dict[str, object]], None]
MAX_ATTEMPTS = 3  # to find a process that starts a task
PROGRESS_INTERVAL = 0.1  # s between two progress messages
MAX_ANSWER = 50_000_000  # bytes
MAX_FILE = 4 << 30  # bytes of a file written by a task
BEGUN = b"begun"  # sent when a task has arrived
LAST = b"\n"  # ends the last answer of a process that is replaced because of its memory
_PRELOAD = ("llvmlite.binding",)


class WorkLost(Exception):
    """A task did not complete: it exceeded its time limit, or its process died."""


class NotBegun(WorkLost):
    """A process died before it started its task."""


class Worker(WorkerProcess):
    """A process that runs tasks."""

    def __init__(self, folder: Path, memory: int, patient: bool, threads: ThreadPoolExecutor) -> None:
        super().__init__(work, str(folder), memory, patient, group=True, preload=_PRELOAD)
        self._memory, self._threads = memory, threads
        self.tab = ""  # the tab whose models it has cached
        self._usable = True  # can run another task

    def is_free(self) -> bool:
        """Return True if it can run a task."""
        return self._usable and self.exit_code() is None

    async def run(self, request: bytes, progress: OnProgress) -> bytes:
        """Return the answer to a request [task, arguments], both as JSON; pass progress to `progress`."""
        submit = asyncio.get_running_loop().run_in_executor
        self._usable, begun = False, False
        try:
            await submit(self._threads, self.connection.send_bytes, request)
            while True:
                message = await submit(self._threads, self.connection.recv_bytes, 2 * MAX_ANSWER)
                if message == BEGUN:
                    begun = True
                elif message.startswith(b'{"progress"'):
                    progress(json.loads(message))
                else:
                    self._usable = not message.endswith(LAST)
                    return message
        except CLOSED:
            reason = await submit(self._threads, self.exit_reason)
        bound = f"possibly out of memory (its limit is {self._memory / 2**30:g} GB)"
        raise (WorkLost if begun else NotBegun)(f"the worker process has {reason}, {bound}")


class Workers:
    """A pool of workers; a task runs on the worker that has cached its tab, or on any free one."""

    def __init__(self, folder: Path, count: int, seconds: float, memory: int, *, patient: bool = False) -> None:
        self._folder, self._count, self._seconds = folder, count, seconds
        self._memory, self._patient = memory, patient  # patient workers run at a lower priority
        self._scheduler = FairScheduler(count)
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []
        self._starting = 0
        self._threads = ThreadPoolExecutor(3 * count + 1, "studio-worker")  # the threads of asyncio are used for files

    async def start(self) -> None:
        """Start a process before the first task."""
        if not self._idle and len(self._busy) + self._starting < self._count:
            self._idle.append(await self._start_worker())

    async def _start_worker(self) -> Worker:
        self._starting += 1
        try:
            starting = asyncio.get_running_loop().run_in_executor(
                self._threads, Worker, self._folder, self._memory, self._patient, self._threads
            )
            try:
                return await asyncio.shield(starting)
            except asyncio.CancelledError:
                starting.add_done_callback(
                    lambda created: created.cancelled() or created.exception() or created.result().close()
                )
                raise
            except OSError as error:
                raise WorkLost(f"no worker process could be started ({error.strerror})") from None
        finally:
            self._starting -= 1

    @property
    def pids(self) -> list[int]:
        """The ids of all processes."""
        return [each.pid for each in (*self._idle, *self._busy)]

    async def run(self, tab: str, request: bytes, progress: OnProgress) -> bytes:
        """Return the answer to a request; a worker whose task is cancelled, times out or is lost is replaced."""
        async with self._scheduler.slot(tab):
            for _ in range(MAX_ATTEMPTS - 1):
                with contextlib.suppress(NotBegun):
                    return await self._run_on_worker(tab, request, progress)
            return await self._run_on_worker(tab, request, progress)

    async def _run_on_worker(self, tab: str, request: bytes, progress: OnProgress) -> bytes:
        chosen = await self._choose_worker(tab)
        self._busy.append(chosen)
        try:
            async with asyncio.timeout(self._seconds):
                return await chosen.run(request, progress)
        except TimeoutError:
            raise WorkLost(f"this took longer than {self._seconds:g} s and was stopped") from None
        finally:
            self._busy.remove(chosen)
            if chosen.is_free():
                self._idle.append(chosen)
            else:
                self._dismiss(chosen)

    async def _choose_worker(self, tab: str) -> Worker:
        for gone in [each for each in self._idle if not each.is_free()]:
            self._idle.remove(gone)
            self._dismiss(gone)
        chosen = next((each for each in self._idle if each.tab == tab), None)
        chosen = chosen or next((each for each in self._idle if not each.tab), None)
        if chosen is None and self._idle and len(self._idle) + len(self._busy) + self._starting >= self._count:
            chosen = self._idle[0]  # the one that has been idle longest
        if chosen is None:
            chosen = await self._start_worker()
        else:
            self._idle.remove(chosen)
        chosen.tab = tab
        return chosen

    def _dismiss(self, gone: Worker) -> None:
        gone.kill()
        with contextlib.suppress(RuntimeError):  # the pool has been shut down
            self._threads.submit(gone.close)

    def end(self) -> None:
        """End all processes."""
        every = (*self._idle, *self._busy)
        for each in every:
            each.kill()
        for each in every:
            each.close()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)


class FairScheduler:
    """Fair scheduler of task slots: tabs take turns, and a tab that has a slot never gets the last free one."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by tab; the first tab is next

    def _may_start(self, tab: str) -> bool:
        free = self._slots - self._running.total()
        return free > 1 or (free == 1 and (self._slots == 1 or not self._running[tab]))

    @asynccontextmanager
    async def slot(self, tab: str) -> AsyncIterator[None]:
        """Wait for a slot for one task of a tab."""
        if tab not in self._waiting and self._may_start(tab):
            self._running[tab] += 1
        else:
            await self._wait_for_slot(tab)
        try:
            yield
        finally:
            self._leave(tab)

    async def _wait_for_slot(self, tab: str) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tab, deque()).append(ready)
        try:
            await ready
        except asyncio.CancelledError:
            if not ready.cancelled():  # the slot was assigned at the same time
                self._leave(tab)
            raise

    def _leave(self, tab: str) -> None:
        self._running[tab] -= 1
        self._running += Counter()  # removes tabs without slots
        if tab in self._waiting:
            self._waiting[tab] = self._waiting.pop(tab)  # to the end of the queue
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


# inside a worker


def work(pipe: Connection, folder: str, memory: int, patient: bool) -> None:
    """Run tasks one after another until the pipe closes, the process is killed, or its memory has grown large."""
    if os.name == "posix":
        os.nice(5 if patient else 0)
    requests: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(pipe, requests), daemon=True).start()
    files = Folder(Path(folder))
    tasks.warm_up()
    limit_resources(memory, MAX_FILE)
    last = b""
    while not last:
        request = requests.get()
        pipe.send_bytes(BEGUN)
        answer = _answer(request, files, pipe)
        last = LAST if peak_memory() > memory / 2 else b""  # compiled code is never freed, so the process is replaced
        pipe.send_bytes(answer + last)


def _listen(pipe: Connection, requests: SimpleQueue[bytes]) -> None:
    """Queue tasks; when the pipe closes, kill the process immediately."""
    while True:
        try:
            requests.put(pipe.recv_bytes())
        except CLOSED:
            if os.name == "posix":
                os.killpg(0, signal.SIGKILL)  # including its child processes
            os._exit(0)


def _answer(request: bytes, files: Folder, pipe: Connection) -> bytes:
    """Return the result of a task, or its error, as JSON."""
    last = 0.0

    def progress(fraction: float, message: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_INTERVAL or message:
            last = now
            pipe.send_bytes(json.dumps({"progress": round(float(fraction), 4), "message": message}).encode())

    try:
        name, values = json.loads(request)
        answer = json.dumps(
            {"result": tasks.TASKS[name].work(values, files, progress)}, allow_nan=False, separators=(",", ":")
        ).encode()
        if len(answer) > MAX_ANSWER:
            raise InputError(
                f"the answer has {len(answer) / 1e6:.0f} MB, too large for a page (at most {MAX_ANSWER / 1e6:.0f} MB). "
                "Use fewer samples or a smaller model."
            )
        return answer
    except Exception as error:
        return json.dumps({"error": error_data(error)}).encode()


def error_data(error: Exception) -> Answer:
    """Return an error as JSON data: its message and, for model errors, the list of problems."""
    if isinstance(error, ModelError):
        problems = [{"path": p.path, "fact": p.fact, "advice": p.advice} for p in error.problems]
        return {"kind": "input", "message": str(error), "problems": problems}
    if isinstance(error, DalembertError):
        return {"kind": "input" if isinstance(error, InputError) else "work", "message": str(error)}
    if isinstance(error, MemoryError):
        advice = "Use fewer samples or a smaller model, or start the studio with a larger --memory."
        return {"kind": "work", "message": f"there is not enough memory for this task. {advice}"}
    if isinstance(error, OSError):
        return {"kind": "work", "message": f"{error.filename or 'a file'}: {error.strerror or error}."}
    print(f"studio: {type(error).__name__}: {error}", file=sys.stderr)
    return {
        "kind": "defect",
        "message": f"this is a bug in dalembert, not an error in your model: {type(error).__name__}: {str(error)[:2000]}",
    }
