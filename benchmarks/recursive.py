"""The recursive dynamics on robots and chains, compared with Pinocchio, one thread each.

    python benchmarks/recursive.py [--robots ur5 talos+free chain-100 ...] [--tasks forward ...] [--json] [--plot FOLDER]

For each mechanism and task: nanoseconds per state of a batch, microseconds of one call from Python, seconds to the first batch
with nothing on disk and with machine code on disk. A batch is measured with its arrays in the cache, as far as they fit, and
from memory: many batches in turn, of more than the cache in total, as in a loop over new states. Results are compared before any
time is taken. Pinocchio runs batches by `rneaInParallel` and `abaInParallel` with one thread, and by a loop of calls from Python
where it has no such function. Its `aba` does not support mimic joints; there `crba`, `nle` and NumPy's `solve` are its forward
dynamics. Each mechanism and task has processes of its own. Needs pin and example-robot-data: `make bench-robots`.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import robots
from measure import TimeLimit, in_new_process, timed

TASKS = ("inverse", "forward", "mass_matrix", "derivatives")
BATCH, LONG_BATCH, LOOP = 4096, 512, 64  # states: of robots, of long chains, and of a loop of calls
AGREED = 1e-8  # relative; a larger difference is an error
LIMIT, MEMORY = 120.0, 4.0  # seconds and GB of one process
ROUNDS, LEAST = 7, 0.01  # seconds of a round
BEYOND = 256 * 2**20  # bytes of the batches that are measured from memory, several times the cache
FEWEST, TURNS = 4, 3  # batches from memory, and how often all are run
TARGETS = {  # Pinocchio over ours in batches, for at most so many speeds
    "inverse": ((9, 40), (60, 25), (10_000, 16)),
    "forward": ((9, 50), (60, 25), (10_000, 12)),
    "mass_matrix": ((10_000, 20),),
    "derivatives": ((10_000, 10),),
}

Row = dict[str, Any]
Work = Callable[[], Any]


def measured(name: str, task: str, cache: str, quick: bool, memory: float, max_states: int) -> Row:
    """One task on one mechanism; with `quick` only the first call, with what `cache` holds."""
    os.environ["DALEMBERT_CACHE"] = cache
    import dalembert as dl

    limit = int(memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for states in (np.zeros(1), np.zeros((1, 8))):  # imports and initialization of LLVM
        dl.dynamics("simple-pendulum").forward(states, states, states)
    pair = robots.pair_of(name)
    handle, speeds = dl.dynamics(pair.ours), pair.theirs.nv
    count = min(max_states, LONG_BATCH) if speeds > 60 else max_states
    x = pair.states(8 if quick else count)
    batch, one = _ours(handle, task, x)
    _, first = timed(batch)
    if quick:
        return {"compile": first.cpu}
    row: Row = {"speeds": speeds, "states": count, "compile": first.cpu, "operations": _operations(handle, task)}
    row |= {"deviations": list(pair.deviations)}
    if pair.followers and task == "derivatives":
        took, alone = raced([batch, one])
        note = "Pinocchio has no derivatives of forward dynamics with mimic joints"
        return row | {"batch": took / count, "one": alone, "note": note}
    try:
        their_batch, their_one, their_count = _theirs(pair, task, x)
    except MemoryError:
        took, alone = raced([batch, one])
        note = f"Pinocchio not measured: its data for {speeds} speeds hold tensors of {speeds}³ numbers, over {memory:g} GB"
        return row | {"batch": took / count, "one": alone, "note": note}
    row["error"] = _difference(pair, task, x, batch())
    if not row["error"] < AGREED:
        raise RuntimeError(f"{name}, {task}: the results differ by {row['error']:.1e}. Expected at most {AGREED:.0e}.")
    took, alone, theirs, their_alone = raced([batch, one, their_batch, their_one])
    row |= {"batch": took / count, "one": alone, "pin_batch": theirs / their_count, "pin_one": their_alone}
    if task in ("inverse", "forward"):
        pool = max(FEWEST, BEYOND // (8 * count * (len(x.q) + 3 * len(x.s))))
        works = [
            [part(copied(x)) for _ in range(pool)]
            for part in (lambda y: _ours(handle, task, y)[0], lambda y: _theirs(pair, task, y)[0])
        ]
        row |= dict(zip(("memory", "pin_memory"), (took / count for took in in_turn(works)), strict=True))
    return row


def copied(x: robots.States) -> robots.States:
    """The same states in other arrays."""
    return dataclasses.replace(x, **{name: np.copy(y, "K") for name, y in vars(x).items() if isinstance(y, np.ndarray)})


def in_turn(works: list[list[Work]]) -> list[float]:
    """CPU seconds of one call of each list, whose calls need different data; the least of several short stretches."""
    best = [np.inf] * len(works)
    stretch = 4
    for _ in range(TURNS):
        for first in range(0, len(works[0]) - stretch + 1, stretch):
            for i, each in enumerate(works):
                begun = time.thread_time()
                for work in each[first : first + stretch]:
                    work()
                best[i] = min(best[i], (time.thread_time() - begun) / stretch)
    return best


def _ours(handle: Any, task: str, x: robots.States) -> tuple[Work, Work]:
    """Times of a batch, written into an array, and of one state."""
    inputs = {"mass_matrix": (x.q,), "inverse": (x.q, x.s, x.sd)}.get(task, (x.q, x.s, x.tau))
    alone = [np.ascontiguousarray(y[:, 0]) for y in inputs]
    n, count = len(x.s), x.q.shape[1]
    out = np.empty({"mass_matrix": (n, n, count), "derivatives": (n, 3 * n, count)}.get(task, (n, count)))
    function = getattr(handle, task)
    return lambda: function(*inputs, out=out), lambda: function(*alone)


def _theirs(pair: robots.Pair, task: str, x: robots.States) -> tuple[Work, Work, int]:
    """The same for Pinocchio, and the number of states of a batch."""
    import pinocchio as pin

    model, data = pair.theirs, pair.theirs.createData()
    last = x.their_a if task == "inverse" else x.their_tau
    single = {"inverse": "rnea", "forward": "aba", "mass_matrix": "crba", "derivatives": "computeABADerivatives"}[task]
    function, inputs = getattr(pin, single), (x.their_q,) if task == "mass_matrix" else (x.their_q, x.their_v, last)
    if pair.followers and task == "forward":
        function = _solved
    alone = [[np.array(y[:, k]) for y in inputs] for k in range(LOOP)]
    if function is _solved or task in ("mass_matrix", "derivatives"):
        return lambda: [function(model, data, *y) for y in alone], lambda: function(model, data, *alone[0]), LOOP
    pool, many = pin.ModelPool(model, 1), getattr(pin, f"{single}InParallel")
    out = np.zeros(x.their_v.shape, order="F")
    return lambda: many(1, pool, *inputs, out), lambda: function(model, data, *alone[0]), x.q.shape[1]


def _solved(model: Any, data: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Forward dynamics by Pinocchio's mass matrix, of which `crba` writes the upper triangle, and bias."""
    import pinocchio as pin

    M = np.triu(pin.crba(model, data, q))
    return np.linalg.solve(M + np.triu(M, 1).T, tau - pin.nle(model, data, q, v))


