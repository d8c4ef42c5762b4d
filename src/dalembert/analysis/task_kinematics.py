"""Poses and Jacobians of bodies, with the constraints, as one program for inverse kinematics; targets of bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dalembert.analysis._inverse_kinematics_search import SearchTask
from dalembert.arguments import as_finite_array, documented_class
from dalembert.codegen.compiled_loop import CallableProgram
from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.errors import InconsistentStateError, InputError, short_repr, suggest_name
from dalembert.mechanics import rank, state_batch
from dalembert.mechanics.constraint_levels import Constraints, levels, with_contacts
from dalembert.mechanics.motion import move_symbols
from dalembert.mechanics.state_batch import row_sizes
from dalembert.model.description import Description, Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.rotations import Pose, rotation

TargetKey = tuple[
    str, tuple[float, float, float], bool, bool
]  # body, point, whether there is a target for its position, for its orientation
_SEED = 31
_EMPTY = np.zeros(1)
_ROTATION_TOLERANCE = 1e-6  # tolerance for rotations with rounded entries
TargetLike: TypeAlias = "Target | Pose | npt.ArrayLike"


@dataclass(frozen=True)
class TaskOutputs:
    """The outputs of the program at K configurations: poses of the bodies, their Jacobians, and the constraints."""

    positions: tuple[np.ndarray | None, ...]  # (K, 3) of each target
    rotations: tuple[np.ndarray | None, ...]  # (K, 3, 3)
    J: np.ndarray  # (K, m, n): points in world axes, rotations in body axes
    phi: np.ndarray  # (K, r)
    A: np.ndarray  # (K, r, n)


@dataclass(frozen=True, eq=False)
class TaskKinematics:
    """The program of a model and its targets, with scales and constraint rows."""

    model: Elements
    targets: tuple[TargetKey, ...]
    function: CompiledFunction
    holonomic_rows: tuple[int, ...]  # rows of holonomic constraints
    scales: Scales
    sizes: np.ndarray

    @cached_property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.model.coordinate_names)

    @cached_property
    def kinds(self) -> np.ndarray:
        """(targets, 2): whether each has a position and an orientation."""
        return np.array([[position, orientation] for _, _, position, orientation in self.targets], dtype=np.int64)

    @cached_property
    def machine(self) -> CallableProgram:
        """The program for one configuration: the address of its machine code, or a Python function."""
        native = self.function.native
        if native is not None:
            return CallableProgram(native.address, _EMPTY, np.append(native.tables, 0.0))

        def one(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
            out[:] = self.function(x, np.zeros(0))

        return CallableProgram(one, _EMPTY, _EMPTY)

    def evaluate(self, q: np.ndarray, t: float) -> TaskOutputs:
        """Evaluate the program at q (n, K)."""
        n, K = q.shape
        out = self.function(np.concatenate([q, np.full((1, K), t)]), np.zeros(0)).T
        at, positions, rotations, rows = 0, [], [], [np.zeros((K, 0, n))]
        for position, orientation in self.kinds:
            positions.append(out[:, at : at + 3] if position else None)
            if position:
                rows.append(out[:, at + 3 : at + 3 + 3 * n].reshape(K, 3, n))
                at += 3 + 3 * n
            rotations.append(out[:, at : at + 9].reshape(K, 3, 3) if orientation else None)
            if orientation:
                rows.append(out[:, at + 9 : at + 9 + 3 * n].reshape(K, 3, n))
                at += 9 + 3 * n
        r = len(self.holonomic_rows)
        phi, A = out[:, at : at + r], out[:, at + r :].reshape(K, r, n)
        return TaskOutputs(tuple(positions), tuple(rotations), np.concatenate(rows, axis=1), phi, A)

    @cached_property
    def rows(self) -> np.ndarray:
        """(m,) the unit of each row of J: the length of the model, or a radian."""
        length = self.scales.length
        return np.concatenate([np.repeat([length, 1.0], 3 * kind) for kind in self.kinds])

    @cached_property
    def _random_outputs(self) -> TaskOutputs:
        """Random configurations, which need not satisfy the constraints."""
        rng = np.random.default_rng(_SEED)
        unit = self.scales.positions[:, None]
        return self.evaluate(self.model.initial[0][:, None] + np.pi * unit * rng.uniform(-1, 1, (self.n, 4)), 0.0)

    @cached_property
    def dependence(self) -> np.ndarray:
        """(m + r, n): whether each row depends on each coordinate."""
        outputs = self._random_outputs
        return np.abs(np.concatenate([outputs.J, outputs.A], axis=1)).max(axis=0) > 1e-12

    def coupled_coordinates(self, rows: np.ndarray) -> np.ndarray:
        """The coordinates that some rows depend on, directly or through shared constraints."""
        constraints = self.dependence[len(self.rows) :]
        found = self.dependence[rows].any(axis=0)
        while True:
            more = found | constraints[(constraints & found).any(axis=1)].any(axis=0)
            if np.array_equal(more, found):
                return np.asarray(found)
            found = more

    @cached_property
    def periodic(self) -> np.ndarray:
        """The coordinates whose full turn changes nothing."""
        rng = np.random.default_rng(_SEED)
        q = self.model.initial[0] + self.scales.positions * rng.uniform(-1, 1, self.n)
        x = np.concatenate([q[:, None] + 2 * np.pi * np.eye(self.n), q[:, None]], axis=1)
        out = self.function(np.concatenate([x, np.zeros((1, self.n + 1))]), np.zeros(0))
        size = 1 + np.abs(out[:, -1:])
        return np.asarray((np.abs(out[:, :-1] - out[:, -1:]) < 1e-9 * size).all(axis=0))

    @cached_property
    def _typical_outputs(self) -> TaskOutputs:
        """Random configurations, on the constraints if possible."""
        if not self.holonomic_rows:
            return self._random_outputs
        try:
            return self.evaluate(state_batch.consistent_states(self.model, 6).q, 0.0)
        except InconsistentStateError:  # the initial state violates the constraints
            return self._random_outputs

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return {}

    def usual_rank(self, moving: np.ndarray) -> int:
        """The rank of the targets' Jacobian for these coordinates at regular configurations."""
        key = moving.tobytes()
        if key not in self._ranks:
            values = np.linalg.svd(self.free_rows(self._typical_outputs, moving), compute_uv=False)
            self._ranks[key] = max(int((s > 1e-6 * max(s.max(initial=0.0), 1e-300)).sum()) for s in values)
        return self._ranks[key]

    def free_rows(self, outputs: TaskOutputs, moving: np.ndarray) -> np.ndarray:
        """The scaled J, projected onto the free motions of the moving coordinates, for each configuration: (K, m, n)."""
        unit = self.scales.positions * moving
        J = outputs.J / self.rows[:, None] * unit
        if not self.holonomic_rows:
            return J
        A = outputs.A / self.sizes[:, None] * unit
        return np.array([j - j @ rank.pseudo_inverse(a) @ a for j, a in zip(J, A, strict=True)])

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper limits of the coordinates."""
        return limits_of(self.model)

    @cached_property
    def _spread(self) -> np.ndarray:
        """The increments of the additive low-discrepancy sequence: powers of the root of xⁿ⁺¹ = x + 1."""
        root = 2.0
        for _ in range(64):
            root = (1 + root) ** (1 / (self.n + 1))
        return root ** -np.arange(1.0, self.n + 1)

    def task(self, start: np.ndarray, moving: np.ndarray, *, limited: bool) -> SearchTask:
        """The task for the compiled search, with starts around `start`."""
        unit = self.scales.positions
        lower, upper = self.limits if limited else (np.full(self.n, -np.inf), np.full(self.n, np.inf))
        low = np.where(np.isfinite(lower), lower, np.minimum(start, upper) - np.pi * unit)
        high = np.where(np.isfinite(upper), upper, np.maximum(start, lower) + np.pi * unit)
        units = np.where(moving, unit, 0.0)
        return SearchTask(
            self.kinds, self.scales.length, self.sizes, units, lower, upper, low, high - low, self._spread
        )


def limits_of(model: Elements) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper limits of the coordinates, infinite without a limit."""
    known = [model.limits.get(name) for name in model.coordinate_names]
    lower = [-np.inf if each is None or each.lower is None else each.lower for each in known]
    upper = [np.inf if each is None or each.upper is None else each.upper for each in known]
    return np.array(lower, dtype=float), np.array(upper, dtype=float)


