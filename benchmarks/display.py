"""Display of equations: the time to write the page, all blocks and all laws of every gallery model and formalism.

    python benchmarks/display.py [--model three-bodies] [--max-coordinates 8] [--limit 60] [--prove] [--json]

Times are CPU seconds of one process for each model, without derivation and compilation. A star marks that the
time budget of simplification was used up, a cross that a quantity is too long to be displayed. `--prove` adds the proofs that
the displayed equations equal the computed ones.
"""

from __future__ import annotations

import argparse
import json
import signal
from dataclasses import asdict, dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dalembert.api.derive import equations_of
from dalembert.api.equation_display import DerivationDisplay
from dalembert.display.math.short_forms import TooLong
from dalembert.errors import NotApplicableError
from dalembert.formalisms import catalog
from dalembert.io import gallery
from measure import in_new_process, timed

LIMIT_ALL, LIMIT_MOST = 10.0, 1.0  # seconds: limit for all, and for most


@dataclass(frozen=True)
class Written:
    """One model by one formalism."""

    seconds: float
    mark: str  # star: budget used up; cross: too long; clock: over the limit
    operations: int  # of the page
    verdicts: tuple[str, ...] = ()  # of the proofs of its blocks and laws, each once


class _Over(Exception):
    """The time limit of one derivation is reached."""


def written(name: str, limit: float, prove: bool) -> dict[str, Written]:
    """All formalisms applicable to a model, one after another."""
    signal.signal(signal.SIGPROF, _stop)
    found = {}
    for key in catalog.KEYS:
        try:
            reading = equations_of(gallery.load(name), key)._display
        except NotApplicableError:
            continue
        _ = reading.system, reading.derivation.machine.form
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            mark, took = timed(lambda reading=reading: _read(reading))
            signal.setitimer(signal.ITIMER_PROF, 0)
            verdicts = _verdicts(reading) if prove and mark != "×" else ()
            found[key] = Written(took.cpu, mark, reading.page.operations, verdicts)
        except _Over:
            found[key] = Written(limit, "⏱", 0)
    return found


def _stop(*_: Any) -> None:
    raise _Over


def _read(reading: DerivationDisplay) -> str:
    """Write all equations and report what was omitted."""
    _ = reading.page
    try:
        _ = list(reading.blocks.values()), reading.laws
    except TooLong:
        return "×"
    return "*" if reading.simplifier.late else ""


def _verdicts(reading: DerivationDisplay) -> tuple[str, ...]:
    blocks = (block.proved for block in reading.blocks.values() if not block.is_long)
    return tuple(sorted({*blocks, *(law.proved for law in reading.laws if not law.unwritten)}))


def table_of(found: dict[str, dict[str, Written]]) -> Table:
    """Models by formalisms."""
    table = Table("model", *(key[:9] for key in catalog.KEYS), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, row in found.items():
        cells = (row.get(key) for key in catalog.KEYS)
        table.add_row(name, *("" if cell is None else f"{cell.seconds:.1f}{cell.mark}" for cell in cells))
    return table


def sweep_summary(found: dict[str, dict[str, Written]]) -> str:
    """The number of fast derivations and the list of slow ones."""
    every = [(cell.seconds, name, key) for name, row in found.items() for key, cell in row.items()]
    quick, slow = sum(t <= LIMIT_MOST for t, *_ in every), [each for each in sorted(every)[::-1] if each[0] > LIMIT_ALL]
    words = f"{len(every)} derivations: {quick} in at most {LIMIT_MOST:g} s, {len(slow)} in more than {LIMIT_ALL:g} s"
    verdicts = {verdict for row in found.values() for cell in row.values() for verdict in cell.verdicts}
    proofs = f"; verdicts of all proofs: {', '.join(sorted(verdicts))}" if verdicts else ""
    return "\n".join([words + proofs, *(f"  {name} by {key}: {t:.1f} s" for t, name, key in slow)])


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", help="a model of the gallery (default: all); repeatable")
    parser.add_argument("--max-coordinates", type=int, default=8, help="skip models with more coordinates (default: 8)")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one derivation (default: 60)")
    parser.add_argument("--prove", action="store_true", help="prove every block and law")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    names = arguments.model or [
        n for n in gallery.names() if len(gallery.load(n).coordinate_names) <= arguments.max_coordinates
    ]
    found = {name: in_new_process(written, name, arguments.limit, arguments.prove) for name in names}
    if arguments.json:
        print(json.dumps({name: {key: asdict(cell) for key, cell in row.items()} for name, row in found.items()}))
        return
    Console(width=200).print(table_of(found))
    print(sweep_summary(found))


if __name__ == "__main__":
    main()
