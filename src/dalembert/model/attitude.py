"""Rotations as users write them; all forms become roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll).

| form | meaning |
|---|---|
| `(roll, pitch, yaw)` | the angles themselves |
| 3 rows of 3 | the rotation matrix: its columns are the axes of the rotated frame |
| `{"axis": (x, y, z), "angle": a}` | rotation by the angle a about an axis |
| `{"sequence": "zxz", "angles": (a, b, c)}` | successive intrinsic rotations about the listed axes |
| `{"quaternion": (w, x, y, z)}` | quaternion of any nonzero norm |

Rotations by right angles about coordinate axes are exact, as are rotations about one coordinate axis and the sequence zyx.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import atan2, cos, hypot, sin
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import symengine as se

from dalembert.errors import InputError, Problem, short_repr, suggest_name
from dalembert.model import keys
from dalembert.model.evaluation import value
from dalembert.model.keys import (
    Key,
    Keys,
    ValueType,
    array,
    constant,
    direction,
    fixed_vector,
    many,
    problem_of,
    string,
    table,
)
from dalembert.model.values import ArrayInput, Matrix3, Vector3, is_sequence, snap_right_angles, unit_vector, vector3
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Rotation: TypeAlias = "ArrayInput | Mapping[str, Written | ArrayInput]"
_AXES = {"x": 0, "y": 1, "z": 2}
_CLOSE = 1e-9
_FORMS = ({"axis", "angle"}, {"sequence", "angles"}, {"quaternion"})


def placement(model: Elements, where: str, position: object, rotation: object) -> tuple[Vector3, Vector3]:
    """Position, and roll, pitch and yaw, of a frame on a body."""
    at = vector3(model.reader.constant, position, f"{where}, position")
    return at, roll_pitch_yaw(model, rotation, f"{where}, rotation")


def roll_pitch_yaw(model: Elements, rotation: object, where: str) -> Vector3:
    """Convert a rotation in any form to roll, pitch and yaw.

    >>> from dalembert.model.model import Model
    >>> roll_pitch_yaw(Model("m").parameters(a=1.0), {"axis": (0, -2, 0), "angle": "a"}, "joint")
    (0, -a, 0)
    >>> roll_pitch_yaw(Model("m"), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "joint")
    (0, 0, (1/2)*pi)
    """
    if isinstance(rotation, Mapping):
        return _of_table(model, rotation, where)
    if is_sequence(rotation, 3) and all(is_sequence(row, 3) for row in rotation):
        R = [vector3(model.reader.constant, row, f"{where}[{i}]") for i, row in enumerate(rotation)]
        return _of_matrix(model, np.array(R, dtype=object), where)
    return vector3(model.reader.constant, snap_right_angles(rotation), where)


def rotation_matrix(angles: Sequence[Formula]) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll) of formulas.

    >>> rotation_matrix((0, 0, se.pi / 2)).tolist()
    [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    """
    roll, pitch, yaw = angles
    return _about(2, yaw) @ _about(1, pitch) @ _about(0, roll)


def rotate_inertia(inertia: Matrix3, angles: Vector3) -> Matrix3:
    """R I Rᵀ: transform an inertia from axes rotated by roll, pitch and yaw to the original axes."""
    if all(angle == 0 for angle in angles):
        return inertia
    R = rotation_matrix(angles)
    x, y, z = R @ np.array(inertia, dtype=object) @ R.T
    return (x[0], x[1], x[2]), (x[1], y[1], y[2]), (x[2], y[2], z[2])


