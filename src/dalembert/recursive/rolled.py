"""Recursions as loops over the links in machine code: one compile for a set of kinds of links, cost and memory linear in their number.

The steps are those of `kinds`; the table of a tree holds where its links stand, their mass, and which rows of the state are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache

import numpy as np

from dalembert.algebra import FLOATS
from dalembert.expressions import coordinate
from dalembert.expressions.lower import Lowering
from dalembert.programs.function import SweptFunction
from dalembert.programs.sweeps import Members, Sweep, Sweeps, table_of
from dalembert.recursive.frames import Links, Placed, placed
from dalembert.recursive.inertias import symmetric
from dalembert.recursive.kinds import Kind, Move, Steps
from dalembert.recursive.links import Fixture
from dalembert.recursive.plan import Plan
from dalembert.recursive.tree import Link, Tree
from dalembert.recursive.ways import NONE, nothing


def can_roll(tree: Tree) -> str | None:
    """Why the recursion over a tree cannot be rolled; None where it can.

    >>> from dalembert.model import Model
    >>> from dalembert.recursive.tree import tree_of
    >>> model = Model("crank").coordinates("a")
    >>> _ = model.body("crank", joint=model.revolute((0, 0, 1), "2 * a"), mass=1, center=(1, 0, 0))
    >>> can_roll(tree_of(model))
    "'crank' moves by the formula 2*a. Expected a coordinate of its own"
    """
    if not tree.links:
        return f"model '{tree.model.name}' has no bodies"
    names = tree.model.coordinate_names
    for link in tree.links:
        if link.value is not None:
            used = link.value.slopes
            if len(used) != 1 or link.value.value != coordinate(names[used[0][0]]):
                return f"'{link.name}' moves by the formula {link.value.value}. Expected a coordinate of its own"
    return None if tree.decoupled else "a coordinate moves several links. Expected one link for each"


def rolled_function(plan: Plan, task: str) -> SweptFunction:
    """`inverse`: τ of the rows (q, s, ṡ, t); `forward`: ṡ of (q, s, τ, t); `bias`: c + g of (q, s, t). Loads are not among them.

    >>> from dalembert.model import Model
    >>> from dalembert.recursive.plan import plan_of
    >>> model = Model("slider", gravity=(-10, 0, 0)).coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> rolled_function(plan_of(model), "inverse")(np.array([0.3, 0.0, 1.5, 0.0]), np.zeros(0))
    array([23.])
    """
    tree = plan.tree
    kinds, members = _members(plan, given=task != "bias")
    sweeps = sweeps_of(kinds, task)
    lower = Lowering(FLOATS, dict(plan.parameters))
    start = [0.0] * 6 + [-float(lower(x)) for x in tree.model.gravity]
    world = [start, [0.0] * 6] if task == "forward" else [start]
    table = table_of(sweeps, [link.parent for link in tree.links], members, world)
    n_inputs = tree.n + (1 if task == "bias" else 2) * tree.n_speeds + 1
    return SweptFunction(sweeps, table, n_inputs, tree.n_speeds)


@lru_cache(maxsize=64)
def sweeps_of(kinds: tuple[Kind, ...], task: str) -> Sweeps:
    """The sweeps of a task over trees of these kinds of links."""
    steps = [Steps(kind, given=task != "bias") for kind in kinds]
    if task == "forward":
        walks = (
            Sweep(True, 9, tuple(step.outwards(accelerated=False) for step in steps)),
            Sweep(False, 27, tuple(step.eliminate() for step in steps)),
            Sweep(True, 6, tuple(step.accelerate() for step in steps)),
        )
    else:
        walks = (
            Sweep(True, 9, tuple(step.outwards(accelerated=task == "inverse") for step in steps)),
            Sweep(False, 6, tuple(step.inwards(accelerated=task == "inverse") for step in steps)),
        )
    kept = tuple(step.kept_forward if task == "forward" else step.kept_inverse for step in steps)
    return Sweeps(kept, tuple(step.rows for step in steps), tuple(len(kind.columns) for kind in kinds), walks)


def _members(plan: Plan, *, given: bool) -> tuple[tuple[Kind, ...], list[Members]]:
    """The kinds of links of a tree, and the links of each."""
    fixtures = plan.fixtures
    found = placed(_links(fixtures))
    massive = (found.mass != 0) | found.moment.any(axis=1) | found.inertia.any(axis=(1, 2))
    each = [
        Kind(_move(fixture.link).value, bool(found.normal[i]), bool(massive[i]), any(map(float, fixture.armature)))
        for i, fixture in enumerate(fixtures)
    ]
    kinds = tuple(sorted(set(each)))
    out: list[Members] = []
    for kind in kinds:
        at = [i for i, own in enumerate(each) if own == kind]
        chosen = [fixtures[i] for i in at]
        rows = np.array([_rows(plan.tree, fixture.link, given=given) for fixture in chosen], np.int64)
        armature = np.array([[float(x) for x in fixture.armature] for fixture in chosen])
        lead = np.array([_lead(fixture) for fixture in chosen])
        own = Placed(*(getattr(found, field.name)[at] for field in fields(Placed)))
        out.append(Members(np.array(at), rows.reshape(len(at), -1), kind.numbers(own, lead, armature)))
    return kinds, out


def _links(fixtures: Sequence[Fixture]) -> Links:
    """The links as the model places them, in numbers."""
    axes = [fixture.axes[0] if len(fixture.axes) == 1 else None for fixture in fixtures]
    ways = [NONE if axis is None else axis.along if nothing(axis.about) else axis.about for axis in axes]
    return Links(
        np.array([fixture.parent for fixture in fixtures]),
        np.array([fixture.way.R for fixture in fixtures], dtype=float),
        np.array([fixture.way.p for fixture in fixtures], dtype=float),
        np.array([[float(x) for x in way] for way in ways]),
        np.array([float(fixture.body.m) for fixture in fixtures]),
        np.array([[float(x) for x in fixture.body.h] for fixture in fixtures]),
        np.array([symmetric(fixture.body.inertia) for fixture in fixtures], dtype=float),
    )


def _lead(fixture: Fixture) -> float:
    """How far a screw goes by one radian; 0 for other links."""
    if len(fixture.axes) != 1:
        return 0.0
    return sum(float(a) * float(b) for a, b in zip(fixture.axes[0].about, fixture.axes[0].along, strict=True))


def _move(link: Link) -> Move:
    if link.attitude is not None:
        return Move.FREE
    if link.value is None:
        return Move.STILL
    if link.step.about is None:
        return Move.SLIDE
    return Move.TURN if link.step.along is None else Move.SCREW


def _rows(tree: Tree, link: Link, *, given: bool) -> list[int]:
    """The rows of its coordinates, its speeds, what is given, and the results."""
    if link.attitude is not None:
        q = list(link.attitude.parts)
    else:
        q = [] if link.value is None else [i for i, _ in link.value.slopes]
    s = list(link.speeds)
    state = [*q, *(tree.n + i for i in s)]
    return state + ([tree.n + tree.n_speeds + i for i in s] if given else []) + s
