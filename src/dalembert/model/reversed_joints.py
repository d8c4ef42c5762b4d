"""Joints read backwards: how the parent sits on the child, for a tree that is hung up at another place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symengine import Integer, sympify

from dalembert.errors import InputError
from dalembert.model.elements import Vector3
from dalembert.model.joints import (
    Cylindrical,
    Fixed,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.model.joints.rows import plane

_ZERO = Integer(0)
HERE: Vector3 = (_ZERO, _ZERO, _ZERO)


def backwards(joints: Sequence[Joint], where: str) -> tuple[tuple[Joint, ...], dict[tuple[int, int], tuple[int, int]]]:
    """The sequence that undoes `joints`, and where each (joint, motion) went; every motion has changed its sign."""
    out: list[Joint] = []
    moved: dict[tuple[int, int], tuple[int, int]] = {}
    for index in reversed(range(len(joints))):
        undone, places = _undone(joints[index], where)
        for motion, (joint, k) in enumerate(places):
            moved[index, motion] = (len(out) + joint, k)
        out += undone
        out += placed_back(joints[index].position, joints[index].rotation)
    return tuple(out or [Fixed(HERE, HERE)]), moved


def placed_back(position: Sequence[Any], rotation: Sequence[Any]) -> list[Joint]:
    """Fixed joints that undo a placement: Rx(−roll) Ry(−pitch) Rz(−yaw), then the position backwards."""
    roll, pitch, yaw = (sympify(angle) for angle in rotation)
    x, y, z = (-sympify(entry) for entry in position)
    turns = [(-roll, _ZERO, _ZERO), (_ZERO, -pitch, _ZERO), (_ZERO, _ZERO, -yaw)]
    used: list[Joint] = [Fixed(HERE, turn) for turn in turns if any(angle != 0 for angle in turn)]
    return [*used, Fixed((x, y, z), HERE)] if any(entry != 0 for entry in (x, y, z)) else used


def _undone(joint: Joint, where: str) -> tuple[list[Joint], list[tuple[int, int]]]:
    """The motion of one joint backwards, and the places of its motions in the result."""
    match joint:
        case Fixed():
            return [], []
        case Revolute() | Screw():
            return [replace(joint, position=HERE, rotation=HERE, angle=-joint.angle)], [(0, 0)]
        case Prismatic():
            return [replace(joint, position=HERE, rotation=HERE, displacement=-joint.displacement)], [(0, 0)]
        case Cylindrical():
            back = replace(joint, position=HERE, rotation=HERE, angle=-joint.angle, displacement=-joint.displacement)
            return [back], [(0, 0), (0, 1)]
        case Universal(axes=(a, b), angles=(first, second)):
            return [Universal(HERE, HERE, (b, a), (-second, -first))], [(0, 1), (0, 0)]
        case Spherical(sequence=sequence, angles=(a, b, c)):
            return [Spherical(HERE, HERE, sequence[::-1], (-c, -b, -a))], [(0, 2), (0, 1), (0, 0)]
        case Planar(normal=normal, displacement=(x, y), angle=angle):
            e1, e2 = (tuple(e) for e in plane(normal))
            undone: list[Joint] = [
                Revolute(HERE, HERE, normal, -angle),
                Prismatic(HERE, HERE, (e1[0], e1[1], e1[2]), -x),
                Prismatic(HERE, HERE, (e2[0], e2[1], e2[2]), -y),
            ]
            return undone, [(1, 0), (2, 0), (0, 0)]
    raise InputError(
        f"{where}: a {joint.kind} joint cannot be read backwards. Cut the loop so that it keeps its direction."
    )
