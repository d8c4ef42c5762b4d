"""Links by kind, and the steps of the recursions for a link of one kind: the text of `inverse` and `forward` over symbols.

A link turns about z, slides along z, does both as a screw, turns freely by a quaternion, or stands still. Its kind also tells how
it is placed on its parent, and whether it has mass and rotors: what it does not have is never multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from dalembert.algebra import Scalar, matrix, vector
from dalembert.algebra.graph import GRAPH
from dalembert.algebra.linear import ldl_solve
from dalembert.algebra.nodes import Node, node
from dalembert.model.joints.base import HERE
from dalembert.model.joints.spherical import Quaternion
from dalembert.programs.sweeps import Place, Room, Step, step_of
from dalembert.recursive.frames import Placed
from dalembert.recursive.inertias import Articulated, Rigid, six
from dalembert.recursive.inverse import Motion, carried, effort, newton_euler
from dalembert.recursive.links import Axis
from dalembert.recursive.ways import NONE, UNITS, Matrix, Planar, Three, Turn, Way, absent, plus, times

Wrench = tuple[Three, Three]
_UP = UNITS[2]


class Move(Enum):
    """What a link does."""

    STILL = "still"
    TURN = "turn"
    SLIDE = "slide"
    SCREW = "screw"
    FREE = "free turn"

    @property
    def coordinates(self) -> int:
        """How many coordinates it has."""
        return {Move.STILL: 0, Move.FREE: 4}.get(self, 1)

    @property
    def speeds(self) -> int:
        """How many speeds it has."""
        return {Move.STILL: 0, Move.FREE: 3}.get(self, 1)


def _three(entries: Sequence[Scalar]) -> Three:
    x, y, z = entries
    return (x, y, z)


def _six(wrench: Wrench) -> tuple[Scalar, ...]:
    return (*wrench[0], *wrench[1])


def _wrench(entries: Sequence[Scalar]) -> Wrench:
    return _three(entries[:3]), _three(entries[3:])


@dataclass(frozen=True, order=True)
class Kind:
    """A kind of link."""

    move: str
    normal: bool  # see `frames.Placed`
    massive: bool
    rotors: bool

    @cached_property
    def moves(self) -> Move:
        """What it does."""
        return Move(self.move)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its numbers in the table."""
        turned = self.moves in (Move.TURN, Move.SCREW)
        out = ["cos β", "sin β", *(["phi"] if turned else ["cos φ", "sin φ"]), "x"]
        out += ["d"] if self.normal else ["y", "z", "cos γ", "sin γ"]
        out += ["lead"] if self.moves is Move.SCREW else []
        out += [f"armature {k}" for k in range(self.moves.speeds)] if self.rotors else []
        return tuple([*out, "m", *"h_x h_y h_z".split(), *(f"I_{k}" for k in range(6))] if self.massive else out)

    def numbers(self, placed: Placed, lead: float, armature: Sequence[float]) -> list[float]:
        """The numbers of a link of this kind."""
        gamma, beta, phi = placed.angles
        known = {"phi": phi, "d": placed.d, "lead": lead, "m": placed.mass}
        for name, angle in (("γ", gamma), ("β", beta), ("φ", phi)):
            known |= {f"cos {name}": np.cos(angle), f"sin {name}": np.sin(angle)}
        known |= dict(zip("xyz", placed.before, strict=True)) | {f"armature {k}": x for k, x in enumerate(armature)}
        known |= dict(zip(("h_x", "h_y", "h_z"), placed.moment, strict=True))
        known |= {f"I_{k}": x for k, x in enumerate(six(placed.inertia))}
        return [float(known[name]) for name in self.columns]

    # the link over symbols

    def number(self, name: str) -> Node:
        """The symbol of a number."""
        return Place(Room.NUMBER, self.columns.index(name)).symbol

    @cached_property
    def body(self) -> Rigid:
        """Its mass."""
        if not self.massive:
            return Rigid(0, NONE, (0, 0, 0, 0, 0, 0))
        inertia = [self.number(f"I_{k}") for k in range(6)]
        h = _three([self.number(name) for name in ("h_x", "h_y", "h_z")])
        return Rigid(self.number("m"), h, tuple(inertia))  # type: ignore[arg-type]

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """How its motions move it."""
        if self.moves is Move.FREE:
            return tuple(Axis(unit, NONE) for unit in UNITS)
        along: dict[Move, Three] = {Move.SLIDE: _UP}
        if self.moves is Move.SCREW:
            along[Move.SCREW] = (0, 0, self.number("lead"))
        about = NONE if self.moves is Move.SLIDE else _UP
        return () if self.moves is Move.STILL else (Axis(about, along.get(self.moves, NONE)),)

    @cached_property
    def armature(self) -> list[Scalar]:
        """The rotors of its motions."""
        return [self.number(f"armature {k}") if self.rotors else 0 for k in range(self.moves.speeds)]

    def way(self, q: Sequence[Node], angle: tuple[Node, Node] | None) -> Way:
        """The way from its parent at coordinates q; `angle` is the cosine and sine of what it turns by."""
        turns: list[Turn] = [] if self.normal else [Planar(2, self.number("cos γ"), self.number("sin γ"))]
        turns.append(Planar(0, self.number("cos β"), self.number("sin β")))
        turns.append(Planar(2, *angle) if angle else Planar(2, self.number("cos φ"), self.number("sin φ")))
        before = (self.number("x"), 0, 0) if self.normal else _three([self.number(name) for name in "xyz"])
        after: Three = (0, 0, self.number("d")) if self.normal else NONE
        if self.moves is Move.FREE:
            turns.append(Matrix(Quaternion(HERE, HERE, HERE).turn(GRAPH, q)))  # type: ignore[arg-type]
        elif q:
            after = plus(after, times(q[0], self.axes[0].along))
        return Way(before, tuple(turns), after)

    def angle(self, q: Sequence[Node]) -> tuple[Node, Node] | None:
        """The cosine and sine of what it turns by."""
        if self.moves not in (Move.TURN, Move.SCREW):
            return None
        total = q[0] + self.number("phi")
        return GRAPH.cos(total), GRAPH.sin(total)