@lru_cache(maxsize=64)
def task_kinematics_of(
    declared: Description, targets: tuple[TargetKey, ...], engine: str | None, rows: tuple[int, ...] | None = None
) -> TaskKinematics:
    """The program for a model, its targets and its holonomic constraints, or some rows of them; compiled once."""
    declared.refuse_canonical("inverse_kinematics")
    declared.require_valid()
    model = with_contacts(declared)
    motion = move_symbols(model, GRAPH, model.parameter_values)
    known, scales = levels(model), scales_of(model)
    holonomic = tuple(i for i in range(known.n_holonomic) if not known.servo[i]) if rows is None else rows
    constraints = Constraints(motion, known)
    parts: list[Array] = []
    for body, point, position, orientation in targets:
        frame = motion.frame(body)
        if position:
            p, J, _ = frame.point(vector(point))
            parts += [p, J.ravel()]
        if orientation:
            parts += [frame.R.ravel(), frame.D.ravel()]
    parts += [_rows(constraints.phi, holonomic), _rows(constraints.A, holonomic).ravel()]
    inputs = vector([*motion.q, motion.t])
    function = compile_function(GRAPH, inputs, np.concatenate(parts), vector([]), engine)
    return TaskKinematics(model, targets, function, holonomic, scales, row_sizes(model, known, scales)[list(holonomic)])


