"""Recursions as loops over the links in machine code: compiled once per set of link types, with time and memory linear in n.

The steps are those of `_link_types`. The table of a tree contains the transforms and masses of its links, and their rows of the
state. Loads are not included: a separate program adds them to τ, and remains linear in n if each acts on a few links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dalembert.codegen.disk_cache import (
    Tuples,
    program_from_tuples,
    program_to_tuples,
    sweeps_from_tuples,
    sweeps_to_tuples,
)
from dalembert.codegen.function import CompiledFunction, Native, SweepFunction, function_of
from dalembert.codegen.link_sweeps import Members, Sweep, Sweeps, table_of
from dalembert.codegen.program import Program
from dalembert.recursive._link_types import LinkType, Steps
from dalembert.recursive.plan import TOLERANCE, TreePlan
from dalembert.recursive.traced import TINY, task_program
from dalembert.recursive.tree import Link, Tree
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, to_numeric
from dalembert.symbolic.symbols import Lowering, coordinate

ROLLED = ("inverse", "forward", "bias", "gravity")  # the tasks with a rolled version


def can_roll(tree: Tree) -> str | None:
    """The reason why the recursion over a tree cannot be rolled; None if it can.

    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.tree import tree_of
    >>> model = Model("crank").coordinates("a")
    >>> _ = model.body("crank", joint=model.revolute((0, 0, 1), "2 * a"), mass=1, center=(1, 0, 0))
    >>> can_roll(tree_of(model))
    "'crank' is moved by the formula 2*a. Expected a single coordinate"
    """
    if not tree.n_speeds:
        return f"model '{tree.model.name}' has no moving links"
    names = tree.model.coordinate_names
    for link in tree.links:
        if link.value is not None:
            used = link.value.gradient
            if len(used) != 1 or link.value.value != coordinate(names[used[0][0]]):
                return f"'{link.name}' is moved by the formula {link.value.value}. Expected a single coordinate"
    return None if tree.decoupled else "a coordinate moves several links. Expected one link per coordinate"


def rolled_function(plan: TreePlan, task: str) -> SweepFunction:
    """A task as a function of rows that end with time t, which is not used. Loads are not included in the forces.

    `inverse` returns τ of (q, s, ṡ), `bias` c + g of (q, s), `forward` ṡ of (q, s, τ), `rates` (q̇, ṡ) of (q, s) without τ.

    >>> from dalembert.model.model import Model
    >>> from dalembert.recursive.plan import plan_of
    >>> model = Model("slider", gravity=(-10, 0, 0)).coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> rolled_function(plan_of(model), "inverse")(np.array([0.3, 0.0, 1.5, 0.0]), np.zeros(0))
    array([23.])
    """
    tree, (sweeps, table) = plan.tree, sweeps_and_table(plan, task)
    n_inputs = tree.n + (2 if task in _WITH_INPUTS else 1) * tree.n_speeds + 1
    return SweepFunction(sweeps, table, n_inputs, tree.n_speeds + (tree.n if task == "rates" else 0))


def sweeps_and_table(plan: TreePlan, task: str) -> tuple[Sweeps, np.ndarray]:
    """The loops of a task, and the table of links over which they run."""
    link_types, members = _members(plan, task)
    sweeps = sweeps_of(link_types, task)
    lower = Lowering(FLOATS, dict(plan.parameters))
    start = [0.0] * 6 + list(-to_numeric(vector([lower(x) for x in plan.tree.model.gravity])))
    world = [start, [0.0] * 6][: sum(sweep.outwards for sweep in sweeps.sweeps)]
    return sweeps, table_of(sweeps, [constants.parent for constants in plan.link_constants], members, world)


def operations_of(plan: TreePlan, task: str) -> int:
    """The operation count of one evaluation of a task: the sum over all links."""
    link_types, members = _members(plan, task)
    each = sweeps_of(link_types, task).operations
    return sum(cost * len(own.links) for cost, own in zip(each, members, strict=True))


_WITH_INPUTS = ("inverse", "forward")


@lru_cache(maxsize=64)
def sweeps_of(link_types: tuple[LinkType, ...], task: str) -> Sweeps:
    """The sweeps of a task over trees of these link types."""
    steps = [Steps(link_type, has_inputs=task in _WITH_INPUTS, rates=task == "rates") for link_type in link_types]
    solved, driven = task in ("forward", "rates"), task == "inverse"
    sweeps = [Sweep(True, 9, tuple(step.outwards(accelerated=driven) for step in steps))]
    if solved:
        sweeps.append(Sweep(False, 27, tuple(step.eliminate() for step in steps)))
        sweeps.append(Sweep(True, 6, tuple(step.accelerate() for step in steps)))
    else:
        sweeps.append(Sweep(False, 6, tuple(step.inwards(accelerated=driven) for step in steps)))
    stored = tuple(step.stored_forward if solved else step.stored_inverse for step in steps)
    numbers = tuple(len(link_type.columns) for link_type in link_types)
    return Sweeps(stored, tuple(step.rows for step in steps), numbers, tuple(sweeps))


def _members(plan: TreePlan, task: str) -> tuple[tuple[LinkType, ...], list[Members]]:
    """The link types of a tree, and the links of each."""
    each = [LinkType.of(constants) for constants in plan.link_constants]
    link_types = tuple(sorted(set(each)))
    out: list[Members] = []
    for link_type in link_types:
        at = [i for i, own in enumerate(each) if own == link_type]
        rows = [_rows(plan.tree, plan.link_constants[i].link, task) for i in at]
        numbers = [link_type.numbers(plan.link_constants[i]) for i in at]
        out.append(Members(np.array(at), np.array(rows, np.int64), np.array(numbers)))
    return link_types, out


def _rows(tree: Tree, link: Link, task: str) -> list[int]:
    """The rows of its coordinates, its speeds, the given values, and the results: see `Steps`."""
    if link.attitude is not None:
        q = list(link.attitude.parts)
    else:
        q = [] if link.value is None else [i for i, _ in link.value.gradient]
    s = list(link.speeds)
    state = [*q, *(tree.n + i for i in s)]
    if task == "rates":
        return [*state, *state]
    return state + ([tree.n + tree.n_speeds + i for i in s] if task in _WITH_INPUTS else []) + s


@dataclass(frozen=True, eq=False)
class Loops:
    """A task of `ROLLED` as a value: sweeps over a table of links, and the program of the loads if any act."""

    task: str
    sweeps: Sweeps
    table: np.ndarray
    loads: Program | None
    n: int  # coordinates
    n_speeds: int
    attitudes: tuple[tuple[int, ...], ...]  # rows of quaternions

    def to_tuples(self) -> Tuples:
        """Convert to tuples."""
        loads = None if self.loads is None else program_to_tuples(self.loads)
        return (
            self.task,
            sweeps_to_tuples(self.sweeps),
            self.table.tobytes(),
            loads,
            self.n,
            self.n_speeds,
            self.attitudes,
        )

    @classmethod
    def from_tuples(cls, values: Tuples) -> Loops:
        """Inverse of `to_tuples`."""
        task, sweeps, table, loads, *rest = values
        program = None if loads is None else program_from_tuples(loads)
        return cls(task, sweeps_from_tuples(sweeps), np.frombuffer(table), program, *rest)


def loops_of(plan: TreePlan, task: str, *, friction: bool) -> Loops:
    """The loops of a task, with the active loads."""
    acting = plan.model if friction else plan.frictionless
    pushed = (acting.loads or acting.non_ideal_forces) and task in ("inverse", "forward")
    loads = task_program(plan, "loads", friction=friction) if pushed else None
    sweeps, table = sweeps_and_table(plan, "bias" if task == "gravity" else task)
    attitudes = tuple(tuple(attitude.parts) for attitude in plan.tree.attitudes)
    return Loops(task, sweeps, table, loads, plan.tree.n, plan.tree.n_speeds, attitudes)


class CheckedLoops(CompiledFunction):
    """A task of `ROLLED` as a function of the rows that `traced` uses, with a validity check as last output.

    The check detects non-finite numbers and quaternions whose norm is not 1. The loops do not return their pivots: a pivot of 0
    gives an acceleration that is not finite; a pivot that is nonzero only by rounding is not detected.
    """

    def __init__(self, loops: Loops) -> None:
        self._task, self._n, self._speeds, self._attitudes = loops.task, loops.n, loops.n_speeds, loops.attitudes
        inputs = loops.n + (1 if loops.task == "bias" or loops.task == "gravity" else 2) * loops.n_speeds + 1
        self._loops = SweepFunction(loops.sweeps, loops.table, inputs, loops.n_speeds)
        self._loads = None if loops.loads is None else function_of(loops.loads, "native")
        self.n_outputs = loops.n_speeds + 1
        self.sizes = inputs - (loops.n_speeds if loops.task == "gravity" else 0), 0

    @cached_property
    def native(self) -> Native | None:  # type: ignore[override]
        """One state completely in machine code."""
        from dalembert.codegen.llvm.checked_sweeps import SweepChecks, checked_loops

        loops, loads = self._loops.native, None if self._loads is None else self._loads.native
        if loops is None:
            return None
        gravity = self._task == "gravity"
        mode = "gravity" if gravity else "unloaded" if loads is None else self._task
        front = self._n + (0 if gravity else self._speeds)
        parts = [i for parts in self._attitudes for i in parts]
        checks = SweepChecks(mode, self.sizes[0], front, self._speeds, parts, TINY, 2 * TOLERANCE)
        return checked_loops(checks, loops, loads)

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray, threads: int = 1) -> np.ndarray:
        """The outputs of one state (k,) or of many (k, batch)."""
        found = self._found(inputs, threads)
        return np.concatenate([found, [self._validity_check([inputs], found)]])

    def spread(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], threads: int = 1) -> None:
        """Evaluate a batch; the validity check is the last output."""
        result, check = outputs
        if self._loads is None and self._task != "gravity":
            self._loops.spread(inputs, [result], threads)
            check[0] = self._validity_check(inputs, result)
            return
        rows = np.concatenate(inputs)
        result[...] = self._found(rows, threads)
        check[0] = self._validity_check([rows], result)

    def _found(self, inputs: np.ndarray, threads: int) -> np.ndarray:
        """The results of the loops, including loads."""
        n, speeds, none = self._n, self._speeds, np.zeros(0)
        if self._task == "gravity":
            zero_speeds = np.zeros((speeds, *inputs.shape[1:]))
            return self._loops(np.concatenate([inputs[:n], zero_speeds, inputs[n:]]), none, threads)  # at s = 0
        if self._loads is None:
            return self._loops(inputs, none, threads)
        with np.errstate(all="ignore"):  # non-finite numbers fail the validity check
            loads = self._loads(np.concatenate([inputs[: n + speeds], inputs[-1:]]), none, threads)[:-1]
            if self._task == "inverse":
                return self._loops(inputs, none, threads) - loads
            pushed = inputs[n + speeds : -1] + loads
        return self._loops(np.concatenate([inputs[: n + speeds], pushed, inputs[-1:]]), none, threads)

    def _validity_check(self, inputs: Sequence[np.ndarray], found: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            worst = found.sum(axis=0)
            for rows in inputs:
                worst = worst + rows.sum(axis=0)
            worst = worst * TINY
            for parts in self._attitudes:
                excess = ((inputs[0][list(parts)] ** 2).sum(axis=0) - 1) / (2 * TOLERANCE)
                worst = worst + excess * excess
        return worst
