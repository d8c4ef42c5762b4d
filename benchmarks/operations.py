"""Operation counts of every formalism on a few gallery models, and of the recursion on chains, compared with the baseline.

    python benchmarks/operations.py [--update] [--json] [--figures FOLDER]

One evaluation of the right-hand side, linear solve included, as the machine runs it. Counts do not depend
on the machine. Exit code 1 when a count has grown by more than 5 %.

The chains are those of figures 19 and 20 of papers/denoc: n degrees of freedom in series, by joints of 1, 2 or 3 degrees of
freedom or all three in turn, with random placements, axes and inertias. Multiplications M (divisions too) and additions A
(subtractions and signs too) are counted apart; sines and cosines are not counted. `--figures` draws them as the paper does.
The paper prints curves without numbers, so the reference lines are bounds that this project derived from the
literature: 120n M + 97n A for inverse and 250n M + 220n A for forward dynamics.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import dalembert as dl
from dalembert.api.equations import Equations
from dalembert.codegen.program import program_of
from dalembert.formalisms import catalog
from dalembert.recursive.forward import forward_dynamics
from dalembert.recursive.inverse import inverse_dynamics
from dalembert.recursive.link_states import moving
from dalembert.recursive.plan import plan_of
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import ZERO, node

BASELINE = Path(__file__).with_name("operations.json")
GROWTH = 0.05

Counts = dict[str, dict[str, int]]  # model -> formalism -> operations

# small and large, with and without constraints
MODELS = ("cart-pendulum", "double-pendulum", "satellite-boom", "simple-pendulum", "three-bodies", "planar-four-bar")


SIZES = (5, 10, 20, 30)  # degrees of freedom
JOINTS = {"1-DOF": (1,), "2-DOF": (2,), "3-DOF": (3,), "mixed": (1, 2, 3)}
CHAINS = {f"chain of {n}, {kind} joints": (n, sizes) for kind, sizes in JOINTS.items() for n in SIZES}
KINDS = ("inverse M", "inverse A", "forward M", "forward A")
BOUNDS = {"inverse": 120 + 97, "forward": 250 + 220}  # operations for each degree of freedom


def chain(n: int, sizes: Sequence[int], seed: int = 1) -> dl.Model:
    """A general chain of n degrees of freedom with joints of these sizes in turn; the last one is truncated."""
    rng = np.random.default_rng(seed)

    def drawn(size: float) -> tuple[float, ...]:
        return tuple(round(float(x), 4) for x in size * rng.normal(size=3))

    model = dl.Model("chain", gravity=drawn(5)).coordinates(*(f"q{i}" for i in range(n)))
    parent, first = "world", 0
    for index, size in enumerate(cycle(sizes)):
        angles = [f"q{i}" for i in range(first, min(first + size, n))]
        pose = {"position": drawn(1), "rotation": drawn(1)}
        if len(angles) == 1:
            joint = model.revolute(drawn(1), angles[0], **pose)
        elif len(angles) == 2:
            joint = model.universal(((1, 0, 0), (0, 1, 0)), angles, **pose)
        else:
            joint = model.spherical(angles, "xyz", **pose)
        a, b, c = (2 + 0.3 * abs(x) for x in drawn(1))
        inertia = (a, b, c, *drawn(0.1))
        body = f"link{index}"
        model.body(body, parent=parent, joint=joint, mass=1.3, center=drawn(0.2), inertia=inertia)
        parent, first = body, first + len(angles)
        if first == n:
            return model
    raise AssertionError("a cycle does not end")


def count_recursion(model: dl.Model) -> dict[str, int]:
    """M and A of inverse and forward dynamics, with the constants of the model folded in."""
    plan = plan_of(model)
    n = plan.tree.n_speeds
    q, s, x = (GRAPH.symbols([f"{letter}{i}" for i in range(n)]) for letter in ("q", "s", "x"))
    state = moving(plan.tree, GRAPH, ZERO, list(q), list(s), plan.parameters, plan.link_constants)
    found = (*_multiplied_and_added(inverse_dynamics(state, x)), *_multiplied_and_added(forward_dynamics(state, x)[0]))
    return dict(zip(KINDS, found, strict=True))


def _multiplied_and_added(outputs: Array) -> tuple[int, int]:
    names = [f"{letter}{i}" for letter in ("q", "s", "x") for i in range(len(outputs))]
    used = Counter(operation for operation, _ in program_of([node(y) for y in outputs], names).lines)
    return used["multiply"] + used["divide"], used["add"] + used["subtract"] + used["negative"]


def count(name: str) -> dict[str, int]:
    """Operations of every formalism applicable to a gallery model, or of the recursion on a chain."""
    if name in CHAINS:
        return count_recursion(chain(*CHAINS[name]))
    workspace = workspace_of(setup(dl.load(name)))
    keys = catalog.applicable(workspace.model, workspace.facts)
    return {key: Equations(derivation_of(workspace.setup, key)).operations for key in keys}


def count_all() -> Counts:
    """All counts of the baseline."""
    return {name: count(name) for name in (*MODELS, *CHAINS)}


def baseline() -> Counts:
    """The committed counts."""
    return json.loads(BASELINE.read_text(encoding="utf-8"))


def grown(found: dict[str, int], before: dict[str, int]) -> list[str]:
    """A message for every formalism whose count exceeds the baseline by more than 5 %."""
    return [
        f"{key}: {found[key]} operations, {before[key]} in the baseline (+{found[key] / before[key] - 1:.1%})"
        for key in found
        if key in before and found[key] > (1 + GROWTH) * before[key]
    ]


def show(found: Counts, before: Counts) -> None:
    """Print counts, with the change from the baseline if available."""
    keys = [key for key in catalog.KEYS if any(key in counts for counts in found.values())]
    table = Table(title="Operations in one evaluation of the right-hand side", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("formalism", no_wrap=True)
    for name in MODELS:
        table.add_column(name.replace("-", "-\n"), justify="right")
    for key in keys:
        cells = [_cell(found[name].get(key), before.get(name, {}).get(key)) for name in MODELS]
        table.add_row(key, *cells)
    chains = Table(title="The recursion on general chains", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("chain", *KINDS):
        chains.add_column(column, justify="left" if column == "chain" else "right")
    for name in CHAINS:
        chains.add_row(name, *(_cell(found[name][kind], before.get(name, {}).get(kind)) for kind in KINDS))
    Console().print(table, chains)


def draw(found: Counts, folder: Path) -> list[Path]:
    """Figures 19 and 20 of papers/denoc: operations over degrees of freedom, one panel for each joint type."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    paths = []
    for number, kind in ((19, "inverse"), (20, "forward")):
        figure, panels = pyplot.subplots(2, 2, figsize=(9, 7), sharex=True, sharey=True, layout="constrained")
        alone = [sum(found[f"chain of {n}, 1-DOF joints"][f"{kind} {x}"] for x in "MA") for n in SIZES]
        for letter, joints, axes in zip("abcd", JOINTS, panels.flat, strict=True):
            here = [sum(found[f"chain of {n}, {joints} joints"][f"{kind} {x}"] for x in "MA") for n in SIZES]
            axes.plot(SIZES, [BOUNDS[kind] * n for n in SIZES], "--", color="0.6", label="bound for 1-DOF joints")
            if joints != "1-DOF":
                axes.plot(SIZES, alone, color="tab:blue", marker="o", label="as many 1-DOF joints")
            color = "tab:blue" if joints == "1-DOF" else "tab:orange"
            axes.plot(SIZES, here, color=color, marker="s", label=f"{joints} joints")
            axes.set_title(f"({letter}) {joints} joints", fontsize=10)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
        for axes in panels[1]:
            axes.set_xlabel("degrees of freedom n")
        for axes in panels[:, 0]:
            axes.set_ylabel("operations M + A")
        figure.suptitle(f"Operations of {kind} dynamics (as figure {number} of papers/denoc)")
        paths.append(folder / f"figure-{number}.png")
        figure.savefig(paths[-1], dpi=120)
        pyplot.close(figure)
    return paths


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
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="draw figures 19 and 20 of papers/denoc")
    chosen = parser.parse_args()
    found = count_all()
    if chosen.figures is not None:
        chosen.figures.mkdir(parents=True, exist_ok=True)
        draw(found, chosen.figures)
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
