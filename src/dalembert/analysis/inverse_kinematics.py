"""Inverse kinematics: configurations of a mechanism at which its bodies reach their targets.

`analysis/_inverse_kinematics_search` is the search, `analysis/task_kinematics` the program that it calls and the targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dalembert.analysis import _inverse_kinematics_search
from dalembert.analysis._inverse_kinematics_search import Effort, SearchTask
from dalembert.analysis.task_kinematics import (
    BodyTargets,
    TargetLike,
    TaskKinematics,
    TaskOutputs,
    read_targets,
    task_kinematics_of,
)
from dalembert.api.load import accepts_source
from dalembert.arguments import as_finite_array
from dalembert.codegen.function import choose_engine
from dalembert.errors import InputError, suggest_name
from dalembert.mechanics import rank
from dalembert.model.description import Elements
from dalembert.model.evaluation import Start, start_state

TOLERANCE = 1e-11
_BRANCH_STARTS = 400
_DISTINCT = 1e-5  # configurations that differ by less, in scales of the coordinates, are equal
_SINGULAR = 1e-4  # relative to the largest singular value
_MIN_COMPONENT = 0.05  # smaller components of a direction are omitted in messages


@dataclass(frozen=True)
class SearchResult:
    """The result of one search: q (K, n), the residuals, and the numbers of steps and searches."""

    q: np.ndarray
    residuals: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class InverseKinematics:
    """Configurations found by inverse kinematics. With K targets all fields but the names have one more axis or entry.

    | field | meaning |
    |---|---|
    | `q` | the coordinates, (n,) or (n, K) |
    | `converged` | True if every target is reached and every loop is closed |
    | `residual` | the largest error: distances relative to the length of the model, angles in radians, scaled constraints |
    | `distance`, `angle` | position error of the points and orientation error of the bodies |
    | `iterations`, `starts` | the number of steps and of searches |
    | `branches` | with branches=True, all configurations that reach the target, the nearest to the start first |
    | `manipulability` | √det(J Jᵀ) of Yoshikawa, along the free motions of closed loops |
    | `singular` | None, or a sentence on the motion that is impossible at a singular configuration |
    | `message` | a sentence on the outcome |
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
    _about: tuple[str, ...] = field(default=(), repr=False)  # description of each row
    _usual: int = field(default=0, repr=False)
    _at_limits: tuple[str, ...] = field(default=(), repr=False)

    @property
    def _single(self) -> bool:
        return self.q.ndim == 1

    @cached_property
    def manipulability(self) -> float | np.ndarray:
        """√det(J Jᵀ): the volume of the image of the unit ball of joint velocities; zero at singular configurations."""
        # rows in the units of the model; for planar mechanisms only the possible directions
        values = np.linalg.svd(self._free * self._rows[:, None], compute_uv=False)[:, : self._usual]
        found = values.prod(axis=1)
        return float(found[0]) if self._single else found

    @cached_property
    def singular(self) -> str | tuple[str | None, ...] | None:
        """None, or the motion that is impossible at this configuration; a tuple for several targets."""
        split = np.linalg.svd(self._free, full_matrices=False)
        found = tuple(self._sentence(U, sigma, Vt) for U, sigma, Vt in zip(*split, strict=True))
        return found[0] if self._single else found

    def _sentence(self, U: np.ndarray, sigma: np.ndarray, Vt: np.ndarray) -> str | None:
        """The impossible motion at a singular configuration, from J = U σ Vᵀ there; None at a regular one."""
        if not self._usual or sigma[self._usual - 1] > _SINGULAR * max(sigma[0], 1e-300):
            return None
        last = self._usual - 1
        lost = _direction_in_words(U[:, last], self._about)
        idle = _direction_in_words(Vt[last], self.names) if len(Vt) > last else ""
        share = sigma[last] / max(sigma[0], 1e-300)
        return (
            f"singular configuration: {lost} is impossible here; the coordinate motion {idle} does not move the target "
            f"(ratio of smallest to largest singular value {share:.1e})."
        )

    @property
    def message(self) -> str:
        """The outcome, and advice if a target is not reached."""
        if not self._single:
            good = int(np.sum(self.converged))
            advice = " See `distance` and `angle` of those for which `converged` is False."
            return f"{good} of {self.q.shape[1]} targets are reached.{'' if good == self.q.shape[1] else advice}"
        if self.converged:
            return (
                f"the target is reached to {self.residual:.1e} after {self.iterations} steps from {self.starts} starts."
            )
        at_limits = f" There {', '.join(self._at_limits)}." if self._at_limits else ""
        return (
            f"the target was not reached. The best configuration has a position error of {self.distance:.6g} and an orientation "
            f"error of {self.angle:.6g} rad after {self.iterations} steps from {self.starts} starts.{at_limits} The target may "
            "be out of reach: check it, give `q0` near a solution, more `starts`, or `limits=False`."
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
    parts = [f"{x:+.3g} {name}" for x, name in zip(direction, names, strict=True) if abs(x) > _MIN_COMPONENT]
    return " ".join(parts).removeprefix("+").replace("1 ", "", 1) if len(parts) == 1 else " ".join(parts)


@accepts_source
def inverse_kinematics(
    model: Elements,
    body: str | Mapping[str, TargetLike],
    target: TargetLike | None = None,
    *,
    point: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    q0: Start = None,
    t: float = 0.0,
    limits: bool = True,
    fixed: Sequence[str] = (),
    branches: bool = False,
    starts: int = 100,
    iterations: int = 60,
    tolerance: float = TOLERANCE,
    engine: str | None = None,
) -> InverseKinematics:
    """The coordinates at which a point of a body reaches a target.

    Constraints and loops of the model are part of the equations, so they are satisfied at the result. Coordinates that do not
    affect the target stay fixed.

    Parameters
    ----------
    body : str or mapping of str to target
        The name of the body, or several bodies with their targets.
    target : array_like, Pose or Target, optional
        A position (3,) in world axes, an orientation as quaternion (w, x, y, z) or rotation (3, 3) from body to world axes, both
        as a pose (4, 4), or a `Target`. One more axis at the end contains K targets.
    q0 : array_like or mapping, optional
        Start of the search, shape (n,) or by name; the initial position of the model if None.
    t : float, default 0.0
        Time.
    limits : bool, default True
        Respect the limits of coordinates.
    branches : bool, default False
        Find all configurations of one target from many deterministic starts; a branch can be missed.
    starts : int, default 100
        Largest number of restarts.
    iterations : int, default 60
        Largest number of steps of each start.
    tolerance : float, optional
        Residual below which the target is reached.

    Returns
    -------
    InverseKinematics
        The coordinates `q` (n,) or (n, K), `converged`, residuals, and the branches.

    Raises
    ------
    InputError
        If a name is unknown, a target has a wrong shape, or `branches` is used with several targets.

    Examples
    --------
    >>> import dalembert as dl
    >>> wanted = dl.pose("puma560", [0.3, -0.7, 0.5, 0.4, 0.9, -0.2], "flange")
    >>> found = dl.inverse_kinematics("puma560", "flange", wanted, branches=True)
    >>> found.converged, len(found.branches), found.singular
    (True, 8, None)
    """
    targets = read_targets(model, body, target, point)
    search = _Search(model, targets, q0, t, limits, fixed, choose_engine(engine))
    found = search.found(Effort(float(tolerance), int(iterations), int(starts)))
    result = search.result(found, tolerance)
    if not branches:
        return result
    if not search.single:
        raise InputError("inverse_kinematics, branches: got several targets. Expected one target. Call it for each.")
    found_branches = search.branches(Effort(float(tolerance), int(iterations), 1)) if result.converged else ()
    return replace(result, branches=found_branches)


class _Search:
    """One call: the program, the targets and the start."""

    def __init__(
        self,
        model: Elements,
        targets_by_body: tuple[BodyTargets, ...],
        q0: Start,
        t: float,
        limited: bool,
        fixed: Sequence[str],
        engine: str,
    ) -> None:
        known = tuple((each.body, each.point, *each.kinds) for each in targets_by_body)
        self.task_kinematics: TaskKinematics = task_kinematics_of(model.description, known, engine)
        self.targets_by_body, self.t, self.limited = targets_by_body, float(t), limited
        many = [each.count for each in targets_by_body if not each.single]
        self.start, several = _starts(self.task_kinematics.model, q0)
        if several and many and len(self.start) != many[0]:
            raise InputError(
                f"inverse_kinematics, q0: got {len(self.start)} starts for {many[0]} targets. Expected equal numbers."
            )
        self.single = not many and not several
        self.K = max([len(self.start), *many])
        self.targets = np.concatenate([each.numbers(self.K) for each in targets_by_body], axis=1)
        self.moving = self._moving(fixed)
        rows = self._coupled_rows
        if rows != self.task_kinematics.holonomic_rows:  # as of grippers that mimic, where the hand has a target
            self.task_kinematics = task_kinematics_of(model.description, known, engine, rows)

    @property
    def _coupled_rows(self) -> tuple[int, ...]:
        """The constraints that depend on moving coordinates, or are violated at the start."""
        kinematics = self.task_kinematics
        needed = kinematics.dependence[len(kinematics.rows) :, self.moving].any(axis=1) | self._violated
        return tuple(row for row, yes in zip(kinematics.holonomic_rows, needed, strict=True) if yes)

    @property
    def _violated(self) -> np.ndarray:
        """Mask of the constraints that are violated at the start."""
        kinematics = self.task_kinematics
        if not kinematics.holonomic_rows:
            return np.zeros(0, dtype=bool)
        phi = kinematics.evaluate(self.start.T, self.t).phi
        return np.asarray((np.abs(phi) > TOLERANCE * kinematics.sizes).any(axis=0))

    def _moving(self, fixed: Sequence[str]) -> np.ndarray:
        """The coordinates that affect the target, without those in `fixed`."""
        kinematics, names = self.task_kinematics, self.task_kinematics.model.coordinate_names
        for name in fixed:
            if name not in names:
                raise InputError(
                    f"inverse_kinematics, fixed: there is no coordinate '{name}'. {suggest_name(name, names)}"
                )
        rows = np.zeros(len(kinematics.dependence), dtype=bool)
        rows[: len(kinematics.rows)] = True
        rows[len(kinematics.rows) :] = self._violated  # constraints that are violated at the start must be solved, too
        return kinematics.coupled_coordinates(rows) & np.array([name not in fixed for name in names], dtype=bool)

    @cached_property
    def task(self) -> SearchTask:
        """The task for the compiled search."""
        return self.task_kinematics.task(self.start[0], self.moving, limited=self.limited)

    def found(self, effort: Effort, starts: np.ndarray | None = None) -> SearchResult:
        """The configurations found from the starts (K, n)."""
        K, n = self.K if starts is None else len(starts), self.task_kinematics.n
        begin = np.array(np.broadcast_to(self.start if starts is None else starts, (K, n)), order="C")
        targets = np.array(np.broadcast_to(self.targets, (K, self.targets.shape[1])), order="C")
        q, residuals, counts = np.empty((K, n)), np.empty(K), np.zeros((K, 2), dtype=np.int64)
        run = (
            _inverse_kinematics_search.compiled
            if isinstance(self.task_kinematics.machine.one, int)
            else _inverse_kinematics_search.search_configuration
        )
        with np.errstate(all="ignore"):
            run(self.task_kinematics.machine, self.task, effort, targets, begin, self.t, q, residuals, counts)
        return SearchResult(self._nearest_turns(q, begin), residuals, counts)

    def _nearest_turns(self, q: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The same configurations with angles shifted by full turns toward the start, within their limits."""
        task, turn = self.task, 2 * np.pi
        trial = np.where(self.task_kinematics.periodic & self.moving, q - turn * np.round((q - start) / turn), q)
        return np.where((trial >= task.lower) & (trial <= task.upper), trial, q)

    def result(self, found: SearchResult, tolerance: float) -> InverseKinematics:
        """The public result."""
        kinematics = self.task_kinematics
        outputs = kinematics.evaluate(found.q.T, self.t)
        distance, angle = self._distances(outputs)
        parts = (found.residuals <= tolerance, found.residuals, distance, angle, found.counts[:, 0], found.counts[:, 1])
        good, residuals, distance, angle, steps, starts = [part[0].item() for part in parts] if self.single else parts
        return InverseKinematics(
            kinematics.model.coordinate_names,
            found.q[0] if self.single else found.q.T,
            good,
            residuals,
            distance,
            angle,
            steps,
            starts,
            _free=kinematics.free_rows(outputs, self.moving),
            _rows=kinematics.rows,
            _about=self._row_names(),
            _usual=kinematics.usual_rank(self.moving),
            _at_limits=self._at_limits(found.q[0]) if self.single else (),
        )

    def _distances(self, outputs: TaskOutputs) -> tuple[np.ndarray, np.ndarray]:
        """The position and orientation errors, (K,) each."""
        distance, angle = np.zeros(self.K), np.zeros(self.K)
        for each, p, R in zip(self.targets_by_body, outputs.positions, outputs.rotations, strict=True):
            if p is not None and each.position is not None:
                distance = np.maximum(distance, np.linalg.norm(p - each.position, axis=1))
            if R is not None and each.rotation is not None:
                chord = np.linalg.norm(R - each.rotation, axis=(1, 2)) / np.sqrt(8)  # |R − R*| = √8 sin(angle / 2)
                angle = np.maximum(angle, 2 * np.arcsin(np.minimum(chord, 1.0)))
        return distance, angle

    def _row_names(self) -> tuple[str, ...]:
        out: list[str] = []
        for each in self.targets_by_body:
            if each.kinds[0]:
                out += [f"a translation of '{each.body}' along the world {axis} axis" for axis in "xyz"]
            if each.kinds[1]:
                out += [f"a rotation of '{each.body}' about its own {axis} axis" for axis in "xyz"]
        return tuple(out)

    def _at_limits(self, q: np.ndarray) -> tuple[str, ...]:
        """The coordinates at a limit."""
        if not self.limited:
            return ()
        lower, upper = self.task_kinematics.limits
        sides = [(q <= lower, "lower", lower), (q >= upper, "upper", upper)]
        return tuple(
            f"{name} is at its {side} limit {limit[i]:.6g}"
            for i, name in enumerate(self.task_kinematics.model.coordinate_names)
            for at, side, limit in sides
            if at[i] and self.moving[i]
        )

    def branches(self, effort: Effort) -> tuple[np.ndarray, ...]:
        """All configurations found from many starts, the nearest first."""
        kinematics, task, home = self.task_kinematics, self.task, self.start[0]
        fractions = np.mod(0.5 + np.arange(1, _BRANCH_STARTS + 1)[:, None] * task.spread, 1.0)
        starts = np.where(self.moving, task.low + task.width * fractions, home)
        found = self.found(effort, np.concatenate([home[None], starts]))
        good = self._nearest_turns(found.q[found.residuals <= effort.tolerance], home[None])
        self._require_separate(good)
        unit, distinct = kinematics.scales.positions, []
        for q in good:
            gap = (q - np.array(distinct).reshape(-1, kinematics.n)) / unit
            gap = np.where(kinematics.periodic, gap - 2 * np.pi * np.round(gap / (2 * np.pi)), gap)
            if (np.abs(gap).max(axis=1, initial=0.0) > _DISTINCT).all():
                distinct.append(q)
        return tuple(sorted(distinct, key=lambda q: float(np.linalg.norm((q - home) / unit))))

    def _require_separate(self, good: np.ndarray) -> None:
        """Raise if self-motion at the target is possible, so that solutions are not isolated."""
        kinematics, unit = self.task_kinematics, self.task_kinematics.scales.positions
        outputs = kinematics.evaluate(good.T, self.t)
        jacobians = np.concatenate(
            [outputs.J / kinematics.rows[:, None], outputs.A / kinematics.sizes[:, None]], axis=1
        )[:, :, self.moving]
        count = int(self.moving.sum())
        mobility = count - max(int(rank.numeric_rank(each * unit[self.moving])) for each in jacobians)
        if mobility > 0:
            names = [name for name, yes in zip(kinematics.model.coordinate_names, self.moving, strict=True) if yes]
            raise InputError(
                f"inverse_kinematics, branches: at the target the coordinates {', '.join(names)} have {mobility} "
                f"{'degree' if mobility == 1 else 'degrees'} of freedom of self-motion, so the solutions are not isolated. "
                "Fix as many coordinates with `fixed`."
            )


def _starts(model: Elements, q0: Start | npt.ArrayLike) -> tuple[np.ndarray, bool]:
    """The starts of the searches, (K, n), and whether there are several."""
    n = len(model.coordinate_names)
    if isinstance(q0, np.ndarray) and q0.ndim == 2:
        found = as_finite_array(q0, "inverse_kinematics, q0")
        if found.shape[0] != n:
            raise InputError(f"inverse_kinematics, q0: got shape {found.shape}. Expected ({n},) or ({n}, K).")
        return np.ascontiguousarray(found.T), True
    return start_state(model, q0, None, "inverse_kinematics")[0][None], False  # type: ignore[arg-type]
