"""Denavit–Hartenberg tables of models: as defined in the model, or computed from the joint axes of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dalembert.analysis.task_kinematics import TaskKinematics, task_kinematics_of
from dalembert.api.load import accepts_source
from dalembert.errors import InputError, NotApplicableError, suggest_name
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.evaluation import Start, at_start, start_state, value
from dalembert.model.values import WORLD
from dalembert.symbolic.symbols import coordinate
from dalembert.tables import Table, Tabular

_SEED = 7
Convention: TypeAlias = Literal["dh", "mdh"]
CONVENTIONS: tuple[Convention, ...] = ("dh", "mdh")
ORDER = {"dh": ("θ", "d", "a", "α"), "mdh": ("α", "a", "θ", "d")}
EQUAL = 1e-9  # relative difference below which frames are equal


@accepts_source
def dh_table(model: Elements, body: str | None = None, *, convention: Convention | None = None) -> DHTable:
    """The Denavit–Hartenberg table of the chain from the world to a body, by default to the last one.

    A model that was defined by such a table returns it; for any other chain of revolute and prismatic joints, such as one from a
    URDF file, it is computed from the axes.

    Parameters
    ----------
    model : Model, Description, str or Path
        A model, the name of an example model, or a model file.
    body : str, optional
        The last body of the chain; by default the last body of the model.
    convention : {"dh", "mdh"}, optional
        Standard or modified convention; by default that of the model, or dh.

    Returns
    -------
    DHTable
        The rows (lengths in m, angles in rad), with the base and tool transforms, (4, 4) each.

    Raises
    ------
    InputError
        The body or the convention does not exist.
    NotApplicableError
        The chain has joints other than revolute, prismatic and fixed ones with their own coordinates.

    Examples
    --------
    >>> import dalembert as dl
    >>> table = dl.dh_table("puma560")
    >>> table.written, [round(row.alpha, 4) for row in table.rows]
    (True, [1.5708, 0.0, -1.5708, 1.5708, -1.5708, 0.0])
    >>> dl.dh_table("puma560", convention="mdh").written
    False
    """
    if convention is not None and convention not in CONVENTIONS:
        raise InputError(
            f"dh_table, convention: there is no '{convention}'. {suggest_name(str(convention), CONVENTIONS)}"
        )
    model.require_valid()
    chain = _chain(model, body)
    for each in CONVENTIONS if convention is None else (convention,):
        rows = _defined_rows(model, chain, each)
        if rows is not None:
            return _verified_table(model, chain, each, rows, np.eye(4), np.eye(4), written=True)
    return _from_axes(model, chain, convention or "dh")


@accepts_source
def dh_frames(
    model: Elements, q: Start = None, body: str | None = None, *, convention: Convention | None = None
) -> tuple[ElementaryTransform, ...]:
    """The frames of a Denavit–Hartenberg table step by step: the four elementary transforms of each row, with their frames.

    Parameters
    ----------
    model : Model, Description, str or Path
        A model, the name of an example model, or a model file.
    q : array_like of shape (n,) or mapping, optional
        The coordinates; by default the initial ones.
    body, convention : optional
        As for `dh_table`.

    Returns
    -------
    tuple of Motion
        Row, name, value and frame (4, 4) in the world of every elementary transform.

    Examples
    --------
    >>> import dalembert as dl
    >>> [(step.row, step.name, round(step.value, 3)) for step in dl.dh_frames("puma560")[:4]]
    [(0, 'θ', 0.0), (0, 'd', 0.672), (0, 'a', 0.0), (0, 'α', 1.571)]
    """
    return dh_table(model, body, convention=convention).frames(start_state(model, q, None, "dh_frames")[0])


def _chain(model: Elements, body: str | None) -> list[Body]:
    """The bodies on the path from the world to a body."""
    known = {each.name: each for each in model.bodies}
    if not known:
        raise NotApplicableError(f"model '{model.name}' has no bodies, so it has no Denavit–Hartenberg table.")
    if body is not None and body not in known:
        raise InputError(f"dh_table: there is no body '{body}'. {suggest_name(body, known)}")
    at, chain = body or model.bodies[-1].name, []
    while at != WORLD:
        chain.append(known[at])
        at = known[at].parent
    return chain[::-1]


def _verified_table(
    model: Elements,
    chain: Sequence[Body],
    convention: Convention,
    rows: Sequence[DHRow],
    base: np.ndarray,
    tool: np.ndarray,
    *,
    written: bool,
) -> DHTable:
    """The table, verified against the model at random configurations."""
    names, start = model.coordinate_names, model.initial[0]
    table = DHTable(model.name, chain[-1].name, convention, tuple(rows), base, tool, names, start, written)
    q = np.random.default_rng(_SEED).uniform(-1, 1, (len(names), 3))
    expected = _poses(_pose_program(model, chain[-1].name), q)
    found = np.array([table.pose(each) for each in q.T])
    if not np.abs(found - expected).max() <= EQUAL * (1 + np.abs(expected).max()):
        raise _not_applicable(model, chain[-1].name, "its joints are not a sequence of rotations and translations")
    return table


def _not_applicable(model: Elements, body: str, why: str) -> NotApplicableError:
    return NotApplicableError(
        f"model '{model.name}' has no Denavit–Hartenberg table to '{body}': {why}. Expected a chain of revolute, prismatic and "
        "fixed joints, each with its own coordinate. Select a body with such a chain with `body`."
    )


def _defined_rows(model: Elements, chain: Sequence[Body], convention: Convention) -> list[DHRow] | None:
    """The rows of a model that was defined by a table of this convention; None for other models."""
    values = at_start(model)
    names = set(model.coordinate_names)
    out = []
    for body in chain:
        parts = [[*joint.position, *joint.rotation] for joint in body.joints]
        numbers = [[value(x, values) for x in part] for part in parts]
        if not 1 <= len(body.joints) <= 2 or (len(body.joints) == 2 and body.joints[1].values):
            return None
        first, (x, y, z, roll, pitch, yaw) = body.joints[0], numbers[0]
        after = numbers[1] if len(numbers) == 2 else [0.0] * 6
        across, along = (numbers[0], after) if convention == "mdh" else (after, numbers[0])
        if y or pitch or after[1] or after[4]:
            return None
        if convention == "mdh" and (z or yaw or after[0] or after[3]):
            return None
        if convention == "dh" and (x or z or roll or after[5]):
            return None
        axis = (first.steps[0].about or first.steps[0].along) if first.kind in ("revolute", "prismatic") else (0, 0, 1)
        if first.kind not in ("revolute", "prismatic", "fixed") or [float(c) for c in axis or ()] != [0.0, 0.0, 1.0]:
            return None
        own = [str(s) for f in first.values for s in f.free_symbols if str(s) in names]
        if len(own) != len(first.values) or any(
            f.diff(coordinate(x)) != 1 for f, x in zip(first.values, own, strict=True)
        ):
            return None
        offset = [value(f, {**values, **dict.fromkeys(own, 0.0)}) for f in first.values] or [0.0]
        theta, d = along[5], after[2]
        if first.kind == "revolute":
            theta = offset[0]
        elif first.kind == "prismatic":
            d = offset[0]
        out.append(DHRow(own[0] if own else "", first.kind, theta, d, across[0], across[3]))
    return out


# from the axes


def _pose_program(model: Elements, body: str) -> TaskKinematics:
    return task_kinematics_of(model.description, ((body, (0.0, 0.0, 0.0), True, True),), None)


def _poses(kinematics: TaskKinematics, q: np.ndarray) -> np.ndarray:
    """T (K, 4, 4) at q (n, K)."""
    poses = kinematics.evaluate(q, 0.0)
    p, R = poses.positions[0], poses.rotations[0]
    assert p is not None
    assert R is not None
    out = np.zeros((len(p), 4, 4))
    out[:, :3, :3], out[:, :3, 3], out[:, 3, 3] = R, p, 1.0
    return out


def _axes(model: Elements, chain: Sequence[Body]) -> tuple[list[JointAxis], np.ndarray]:
    """The joint axes from the world to the body, and the pose of the body, at zero coordinates."""
    names, body = model.coordinate_names, chain[-1].name
    kinematics, zero = _pose_program(model, body), np.zeros((len(model.coordinate_names), 1))
    J, T = kinematics.evaluate(zero, 0.0).J[0], _poses(kinematics, zero)[0]
    order: list[str] = []
    for each in chain:
        for joint in each.joints:
            for formula in joint.values:
                moving = sorted(str(s) for s in formula.free_symbols if str(s) in names)
                if len(moving) != 1 or moving[0] in order:
                    reason = f"joint of '{each.name}' moves by {formula}"
                    raise _not_applicable(model, body, reason)
                order += moving
    out = []
    for name in order:
        column = J[:, names.index(name)]
        v, w = column[:3], T[:3, :3] @ column[3:]
        revolute, prismatic = abs(w @ w - 1) < EQUAL and abs(w @ v) < EQUAL, not w.any() and abs(v @ v - 1) < EQUAL
        if not revolute and not prismatic:
            raise _not_applicable(
                model, body, f"the coordinate {name} is neither a rotation about an axis nor a translation along one"
            )
        point = T[:3, 3] + np.cross(w, v) if revolute else None
        out.append(JointAxis(name, "revolute" if revolute else "prismatic", w if revolute else v, point))
    return out, T


def _from_axes(model: Elements, chain: Sequence[Body], convention: Convention) -> DHTable:
    """The table computed from the joint axes."""
    axes, T = _axes(model, chain)
    if not axes:
        raise _not_applicable(model, chain[-1].name, "it does not depend on any coordinate")
    base, rows, last = rows_between(axes, T, convention)
    return _verified_table(model, chain, convention, rows, base, np.linalg.inv(last) @ T, written=False)


@dataclass(frozen=True)
class JointAxis:
    """The axis of a joint at zero coordinates: a direction, and a point on it; None for a prismatic joint."""

    coordinate: str
    kind: str
    z: np.ndarray
    point: np.ndarray | None


def rows_between(
    axes: Sequence[JointAxis], T: np.ndarray, convention: Convention
) -> tuple[np.ndarray, list[DHRow], np.ndarray]:
    """Frame 0, the rows, and frame n, for joint axes and a body pose T at zero coordinates."""
    frames, last = [_base(axes[0])], len(axes) - 1
    for i, axis in enumerate(axes):  # frame i + 1 lies on the normal from this axis to the next
        if i < last:
            frames.append(_next(frames[-1], axes[i + 1].z, axes[i + 1].point, None))
        elif convention == "dh":  # the last frame coincides with the body if possible
            frames.append(_next(frames[-1], T[:3, 2], T[:3, 3], T))
        else:
            at = frames[-1][:3, 3] if axis.point is None else axis.point
            frames.append(_next(frames[-1], axis.z, at + axis.z * ((T[:3, 3] - at) @ axis.z), T))
    if convention == "dh":
        rows = [_row_dh(*each) for each in zip(axes, frames[:-1], frames[1:], strict=True)]
    else:
        frames, rows = _modified(axes, frames)
    return frames[0], rows, frames[-1]


def _base(axis: JointAxis) -> np.ndarray:
    """Frame 0: z along the first axis, the origin nearest to that of the world, x nearest to that of the world."""
    z = axis.z
    x = np.eye(3)[0] - z * z[0]
    x = x if np.linalg.norm(x) > 1e-6 else np.eye(3)[1] - z * z[1]
    x = x / np.linalg.norm(x)
    p = np.zeros(3) if axis.point is None else axis.point - z * (axis.point @ z)
    return _frame(x, z, p)


def _next(before: np.ndarray, z: np.ndarray, point: np.ndarray | None, end: np.ndarray | None) -> np.ndarray:
    """The frame on an axis whose x is the common normal with z of the previous frame; equal to `end` if possible."""
    x0, z0, p0 = before[:3, 0], before[:3, 2], before[:3, 3]
    point = p0 if point is None else point
    normal = np.cross(z0, z)
    if np.linalg.norm(normal) > 1e-7:
        x = normal / np.linalg.norm(normal)
        x = x if x @ x0 > -EQUAL else -x
        # the foot of the normal on this axis: point + z s, offset from the previous axis along x only
        side = np.cross(x, z0)
        return _frame(x, z, point - z * ((point - p0) @ side) / (z @ side))
    across = point - p0 - z0 * ((point - p0) @ z0)
    if end is not None and np.linalg.norm(across) < EQUAL:
        x = (
            end[:3, 0] if abs(end[:3, 0] @ z) < 0.5 else end[:3, 1]
        )  # x of the body, or its y if x is parallel to the axis
        x = x - z * (x @ z)
        return _frame(x / np.linalg.norm(x), z, point)
    foot = point - z * ((point - p0) @ z)
    if np.linalg.norm(across) < EQUAL:
        return _frame(x0, z, p0)
    x = across / np.linalg.norm(across)
    return _frame(x if x @ x0 > -EQUAL else -x, z, foot)


def _modified(axes: Sequence[JointAxis], standard: list[np.ndarray]) -> tuple[list[np.ndarray], list[DHRow]]:
    """Craig's frames, z along their own axis, from the standard frames: x of each is the normal to the next axis."""
    frames, rows = [standard[0]], []
    for axis, before, after in zip(axes, standard[:-1], standard[1:], strict=True):
        # on this axis, with x along the normal to the next axis
        z, x = before[:3, 2], after[:3, 0]
        x = x - z * (x @ z)
        p = before[:3, 3] + z * ((after[:3, 3] - before[:3, 3]) @ z)
        here = _frame(x / np.linalg.norm(x), z, p)
        rows.append(_row_mdh(axis, frames[-1], here))
        frames.append(here)
    return frames, rows


