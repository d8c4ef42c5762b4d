"""Joints read backwards: how the parent sits on the child, for a tree that is hung up at another place."""

from __future__ import annotations

from collections.abc import Sequence

from symengine import Integer, sympify

from dalembert.errors import InputError
from dalembert.model.joints.base import HERE, Joint
from dalembert.model.joints.fixed import Fixed
from dalembert.model.vectors import Vector3

_ZERO = Integer(0)


def backwards(joints: Sequence[Joint], where: str) -> tuple[tuple[Joint, ...], dict[tuple[int, int], tuple[int, int]]]:
    """The sequence that undoes `joints`, and where each (joint, motion) went; every motion has changed its sign."""
    out: list[Joint] = []
    moved: dict[tuple[int, int], tuple[int, int]] = {}
    for index in reversed(range(len(joints))):
        undone = joints[index].undone()
        if undone is None:
            kind = joints[index].kind
            raise InputError(
                f"{where}: a {kind} joint cannot be read backwards. Cut the loop so that it keeps its direction."
            )
        for motion, (joint, k) in enumerate(undone.places):
            moved[index, motion] = (len(out) + joint, k)
        out += undone.joints
        out += placed_back(joints[index].position, joints[index].rotation)
    return tuple(out or [Fixed(HERE, HERE)]), moved


def placed_back(position: Vector3, rotation: Vector3) -> list[Joint]:
    """Fixed joints that undo a placement: Rx(−roll) Ry(−pitch) Rz(−yaw), then the position backwards."""
    roll, pitch, yaw = (sympify(angle) for angle in rotation)
    x, y, z = (-sympify(entry) for entry in position)
    turns = [(-roll, _ZERO, _ZERO), (_ZERO, -pitch, _ZERO), (_ZERO, _ZERO, -yaw)]
    used: list[Joint] = [Fixed(HERE, turn) for turn in turns if any(angle != 0 for angle in turn)]
    return [*used, Fixed((x, y, z), HERE)] if any(entry != 0 for entry in (x, y, z)) else used
