"""Simulation compared with other programs at equal error, one thread each.

    python benchmarks/simulators.py [--rows chain-3 four-bar ...] [--programs mujoco drake ...] [--repeats 3] [--json]

Every program simulates the same mechanism from the same initial state. Its settings (step or tolerance) are tried from coarse
to fine; the first whose error stays below the limit of the row counts. The error is the largest difference, at the end of the
run, of the coordinates of the row (rad, m) from a reference: ours with tight tolerances, or a closed form where there is one. CPU
seconds of the run (the fewest of `--repeats`), without building, deriving and compiling, which is `setup`. A program that no
setting brings below the limit is reported with its smallest error. Programs that are not installed are reported as such:
`pip install mujoco exudyn drake example-robot-data`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from measure import ProcessEnded, TimeLimit, in_new_process, timed
from simulator_cases import Case
from simulator_chains import chain_cases
from simulator_loops import four_bar_cases, stewart_cases
from simulator_robots import hexapod_cases, panda_cases

Cases = dict[str, Callable[[], Case]]  # programs, each with a function that builds its simulation


@dataclass(frozen=True)
class Row:
    """One mechanism: its largest permitted error, and the programs that simulate it or the reason why one does not."""

    limit: float
    programs: Cases
    reasons: dict[str, str]


LOOP_REASONS = {"drake": "continuous models have no loop constraints; discrete ones are of first order"}
ROWS: dict[str, Row] = {
    **{f"chain-{n}": Row(1e-8, chain_cases(n), {}) for n in (3, 6, 20)},
    "four-bar": Row(1e-6, four_bar_cases(), LOOP_REASONS),
    "stewart-platform": Row(1e-6, stewart_cases(), {**LOOP_REASONS, "sympy": "not written"}),
    "hexapod": Row(
        1e-4,
        hexapod_cases(),
        dict.fromkeys(
            ("exudyn", "drake", "sympy"),
            "not written: the law of the ground would be a callback in Python",
        ),
    ),
    "panda": Row(
        1e-8,
        panda_cases(),
        {
            "exudyn": "not written: its kinematic tree has no computed-torque control",
            "sympy": "not written",
        },
    ),
}
PROGRAMS = ("dalembert", "mujoco", "exudyn", "drake", "sympy")


@dataclass(frozen=True)
class Result:
    """The cheapest setting of a program within the limit, or the most accurate one; `reason` says why there is none."""

    row: str
    program: str
    setting: float | None = None
    error: float | None = None
    cpu: float | None = None
    setup: float | None = None
    reason: str = ""


def result(name: str, program: str, repeats: int) -> Result:
    """One program on one mechanism."""
    row = ROWS[name]
    case, took = timed(row.programs[program])
    closest = Result(name, program, error=np.inf)
    for setting in case.settings:
        found, first = timed(lambda setting=setting: case.run(setting))
        error = float(np.abs(found - case.exact).max())
        if error > row.limit and not error < closest.error:  # NaN, or rounding: smaller steps gain nothing
            continue
        closest = Result(name, program, setting, error, first.cpu, took.cpu)
        if error <= row.limit:
            later = [timed(lambda setting=setting: case.run(setting))[1].cpu for _ in range(repeats)]
            return Result(name, program, setting, error, min(later), took.cpu)
    return Result(**{**asdict(closest), "reason": f"does not reach {row.limit:g}"})


def measured(name: str, program: str, repeats: int, limit: float) -> Result:
    """One program on one mechanism in a process of its own, or the reason why it has no result."""
    row = ROWS[name]
    if program not in row.programs:
        return Result(name, program, reason=row.reasons[program])
    try:
        return in_new_process(result, name, program, repeats, limit=limit)
    except TimeLimit:
        return Result(name, program, reason=f"over {limit:g} s")
    except ProcessEnded as error:
        return Result(name, program, reason=str(error))
    except ImportError as error:
        return Result(name, program, reason=f"not installed: {error.name}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--programs", nargs="+", default=PROGRAMS, choices=PROGRAMS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one program on one mechanism")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [measured(name, key, options.repeats, options.limit) for name in options.rows for key in options.programs]
    if options.json:
        print(json.dumps([asdict(each) for each in found], indent=1))
        return
    table = Table("mechanism", "program", "setting", "error", "CPU, s", "/ ours", "setup, s", "", box=SIMPLE_HEAD)
    ours = {each.row: each.cpu for each in found if each.program == "dalembert" and not each.reason}
    for each in found:
        mine = ours.get(each.row)
        ratio = each.cpu / mine if each.cpu and mine and not each.reason else None
        numbers = [_text(value) for value in (each.setting, each.error, each.cpu, ratio, each.setup)]
        table.add_row(each.row if each.program == options.programs[0] else "", each.program, *numbers, each.reason)
    Console(width=150).print(table)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


if __name__ == "__main__":
    main()