def _difference(pair: robots.Pair, task: str, x: robots.States, found: Any) -> float:
    """The largest relative difference at a few states, in Pinocchio's coordinates."""
    import pinocchio as pin

    model, data, worst = pair.theirs, pair.theirs.createData(), 0.0
    for k in range(5):
        q, v, a, tau = (y[:, k] for y in (x.their_q, x.their_v, x.their_a, x.their_tau))
        turn = np.eye(model.nv)
        if x.turns is not None:
            turn[:3, :3] = x.turns[k].T
        if task == "inverse":
            both = [(turn @ (pair.spread.T @ found)[:, k], pin.rnea(model, data, q, v, a))]
        elif task == "forward":
            drift = pair.leading(x.sd, x.turns)[:, k] - a
            known = _solved if pair.followers else pin.aba
            both = [(turn @ found[pair.columns, k] - drift, known(model, data, q, v, tau))]
        elif task == "mass_matrix":
            M = np.triu(pin.crba(model, data, q))
            both = [(turn @ pair.spread.T @ found[:, :, k] @ pair.spread @ turn.T, M + np.triu(M, 1).T)]
        else:
            pin.computeABADerivatives(model, data, q, v, tau)
            by_tau, own = (
                np.triu(data.Minv),
                slice(6 if pair.free else 0, None),
            )  # rotations depend on the base, not on joints
            slopes = [y[np.ix_(pair.columns, pair.columns)][:, :, k] for y in found[:3]]
            both = [(turn @ slopes[2] @ turn.T, by_tau + np.triu(by_tau, 1).T)]
            both += [(turn @ slopes[0][:, own], data.ddq_dq[:, own]), (turn @ slopes[1][:, own], data.ddq_dv[:, own])]
        worst = max(worst, *(float(np.abs(ours - theirs).max() / np.abs(theirs).max()) for ours, theirs in both))
    return worst


