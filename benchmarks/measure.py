"""Time measurement: CPU seconds, the best of several runs, in separate processes with a limit."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Took:
    """CPU and wall seconds of one piece of work; CPU seconds add up over threads."""

    cpu: float
    wall: float


def timed(work: Callable[[], Any]) -> tuple[Any, Took]:
    """The result of `work` and its time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Took(time.process_time() - cpu, time.perf_counter() - wall)


def best(times: list[Took]) -> Took:
    """The time with the fewest CPU seconds."""
    return min(times, key=lambda took: took.cpu)


class TimeLimit(Exception):
    """The time limit was exceeded."""


class ProcessEnded(Exception):
    """The process ended without a result."""


def in_new_process(work: Callable[..., Any], *arguments: Any, limit: float | None = None) -> Any:
    """The result of `work` in a new process; raises TimeLimit after `limit` seconds and ends the process."""
    context = mp.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sending, work, arguments), daemon=True)
    process.start()
    sending.close()
    try:
        if not receiving.poll(limit):
            raise TimeLimit
        result = receiving.recv()
    except EOFError:
        process.join()
        raise ProcessEnded(f"its process ended without a result, with code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    if isinstance(result, Exception):
        raise result
    return result


def _send(sending: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        sending.send(work(*arguments))
    except Exception as error:
        sending.send(error)
