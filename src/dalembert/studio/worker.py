"""The process in which a task runs: one after the other, until the pipe closes or somebody ends it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, InputError, ModelError

TELL_EVERY = 0.1  # seconds between two words of progress


def work(pipe: Connection, folder: str, memory: int) -> None:
    """Answers tasks that come through a pipe as JSON: any number of {"progress"}, then one {"result"} or {"error"}."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers itself
    bounded(memory)
    from dalembert.studio.folder import Folder
    from dalembert.studio.tasks import TASKS, warm_up

    place = Folder(Path(folder))
    warm_up()
    pipe.send_bytes(b"ready")
    while True:
        try:
            name, values = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        pipe.send_bytes(_answer(lambda task, name=name, values=values: TASKS[name].work(values, place, task), pipe))


def _answer(call: Any, pipe: Connection) -> bytes:
    """The result of a task as JSON, or what went wrong."""
    last = [0.0]

    def tell(share: float, words: str = "") -> None:
        now = time.monotonic()
        if now - last[0] >= TELL_EVERY or words:
            last[0] = now
            pipe.send_bytes(json.dumps({"progress": round(float(share), 4), "words": words}).encode())

    try:
        return json.dumps({"result": call(tell)}, allow_nan=False, separators=(",", ":")).encode()
    except Exception as error:
        return json.dumps({"error": told(error)}).encode()


def told(error: Exception) -> dict[str, Any]:
    """An error as data: the sentences that a user reads, and problems one by one where it has them."""
    if isinstance(error, ModelError):
        problems = [{"path": p.path, "fact": p.fact, "advice": p.advice} for p in error.problems]
        return {"kind": "input", "text": str(error), "problems": problems}
    if isinstance(error, DalembertError):
        return {"kind": "input" if isinstance(error, InputError) else "work", "text": str(error)}
    if isinstance(error, MemoryError):
        return {
            "kind": "work",
            "text": "there is not enough memory for this. Ask for fewer samples, or for a smaller model.",
        }
    if isinstance(error, OSError):
        return {"kind": "work", "text": f"{error.filename or 'a file'}: {error.strerror or error}."}
    print(f"studio: {type(error).__name__}: {error}", file=sys.stderr)
    return {
        "kind": "defect",
        "text": f"this is a defect of dalembert, not of your model: {type(error).__name__}: {error}",
    }


def bounded(memory: int) -> None:
    """No more than so many bytes for this process, where the system can be asked for that."""
    if os.name != "posix":
        return
    import resource

    with_room = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = memory if with_room == resource.RLIM_INFINITY else min(memory, with_room)
    resource.setrlimit(resource.RLIMIT_AS, (most, with_room))