def _operations(handle: Any, task: str) -> int:
    """Operations of one evaluation: of the program, or link by link of the loops."""
    from dalembert.recursive.execution import choose_execution
    from dalembert.recursive.rolled_sweeps import operations_of
    from dalembert.recursive.traced import task_program

    own = "forward_derivatives" if task == "derivatives" else task
    if choose_execution(handle.plan, own, None) == "rolled":
        return operations_of(handle.plan, own)
    return task_program(handle.plan, own).operations


def raced(works: list[Work]) -> list[float]:
    """CPU seconds of one call of each, the best of several interleaved rounds, so that other load affects all equally."""
    counts = []
    for work in works:
        work()
        begun = time.thread_time()
        work()
        counts.append(max(1, int(LEAST / max(time.thread_time() - begun, 1e-7))))
    best = [np.inf] * len(works)
    for _ in range(ROUNDS):
        for i, (work, count) in enumerate(zip(works, counts, strict=True)):
            begun = time.thread_time()
            for _ in range(count):
                work()
            best[i] = min(best[i], (time.thread_time() - begun) / count)
    return best


def peak() -> float:
    """Operations per nanosecond of one core at best: chains of fused products and sums that wait for nothing else."""
    os.environ["DALEMBERT_CACHE"] = ""
    from dalembert.codegen.function import function_of
    from dalembert.codegen.program import program_of
    from dalembert.symbolic.graph import GRAPH

    names, count, best = ["x", "a", "b"], 8200, 0.0
    inputs, none = np.full((len(names), count), 0.5), np.zeros(0)
    for depth in (16, 24, 32):  # short enough for a processor to look ahead into the next chain, long against loads
        x, a, b = GRAPH.symbols(names)
        chains = [x + i for i in range(12)]
        for _ in range(depth):
            chains = [y * a + b for y in chains]
        program = program_of([sum(chains[1:], chains[0])], names)  # few rows, which add overhead
        function = function_of(program, "native")
        (took,) = raced([functools.partial(function, inputs, none)])
        best = max(best, program.operations * count / took * 1e-9)
    return best


def all_of(name: str, task: str, limit: float, memory: float, batch: int) -> Row:
    """One row: everything, then the first call again from disk."""
    with tempfile.TemporaryDirectory(prefix="dalembert-benchmark-") as cache:
        try:
            row = in_new_process(measured, name, task, cache, False, memory, batch, limit=limit)
            row["cached"] = in_new_process(measured, name, task, cache, True, memory, batch, limit=limit)["compile"]
        except TimeLimit:
            return {"note": f"not measured: more than {limit:.0f} s"}
    return row


def target(task: str, speeds: int) -> int:
    """The target ratio."""
    return next(ratio for max_speeds, ratio in TARGETS[task] if speeds <= max_speeds)


