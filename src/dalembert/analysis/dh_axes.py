"""The frames of a chain from the axes of its joints: x of each lies on the common normal of two axes.

Where two axes meet or are parallel the normal is not unique: then lengths are zero where they can be, and x turns as little as
it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.analysis.dh_rows import EQUAL, Convention, Row


@dataclass(frozen=True)
class Axis:
    """The axis of a joint where all coordinates are zero: a direction, and a point on it; None where any will do."""

    coordinate: str
    kind: str
    z: np.ndarray
    point: np.ndarray | None


def rows_between(
    axes: Sequence[Axis], T: np.ndarray, convention: Convention
) -> tuple[np.ndarray, list[Row], np.ndarray]:
    """Frame 0, the rows, and frame n, for axes and a body at T where all coordinates are zero."""
    frames, last = [_base(axes[0])], len(axes) - 1
    for i, axis in enumerate(axes):  # frame i + 1 lies on the normal from this axis to the next
        if i < last:
            frames.append(_next(frames[-1], axes[i + 1].z, axes[i + 1].point, None))
        elif convention == "dh":  # the last one, where it can be, on the body
            frames.append(_next(frames[-1], T[:3, 2], T[:3, 3], T))
        else:
            at = frames[-1][:3, 3] if axis.point is None else axis.point
            frames.append(_next(frames[-1], axis.z, at + axis.z * ((T[:3, 3] - at) @ axis.z), T))
    if convention == "dh":
        rows = [_row_dh(*each) for each in zip(axes, frames[:-1], frames[1:], strict=True)]
    else:
        frames, rows = _modified(axes, frames)
    return frames[0], rows, frames[-1]


def _base(axis: Axis) -> np.ndarray:
    """Frame 0: z along the first axis, the origin nearest to the world's, x as near to the world's as can be."""
    z = axis.z
    x = np.eye(3)[0] - z * z[0]
    x = x if np.linalg.norm(x) > 1e-6 else np.eye(3)[1] - z * z[1]
    x = x / np.linalg.norm(x)
    p = np.zeros(3) if axis.point is None else axis.point - z * (axis.point @ z)
    return _frame(x, z, p)


def _next(before: np.ndarray, z: np.ndarray, point: np.ndarray | None, end: np.ndarray | None) -> np.ndarray:
    """The frame on an axis whose x is the common normal with z of the frame before; `end` is met where it can be."""
    x0, z0, p0 = before[:3, 0], before[:3, 2], before[:3, 3]
    point = p0 if point is None else point
    normal = np.cross(z0, z)
    if np.linalg.norm(normal) > 1e-7:
        x = normal / np.linalg.norm(normal)
        x = x if x @ x0 > -EQUAL else -x
        # the foot of the normal on this axis: point + z s, at the same distance from the axis before all along x
        side = np.cross(x, z0)
        return _frame(x, z, point - z * ((point - p0) @ side) / (z @ side))
    across = point - p0 - z0 * ((point - p0) @ z0)
    if end is not None and np.linalg.norm(across) < EQUAL:
        x = (
            end[:3, 0] if abs(end[:3, 0] @ z) < 0.5 else end[:3, 1]
        )  # that of the body, or its y where x lies along the axis
        x = x - z * (x @ z)
        return _frame(x / np.linalg.norm(x), z, point)
    foot = point - z * ((point - p0) @ z)
    if np.linalg.norm(across) < EQUAL:
        return _frame(x0, z, p0)
    x = across / np.linalg.norm(across)
    return _frame(x if x @ x0 > -EQUAL else -x, z, foot)


def _modified(axes: Sequence[Axis], standard: list[np.ndarray]) -> tuple[list[np.ndarray], list[Row]]:
    """The frames of Craig, z along their own axis, from those of the standard convention: x of each is the normal behind it."""
    frames, rows = [standard[0]], []
    for axis, before, after in zip(axes, standard[:-1], standard[1:], strict=True):
        # on this axis, with the x of the normal to the next
        z, x = before[:3, 2], after[:3, 0]
        x = x - z * (x @ z)
        p = before[:3, 3] + z * ((after[:3, 3] - before[:3, 3]) @ z)
        here = _frame(x / np.linalg.norm(x), z, p)
        rows.append(_row_mdh(axis, frames[-1], here))
        frames.append(here)
    return frames, rows


def _row_dh(axis: Axis, before: np.ndarray, after: np.ndarray) -> Row:
    """Rz(θ) Tz(d) Tx(a) Rx(α) from one frame to the next."""
    step = np.linalg.inv(before) @ after
    theta, alpha = np.arctan2(step[1, 0], step[0, 0]), np.arctan2(step[2, 1], step[2, 2])
    a = step[0, 3] * np.cos(theta) + step[1, 3] * np.sin(theta)
    return Row(axis.coordinate, axis.kind, *(_clean(x) for x in (theta, step[2, 3], a, alpha)))


def _row_mdh(axis: Axis, before: np.ndarray, after: np.ndarray) -> Row:
    """Rx(α) Tx(a) Rz(θ) Tz(d) from one frame to the next."""
    step = np.linalg.inv(before) @ after
    theta, alpha = np.arctan2(-step[0, 1], step[0, 0]), np.arctan2(-step[1, 2], step[2, 2])
    d = step[2, 3] * np.cos(alpha) - step[1, 3] * np.sin(alpha)
    return Row(axis.coordinate, axis.kind, *(_clean(x) for x in (theta, d, step[0, 3], alpha)))


def _clean(x: float) -> float:
    """Without rounding about zero."""
    return 0.0 if abs(x) < 1e-11 else float(x)


def _frame(x: np.ndarray, z: np.ndarray, p: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, 0], out[:3, 1], out[:3, 2], out[:3, 3] = x, np.cross(z, x), z, p
    return out
