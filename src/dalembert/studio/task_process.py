"""The process in which tasks run, one after the other, until the pipe closes or it is killed."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from dalembert.errors import DalembertError, InputError, ModelError
from dalembert.studio.payload import Answer, Tell

TELL_EVERY = 0.1  # seconds between two words of progress
MAX_ANSWER = 50_000_000  # bytes
MAX_FILE = 4 << 30  # bytes of one file that a task writes
BEGUN = b"begun"  # sent when a task has arrived
LAST = b"\n"  # at the end of the last answer of a process that has grown large


def work(pipe: Connection, folder: str, memory: int, patient: bool) -> None:
    """Answers tasks that come through a pipe as JSON: BEGUN, any number of {"progress"}, one {"result"} or {"error"}."""
    set_apart(patient)
    from dalembert.studio.folder import Folder
    from dalembert.studio.tasks import TASKS, warm_up

    tasks: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    place = Folder(Path(folder))
    warm_up()
    bounded(memory)
    while True:
        question = tasks.get()
        pipe.send_bytes(BEGUN)

        def call(tell: Tell, question: bytes = question) -> Answer:
            name, values = json.loads(question)
            return TASKS[name].work(values, place, tell)

        answer = _answer(call, pipe)
        if largest() > memory / 2:  # what is compiled is never given back, so a new process takes over
            pipe.send_bytes(answer + LAST)
            return
        pipe.send_bytes(answer)


def _listen(pipe: Connection, tasks: SimpleQueue[bytes]) -> None:
    """Queue tasks; when the pipe closes, end the process in the middle of its work."""
    while True:
        try:
            tasks.put(pipe.recv_bytes())
        except (EOFError, OSError):
            if os.name == "posix":
                os.killpg(0, signal.SIGKILL)  # and whom it started
            os._exit(0)


def _answer(call: Callable[[Tell], Answer], pipe: Connection) -> bytes:
    """The result of a task as JSON, or what went wrong."""
    last = [0.0]

    def tell(share: float, words: str = "") -> None:
        now = time.monotonic()
        if now - last[0] >= TELL_EVERY or words:
            last[0] = now
            pipe.send_bytes(json.dumps({"progress": round(float(share), 4), "words": words}).encode())

    try:
        answer = json.dumps({"result": call(tell)}, allow_nan=False, separators=(",", ":")).encode()
        if len(answer) > MAX_ANSWER:
            raise InputError(
                f"the answer has {len(answer) / 1e6:.0f} MB, too much for a page (at most {MAX_ANSWER / 1e6:.0f} MB). "
                "Ask for fewer samples, or for a smaller model."
            )
        return answer
    except Exception as error:
        return json.dumps({"error": told(error)}).encode()


def told(error: Exception) -> Answer:
    """An error as data: the sentences that a user reads, and problems one by one where it has them."""
    if isinstance(error, ModelError):
        problems = [{"path": p.path, "fact": p.fact, "advice": p.advice} for p in error.problems]
        return {"kind": "input", "text": str(error), "problems": problems}
    if isinstance(error, DalembertError):
        return {"kind": "input" if isinstance(error, InputError) else "work", "text": str(error)}
    if isinstance(error, MemoryError):
        words = "Ask for fewer samples or a smaller model, or start the studio with a larger --memory."
        return {"kind": "work", "text": f"there is not enough memory for this. {words}"}
    if isinstance(error, OSError):
        return {"kind": "work", "text": f"{error.filename or 'a file'}: {error.strerror or error}."}
    print(f"studio: {type(error).__name__}: {error}", file=sys.stderr)
    return {
        "kind": "defect",
        "text": f"this is a defect of dalembert, not of your model: {type(error).__name__}: {str(error)[:2000]}",
    }


def set_apart(patient: bool) -> None:
    """A group of its own, so that it is ended with all it started; it dies with the server, and gives way if it is patient."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers itself
    if os.name == "posix":
        os.setsid()
        os.nice(5 if patient else 0)
    if sys.platform == "linux":
        set_death_signal = 1  # PR_SET_PDEATHSIG: also in the middle of compiled code, which lets no thread run
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def bounded(memory: int) -> None:
    """No more than so many bytes of data, no huge files, no images of a crash: where the system has bounds."""
    if os.name != "posix":
        return
    import resource

    # RLIMIT_DATA counts what is really used; RLIMIT_AS also counts what libraries only reserve for their threads
    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_FSIZE, MAX_FILE), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def largest() -> int:
    """The most memory that this process has used, in bytes; 0 where the system does not say."""
    if os.name != "posix":
        return 0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