def _row_dh(axis: JointAxis, before: np.ndarray, after: np.ndarray) -> DHRow:
    """Rz(θ) Tz(d) Tx(a) Rx(α) from one frame to the next."""
    step = np.linalg.inv(before) @ after
    theta, alpha = np.arctan2(step[1, 0], step[0, 0]), np.arctan2(step[2, 1], step[2, 2])
    a = step[0, 3] * np.cos(theta) + step[1, 3] * np.sin(theta)
    return DHRow(axis.coordinate, axis.kind, *(_clean(x) for x in (theta, step[2, 3], a, alpha)))


def _row_mdh(axis: JointAxis, before: np.ndarray, after: np.ndarray) -> DHRow:
    """Rx(α) Tx(a) Rz(θ) Tz(d) from one frame to the next."""
    step = np.linalg.inv(before) @ after
    theta, alpha = np.arctan2(-step[0, 1], step[0, 0]), np.arctan2(-step[1, 2], step[2, 2])
    d = step[2, 3] * np.cos(alpha) - step[1, 3] * np.sin(alpha)
    return DHRow(axis.coordinate, axis.kind, *(_clean(x) for x in (theta, d, step[0, 3], alpha)))


def _clean(x: float) -> float:
    """x with rounding errors about zero set to zero."""
    return 0.0 if abs(x) < 1e-11 else float(x)


