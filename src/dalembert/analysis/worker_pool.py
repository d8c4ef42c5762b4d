"""Worker processes, and the evaluation of the chunks of a sweep in this process, in worker processes or on a cluster.

Results arrive in any order and have the same values wherever they are computed. A worker that dies is replaced, and its chunk is
evaluated again.

A worker runs `target(connection, *arguments)`. It is started as a separate program, so that a script or notebook without
`if __name__ == "__main__"` does not run again. With `preload`, on Linux, it is forked from a server process that has imported
these modules, so that it starts quickly. Parent and worker share one pipe; it closes when the other process ends.
"""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from subprocess import DEVNULL, Popen, TimeoutExpired
from threading import Event, Lock, Thread
from typing import Any, cast
from weakref import WeakSet

from dalembert.analysis._evaluate_chunk import ChunkResult, evaluate_chunk
from dalembert.analysis.sweep_spec import Points, SweepSpec
from dalembert.errors import ComputationError, DalembertError, EngineError, InputError

if sys.platform == "win32":
    from subprocess import STARTUPINFO
else:
    import resource

Target = Callable[..., None]  # a function of a module
CLOSED = (EOFError, OSError)  # what a connection raises when the other process has ended
_FORK_SERVER = multiprocessing.get_context("forkserver") if sys.platform == "linux" else None
_BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # environment variables
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
_KILL_TIMEOUT = 5.0  # seconds to wait for a killed process


