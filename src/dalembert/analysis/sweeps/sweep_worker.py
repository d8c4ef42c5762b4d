"""A worker process of a sweep: it is told a question, then answers chunk after chunk until it is told to end.

It is a program of its own, which is given the address to call back, so that scripts and notebooks that start a sweep are
never run a second time.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Client, Connection

from dalembert.analysis.sweeps.evaluate_chunk import Answer, answer
from dalembert.errors import DalembertError

KEY = "DALEMBERT_SWEEP_KEY"  # in the environment: what a worker shows when it calls back


def main() -> None:
    """Answer until the other side ends."""
    address = sys.argv[1]
    with Client(address, authkey=bytes.fromhex(os.environ[KEY])) as line:
        try:
            _serve(line)
        except (EOFError, ConnectionError):
            return  # whoever asked is gone


def _serve(line: Connection) -> None:
    line.send(os.getpid())
    question = line.recv()
    while (asked := line.recv()) is not None:
        found: Answer | DalembertError
        try:
            found = answer(question, asked)
        except DalembertError as error:
            found = error
        line.send(found)
