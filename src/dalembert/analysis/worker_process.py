"""Worker processes of sweeps and of the studio: their start, connection, limits and end.

A worker runs `target(connection, *arguments)`. It is started as a separate program, so that a script or notebook without
`if __name__ == "__main__"` does not run again. With `preload`, on Linux, it is forked from a server process that has imported
these modules, so that it starts quickly. Parent and worker share one pipe; it closes when the other process ends.
"""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from subprocess import DEVNULL, Popen, TimeoutExpired

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
