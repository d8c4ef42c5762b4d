"""Operation counts of every formalism on a few gallery models, beside the committed baseline.

    python benchmarks/operations.py [--update] [--json]

One evaluation of the right-hand side, linear solve included, as the machine runs it. Counts do not depend
on the machine. Exit code 1 when a count has grown by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import dalembert as dl
from dalembert import formalisms
from dalembert.handles import Equations, setup, workspace_of
from dalembert.handles.derivation import derivation_of

BASELINE = Path(__file__).with_name("operations.json")
GROWTH = 0.05

Counts = dict[str, dict[str, int]]  # model -> formalism -> operations

# small and large, with and without constraints
MODELS = ("cart-pendulum", "double-pendulum", "satellite-boom", "simple-pendulum", "three-bodies", "planar-four-bar")


def count(name: str) -> dict[str, int]:
    """Operations of every formalism that can treat a gallery model."""
    workspace = workspace_of(setup(dl.load(name)))
    keys = formalisms.applicable(workspace.model, workspace.facts)
    return {key: Equations(derivation_of(workspace.setup, key)).operations for key in keys}


def count_all() -> Counts:
    """Operations of every formalism on the models of the baseline."""
    return {name: count(name) for name in MODELS}


def baseline() -> Counts:
    """The committed counts."""
    return json.loads(BASELINE.read_text(encoding="utf-8"))


def grown(found: dict[str, int], before: dict[str, int]) -> list[str]:
    """A sentence for every formalism that needs more than 5 % more operations than before."""
    return [
        f"{key}: {found[key]} operations, {before[key]} in the baseline (+{found[key] / before[key] - 1:.1%})"
        for key in found
        if key in before and found[key] > (1 + GROWTH) * before[key]
    ]


def show(found: Counts, before: Counts) -> None:
    """Print counts, with the change from the baseline where there is one."""
    keys = [key for key in formalisms.KEYS if any(key in counts for counts in found.values())]
    table = Table(title="Operations in one evaluation of the right-hand side", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("formalism", no_wrap=True)
    for name in found:
        table.add_column(name.replace("-", "-\n"), justify="right")
    for key in keys:
        cells = [_cell(found[name].get(key), before.get(name, {}).get(key)) for name in found]
        table.add_row(key, *cells)
    Console().print(table)


def _cell(now: int | None, before: int | None) -> str:
    if now is None:
        return ""
    if before is None:
        return f"{now} [cyan]new[/]"
    if now == before:
        return str(now)
    color = "green" if now < before else "yellow" if now <= (1 + GROWTH) * before else "bold red"
    return f"{now} [{color}]{now - before:+d}[/]"


def main() -> int:
    parser = argparse.ArgumentParser(description="Count operations and compare with the baseline.")
    parser.add_argument("--update", action="store_true", help="write the counts as the new baseline")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args()
    found = count_all()
    before = baseline() if BASELINE.exists() else {}
    if chosen.json:
        print(json.dumps(found, indent=2))
    else:
        show(found, before)
    if chosen.update:
        BASELINE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return 0
    worse = [f"{name}, {line}" for name in found for line in grown(found[name], before.get(name, {}))]
    for line in worse:
        print(line, file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
