"""Where bodies shall be: positions, orientations or both, of one posture or of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dalembert.arguments import numbers_given, shown
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements
from dalembert.symbolic.frames import Pose, rotation

_ROUND = 1e-6  # a rotation in rounded numbers is off by no more
Given: TypeAlias = "Target | Pose | npt.ArrayLike"


@dataclass(frozen=True)
class Target:
    """Where a point of a body shall be, how the body shall be turned, or both.

    `position` is (3,) or (3, K) in world axes, `orientation` a rotation (3, 3) or (3, 3, K) from body to world axes, or a
    quaternion (w, x, y, z) of shape (4,) or (4, K). `point` is the point in body axes; without it, what the call says.

    >>> Target(position=(0.3, 0.1, 0.5)).position
    (0.3, 0.1, 0.5)
    """

    position: npt.ArrayLike | None = None
    orientation: npt.ArrayLike | None = None
    point: Sequence[float] | None = None


@dataclass(frozen=True)
class Asked:
    """What is asked of one body: positions (K, 3) and rotations (K, 3, 3), None where they are free; K = 1 if it is `single`."""

    body: str
    point: tuple[float, float, float]
    position: np.ndarray | None
    rotation: np.ndarray | None
    single: bool

    @property
    def kinds(self) -> tuple[bool, bool]:
        """Is the position given, is the orientation?"""
        return self.position is not None, self.rotation is not None

    @property
    def count(self) -> int:
        """How many postures are asked for."""
        return len(next(part for part in (self.position, self.rotation) if part is not None))

    def numbers(self, count: int) -> np.ndarray:
        """Position and rotation of `count` postures as (K, 12), zeros where they are free."""
        out = np.zeros((count, 12))
        if self.position is not None:
            out[:, :3] = self.position
        if self.rotation is not None:
            out[:, 3:] = self.rotation.reshape(-1, 9)
        return out


def read_targets(
    model: Elements, body: str | Mapping[str, Given], target: Given | None, point: Sequence[float]
) -> tuple[Asked, ...]:
    """What is asked of each body; a mapping of bodies asks of several at once."""
    if isinstance(body, Mapping):
        if target is not None or not body:
            raise InputError("inverse_kinematics: expected a body and its target, or a mapping of bodies to targets.")
        given = dict(body)
    else:
        if not isinstance(body, str):
            raise InputError(
                f"inverse_kinematics, body: got {shown(body)}. Expected the name of a body, or a mapping of bodies."
            )
        if target is None:
            raise InputError(
                "inverse_kinematics: there is no target. Give a position (3,), a rotation or a pose (4, 4)."
            )
        given = {body: target}
    names = [each.name for each in model.bodies]
    for name in given:
        if name not in names:
            raise InputError(f"inverse_kinematics: there is no body '{name}'. {nearest(str(name), names)}")
    found = tuple(_asked(name, each, point) for name, each in given.items())
    counts = {each.count for each in found if not each.single}
    if len(counts) > 1:
        raise InputError(f"inverse_kinematics: targets for {sorted(counts)} postures. Expected as many for every body.")
    return found


def _asked(body: str, given: Given, point: Sequence[float]) -> Asked:
    where = f"inverse_kinematics, target of '{body}'"
    target = _target(given, where)
    at = numbers_given(point if target.point is None else target.point, f"{where}, point")
    if at.shape != (3,):
        raise InputError(f"{where}, point: got shape {at.shape}. Expected (3,), in body axes.")
    position, one = _position(target.position, f"{where}, position")
    rotation, alone = _rotation(target.orientation, f"{where}, orientation")
    if position is None and rotation is None:
        raise InputError(f"{where}: neither a position nor an orientation is given.")
    if position is not None and rotation is not None and not one and not alone and len(position) != len(rotation):
        raise InputError(f"{where}: {len(position)} positions and {len(rotation)} orientations. Expected as many.")
    return Asked(body, (float(at[0]), float(at[1]), float(at[2])), position, rotation, one and alone)


def _target(given: Given, where: str) -> Target:
    """A target from what a user may write: by its shape, or by the attributes of a pose."""
    if isinstance(given, Target):
        return given
    if isinstance(given, Pose):
        return Target(given.position, given.rotation)
    value = numbers_given(given, where)
    shape = value.shape
    if shape[:2] == (4, 4) and value.ndim <= 3:
        if value.ndim == 3 or np.abs(value[3] - (0, 0, 0, 1)).max() < _ROUND:
            return Target(value[:3, 3], value[:3, :3])
        raise InputError(
            f"{where}: the last row of a pose is (0, 0, 0, 1), got {value[3].round(6).tolist()}. "
            "Four quaternions are Target(orientation=...)."
        )
    if shape[:2] == (3, 3) and value.ndim <= 3:
        if value.ndim == 2 and not _is_rotation(value[None]):
            raise InputError(f"{where}: the matrix is no rotation. Three positions are Target(position=...).")
        return Target(orientation=value)
    if value.ndim in (1, 2) and shape[0] == 3:
        return Target(position=value)
    if value.ndim in (1, 2) and shape[0] == 4:
        return Target(orientation=value)
    raise InputError(
        f"{where}: got shape {shape}. Expected a position (3,), a quaternion (4,), a rotation (3, 3) or a pose (4, 4), each "
        "with one more axis at the end for many."
    )


def _position(given: npt.ArrayLike | None, where: str) -> tuple[np.ndarray | None, bool]:
    """Positions (K, 3), and whether it is one by itself."""
    if given is None:
        return None, True
    value = numbers_given(given, where)
    if value.ndim not in (1, 2) or value.shape[0] != 3 or not value.size:
        raise InputError(f"{where}: got shape {value.shape}. Expected (3,) or (3, K).")
    return np.atleast_2d(value.T), value.ndim == 1


def _rotation(given: npt.ArrayLike | None, where: str) -> tuple[np.ndarray | None, bool]:
    """Rotations (K, 3, 3), and whether it is one by itself."""
    if given is None:
        return None, True
    value = numbers_given(given, where)
    if (
        value.ndim in (2, 3)
        and value.shape[:2] == (3, 3)
        and value.size
        and (value.ndim == 3 or _is_rotation(value[None]))
    ):
        found = value[None] if value.ndim == 2 else np.moveaxis(value, 2, 0)
        if not _is_rotation(found):
            raise InputError(f"{where}: the matrix is no rotation. Expected RᵀR = 1 and det R = 1.")
        U, _, Vt = np.linalg.svd(found)  # the nearest exact one
        return U @ Vt, value.ndim == 2
    if value.ndim not in (1, 2) or value.shape[0] != 4 or not value.size:
        raise InputError(
            f"{where}: got shape {value.shape}. Expected a rotation (3, 3) or a quaternion (4,) as (w, x, y, z)."
        )
    return _from_quaternions(np.atleast_2d(value.T), where), value.ndim == 1


def _is_rotation(R: np.ndarray) -> bool:
    """True where all matrices (K, 3, 3) are rotations, as far as rounded numbers can be."""
    near = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max() < _ROUND
    return bool(near and (np.linalg.det(R) > 0).all())


def _from_quaternions(q: np.ndarray, where: str) -> np.ndarray:
    """The rotations (K, 3, 3) of quaternions (K, 4), which need not have length 1."""
    length = np.linalg.norm(q, axis=1, keepdims=True)
    if (length < 1e-12).any():
        raise InputError(f"{where}: a quaternion has length 0. Expected (w, x, y, z), such as (1, 0, 0, 0).")
    return np.moveaxis(rotation((q / length).T), 2, 0)
