"""A studio in this process, whose workers are forks of it, and clients that connect to it."""

import contextlib
import functools
import http.client
import json
import multiprocessing
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_websocket

from dalembert.analysis import worker_pool
from dalembert.studio import process_pool, tasks
from dalembert.studio import server as serving
from dalembert.studio.app import Options, Studio

TOKEN = "token-of-the-test"
SECONDS = 60.0  # timeout on a busy machine
TEXT = """name = "pendulum"
gravity = [0, -9.81, 0]
coordinates.theta = { start = 1 }
[[body]]
name = "rod"
mass = 1
center = [1, 0, 0]
joint = { type = "revolute", axis = [0, 0, 1], angle = "theta" }
"""


@contextlib.contextmanager
def copies(more: dict[str, tasks.Task] | None = None) -> Iterator[None]:
    """Let workers be forks of this process, optionally with more tasks: nothing is imported again."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork a process")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "_FORK_SERVER", multiprocessing.get_context("fork"))
        patch.setattr(process_pool, "work", _alone(process_pool.work))
        patch.setattr(tasks, "warm_up", lambda: None)
        for name, task in (more or {}).items():
            patch.setitem(tasks.TASKS, name, task)
        yield


def _alone(work: Callable[..., None]) -> Callable[..., None]:
    """Close all inherited sockets of a fork except its own pipe."""

    @functools.wraps(work)
    def alone(pipe: Any, *rest: Any) -> None:
        for name in os.listdir("/dev/fd"):
            with contextlib.suppress(OSError):
                if int(name) != pipe.fileno() and stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    os.close(int(name))
        work(pipe, *rest)

    return alone


@dataclass(frozen=True)
class Client:
    """Address of a studio."""

    host: str  # with the port
    token: str
    studio: Studio | None = None

    def request(self, path: str, method: str = "GET", body: object = None, **headers: str) -> tuple[int, bytes]:
        """Return status and body of the response to a request with the token."""
        line = http.client.HTTPConnection(self.host, timeout=SECONDS)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(line):
            line.request(method, f"/{self.token}/{path}", body, named)  # type: ignore[arg-type]
            answer = line.getresponse()
            return answer.status, answer.read()

    def connect(self, key: str = "0123456789abcdef", **options: Any) -> ClientConnection:
        """Open the websocket of a tab."""
        settings = {"origin": f"http://{self.host}", "max_size": None, "open_timeout": SECONDS, **options}
        return open_websocket(f"ws://{self.host}/{self.token}/socket/{key}", **settings)


def receive(socket: ClientConnection, accept: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
    """Return the first accepted message."""
    while not accept(message := json.loads(socket.recv(SECONDS))):
        pass
    return message


def answer(socket: ClientConnection, number: int, task: str, arguments: object = None) -> dict[str, Any]:
    """Send a request and return its answer."""
    socket.send(json.dumps({"id": number, "task": task, "arguments": {} if arguments is None else arguments}))
    return receive(socket, lambda message: message.get("id") == number and "progress" not in message)


@contextlib.contextmanager
def studio_here(
    root: Path, more: dict[str, tasks.Task] | None = None, options: Options | None = None
) -> Iterator[Client]:
    """Run a studio in a thread of this process."""
    with copies(more), serving.listen("127.0.0.1", 0) as listener:
        number = listener.getsockname()[1]
        studio = Studio(
            root,
            TOKEN,
            serving.accepted_hosts("127.0.0.1", number),
            first={"text": TEXT},
            options=options or Options(quick_seconds=SECONDS),
        )
        server = uvicorn.Server(serving.settings(studio))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield Client(f"127.0.0.1:{number}", TOKEN, studio)
        finally:
            for pid in (*studio.quick.pids, *studio.long.pids):  # forks have inherited the pipes of each other
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            server.should_exit = True
            thread.join()


@dataclass(frozen=True)
class Program(Client):
    """The running program `dalembert studio`."""

    process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def ended(self) -> int:
        """Return its exit code."""
        assert self.process is not None
        return self.process.wait(SECONDS)

    def below(self) -> list[int]:
        """Return the ids of its child processes, recursively."""
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        found = [self.pid]
        for pid in found:
            found += [each for each, parent in parents.items() if parent == pid]
        return found[1:]

    def memory(self) -> dict[int, int]:
        """Return the memory of each of its processes in MB."""
        found = {}
        for pid in (self.pid, *self.below()):
            with contextlib.suppress(OSError, StopIteration):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                found[pid] = int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024
        return found


@contextlib.contextmanager
def program(folder: Path, *words: str) -> Iterator[Program]:
    """Run the program in a folder until the end of the block."""
    command = [sys.executable, "-m", "dalembert", "studio", "--no-browser", *words]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            line = ""
            while not (found := re.search(r"http://([^/]+)/([^/]+)/", line)):
                line = process.stdout.readline()
                assert line or process.poll() is None, "the studio ended before it printed its address"
            yield Program(found.group(1), found.group(2), None, process)
        finally:
            process.kill()