class Steps:
    """The steps of one kind. Its rows are: coordinates, speeds, what is given (accelerations or forces) if anything, results."""

    def __init__(self, kind: Kind, *, given: bool) -> None:
        self._kind, moves = kind, kind.moves
        n, k = moves.coordinates, moves.speeds
        self.rows = n + (3 if given else 2) * k
        places = [Place(Room.ROW, i) for i in range(self.rows)]
        symbols = [place.symbol for place in places]
        self._q, self._s, self._given = symbols[:n], symbols[n : n + k], symbols[n + k : n + 2 * k] if given else []
        self._results = places[self.rows - k :]
        self._turned = moves in (Move.TURN, Move.SCREW)
        self._angle = [Place(Room.KEPT, i) for i in range(2 if self._turned else 0)]

    # what is kept: cosine and sine of the angle, then six more, or as many as forward dynamics needs

    def _kept(self, count: int) -> list[Place]:
        first = len(self._angle)
        return [Place(Room.KEPT, first + i) for i in range(count)]

    @property
    def kept_inverse(self) -> int:
        """How many values inverse dynamics keeps."""
        return len(self._angle) + 6

    @property
    def kept_forward(self) -> int:
        """How many values forward dynamics keeps."""
        return len(self._angle) + max(6, len(self._weights) + self._kind.moves.speeds)

    def outwards(self, *, accelerated: bool) -> Step:
        """ω, ω̇ and v̇, and the wrench (n, f) that the link takes for itself; accelerations are given, or zero."""
        kind, angle = self._kind, self._kind.angle(self._q)
        w, wd, vd = (_three([_passed(3 * i + k) for k in range(3)]) for i in range(3))
        given = self._given if accelerated else [0] * kind.moves.speeds
        motion = carried(kind.way(self._q, angle), kind.axes, self._s, given, Motion.of(w, wd, vd))
        out = _all_passed([*motion.w, *motion.wd, *motion.vd])
        out |= _stored(self._angle, angle or ())
        if kind.massive:
            out |= _stored(self._kept(6), _six(newton_euler(kind.body, motion)))
        return step_of(out)

    def _wrench(self) -> Wrench:
        """(n, f) of a link and of what hangs on it."""
        own = [place.symbol if self._kind.massive else 0 for place in self._kept(6)]
        return _wrench([a + b for a, b in zip(own, self._passed_wrench, strict=True)])

    @property
    def _passed_wrench(self) -> list[Node]:
        return [_passed(i) for i in range(6)]

    def _way(self) -> Way:
        """The way, with what is kept of it."""
        kept = [place.symbol for place in self._angle]
        return self._kind.way(self._q, (kept[0], kept[1]) if kept else None)

    def inwards(self, *, accelerated: bool) -> Step:
        """τ from the wrench of all that hangs on the link."""
        kind, (n, f) = self._kind, self._wrench()
        given = self._given if accelerated else [0] * kind.moves.speeds
        found = [effort(*each) for each in zip(kind.axes, [n] * 3, [f] * 3, kind.armature, given)]  # noqa: B905
        out = _all_passed(_six(self._way().wrench_inwards(n, f)))
        return step_of(out | _stored(self._results, found))

    # forward dynamics

    @property
    def _unit(self) -> list[int | None]:
        """Motion by motion the row of the twist that it moves alone and by one, where no rotor turns with it: M̄ vanishes there."""
        kind = self._kind
        if kind.rotors or kind.moves is Move.SCREW:
            return [None] * kind.moves.speeds
        return {Move.TURN: [2], Move.SLIDE: [5], Move.FREE: [0, 1, 2]}.get(kind.moves, [])  # type: ignore[return-value]

    @property
    def _weights(self) -> list[tuple[int, int]]:
        """The entries of m̂⁻¹ Ψ̂ᵀ that are neither 0 nor 1 by structure."""
        known = set(self._unit)
        return [(k, row) for k in range(self._kind.moves.speeds) for row in range(6) if row not in known]

    def eliminate(self) -> Step:
        """M̂ and the wrench η of all that hangs on the link, passed on with its own motions eliminated: (28)-(31)."""
        kind, (n, f), way = self._kind, self._wrench(), self._way()
        M = _articulated([_passed(6 + i) for i in range(21)])
        M = M + kind.body.articulated() if kind.massive else M
        out: dict[Place, Node] = {}
        if kind.axes:
            hats = [_six(M.wrench(axis.about, axis.along)) for axis in kind.axes]  # (30)
            rest = [x - effort(axis, n, f, 0, 0) for axis, x in zip(kind.axes, self._given, strict=True)]  # (28)
            weights, reduced = self._solved(hats, rest)
            still = [row for row in self._unit if row is not None]
            M = M.without([*zip(hats, weights, strict=True)], still)  # (31)
            out |= _stored(self._kept(len(self._weights)), [weights[k][row] for k, row in self._weights])
            out |= _stored(self._reduced, reduced)
            for hat, x in zip(hats, reduced, strict=True):
                n, f = _wrench([a + b * x for a, b in zip(_six((n, f)), hat, strict=True)])  # (29)
        return step_of(out | _all_passed([*_six(way.wrench_inwards(n, f)), *_entries(M.inwards(way))]))

    @property
    def _reduced(self) -> list[Place]:
        count = len(self._weights)
        return self._kept(count + self._kind.moves.speeds)[count:]

    def _solved(self, hats: Sequence[Sequence[Scalar]], rest: Sequence[Scalar]) -> tuple[list[list[Scalar]], list[Scalar]]:
        """m̂⁻¹ Ψ̂ᵀ, row by row, and m̂⁻¹ τ̂: (32)."""
        kind = self._kind
        rows = [[effort(axis, *_wrench(hat), 0, 0) for hat in hats] for axis in kind.axes]
        for k, armature in enumerate(kind.armature):
            rows[k][k] = rows[k][k] + armature
        if len(hats) == 1:
            inverse = 1 / node(rows[0][0])
            return [[inverse * x for x in hats[0]]], [inverse * rest[0]]
        columns = matrix([[hat[row] for row in range(6)] + [x] for hat, x in zip(hats, rest, strict=True)])
        solved = ldl_solve(GRAPH, matrix(rows), columns)
        return [list(row[:6]) for row in solved], [row[6] for row in solved]

    def accelerate(self) -> Step:
        """ṡ, and the twist rates μ that they give: (33)."""
        kind = self._kind
        carried_on = _six(self._way().rates_outwards(*_wrench([_passed(i) for i in range(6)])))
        kept = dict(zip(self._weights, [place.symbol for place in self._kept(len(self._weights))], strict=True))
        found: list[Scalar] = []
        for k, (unit, place) in enumerate(zip(self._unit, self._reduced, strict=True)):
            total: Scalar = place.symbol
            for row in range(6):
                if (k, row) in kept:
                    total = total - kept[k, row] * carried_on[row]
            found.append(total if unit is None else total - carried_on[unit])
        mu = list(carried_on)
        for axis, x in zip(kind.axes, found, strict=True):
            mu = [a if absent(b) else a + b * x for a, b in zip(mu, (*axis.about, *axis.along), strict=True)]
        return step_of(_all_passed(mu) | _stored(self._results, found))


def _passed(i: int) -> Node:
    return Place(Room.PASSED, i).symbol


def _all_passed(values: Sequence[Scalar]) -> dict[Place, Node]:
    return {Place(Room.PASSED, i): node(x) for i, x in enumerate(values)}


def _stored(places: Sequence[Place], values: Sequence[Scalar]) -> dict[Place, Node]:
    return {place: node(x) for place, x in zip(places, values, strict=True)}


def _articulated(x: Sequence[Scalar]) -> Articulated:
    return Articulated(tuple(x[:6]), tuple(_three(x[6 + 3 * a : 9 + 3 * a]) for a in range(3)), tuple(x[15:]))  # type: ignore[arg-type]


def _entries(M: Articulated) -> list[Scalar]:
    return [*M.inertia, *(x for row in M.H for x in row), *M.M]