def _rows(values: Array, which: Sequence[int]) -> Array:
    return values[list(which)] if len(which) else values[:0]


@documented_class
@dataclass(frozen=True)
class Target:
    """A target of `inverse_kinematics`: the position of a point of a body, the orientation of the body, or both.

    Attributes
    ----------
    position : array_like, shape (3,) or (3, K), optional
        Position of the point in world axes; free if None.
    orientation : array_like, shape (3, 3), (3, 3, K), (4,) or (4, K), optional
        Rotation matrix from body to world axes, or a quaternion (w, x, y, z); free if None.
    point : array_like, shape (3,), optional
        A point in axes of the body; the argument `point` of `inverse_kinematics` if None.

    Examples
    --------
    >>> Target(position=(0.3, 0.1, 0.5)).position
    (0.3, 0.1, 0.5)
    """

    position: npt.ArrayLike | None = None
    orientation: npt.ArrayLike | None = None
    point: Sequence[float] | np.ndarray | None = None


@dataclass(frozen=True)
class BodyTargets:
    """The targets of one body: positions (K, 3) and rotations (K, 3, 3), None if they are free; K = 1 if `single`."""

    body: str
    point: tuple[float, float, float]
    position: np.ndarray | None
    rotation: np.ndarray | None
    single: bool

    @property
    def kinds(self) -> tuple[bool, bool]:
        """Whether the position and the orientation are prescribed."""
        return self.position is not None, self.rotation is not None

    @property
    def count(self) -> int:
        """The number of targets."""
        return len(next(part for part in (self.position, self.rotation) if part is not None))

    def numbers(self, count: int) -> np.ndarray:
        """Position and rotation of `count` targets as (K, 12), zeros if they are free."""
        out = np.zeros((count, 12))
        if self.position is not None:
            out[:, :3] = self.position
        if self.rotation is not None:
            out[:, 3:] = self.rotation.reshape(-1, 9)
        return out


def read_targets(
    model: Elements,
    body: str | Mapping[str, TargetLike],
    target: TargetLike | None,
    point: Sequence[float] | np.ndarray,
) -> tuple[BodyTargets, ...]:
    """The targets of each body; a mapping of bodies gives several at once."""
    if isinstance(body, Mapping):
        if target is not None or not body:
            raise InputError("inverse_kinematics: expected a body and a target, or a mapping of bodies to targets.")
        target_by_body = dict(body)
    else:
        if not isinstance(body, str):
            raise InputError(
                f"inverse_kinematics, body: got {short_repr(body)}. Expected the name of a body, or a mapping of bodies."
            )
        if target is None:
            raise InputError(
                "inverse_kinematics: `target` is missing. Give a position (3,), a rotation (3, 3) or a pose (4, 4)."
            )
        target_by_body = {body: target}
    names = [each.name for each in model.bodies]
    for name in target_by_body:
        if name not in names:
            raise InputError(f"inverse_kinematics: there is no body '{name}'. {suggest_name(str(name), names)}")
    found = tuple(_read_target(name, each, point) for name, each in target_by_body.items())
    counts = {each.count for each in found if not each.single}
    if len(counts) > 1:
        raise InputError(f"inverse_kinematics: got {sorted(counts)} targets. Expected equal numbers for all bodies.")
    return found


