"""Rewrite the baselines of tests/architecture.

python tests/architecture/snapshot.py {api,operations,runs} ... [--allow-growth]

`operations` rejects a count that has grown unless `--allow-growth` is set: state the reason in the commit.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import operation_counts
import public_api
import reference_runs


def write_api() -> None:
    public_api.SNAPSHOT.write_text(public_api.snapshot(), "utf-8")


def write_operations(allow_growth: bool) -> None:
    before = operation_counts.baseline() if operation_counts.BASELINE.exists() else {}
    found = {operation_counts.name(*pair): operation_counts.count(*pair) for pair in operation_counts.PAIRS}
    grown = [f"{name}: {before[name]} -> {count}" for name, count in found.items() if count > before.get(name, count)]
    if grown and not allow_growth:
        sys.exit("operation counts have grown, nothing is written (see --allow-growth):\n" + "\n".join(grown))
    operation_counts.BASELINE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def write_runs() -> None:
    runs = {name: reference_runs.record(case) for name, case in reference_runs.CASES.items()}
    reference_runs.Baseline(reference_runs.environment(), runs).write()


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baselines", nargs="+", choices=("api", "operations", "runs"))
    parser.add_argument("--allow-growth", action="store_true", help="write operation counts that have grown")
    given = parser.parse_args(words)
    if "api" in given.baselines:
        write_api()
    if "operations" in given.baselines:
        write_operations(given.allow_growth)
    if "runs" in given.baselines:
        write_runs()


if __name__ == "__main__":
    main()