def _frame(x: np.ndarray, z: np.ndarray, p: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, 0], out[:3, 1], out[:3, 2], out[:3, 3] = x, np.cross(z, x), z, p
    return out


@dataclass(frozen=True)
class DHRow:
    """One row: θ of a revolute joint and d of a prismatic one are offsets, to which the coordinate is added."""

    coordinate: str
    kind: str  # revolute, prismatic or fixed
    theta: float
    d: float
    a: float
    alpha: float

    def numbers(self, q: float) -> dict[str, float]:
        """θ, d, a and α at a value q of the coordinate."""
        theta = self.theta + (q if self.kind == "revolute" else 0.0)
        return {"θ": theta, "d": self.d + (q if self.kind == "prismatic" else 0.0), "a": self.a, "α": self.alpha}


@dataclass(frozen=True)
class ElementaryTransform:
    """One elementary transform of a row, and the frame after it, as T (4, 4) in the world."""

    row: int
    name: str  # θ, d, a or α
    value: float
    frame: np.ndarray


@dataclass(frozen=True)
class DHTable(Tabular):
    """The table of a chain of links: world ─ base ─► frame 0 ─ rows ─► frame n ─ tool ─► body.

    `written` is True if the model was defined by this table, and False if the table was computed from the axes.
    """

    model: str
    body: str
    convention: Convention
    rows: tuple[DHRow, ...]
    base: np.ndarray
    tool: np.ndarray
    names: tuple[str, ...]  # all coordinates of the model
    start: np.ndarray
    written: bool

    def frames(self, q: Sequence[float] | np.ndarray | None = None) -> tuple[ElementaryTransform, ...]:
        """The four elementary transforms of every row and the frame after each; at the initial position without q."""
        at = dict(zip(self.names, self.start if q is None else q, strict=True))
        T, out = self.base, []
        for i, row in enumerate(self.rows):
            numbers = row.numbers(float(at.get(row.coordinate, 0.0)))
            for name in ORDER[self.convention]:
                T = T @ _elementary(name, numbers[name])
                out.append(ElementaryTransform(i, name, numbers[name], T))
        return tuple(out)

    def pose(self, q: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """T (4, 4) of the body in the world."""
        frames = self.frames(q)
        return (frames[-1].frame if frames else self.base) @ self.tool

    def tables(self) -> Sequence[Table]:
        """The table, with the base and the tool below it if they are not the identity."""
        rows = tuple(
            (
                str(i + 1),
                _sum(row.theta, row.coordinate if row.kind == "revolute" else ""),
                _sum(row.d, row.coordinate if row.kind == "prismatic" else ""),
                f"{row.a:.6g}",
                f"{row.alpha:.6g}",
            )
            for i, row in enumerate(self.rows)
        )
        notes = [] if self.written else ["The table was computed from the joint axes."]
        for name, T in (("base", self.base), ("tool", self.tool)):
            if np.abs(T - np.eye(4)).max() > EQUAL:
                notes.append(f"{name}: {np.round(T, 6).tolist()}")
        what = "Denavit–Hartenberg" if self.convention == "dh" else "Modified Denavit–Hartenberg"
        return (
            Table(("row", "θ", "d", "a", "α"), rows, f"{what} table of '{self.model}' to '{self.body}'", tuple(notes)),
        )


def _elementary(name: str, value: float) -> np.ndarray:
    """The elementary transform Rz, Tz, Tx or Rx."""
    T, c, s = np.eye(4), np.cos(value), np.sin(value)
    if name == "θ":
        T[:2, :2] = [[c, -s], [s, c]]
    elif name == "α":
        T[1:3, 1:3] = [[c, -s], [s, c]]
    else:
        T[2 if name == "d" else 0, 3] = value
    return T


def _sum(offset: float, coordinate: str) -> str:
    if not coordinate:
        return f"{offset:.6g}"
    return f"{coordinate} {'-' if offset < 0 else '+'} {abs(offset):.6g}" if offset else coordinate
