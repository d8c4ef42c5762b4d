"""Worker processes that are started as programs: connection, exit, process group, and the script that starts them."""

import os
import subprocess
import sys
import time
from importlib import import_module

import pytest

from dalembert.analysis.worker_pool import CLOSED, WorkerProcess

TARGET = """
import os, subprocess, sys

def echo(connection, text):
    while (message := connection.recv_bytes()) != b"exit":
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        child = subprocess.Popen(command).pid if message == b"child" else None
        connection.send((message, text, os.environ.get("OMP_NUM_THREADS"), child))
    os._exit(3)
"""
SCRIPT = """
print("script")
from dalembert.analysis.worker_pool import WorkerProcess
from worker_target import echo
worker = WorkerProcess(echo, "it's", threads=1)
worker.connection.send_bytes(b"one")
print(worker.connection.recv())
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    (tmp_path / "worker_target.py").write_text(TARGET)
    monkeypatch.syspath_prepend(tmp_path)
    worker = WorkerProcess(import_module("worker_target").echo, "é", group=True)
    yield worker
    worker.close()
    del sys.modules["worker_target"]


def test_a_worker_that_exits_closes_its_pipe(worker):
    worker.connection.send_bytes(b"one")
    assert worker.connection.recv()[:2] == (b"one", "é")
    assert worker.exit_code() is None
    worker.connection.send_bytes(b"exit")
    with pytest.raises(CLOSED):
        worker.connection.recv_bytes()
    assert worker.exit_reason() == "ended with code 3"


@pytest.mark.skipif(os.name != "posix", reason="process groups and signals")
def test_a_worker_is_killed_with_its_child_processes(worker):
    worker.connection.send_bytes(b"child")
    child = worker.connection.recv()[3]
    assert os.getpgid(child) == worker.pid
    worker.kill()
    with pytest.raises(CLOSED):
        worker.connection.recv_bytes()
    assert worker.exit_reason() == "ended by the signal SIGKILL"
    assert _ended(child)


def _ended(pid):
    """Whether a process ends within a few seconds."""
    for _ in range(500):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if not state.stdout.strip() or state.stdout.startswith("Z"):
            return True
        time.sleep(0.01)
    return False


def test_the_script_that_starts_a_worker_runs_once(tmp_path):
    (tmp_path / "worker_target.py").write_text(TARGET)
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["script", """(b'one', "it's", '1', None)"""]
    assert not done.stderr
