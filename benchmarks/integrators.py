"""The choice of the default integrator: every gallery model for its duration, by several integrators.

    python benchmarks/integrators.py [--models four-bar ...] [--formalism lagrange] [--methods auto taylor ...] [--json]

Each model is a new process. `first` is the first run in it with the machine code on disk, `warm` the best of the later runs,
both in CPU seconds and with everything that a run records; `error` is `energy_error` and `samples` the largest difference of
the sampled coordinates from those of `taylor`, relative to the range of each. Chaotic and non-smooth models amplify rounding:
there only `error` compares the methods.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import dalembert as dl
from measure import TimeLimit, best, in_new_process, timed

METHODS = ("auto", "dop853", "taylor")
REFERENCE = "taylor"
_ROUNDS, _SHORT = 5, 2.0  # runs of one method; only one run if it takes longer, in seconds


@dataclass(frozen=True)
class Measured:
    """One model by one method; `reason` says why there is no run."""

    method: str
    first: float | None = None
    warm: float | None = None
    error: float | None = None
    samples: float | None = None
    reason: str = ""


def runs(name: str, formalism: str | None, methods: tuple[str, ...]) -> list[Measured]:
    """All methods on one model."""
    model = dl.load(name)
    equations = dl.derive(model, formalism) if formalism else dl.derive(model)
    found, reference = [], None
    for method in sorted(methods, key=lambda each: each != REFERENCE):
        try:
            run, first = timed(lambda method=method: equations.simulate(integrator=method))
        except dl.DalembertError as error:
            found.append(Measured(method, reason=str(error)[:120]))
            continue
        rounds = _ROUNDS if first.cpu < _SHORT else 0
        later = [timed(lambda method=method: equations.simulate(integrator=method))[1] for _ in range(rounds)]
        reference = run if method == REFERENCE else reference
        error = None if np.isnan(run.energy_error) else float(run.energy_error)
        found.append(Measured(method, first.cpu, best([first, *later]).cpu, error, _difference(run, reference)))
    return sorted(found, key=lambda each: methods.index(each.method))


def _difference(run: dl.Trajectory, reference: dl.Trajectory | None) -> float | None:
    """The largest difference of coordinates at the samples, relative to their ranges."""
    if reference is None or run is reference or run.q.shape != reference.q.shape:
        return None
    ranges = np.ptp(reference.q, axis=1)
    return float(np.max(np.abs(run.q - reference.q).max(axis=1) / np.where(ranges > 0, ranges, 1.0), initial=0.0))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", help="default: the gallery")
    parser.add_argument("--formalism", help="default: that of the model")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each model")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[str, list[Measured] | str] = {}
    for name in options.models or dl.gallery.names():
        try:
            results[name] = in_new_process(runs, name, options.formalism, tuple(options.methods), limit=options.limit)
        except TimeLimit:
            results[name] = f"over {options.limit:g} s"
    if options.json:
        as_data = {
            name: rows if isinstance(rows, str) else [asdict(row) for row in rows] for name, rows in results.items()
        }
        print(json.dumps(as_data, indent=1))
        return
    table = Table("model", "method", "first, s", "warm, s", "error", "samples", box=SIMPLE_HEAD)
    for name, rows in results.items():
        if isinstance(rows, str):
            table.add_row(name, rows)
            continue
        for i, row in enumerate(rows):
            cells = [_number(value) for value in (row.first, row.warm, row.error, row.samples)]
            table.add_row(name if i == 0 else "", row.method, *(cells if not row.reason else [row.reason]))
    Console(width=120).print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


if __name__ == "__main__":
    main()
