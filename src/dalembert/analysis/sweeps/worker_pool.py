"""Evaluation of the chunks of a sweep: in this process, in worker processes, by an executor, or on a Dask cluster.

Results arrive in any order and have the same values wherever they are computed. A worker that dies is replaced, and its chunk is
evaluated again.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, cast
from weakref import WeakSet

from dalembert.analysis.sweeps._evaluate_chunk import ChunkResult, evaluate_chunk
from dalembert.analysis.sweeps.sweep_spec import Points, SweepSpec
from dalembert.analysis.worker_process import CLOSED, WorkerProcess
from dalembert.errors import ComputationError, DalembertError, EngineError, InputError

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
