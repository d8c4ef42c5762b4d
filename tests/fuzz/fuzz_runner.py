"""Run cases one by one, each with a time and memory limit; as a program, print statistics.

python tests/fuzz/fuzz_runner.py FIRST COUNT
"""

from __future__ import annotations

import faulthandler
import gc
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz_cases import Case, case

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import Lowering

MOST_SECONDS = 2.0
MOST_BYTES = 500_000_000
WAIT_SECONDS = 30.0  # wall-clock seconds: other processes may use most of them
HANG_SECONDS = 60.0  # code outside Python cannot be interrupted: then the process ends with a traceback


@dataclass(frozen=True)
class Outcome:
    """Result of a case: its error ("" if valid), its time, and its increase of the peak memory."""

    number: int
    error: str
    seconds: float
    grown: int
    foreign: str = ""

    @property
    def sound(self) -> bool:
        """No exception from outside the package, and within the limits."""
        return not self.foreign and self.seconds <= MOST_SECONDS and self.grown <= MOST_BYTES


def outcome(given: Case, folder: Path) -> Outcome:
    """Load and check one case; exceptions from outside the package are recorded as strings."""
    error = foreign = ""
    before, start = _peak(), time.process_time()
    try:
        with _limited():
            _read(given, folder)
    except DalembertError as found:
        error = type(found).__name__
        str(found)
    except Exception as found:
        foreign = f"{type(found).__name__}: {found}"[:300]
    return Outcome(given.number, error, time.process_time() - start, _peak() - before, foreign)


def _read(given: Case, folder: Path) -> None:
    if given.suffix:
        path = folder / f"case{given.suffix}"
        path.write_bytes(given.data)
        dl.load(path).check()
        return
    text = given.data.decode("utf-8", "surrogatepass")
    formula = parse(text, coordinates=["x", "y"], parameters=["k"], where="fuzz")
    values = {"x": 0.7, "y": -0.3, "k": 2.0, "t": 0.1, "dot(x)": 0.4, "dot(y)": 1.5}
    with suppress(ArithmeticError), np.errstate(all="ignore"):  # 1/0 or log(-1) at this very point
        Lowering(FLOATS, values)(formula)


class _TooLong(Exception):
    """The time limit is reached."""


@contextmanager
def _limited() -> Iterator[None]:
    """Alarms for the CPU and wall-clock limits, and a memory limit."""

    def ring(number: int, _: object) -> None:
        limit = f"{2 * MOST_SECONDS} CPU s" if number == signal.SIGPROF else f"{WAIT_SECONDS} s"
        raise _TooLong(f"still running after {limit}")

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, 2 * MOST_SECONDS),
        (signal.ITIMER_REAL, signal.SIGALRM, WAIT_SECONDS),
    )
    old = [signal.signal(number, ring) for _, number, _ in timers]
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_mapped() + 2 * MOST_BYTES, limits[1]))
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_AS, limits)
        for (_, number, _), before in zip(timers, old, strict=True):
            signal.signal(number, before)


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _mapped() -> int:
    return resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])


def outcomes(first: int, count: int) -> list[Outcome]:
    """Results of the cases from `first` on."""
    gc.collect()  # collect garbage of earlier work outside the time of a case
    gc.freeze()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return [outcome(case(number), Path(folder)) for number in range(first, first + count)]
    finally:
        gc.unfreeze()


def main() -> None:
    """Print statistics of the cases named on the command line, and the failed cases."""
    warnings.simplefilter("error")
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = outcomes(first, count)
    for each in found:
        if not each.sound or each.seconds > MOST_SECONDS / 4:
            print(each)
    gc.collect()
    print(Counter(each.error or each.foreign[:40] or "sound" for each in found).most_common())
    slowest, largest = max(found, key=lambda o: o.seconds), max(found, key=lambda o: o.grown)
    print(f"{count} cases, {sum(o.seconds for o in found):.1f} s")
    print(
        f"slowest {slowest.seconds:.2f} s (case {slowest.number}), largest {largest.grown / 1e6:.0f} MB ({largest.number})"
    )


if __name__ == "__main__":
    main()