class WorkerProcess:
    """A process and the pipe to it. It ends with `close`, or at the exit of this process."""

    def __init__(
        self, target: Target, *arguments: str | int, group: bool = False, preload: Sequence[str] = (), threads: int = 0
    ) -> None:
        """With `group`, `kill` also ends child processes. `threads` limits BLAS threads of workers without `preload`."""
        self.connection, theirs = multiprocessing.Pipe()
        call = (target.__module__, target.__name__, arguments, group)
        self._process: BaseProcess | Popen[bytes]
        with theirs:
            if preload and _FORK_SERVER is not None:
                _FORK_SERVER.set_forkserver_preload([target.__module__, *preload])
                self._process = _FORK_SERVER.Process(target=run, args=(theirs, *call))
                self._process.start()
            else:
                self._process = _start_program(theirs, call, threads)
        self.pid, self._group = self._process.pid or 0, group and os.name == "posix"
        atexit.register(self.close)  # runs before multiprocessing waits for its children

    def exit_code(self, seconds: float = 0.0) -> int | None:
        """The exit code, negative for a signal; None if the process still runs after `seconds`."""
        if isinstance(self._process, BaseProcess):
            self._process.join(seconds)
            return self._process.exitcode
        with suppress(TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def exit_reason(self) -> str:
        """How a process with a closed pipe has ended, as the words after "it has"."""
        code = self.exit_code(_KILL_TIMEOUT)
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"ended by the signal {signal.Signals(-code).name}"
        return f"ended with code {code}"

    def kill(self) -> None:
        """End the process, and its group, at once."""
        with suppress(OSError):
            if self._group and os.getpgid(self.pid) == self.pid:  # not yet while the worker starts
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()

    def close(self) -> None:
        """End the process and wait for it."""
        atexit.unregister(self.close)
        self.kill()
        self.exit_code(_KILL_TIMEOUT)


def _start_program(connection: Connection, call: tuple[object, ...], threads: int) -> Popen[bytes]:
    """Start a program that inherits the connection and calls `run`."""
    handle, kind = connection.fileno(), type(connection).__name__  # another class on Windows
    imports = f"from multiprocessing.connection import {kind} as connect; from {__name__} import run"
    command = [sys.executable, "-c", f"{imports}; run(connect({handle}), *{call!r})"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if threads:
        environment |= dict.fromkeys(_BLAS_THREADS, str(threads))
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        startup = STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return Popen(command, env=environment, stdin=DEVNULL, startupinfo=startup)
    return Popen(command, env=environment, stdin=DEVNULL, pass_fds=[handle])


# inside a worker


def run(connection: Connection, module: str, name: str, arguments: tuple[str | int, ...], group: bool) -> None:
    """Call the target. The parent handles Ctrl+C; the worker ends with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if group and os.name == "posix":
        os.setsid()
    if sys.platform == "linux":  # elsewhere the closed pipe ends it, but not inside compiled code, where no thread runs
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    getattr(import_module(module), name)(connection, *arguments)


def limit_resources(memory: int, file_size: int) -> None:
    """Limit the bytes of data and of each file that is written, and write no core dumps, where the system has limits."""
    if sys.platform != "win32":
        # RLIMIT_DATA counts memory in use; RLIMIT_AS also counts what libraries only reserve for their threads
        limits = {resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: file_size, resource.RLIMIT_CORE: 0}
        for kind, limit in limits.items():
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def peak_memory() -> int:
    """The largest resident memory of this process so far in bytes; 0 where the system does not report it."""
    if sys.platform == "win32":
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


ChunkResults = Iterator[tuple[int, ChunkResult]]
_CONNECT_TIMEOUT = "10s"
_MIN_REMAINING = 8.0  # seconds of remaining work above which workers are started
_MAX_DEATHS = 3  # worker deaths over one chunk
_QUEUED_CHUNKS = 3  # chunks submitted ahead for each worker of an executor


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """A Dask client of the scheduler at an address such as tcp://10.0.0.1:8786."""
    try:
        from distributed import Client as Scheduler  # pyright: ignore[reportMissingImports] (an extra)
    except ImportError as error:
        raise EngineError("a cluster needs Dask, which is not installed. Install dalembert[cluster].") from error
    try:
        client = Scheduler(address, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise ComputationError(
            f"no Dask scheduler responds at '{address}' ({error}). Start one with `dask scheduler`, and workers with "
            f"`dask worker {address}` in an environment that contains dalembert."
        ) from error
    with client:
        if not client.nthreads():
            raise ComputationError(
                f"the scheduler at '{address}' has no workers. Start some with `dask worker {address}`."
            )
        yield client


def chunk_results(spec: SweepSpec, chunks: Sequence[int], executor: object, workers: int | None) -> ChunkResults:
    """The results of chunks in order of completion."""
    if executor is not None:
        if workers is not None:
            raise InputError("sweep: got both `executor` and `workers`. Give one of them.")
        return _by_executor(spec, chunks, executor)
    count = min(workers or _cores(), len(chunks))
    if count > 1:
        _require_known_elsewhere(spec)
    return _in_this_process(spec, chunks, count) if workers is None or count <= 1 else by_processes(spec, chunks, count)


def _in_this_process(spec: SweepSpec, chunks: Sequence[int], count: int) -> ChunkResults:
    """Results of this process, until the remaining work justifies the start of worker processes."""
    points, begun = Points(spec.variation), time.perf_counter()
    for i, chunk in enumerate(chunks):
        yield chunk, evaluate_chunk(spec, points(*spec.runs_of(chunk)))
        used = time.perf_counter() - begun
        if i == 0:
            begun = time.perf_counter()  # the first chunk includes compilation
        elif count > 1 and used / i * (len(chunks) - i - 1) > _MIN_REMAINING:
            yield from by_processes(spec, chunks[i + 1 :], count)
            return


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _require_known_elsewhere(spec: SweepSpec) -> None:
    """Raise for Python laws that another process cannot import."""
    for controller in spec.equations.model.controllers:
        law = getattr(controller.law, "py_func", controller.law)
        if getattr(law, "__module__", type(law).__module__) == "__main__" or type(law).__module__ == "__main__":
            raise InputError(
                f"sweep: {controller.title} is defined in the running script or notebook, where worker processes cannot import "
                "it. Move it to a module and import it, or use one process with workers=1."
            )
    pickle.dumps(spec)  # laws that cannot be pickled raise their own errors


# an executor of concurrent.futures, or a Dask client


def _by_executor(spec: SweepSpec, chunks: Sequence[int], executor: object) -> ChunkResults:
    pool = _executor(executor)
    waiting, pending = deque(chunks), dict[Future[ChunkResult], int]()
    points = Points(spec.variation)
    ahead = _QUEUED_CHUNKS * max(1, _parallelism(executor))
    try:
        while waiting or pending:
            while waiting and len(pending) < ahead:
                chunk = waiting.popleft()
                pending[pool.submit(evaluate_chunk, spec, points(*spec.runs_of(chunk)))] = chunk
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield pending.pop(future), _result(future)
    finally:
        for future in pending:
            future.cancel()


def _executor(executor: object) -> Executor:
    get = getattr(executor, "get_executor", None)  # a Dask client
    found = get() if callable(get) else executor
    if not callable(getattr(found, "submit", None)):
        raise InputError(
            f"sweep, executor: got a value of type {type(executor).__name__}. Expected a Dask client or an executor of "
            "concurrent.futures."
        )
    return cast("Executor", found)


def _parallelism(executor: object) -> int:
    """The number of chunks that can be evaluated in parallel, as far as known."""
    if callable(threads := getattr(executor, "nthreads", None)):
        return sum(cast("dict[str, int]", threads()).values())
    return int(getattr(executor, "_max_workers", None) or _cores())


def _result(future: Future[ChunkResult]) -> ChunkResult:
    try:
        return future.result()
    except DalembertError:
        raise
    except Exception as error:  # third-party executors raise any exception
        raise ComputationError(
            f"sweep: the executor failed with {type(error).__name__}: {error}. Finished chunks are in the checkpoint, if one was "
            "given. Rerun the same call to resume."
        ) from error


# worker processes


class _WorkerPool:
    """Worker processes, each served by a thread; all take chunks from one queue."""

    def __init__(self, spec: SweepSpec, chunks: Sequence[int]) -> None:
        self._spec, self._waiting, self._deaths = spec, deque(chunks), dict[int, int]()
        self._lock, self._over, self._points = Lock(), Event(), Points(spec.variation)
        self.found: SimpleQueue[tuple[int, ChunkResult | Exception]] = SimpleQueue()
        self._workers: WeakSet[WorkerProcess] = WeakSet()

    def serve(self) -> None:
        """Start a worker and give it chunks; start another one when it dies."""
        deaths = 0
        while not self._over.is_set() and self._waiting:
            started = False
            try:
                with closing(self._start()) as worker:
                    worker.connection.recv()  # the worker has imported all modules
                    worker.connection.send(self._spec)
                    started = True
                    self._feed(worker.connection)
            except CLOSED as error:
                deaths += 1
                if deaths > _MAX_DEATHS and not started and not self._over.is_set():
                    reason = str(error) or "it ended before it was ready"
                    self.found.put((-1, ComputationError(f"sweep: a worker process cannot be started ({reason}).")))
                    return
            except Exception as error:  # `by_processes` raises it
                self.found.put((-1, error))
                return

    def _start(self) -> WorkerProcess:
        with self._lock:
            if self._over.is_set():
                raise EOFError
            self._workers.add(worker := WorkerProcess(evaluate_chunks, threads=1))
            return worker

    def _feed(self, connection: Connection) -> None:
        while not self._over.is_set():
            with self._lock:
                if not self._waiting:
                    break
                chunk = self._waiting.popleft()
                points = self._points(*self._spec.runs_of(chunk))
            try:
                connection.send(points)
                self.found.put((chunk, connection.recv()))
            except CLOSED:
                self._retry(chunk)
                raise

    def _retry(self, chunk: int) -> None:
        """Queue a chunk again whose worker died."""
        with self._lock:
            self._deaths[chunk] = self._deaths.get(chunk, 0) + 1
            if self._deaths[chunk] < _MAX_DEATHS:
                self._waiting.appendleft(chunk)
                return
        first, count = self._spec.runs_of(chunk)
        raise ComputationError(
            f"sweep: {_MAX_DEATHS} worker processes died during runs {first} to {first + count - 1}, perhaps for lack of memory. "
            "Use a smaller `chunk`, or fewer `workers`."
        )

    def end(self) -> None:
        """End all workers."""
        self._over.set()
        with self._lock:
            for worker in self._workers:
                worker.kill()


def by_processes(spec: SweepSpec, chunks: Sequence[int], count: int) -> ChunkResults:
    """The results of worker processes."""
    pool = _WorkerPool(spec, chunks)
    threads = [Thread(target=pool.serve, daemon=True) for _ in range(count)]
    try:
        for thread in threads:
            thread.start()
        for _ in chunks:
            chunk, found = pool.found.get()
            if isinstance(found, Exception):
                raise found
            yield chunk, found
    finally:
        pool.end()
        for thread in threads:
            thread.join(5.0)


def evaluate_chunks(connection: Connection) -> None:
    """The target of a worker: receive a spec, then evaluate chunks until the connection closes."""
    with suppress(EOFError, ConnectionError):
        connection.send(os.getpid())
        spec = connection.recv()
        while True:
            points = connection.recv()
            try:
                connection.send(evaluate_chunk(spec, points))
            except DalembertError as error:
                connection.send(error)
