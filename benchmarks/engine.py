"""The engine on seven models, compared with SymPy's lambdify.

    python benchmarks/engine.py [--models three-bodies four-bar ...] [--formalism kane] [--all] [--json]

For each model: derivation, first compilation and loading of machine code from disk, nanoseconds per state for one call
from Python, for a batch on one thread and on two, and the operations of one evaluation. Every model has processes and a
folder of machine code of its own. SymPy's lambdify runs if `peers.py` has the model.
With --all, every applicable formalism is derived and compiled, and the slowest is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from measure import in_new_process, timed

MODELS = ("cart-pendulum", "three-bodies", "satellite-boom", "four-bar", "3-rrr", "stewart-platform", "kuka-kr5")
BATCH, SEED = 100_000, 5

Row = dict[str, Any]


def ours(name: str, formalism: str, cache: str, quick: bool = False) -> Row:
    """All measurements of our engine on one model; with `quick` only derivation and compilation."""
    os.environ["DALEMBERT_CACHE"] = cache
    import dalembert as dl
    from dalembert.codegen.function import NativeFunction

    dl.derive("simple-pendulum", "kane").accelerations([0.1], [0.2])  # imports and initialization of LLVM
    model = dl.load(name)
    eom, deriving = timed(lambda: dl.derive(model, formalism))
    kernel = eom.kernel
    program, writing = timed(lambda: kernel.program)
    function = NativeFunction(program)
    _, one = timed(lambda: function.native)
    out = {"derive": deriving.cpu + writing.cpu, "compile": one.cpu, "operations": program.operations}
    if quick:
        return out
    inputs, constants = states(eom, program)
    _, many = timed(lambda: function(inputs, constants))
    single = np.ascontiguousarray(inputs[:, 0])
    return out | {
        "lanes": many.cpu,
        "one": per_call(lambda: function(single, constants)),
        "batch": per_call(lambda: function(inputs, constants)) / BATCH,
        "threads": per_call(lambda: function(inputs, constants, threads=2)) / BATCH,
    }


def states(eom: Any, program: Any) -> tuple[np.ndarray, np.ndarray]:
    """A batch of states near the initial one, and the parameters."""
    q, qd = eom.model.initial
    start, constants = eom.kernel.start(q, qd, 0.0, eom.values)
    values = np.concatenate([eom.values, constants])
    y = np.concatenate([q, start, [0.0]])[: len(program.inputs)]
    noise = np.random.default_rng(SEED).uniform(-0.1, 0.1, (len(y), BATCH))
    return np.ascontiguousarray(y[:, None] + noise), values


def sympy(name: str) -> Row:
    """Kane's equations of SymPy, lambdified with cse and solved by NumPy."""
    import dalembert as dl
    import peers

    model = dl.load(name)
    derived, deriving = timed(lambda: peers.kane(peers.MODELS[name]()))
    rates, compiling = timed(lambda: derived.compile(model.parameter_values))
    start = derived.start(*model.initial, model.parameter_values)
    return {
        "derive": deriving.cpu,
        "compile": compiling.cpu,
        "one": per_call(lambda: rates(0.0, start)),
        "operations": derived.operations(),
    }


def per_call(work: Callable[[], Any]) -> float:
    """Seconds of one call, the best of several rounds of at least 20 ms."""
    work()
    count, took = 1, 0.0
    while took < 0.02:
        begun = time.perf_counter()
        for _ in range(count):
            work()
        took = time.perf_counter() - begun
        count *= 1 if took >= 0.02 else 2
    rounds = []
    for _ in range(7):
        begun = time.perf_counter()
        for _ in range(count):
            work()
        rounds.append((time.perf_counter() - begun) / count)
    return min(rounds)


def measured(name: str, formalism: str) -> dict[str, Row]:
    """One model: ours and, if available, SymPy's."""
    import peers

    with tempfile.TemporaryDirectory(prefix="dalembert-benchmark-") as cache:
        found = in_new_process(ours, name, formalism, cache)
        again = in_new_process(ours, name, formalism, cache, True)
    out = {"ours": found | {"cached": again["compile"]}}
    if name in peers.MODELS:
        out["sympy"] = in_new_process(sympy, name)
    return out


def slowest(name: str) -> tuple[str, Row]:
    """The formalism that takes longest to derive and compile."""
    import dalembert as dl
    from dalembert.formalisms import catalog
    from dalembert.simulation.workspace import setup, workspace_of

    space = workspace_of(setup(dl.load(name)))
    keys = catalog.applicable(space.model, space.facts)
    fused = [key for key in keys if space.mode(catalog.find(key).ABOUT) == "fused"]
    with tempfile.TemporaryDirectory(prefix="dalembert-benchmark-") as cache:
        rows = {key: in_new_process(ours, name, key, cache, True) for key in fused}
    return max(rows.items(), key=lambda each: each[1]["derive"] + each[1]["compile"])


def show(found: dict[str, dict[str, Row]], formalism: str, worst: dict[str, tuple[str, Row]]) -> None:
    """Print all models, ours and the peers."""
    table = Table(
        title=f"The right-hand side by {formalism}, linear solve included", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("model", no_wrap=True)
    headings = (
        "derive\ns",
        "compile\ns",
        "cached\ns",
        "lanes\ns",
        "call\nµs",
        "batch\nns",
        "threads\nns",
        "oper-\nations",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, rows in found.items():
        for who, row in rows.items():
            table.add_row(name if who == "ours" else f"  {who}", *_cells(row))
    console = Console(width=110)
    console.print(table)
    for name, (key, row) in worst.items():
        console.print(f"{name}: slowest to derive and compile is {key}, {row['derive']:.2f} + {row['compile']:.2f} s.")


def _cells(row: Row) -> list[str]:
    units = (("derive", 1.0, 3), ("compile", 1.0, 3), ("cached", 1.0, 3), ("lanes", 1.0, 3), ("one", 1e6, 2))
    cells = [f"{row[part] * unit:.{digits}f}" if part in row else "" for part, unit, digits in units]
    cells += [f"{row[part] * 1e9:.0f}" if part in row else "" for part in ("batch", "threads")]
    return [*cells, str(row.get("operations", ""))]


def main() -> None:
    parser = argparse.ArgumentParser(description="The engine against SymPy's lambdify.")
    parser.add_argument("--models", nargs="+", default=list(MODELS), help="gallery names")
    parser.add_argument("--formalism", default="kane")
    parser.add_argument("--all", action="store_true", help="also derive and compile by every formalism")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args()
    found = {name: measured(name, chosen.formalism) for name in chosen.models}
    worst = {name: slowest(name) for name in chosen.models} if chosen.all else {}
    if chosen.json:
        print(json.dumps({"rows": found, "slowest": worst}, indent=2))
    else:
        show(found, chosen.formalism, worst)


if __name__ == "__main__":
    main()
