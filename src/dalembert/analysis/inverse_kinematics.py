"""Inverse kinematics: positions of a mechanism at which its bodies are where they shall be.

`analysis/_posture_search` holds the search, `places` the program that it calls, `targets` what a user may ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dalembert.analysis import _posture_search
from dalembert.analysis._posture_search import Effort, Task
from dalembert.analysis.task_kinematics import Asked, Given, Places, Seen, places_of, read_targets
from dalembert.api.load import accepts_source
from dalembert.arguments import numbers_given
from dalembert.codegen.function import choose_engine
from dalembert.errors import InputError, nearest
from dalembert.mechanics import rank
from dalembert.model.description import Elements
from dalembert.model.initial_state import Start, start_state

TOLERANCE = 1e-11
_BRANCH_STARTS = 400
_APART = 1e-5  # postures that differ by less, in scales of the coordinates, are one
_SINGULAR = 1e-4  # of the largest singular value
_SHOWN = 0.05  # parts of a direction below this are left out of messages


@dataclass(frozen=True)
class Found:
    """The postures of one search: q (K, n), what is left of the rows, and the numbers of steps and searches."""

    q: np.ndarray
    left: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class InverseKinematics:
    """Postures that were found, and how good they are. With many targets all but names have one more axis or entry each.

    | field | what it is |
    |---|---|
    | `q` | the coordinates, (n,) or (n, K) |
    | `converged` | True where every target is reached and every loop closed |
    | `residual` | the largest difference: distances by the length of the model, angles in radians, constraints by their size |
    | `distance`, `angle` | how far the points are from their targets, and how far the bodies are turned away from them |
    | `iterations`, `starts` | steps that were taken, and searches that were begun |
    | `branches` | all postures that reach the target, the nearest to the start first, where they were asked for |
    | `manipulability` | √det(J Jᵀ) of Yoshikawa, along the free motions of closed loops |
    | `singular` | None, or a sentence that says what cannot be moved here |
    | `message` | a sentence on what came out |
    """

    names: tuple[str, ...]
    q: np.ndarray
    converged: bool | np.ndarray
    residual: float | np.ndarray
    distance: float | np.ndarray
    angle: float | np.ndarray
    iterations: int | np.ndarray
    starts: int | np.ndarray
    branches: tuple[np.ndarray, ...] = ()
    _free: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)  # J along free motions, in units
    _rows: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)  # the units of its rows
    _about: tuple[str, ...] = field(default=(), repr=False)  # what each row is
    _usual: int = field(default=0, repr=False)
    _at_limits: tuple[str, ...] = field(default=(), repr=False)

    @property
    def _single(self) -> bool:
        return self.q.ndim == 1

    @cached_property
    def manipulability(self) -> float | np.ndarray:
        """√det(J Jᵀ): the volume of velocities that a unit ball of joint velocities gives; zero where it is singular."""
        # rows in the units of the model; where a plane is never left, the ways that are left
        values = np.linalg.svd(self._free * self._rows[:, None], compute_uv=False)[:, : self._usual]
        found = values.prod(axis=1)
        return float(found[0]) if self._single else found

    @cached_property
    def singular(self) -> str | tuple[str | None, ...] | None:
        """None, or what cannot be moved at this posture; a tuple for many."""
        split = np.linalg.svd(self._free, full_matrices=False)
        found = tuple(self._sentence(U, sigma, Vt) for U, sigma, Vt in zip(*split, strict=True))
        return found[0] if self._single else found

    def _sentence(self, U: np.ndarray, sigma: np.ndarray, Vt: np.ndarray) -> str | None:
        """What a posture cannot do, if it is singular, by J = U σ Vᵀ there."""
        if not self._usual or sigma[self._usual - 1] > _SINGULAR * max(sigma[0], 1e-300):
            return None
        last = self._usual - 1
        lost = _direction_in_words(U[:, last], self._about)
        idle = _direction_in_words(Vt[last], self.names) if len(Vt) > last else ""
        share = sigma[last] / max(sigma[0], 1e-300)
        return (
            f"singular posture: what cannot move here is {lost}; the motion {idle} of the coordinates leaves it where it is "
            f"(smallest by largest singular value {share:.1e})."
        )

    @property
    def message(self) -> str:
        """What came out, and what to do where it is not what was wanted."""
        if not self._single:
            good = int(np.sum(self.converged))
            look = " Look at `distance` and `angle` of those for which `converged` is False."
            return f"{good} of {self.q.shape[1]} targets are reached.{'' if good == self.q.shape[1] else look}"
        if self.converged:
            return (
                f"the target is reached to {self.residual:.1e} after {self.iterations} steps from {self.starts} starts."
            )
        stuck = f" There {', '.join(self._at_limits)}." if self._at_limits else ""
        return (
            f"no posture that reaches the target was found. The nearest one leaves a distance of {self.distance:.6g} and an "
            f"angle of {self.angle:.6g} rad after {self.iterations} steps from {self.starts} starts.{stuck} The target may be "
            "out of reach: check it, give `q0` near to a posture, more `starts`, or `limits=False`."
        )

    def __str__(self) -> str:
        if not self._single:
            return self.message
        values = ", ".join(f"{name} = {x:.6g}" for name, x in zip(self.names, self.q, strict=True))
        more = f"; {len(self.branches)} branches" if self.branches else ""
        return f"{values}: {self.message}{more}"


def _direction_in_words(direction: np.ndarray, names: Sequence[str]) -> str:
    """A direction as a sum over names, its largest part positive."""
    direction = direction / direction[np.argmax(np.abs(direction))]
    parts = [f"{x:+.3g} {name}" for x, name in zip(direction, names, strict=True) if abs(x) > _SHOWN]
    return " ".join(parts).removeprefix("+").replace("1 ", "", 1) if len(parts) == 1 else " ".join(parts)


@accepts_source
def inverse_kinematics(
    model: Elements,
    body: str | Mapping[str, Given],
    target: Given | None = None,
    *,
    point: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    q0: Start = None,
    t: float = 0.0,
    limits: bool = True,
    keep: Sequence[str] = (),
    branches: bool = False,
    starts: int = 100,
    iterations: int = 60,
    tolerance: float = TOLERANCE,
    engine: str | None = None,
) -> InverseKinematics:
    """The coordinates at which a point of a body is at a target, near to `q0` where that leads there.

    A target is a position (3,) in world axes, an orientation as quaternion (w, x, y, z) or rotation (3, 3) from body to world
    axes, both as a pose (4, 4), or a `Target`. With one more axis at the end there are many. A mapping of bodies to targets
    asks of several bodies at once. `point` is the point of the body, in its axes.

    Constraints and loops of the model are part of the equations, so that they are closed at the end. `limits` of coordinates
    are kept. Coordinates in `keep`, and those that have no part in the target, stay where they start. The search begins at
    `q0`, by default where the model starts, and again elsewhere, up to `starts` times with up to `iterations` steps each, until
    what is left is below `tolerance`. `branches=True` looks for all postures of one target, from many starts with no chance in
    them; a rare one can be missed.

    >>> import dalembert as dl
    >>> wanted = dl.pose("puma560", [0.3, -0.7, 0.5, 0.4, 0.9, -0.2], "flange")
    >>> found = dl.inverse_kinematics("puma560", "flange", wanted, branches=True)
    >>> found.converged, len(found.branches), found.singular
    (True, 8, None)
    """
    asked = read_targets(model, body, target, point)
    search = _Search(model, asked, q0, t, limits, keep, choose_engine(engine))
    found = search.found(Effort(float(tolerance), int(iterations), int(starts)))
    result = search.result(found, tolerance)
    if not branches:
        return result
    if not search.single:
        raise InputError("inverse_kinematics: branches are listed for one target at a time. Call it for each of them.")
    ways = search.branches(Effort(float(tolerance), int(iterations), 1)) if result.converged else ()
    return replace(result, branches=ways)


class _Search:
    """One call: the program, the targets and the start."""

    def __init__(
        self,
        model: Elements,
        asked: tuple[Asked, ...],
        q0: Start,
        t: float,
        limited: bool,
        keep: Sequence[str],
        engine: str,
    ) -> None:
        known = tuple((each.body, each.point, *each.kinds) for each in asked)
        self.places: Places = places_of(model.description, known, engine)
        self.asked, self.t, self.limited = asked, float(t), limited
        many = [each.count for each in asked if not each.single]
        self.start, several = _starts(self.places.model, q0)
        if several and many and len(self.start) != many[0]:
            raise InputError(
                f"inverse_kinematics, q0: {len(self.start)} starts for {many[0]} targets. Expected as many."
            )
        self.single = not many and not several
        self.K = max([len(self.start), *many])
        self.targets = np.concatenate([each.numbers(self.K) for each in asked], axis=1)
        self.moving = self._moving(keep)

    def _moving(self, keep: Sequence[str]) -> np.ndarray:
        """The coordinates that take part, without those to keep."""
        places, names = self.places, self.places.model.coordinate_names
        for name in keep:
            if name not in names:
                raise InputError(f"inverse_kinematics, keep: there is no coordinate '{name}'. {nearest(name, names)}")
        rows = np.zeros(len(places.touched), dtype=bool)
        rows[: len(places.rows)] = True
        if len(places.held):  # constraints that are not fulfilled at the start are part of the work
            phi = places.look(self.start.T, self.t).phi
            rows[len(places.rows) :] = (np.abs(phi) > TOLERANCE * places.sizes).any(axis=0)
        return places.tied(rows) & np.array([name not in keep for name in names], dtype=bool)

    @cached_property
    def task(self) -> Task:
        """The task for the compiled search."""
        return self.places.task(self.start[0], self.moving, limited=self.limited)

    def found(self, effort: Effort, starts: np.ndarray | None = None) -> Found:
        """The postures from the starts (K, n)."""
        K, n = self.K if starts is None else len(starts), self.places.n
        begin = np.array(np.broadcast_to(self.start if starts is None else starts, (K, n)), order="C")
        targets = np.array(np.broadcast_to(self.targets, (K, self.targets.shape[1])), order="C")
        q, left, counts = np.empty((K, n)), np.empty(K), np.zeros((K, 2), dtype=np.int64)
        run = _posture_search.compiled if isinstance(self.places.machine.one, int) else _posture_search.reach
        with np.errstate(all="ignore"):
            run(self.places.machine, self.task, effort, targets, begin, self.t, q, left, counts)
        return Found(self._nearest_turns(q, begin), left, counts)

    def _nearest_turns(self, q: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The same postures with angles moved near to the start by full turns, within their limits."""
        task, turn = self.task, 2 * np.pi
        trial = np.where(self.places.turning & self.moving, q - turn * np.round((q - start) / turn), q)
        return np.where((trial >= task.lower) & (trial <= task.upper), trial, q)

    def result(self, found: Found, tolerance: float) -> InverseKinematics:
        """What a user gets."""
        places = self.places
        seen = places.look(found.q.T, self.t)
        distance, angle = self._distances(seen)
        parts = (found.left <= tolerance, found.left, distance, angle, found.counts[:, 0], found.counts[:, 1])
        good, left, distance, angle, steps, starts = [part[0].item() for part in parts] if self.single else parts
        return InverseKinematics(
            places.model.coordinate_names,
            found.q[0] if self.single else found.q.T,
            good,
            left,
            distance,
            angle,
            steps,
            starts,
            _free=places.free_rows(seen, self.moving),
            _rows=places.rows,
            _about=self._row_names(),
            _usual=places.usual_rank(self.moving),
            _at_limits=self._at_limits(found.q[0]) if self.single else (),
        )

    def _distances(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        """How far points and turns are from their targets, (K,) each."""
        distance, angle = np.zeros(self.K), np.zeros(self.K)
        for each, p, R in zip(self.asked, seen.positions, seen.rotations, strict=True):
            if p is not None and each.position is not None:
                distance = np.maximum(distance, np.linalg.norm(p - each.position, axis=1))
            if R is not None and each.rotation is not None:
                chord = np.linalg.norm(R - each.rotation, axis=(1, 2)) / np.sqrt(8)  # |R − R*| = √8 sin(angle / 2)
                angle = np.maximum(angle, 2 * np.arcsin(np.minimum(chord, 1.0)))
        return distance, angle

    def _row_names(self) -> tuple[str, ...]:
        out: list[str] = []
        for each in self.asked:
            if each.kinds[0]:
                out += [f"a shift of '{each.body}' along {axis} of the world" for axis in "xyz"]
            if each.kinds[1]:
                out += [f"a turn of '{each.body}' about its own {axis}" for axis in "xyz"]
        return tuple(out)

    def _at_limits(self, q: np.ndarray) -> tuple[str, ...]:
        """The coordinates that stand at a limit."""
        if not self.limited:
            return ()
        lower, upper = self.places.limits
        sides = [(q <= lower, "lower", lower), (q >= upper, "upper", upper)]
        return tuple(
            f"{name} stands at its {side} limit {limit[i]:.6g}"
            for i, name in enumerate(self.places.model.coordinate_names)
            for at, side, limit in sides
            if at[i] and self.moving[i]
        )

    def branches(self, effort: Effort) -> tuple[np.ndarray, ...]:
        """All postures that are found from many starts, the nearest first."""
        places, task, home = self.places, self.task, self.start[0]
        shares = np.mod(0.5 + np.arange(1, _BRANCH_STARTS + 1)[:, None] * task.spread, 1.0)
        starts = np.where(self.moving, task.low + task.wide * shares, home)
        found = self.found(effort, np.concatenate([home[None], starts]))
        good = self._nearest_turns(found.q[found.left <= effort.tolerance], home[None])
        self._require_separate(good)
        unit, kept = places.scales.positions, []
        for q in good:
            gap = (q - np.array(kept).reshape(-1, places.n)) / unit
            gap = np.where(places.turning, gap - 2 * np.pi * np.round(gap / (2 * np.pi)), gap)
            if (np.abs(gap).max(axis=1, initial=0.0) > _APART).all():
                kept.append(q)
        return tuple(sorted(kept, key=lambda q: float(np.linalg.norm((q - home) / unit))))

    def _require_separate(self, good: np.ndarray) -> None:
        """Raise where postures can move on without leaving the target, so that they are no separate branches."""
        places, unit = self.places, self.places.scales.positions
        seen = places.look(good.T, self.t)
        whole = np.concatenate([seen.J / places.rows[:, None], seen.A / places.sizes[:, None]], axis=1)[
            :, :, self.moving
        ]
        count = int(self.moving.sum())
        left = count - max(int(rank.numeric_rank(each * unit[self.moving])) for each in whole)
        if left > 0:
            names = [name for name, yes in zip(places.model.coordinate_names, self.moving, strict=True) if yes]
            raise InputError(
                f"inverse_kinematics, branches: at the target the coordinates {', '.join(names)} can still move together in "
                f"{left} {'way' if left == 1 else 'ways'}, so that postures are no separate branches. Name as many more of them "
                "in `keep`."
            )


def _starts(model: Elements, q0: Start | npt.ArrayLike) -> tuple[np.ndarray, bool]:
    """Where searches begin, (K, n), and whether there are several."""
    n = len(model.coordinate_names)
    if isinstance(q0, np.ndarray) and q0.ndim == 2:
        found = numbers_given(q0, "inverse_kinematics, q0")
        if found.shape[0] != n:
            raise InputError(f"inverse_kinematics, q0: got shape {found.shape}. Expected ({n},) or ({n}, K).")
        return np.ascontiguousarray(found.T), True
    return start_state(model, q0, None, "inverse_kinematics")[0][None], False  # type: ignore[arg-type]