def _read_target(body: str, target: TargetLike, point: Sequence[float] | np.ndarray) -> BodyTargets:
    where = f"inverse_kinematics, target of '{body}'"
    target = _target(target, where)
    at = as_finite_array(point if target.point is None else target.point, f"{where}, point")
    if at.shape != (3,):
        raise InputError(f"{where}, point: got shape {at.shape}. Expected (3,), in body axes.")
    position, one = _position(target.position, f"{where}, position")
    rotation, single = _rotation(target.orientation, f"{where}, orientation")
    if position is None and rotation is None:
        raise InputError(f"{where}: got no position and no orientation. Expected at least one of them.")
    if position is not None and rotation is not None and not one and not single and len(position) != len(rotation):
        raise InputError(
            f"{where}: got {len(position)} positions, {len(rotation)} orientations. Expected equal numbers."
        )
    return BodyTargets(body, (float(at[0]), float(at[1]), float(at[2])), position, rotation, one and single)


def _target(target: TargetLike, where: str) -> Target:
    """A target from an array, by its shape, or from a pose."""
    if isinstance(target, Target):
        return target
    if isinstance(target, Pose):
        return Target(target.position, target.rotation)
    value = as_finite_array(target, where)
    shape = value.shape
    if shape[:2] == (4, 4) and value.ndim <= 3:
        if value.ndim == 3 or np.abs(value[3] - (0, 0, 0, 1)).max() < _ROTATION_TOLERANCE:
            return Target(value[:3, 3], value[:3, :3])
        raise InputError(
            f"{where}: the last row of the pose is {value[3].round(6).tolist()}. Expected (0, 0, 0, 1). "
            "For four quaternions use Target(orientation=...)."
        )
    if shape[:2] == (3, 3) and value.ndim <= 3:
        if value.ndim == 2 and not _is_rotation(value[None]):
            raise InputError(f"{where}: the matrix is not a rotation. For three positions use Target(position=...).")
        return Target(orientation=value)
    if value.ndim in (1, 2) and shape[0] == 3:
        return Target(position=value)
    if value.ndim in (1, 2) and shape[0] == 4:
        return Target(orientation=value)
    raise InputError(
        f"{where}: got shape {shape}. Expected a position (3,), a quaternion (4,), a rotation (3, 3) or a pose (4, 4), each "
        "with one more axis at the end for several targets."
    )


def _position(value: npt.ArrayLike | None, where: str) -> tuple[np.ndarray | None, bool]:
    """Positions (K, 3), and whether the input was a single one."""
    if value is None:
        return None, True
    value = as_finite_array(value, where)
    if value.ndim not in (1, 2) or value.shape[0] != 3 or not value.size:
        raise InputError(f"{where}: got shape {value.shape}. Expected (3,) or (3, K).")
    return np.atleast_2d(value.T), value.ndim == 1


def _rotation(value: npt.ArrayLike | None, where: str) -> tuple[np.ndarray | None, bool]:
    """Rotations (K, 3, 3), and whether the input was a single one."""
    if value is None:
        return None, True
    value = as_finite_array(value, where)
    if (
        value.ndim in (2, 3)
        and value.shape[:2] == (3, 3)
        and value.size
        and (value.ndim == 3 or _is_rotation(value[None]))
    ):
        found = value[None] if value.ndim == 2 else np.moveaxis(value, 2, 0)
        if not _is_rotation(found):
            raise InputError(f"{where}: the matrix is not a rotation. Expected RᵀR = 1 and det R = 1.")
        U, _, Vt = np.linalg.svd(found)  # the nearest rotation
        return U @ Vt, value.ndim == 2
    if value.ndim not in (1, 2) or value.shape[0] != 4 or not value.size:
        raise InputError(
            f"{where}: got shape {value.shape}. Expected a rotation (3, 3) or a quaternion (4,) as (w, x, y, z)."
        )
    return _from_quaternions(np.atleast_2d(value.T), where), value.ndim == 1


def _is_rotation(R: np.ndarray) -> bool:
    """True if all matrices (K, 3, 3) are rotations up to rounding of their entries."""
    near = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max() < _ROTATION_TOLERANCE
    return bool(near and (np.linalg.det(R) > 0).all())


def _from_quaternions(q: np.ndarray, where: str) -> np.ndarray:
    """The rotations (K, 3, 3) of quaternions (K, 4), which need not have length 1."""
    length = np.linalg.norm(q, axis=1, keepdims=True)
    if (length < 1e-12).any():
        raise InputError(f"{where}: a quaternion has length 0. Expected (w, x, y, z), such as (1, 0, 0, 0).")
    return np.moveaxis(rotation((q / length).T), 2, 0)
