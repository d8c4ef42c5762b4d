"""Chains of n bodies by several formalisms: CPU seconds to load, derive, compile and simulate 1 s, from an empty cache.

    python benchmarks/chains.py [--bodies 10 20 50 100] [--formalisms lagrange ...] [--limit 120] [--plot chains.svg] [--json]

The chain is a planar pendulum of equal rods under gravity, released horizontally; revolute joints, no constraints. Every cell is
a process of its own. `limit` is wall time: a cell that exceeds it is printed as >.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from measure import TimeLimit, in_new_process

FORMALISMS = ("lagrange", "kane", "gibbs_appell", "volterra", "denoc", "auto")
AIMS = {20: 3.0, 50: 15.0}  # CPU seconds, at most


def chain(dl: Any, bodies: int) -> Any:
    """A planar pendulum of `bodies` rods of 1 m and 1 kg, released from rest in a horizontal line."""
    model, parent = dl.Model(f"chain of {bodies}", gravity=(0, 0, -9.81)), "world"
    for k in range(bodies):
        model.coordinate(f"a{k}")
        joint = model.revolute((0, 1, 0), f"a{k}", position=(1.0 if k else 0.0, 0, 0))
        model.body(f"rod{k}", parent=parent, joint=joint, mass=1.0, center=(0.5, 0, 0), inertia=(0.001, 1 / 12, 1 / 12))
        parent = f"rod{k}"
    return model


def run(bodies: int, formalism: str) -> dict[str, float]:
    """CPU seconds in this process, and the energy error; `auto` is the default of `simulate`."""
    with tempfile.TemporaryDirectory(prefix="dalembert-benchmark-") as cache:
        os.environ["DALEMBERT_CACHE"] = cache
        import dalembert as dl

        begun = time.process_time()
        named = None if formalism == "auto" else formalism
        trajectory = dl.simulate(chain(dl, bodies), 1.0, formalism=named, samples=101)
        total = time.process_time() - begun
        return {"total": total, "energy_error": trajectory.energy_error}


def measure(bodies: int, formalism: str, limit: float) -> dict[str, float]:
    """One cell; empty if it exceeds the limit."""
    try:
        return in_new_process(run, bodies, formalism, limit=limit)
    except TimeLimit:
        return {}


def show(found: dict[str, dict[int, dict[str, float]]], sizes: list[int], limit: float) -> None:
    """Print the table and the aims."""
    console = Console()
    table = Table(title="Chains: CPU seconds to load, derive, compile and simulate 1 s", box=SIMPLE_HEAD)
    table.add_column("formalism")
    for size in sizes:
        table.add_column(f"{size} bodies", justify="right")
    for formalism, row in found.items():
        table.add_row(formalism, *(f"{row[n]['total']:.2f}" if row[n] else f"> {limit:.0f}" for n in sizes))
    console.print(table)
    for size, aim in AIMS.items():
        if size in sizes:
            missed = [key for key, row in found.items() if not row[size] or row[size]["total"] > aim]
            console.print(f"Aim at {size} bodies, at most {aim:g} s: missed by {', '.join(missed) or 'none'}")


def draw(found: dict[str, dict[int, dict[str, float]]], path: str) -> None:
    """Draw the growth with the number of bodies."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for formalism, row in found.items():
        known = {size: cell["total"] for size, cell in row.items() if cell}
        axis.loglog(list(known), list(known.values()), "o-", label=formalism)
    axis.set_xlabel("bodies")
    axis.set_ylabel("CPU seconds to the end of a run of 1 s")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Chains of n bodies: derive, compile and simulate by several formalisms."
    )
    parser.add_argument("--bodies", type=int, nargs="+", default=[10, 20, 50, 100], help="numbers of bodies")
    parser.add_argument("--formalisms", nargs="+", default=list(FORMALISMS), choices=FORMALISMS, help="rows")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a cell may take")
    parser.add_argument("--plot", metavar="FILE", help="draw the growth (.png, .svg or .pdf)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args()
    found: dict[str, dict[int, dict[str, float]]] = {}
    for formalism in chosen.formalisms:
        found[formalism] = {}
        for size in chosen.bodies:
            # larger chains take longer: nothing is gained by trying them after one has failed
            known = found[formalism].values()
            found[formalism][size] = {} if {} in known else measure(size, formalism, chosen.limit)
    if chosen.json:
        print(json.dumps({"aims": AIMS, "seconds": found}, indent=2))
    else:
        show(found, chosen.bodies, chosen.limit)
    if chosen.plot:
        draw(found, chosen.plot)


if __name__ == "__main__":
    main()