def _about(axis: int, angle: Formula) -> np.ndarray:
    """The rotation matrix about a coordinate axis."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.array([[se.Integer(int(a == b)) for b in range(3)] for a in range(3)], dtype=object)
    R[i, i] = R[j, j] = se.cos(angle)
    R[j, i], R[i, j] = se.sin(angle), -se.sin(angle)
    return R


def _of_table(model: Elements, rotation: Mapping[str, object], where: str) -> Vector3:
    if set(rotation) not in _FORMS:
        unknown = [key for key in rotation if not any(key in keys for keys in _FORMS)]
        hint = (
            suggest_name(unknown[0], [key for each in _FORMS for key in each])
            if unknown
            else "Use the keys of one form."
        )
        raise InputError(
            f"{where}: got {', '.join(map(str, rotation)) or 'an empty table'}. Expected axis and angle, sequence and angles, or "
            f"quaternion. {hint}"
        )
    if "axis" in rotation:
        return _of_axis(model, rotation["axis"], rotation["angle"], where)
    if "sequence" in rotation:
        return _of_sequence(model, rotation, where)
    return _of_quaternion(model, rotation["quaternion"], where)


def _of_axis(model: Elements, axis: object, angle: object, where: str) -> Vector3:
    k = [se.sympify(x) for x in unit_vector(axis, where)]
    (alpha,) = _angles(model, [angle], f"{where}, angle")
    if sum(x != 0 for x in k) == 1:  # a coordinate axis, in either direction
        return k[0] * alpha, k[1] * alpha, k[2] * alpha
    s, c = se.sin(alpha), se.cos(alpha)
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]], dtype=object)
    R = [[c * int(i == j) + (1 - c) * k[i] * k[j] + s * K[i, j] for j in range(3)] for i in range(3)]
    return _of_matrix(model, np.array(R, dtype=object), where)


def _of_sequence(model: Elements, rotation: Mapping[str, object], where: str) -> Vector3:
    letters, values = rotation["sequence"], rotation["angles"]
    if not isinstance(letters, str) or not 0 < len(letters) <= 6 or set(letters.lower()) - set(_AXES):
        expected = "1 to 6 letters of x, y and z, such as 'zxz'"
        raise InputError(f"{where}, sequence: got {short_repr(letters)}. Expected {expected}.")
    if not is_sequence(values, len(letters)):
        expected = f"{len(letters)} angles, one for each axis of '{letters}'"
        raise InputError(f"{where}, angles: got {short_repr(values)}. Expected {expected}.")
    axes, angles = [_AXES[letter] for letter in letters.lower()], _angles(model, values, f"{where}, angles")
    if axes == sorted(set(axes), reverse=True):  # z, y, x in this order: roll, pitch and yaw themselves
        found = dict(zip(axes, angles, strict=True))
        return found.get(0, se.Integer(0)), found.get(1, se.Integer(0)), found.get(2, se.Integer(0))
    return _of_matrix(model, reduce(np.matmul, map(_about, axes, angles)), where)


def _of_quaternion(model: Elements, rotation: object, where: str) -> Vector3:
    if not is_sequence(rotation, 4):
        raise InputError(f"{where}, quaternion: got {short_repr(rotation)}. Expected 4 components (w, x, y, z).")
    w, x, y, z = (model.reader.constant(part, f"{where}, quaternion") for part in rotation)
    square = w * w + x * x + y * y + z * z
    if not value(square, model.parameter_values) > 0:
        raise InputError(f"{where}, quaternion: its norm is 0. Expected (w, x, y, z) of nonzero norm.")
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return _of_matrix(model, np.array([[entry / square for entry in row] for row in rows], dtype=object), where)


def _angles(model: Elements, rotation: Sequence[object], where: str) -> list[Formula]:
    angles = snap_right_angles(list(rotation))
    assert is_sequence(angles)
    return [model.reader.constant(angle, where) for angle in angles]


def _of_matrix(model: Elements, R: np.ndarray, where: str) -> Vector3:
    """Roll, pitch and yaw of a rotation matrix: numbers if it has no parameters, else formulas."""
    N = np.array([[value(entry, model.parameter_values) for entry in row] for row in R])
    orthogonal = np.allclose(N @ N.T, np.eye(3), rtol=0, atol=_CLOSE)
    if not orthogonal or not np.linalg.det(N) > 0:
        fault = "a reflection" if orthogonal else "not orthogonal"
        raise InputError(
            f"{where}: the matrix {np.round(N, 6).tolist()} is {fault}. "
            "Expected a rotation matrix, with right-handed orthonormal columns."
        )
    cos_pitch = hypot(N[0, 0], N[1, 0])
    if not any(entry.free_symbols for entry in map(se.sympify, R.ravel())):
        # pitch and roll follow from Rz(yaw)ᵀ R, also at gimbal lock, where the yaw is arbitrary
        yaw = atan2(N[1, 0], N[0, 0]) if cos_pitch > 1e-12 else atan2(-N[0, 1], N[1, 1])
        s, c = sin(yaw), cos(yaw)
        pitch = atan2(-N[2, 0], c * N[0, 0] + s * N[1, 0])
        roll = atan2(s * N[0, 2] - c * N[1, 2], c * N[1, 1] - s * N[0, 1])
        a, b, c = _angles(model, [_snap_quarter(angle) for angle in (roll, pitch, yaw)], where)
        return a, b, c
    if cos_pitch < _CLOSE:
        raise InputError(
            f"{where}: with these parameters the pitch is a right angle, where roll and yaw are not unique (gimbal lock). "
            "Give roll, pitch and yaw, or use two fixed joints in sequence."
        )
    cosine = se.sqrt(R[0, 0] ** 2 + R[1, 0] ** 2)
    return se.atan2(R[2, 1], R[2, 2]), se.atan2(-R[2, 0], cosine), se.atan2(R[1, 0], R[0, 0])


def _snap_quarter(angle: float) -> float:
    """The angle, rounded to a multiple of π/2 if it is within rounding error of it."""
    nearest_quarter = round(angle / (np.pi / 2)) * np.pi / 2
    return nearest_quarter if abs(angle - nearest_quarter) < 4e-16 else angle


_TABLE: Keys = {
    "axis": Key(direction),
    "angle": Key(constant),
    "sequence": Key(string),
    "angles": Key(many(constant, "angles")),
    "quaternion": Key(array(4, constant, "numbers (w, x, y, z)")),
}


def _check(rotation: object, where: str, model: Elements) -> Iterator[Problem]:
    if isinstance(rotation, dict):
        found = [*table(rotation, _TABLE, where, model)]
    elif isinstance(rotation, list) and len(rotation) == 3 and all(isinstance(row, list) for row in rotation):
        found = [*array(3, fixed_vector, "rows")(rotation, where, model)]
    else:
        yield from fixed_vector(rotation, where, model)
        return
    yield from found or problem_of(where, lambda: roll_pitch_yaw(model, rotation, where))


rotation_of = ValueType(_check, roll_pitch_yaw, keys.vector, argument="Rotation")
PLACEMENT: Keys = {"position": Key(fixed_vector), "rotation": Key(rotation_of)}