def show(found: dict[str, dict[str, Row]], peak_rate: float) -> None:
    """Print all mechanisms and tasks."""
    table = Table(title="Recursive dynamics, one thread", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("mechanism\n  task", no_wrap=True)
    headings = (
        "batch\nns",
        "Pinocchio\nns",
        "ratio\n",
        "target\n",
        "memory\nns",
        "ratio\n",
        "call\nµs",
        "Pinocchio\nµs",
        "ratio\n",
    )
    for heading in (*headings, "first\ns", "cached\ns", "oper-\nations", "peak\n%", "differ-\nence"):
        table.add_column(heading, justify="right", no_wrap=True)
    notes, deviations = [], dict[str, None]()
    for name, rows in found.items():
        speeds = next((row["speeds"] for row in rows.values() if "speeds" in row), "")
        changed = "*" if any(row.get("deviations") for row in rows.values()) else ""
        table.add_row(f"{name}{changed}, {speeds} speeds")
        for task, row in rows.items():
            notes += [f"{name}, {task}: {row['note']}"] if "note" in row else []
            deviations |= {f"{name}: {words}": None for words in row.get("deviations", ())}
            if "batch" in row:
                table.add_row(f"  {task}", *_cells(task, row, peak_rate))
    console = Console(width=145)
    console.print(table)
    for note in [*(f"* {words}" for words in deviations), *notes]:
        console.print(note)
    console.print(f"Peak: {peak_rate:.1f} operations per ns, measured with fused products and sums in every lane.")


def _cells(task: str, row: Row, peak_rate: float) -> list[str]:
    def formatted(part: str, unit: float, digits: int) -> str:
        return f"{row[part] * unit:.{digits}f}" if part in row else ""

    def ratio(part: str) -> str:
        return f"{row[f'pin_{part}'] / row[part]:.1f}" if f"pin_{part}" in row else ""

    cells = [
        formatted("batch", 1e9, 0),
        formatted("pin_batch", 1e9, 0),
        ratio("batch"),
        str(target(task, row["speeds"])),
    ]
    cells += [formatted("memory", 1e9, 0), ratio("memory")]
    cells += [formatted("one", 1e6, 2), formatted("pin_one", 1e6, 2), ratio("one")]
    cells += [formatted("compile", 1, 2), formatted("cached", 1, 3), str(row["operations"])]
    used = row["operations"] / (row["batch"] * 1e9) / peak_rate
    return [*cells, f"{100 * used:.0f}", f"{row['error']:.0e}" if "error" in row else ""]


def plot(found: dict[str, dict[str, Row]], folder: Path) -> None:
    """Two figures: the ratios with their targets, and the time of a batch over the number of speeds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=False, layout="constrained")
    for task, ax in zip(TASKS, axes.ravel(), strict=True):
        rows = {name: each[task] for name, each in found.items() if "pin_batch" in each.get(task, {})}
        ax.bar(list(rows), [row["pin_batch"] / row["batch"] for row in rows.values()], color="#4878a8")
        for i, row in enumerate(rows.values()):
            ax.plot([i - 0.45, i + 0.45], [target(task, row["speeds"])] * 2, color="#c44e52")
        ax.set(title=task.replace("_", " "), ylabel="Pinocchio / ours, batch")
        ax.tick_params(axis="x", rotation=60, labelsize=8)
    figure.suptitle("Ratio of time per state, one thread; red: the target")
    figure.savefig(folder / "recursive-ratios.png", dpi=80)
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    for task, color in zip(TASKS, ("#4878a8", "#c44e52", "#55a868", "#8172b3"), strict=True):
        for part, style in (("batch", "o"), ("pin_batch", "^")):
            rows = [each[task] for each in found.values() if part in each.get(task, {})]
            who = "ours" if part == "batch" else "Pinocchio"
            at = [row["speeds"] for row in rows], [row[part] * 1e9 for row in rows]
            ax.loglog(*at, style, color=color, fillstyle="full" if part == "batch" else "none", label=f"{task}, {who}")
    ax.set(xlabel="speeds", ylabel="ns per state of a batch, one thread")
    ax.legend(fontsize=8)
    figure.savefig(folder / "recursive-times.png", dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description="The recursive dynamics against Pinocchio, one thread each.")
    parser.add_argument("--robots", nargs="+", default=robots.names(), choices=robots.names(), metavar="NAME")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS, metavar="TASK")
    parser.add_argument("--batch", type=int, default=BATCH, help=f"states; at most {LONG_BATCH} for chains")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of one process")
    parser.add_argument("--memory", type=float, default=MEMORY, help="GB of one process")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw two figures there")
    chosen = parser.parse_args()
    if absent := robots.missing():
        print(absent, file=sys.stderr)
        raise SystemExit(2)
    os.environ["OMP_NUM_THREADS"] = "1"
    peak_rate, found = in_new_process(peak), dict[str, dict[str, Row]]()
    for name in chosen.robots:
        # matrices of long chains have no loops, and one program for 100 links takes minutes to compile
        tasks = [task for task in chosen.tasks if name not in robots.CHAINS or task in ("inverse", "forward")]
        for task in tasks:
            print(f"{name}, {task} ...", file=sys.stderr)
            found.setdefault(name, {})[task] = all_of(name, task, chosen.limit, chosen.memory, chosen.batch)
    if chosen.json:
        print(json.dumps({"peak": peak_rate, "rows": found}, indent=2))
    else:
        show(found, peak_rate)
    if chosen.plot is not None:
        plot(found, chosen.plot)


if __name__ == "__main__":
    main()
