"""Recursions as loops over the links in machine code: one compile for a set of kinds of links, cost and memory linear in their number.

The steps are those of `kinds`; the table of a tree holds where its links stand, their mass, and which rows of the state are theirs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dalembert.algebra import FLOATS
from dalembert.expressions import coordinate
from dalembert.programs.function import SweptFunction
from dalembert.programs.sweeps import Linked, Sweep, Sweeps, table_of
from dalembert.recursive.frames import Placed, Rest, placed
from dalembert.recursive.inertias import symmetric
from dalembert.recursive.kinds import Kind, Move, Steps
from dalembert.recursive.links import Fixture, fixtures
from dalembert.recursive.plan import Plan
from dalembert.recursive.tree import Link, Tree

TASKS = ("inverse", "bias", "forward")


def can_roll(tree: Tree) -> str | None:
    """Why the recursion over a tree cannot be rolled; None where it can."""
    if not tree.links:
        return f"model '{tree.model.name}' has no bodies"
    for link in tree.links:
        if link.value is not None and link.value.value not in {coordinate(name) for name in tree.model.coordinate_names}:
            return f"'{link.name}' moves by the formula {link.value.value}, not by a coordinate of its own"
    if not tree.decoupled:
        return "a coordinate moves several links"
    return None


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
    members = _members(plan)
    kinds = tuple(sorted({kind for kind, _ in members}))
    sweeps = sweeps_of(kinds, task)
    links = [
        Linked(link.parent, kinds.index(kind), _rows(tree, link, given=task != "bias"), numbers)
        for link, (kind, numbers) in zip(tree.links, members, strict=True)
    ]
    start = [0.0] * 6 + [-float(plan.parameters.get(str(x), x)) for x in tree.model.gravity]
    table = table_of(sweeps, links, [start, [0.0] * 6][: sum(sweep.outwards for sweep in sweeps.sweeps)])
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


def _members(plan: Plan) -> list[tuple[Kind, list[float]]]:
    """The kind and the numbers of every link."""
    rests = [_rest(fixture) for fixture in plan.fixtures]
    return [_member(fixture, place) for fixture, place in zip(plan.fixtures, placed(rests), strict=True)]


def _rest(fixture: Fixture) -> Rest:
    moves, body = _move(fixture.link), fixture.body
    axis = None
    if moves not in (Move.STILL, Move.FREE):
        about = fixture.axes[0].along if moves is Move.SLIDE else fixture.axes[0].about
        axis = np.array([float(x) for x in about])
    R, p = fixture.way.R.astype(float), fixture.way.p.astype(float)
    inertia = symmetric(body.inertia).astype(float)
    return Rest(fixture.parent, R, p, axis, float(body.m), np.array([float(x) for x in body.h]), inertia)


def _move(link: Link) -> Move:
    if link.attitude is not None:
        return Move.FREE
    if link.value is None:
        return Move.STILL
    if link.step.about is None:
        return Move.SLIDE
    return Move.TURN if link.step.along is None else Move.SCREW


def _member(fixture: Fixture, place: Placed) -> tuple[Kind, list[float]]:
    moves, armature = _move(fixture.link), [float(x) for x in fixture.armature]
    massive = bool(place.mass or place.moment.any() or place.inertia.any())
    kind = Kind(moves.value, place.normal, massive, any(armature))
    lead = 0.0
    if moves is Move.SCREW:
        about, along = (np.array([float(x) for x in way]) for way in (fixture.axes[0].about, fixture.axes[0].along))
        lead = float(about @ along)
    return kind, kind.numbers(place, lead, armature)


def _rows(tree: Tree, link: Link, *, given: bool) -> list[int]:
    """The rows of its coordinates, its speeds, what is given, and the results."""
    if link.attitude is not None:
        q = list(link.attitude.parts)
    else:
        q = [] if link.value is None else [i for i, _ in link.value.slopes]
    s = list(link.speeds)
    state = [*q, *(tree.n + i for i in s)]
    return state + ([tree.n + tree.n_speeds + i for i in s] if given else []) + s
